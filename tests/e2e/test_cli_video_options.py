"""``spokesmodel video``: what each option changes in the film."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from models import weights
from tests.e2e.test_cases import write_sound
from tests.e2e.test_cli import QUICK, ROOT, spokesmodel

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")


def made(out: Path, *arguments: str) -> dict[str, object]:
    run = spokesmodel("video", *arguments, "--out", str(out), "--json", "--state-dir", str(out.parent / "state"))
    assert run.returncode == 0, run.stderr
    document: dict[str, object] = json.loads(run.stdout)
    return document


def frame(path: Path, number: int = 5) -> np.ndarray:
    with av.open(str(path)) as container:
        for index, picture in enumerate(container.decode(video=0)):
            if index == number:
                return picture.to_ndarray(format="rgb24").astype(int)
    raise AssertionError(f"{path} has no frame {number}")


def test_backgrounds(tmp_path: Path) -> None:
    beach = tmp_path / "Strand 'A'.png"
    Image.new("RGB", (300, 300), (240, 200, 40)).save(beach)
    corners = {}
    for background in ("original", "blur", "#1040c0", str(beach)):
        out = tmp_path / f"film {len(corners)}.mp4"
        made(out, "--portrait", "vera", "--text", "Hi.", *QUICK, "--background", background, "--no-label")
        corners[background] = frame(out)[4:20, 4:20].mean(axis=(0, 1))
    assert np.abs(corners["#1040c0"] - (0x10, 0x40, 0xC0)).max() < 12
    assert np.abs(corners[str(beach)] - (240, 200, 40)).max() < 12
    assert np.abs(corners["original"] - corners["blur"]).max() < 30
    assert corners["original"].min() > 120  # a light wall


def test_recording_with_its_words_burnt_in_an_upright_film(tmp_path: Path) -> None:
    from models.speech import synthesizer
    from services.domain.video import VoiceSettings

    text = "Please buy more apples today."
    speech = synthesizer("en-us").synthesize(text, VoiceSettings(voice_id="en-us"))
    sound = write_sound(tmp_path / "录音.wav", speech.samples.astype(float), speech.sample_rate_hz)
    common = ("--portrait", str(weights.path("avatar-tom")), "--synthetic", "--audio", str(sound), "--transcript", text)
    shape = ("--aspect", "9:16", "--height", "480", "--fps", "30")
    facts = made(tmp_path / "burnt.mp4", *common, *shape, "--subtitles", "burn")["facts"]
    made(tmp_path / "bare.mp4", *common, *shape, "--subtitles", "none")
    assert isinstance(facts, dict)
    assert (facts["width_px"], facts["height_px"], facts["fps"]) == (270, 480, 30)
    assert facts["timeline_source"] == "alignment"
    assert facts["duration_s"] == pytest.approx(speech.duration_s, abs=1 / 30 + 0.02)
    assert "apples" in (tmp_path / "burnt.srt").read_text(encoding="utf-8")
    assert not (tmp_path / "bare.srt").exists()
    change = np.abs(frame(tmp_path / "burnt.mp4", 30) - frame(tmp_path / "bare.mp4", 30)).max(axis=2)
    assert (change[280:] > 100).sum() > 100
    assert (change[:200] > 100).sum() == 0


def test_brief_becomes_a_film_whose_writer_is_told(tmp_path: Path) -> None:
    brief = tmp_path / "brief.json"
    brief.write_text(
        json.dumps({"product": "Lumo bottle", "language": "en-US", "duration_s": 5, "benefits": ["keeps drinks cold"]}),
        encoding="utf-8",
    )
    facts = made(tmp_path / "film.mp4", "--portrait", "vera", "--brief", str(brief), *QUICK)["facts"]
    assert isinstance(facts, dict)
    assert facts["writer"] == "template"
    assert "Lumo bottle" in " ".join((tmp_path / "film.srt").read_text(encoding="utf-8").split())


def test_terminal_shows_progress_and_a_pipe_does_not(tmp_path: Path) -> None:
    words = "This sentence goes on for a while. " * 20
    command = ["video", "--portrait", "vera", "--text", words, *QUICK, "--out", str(tmp_path / "film.mp4")]
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "spokesmodel", *command],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux's way to say that the other end was closed
        while block := os.read(ours, 65_536):
            shown += block
    os.close(ours)
    process.communicate()
    assert process.returncode == 0, shown
    percentages = {int(number) for number in re.findall(rb"(\d+)%", shown)}
    assert any(0 < number < 100 for number in percentages)
    assert b"render" in shown
    piped = spokesmodel(*command)
    assert piped.returncode == 0
    assert "%" not in piped.stderr
