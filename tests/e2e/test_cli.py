"""The command line as users and programs run it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_video import plain_png

ROOT = Path(__file__).resolve().parent.parent.parent
QUICK = ("--aspect", "1:1", "--height", "256")


def spokesmodel(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spokesmodel", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=180,
        check=False,
    )


def error_of(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The error document, the last line on standard error."""
    error: dict[str, Any] = json.loads(run.stderr.strip().splitlines()[-1])["error"]
    return error


HEAVY = (  # not pydantic: typer takes it for the help of options where it is installed
    "aws_lambda_powertools av boto3 botocore c2pa cryptography cv2 diffusers httpx lambdas models numpy PIL "
    "pymatting scipy torch uvicorn"
)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((), "Exit status"),
        (("video",), "--portrait"),
        (("wig",), "--turntable"),
        (("wig-live",), "--video"),
        (("tryon",), "--garment"),
        (("image",), "--step"),
        (("wigs", "add"), "--pin"),
        (("garments", "import"), "--dry-run"),
        (("batch", "run"), "--kind"),
    ],
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...], shown: str) -> None:
    code = (
        f"import sys; sys.argv = {['spokesmodel', *arguments, '--help']}\n"
        "from spokesmodel.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('HEAVY', sorted(set({HEAVY.split()}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().endswith("HEAVY []")
    assert shown in run.stdout


def test_version() -> None:
    assert re.fullmatch(r"spokesmodel \d+\.\d+\.\d+\n", spokesmodel("--version").stdout)


def test_text_from_standard_input_becomes_a_video_with_its_files(tmp_path: Path) -> None:
    out = tmp_path / "mein film.mp4"
    run = spokesmodel(
        "video", "--portrait", "vera", "--text", "-", "--voice", "en-us", *QUICK, "--out", str(out), "--json",
        stdin="Hello from standard input.",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["files"]["video"] == str(out)
    for path in document["files"].values():
        assert Path(path).stat().st_size > 0
    assert "standard input" in " ".join(out.with_suffix(".srt").read_text().split())
    assert document["facts"]["width_px"] == 256


def test_text_and_portrait_from_files_with_any_name(tmp_path: Path) -> None:
    from models import weights

    portrait = tmp_path / 'Élise\'s "best" 照片.jpg'
    portrait.write_bytes(weights.path("avatar-vera").read_bytes())
    text = tmp_path / "text.txt"
    text.write_text("From a file.", encoding="utf-8")
    out = tmp_path / "out.mp4"
    run = spokesmodel(
        "video",
        "--portrait",
        str(portrait),
        "--synthetic",
        "--text",
        str(text),
        "--subtitles",
        "none",
        *QUICK,
        "--out",
        str(out),
    )
    assert run.returncode == 0, run.stderr
    assert str(out) in run.stdout
    assert out.stat().st_size > 0
    assert not out.with_suffix(".srt").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("--portrait", "vera"), 2, "exactly_one"),
        (("--portrait", "vera", "--text", "a", "--brief", "b"), 2, "exactly_one"),
        (("--portrait", "vera", "--brief", "nowhere.json"), 2, "file_not_found"),
        (("--portrait", "vera", "--text", "Hi.", "--face", "left"), 2, "out_of_range"),
        (("--portrait", "vera", "--text", "Hi.", "--background", "nowhere.png"), 2, "file_not_found"),
        (("--portrait", "nobody.jpg", "--text", "Hi."), 2, "portrait_not_found"),
        (("--portrait", "vera", "--text", "?!…"), 3, "nothing_to_say"),
        (("--portrait", "vera", "--text", "Hi.", "--voice", "klingon"), 3, "voice_not_found"),
    ],
)
def test_wrong_usage_and_wrong_content_have_their_status_and_code(
    tmp_path: Path, arguments: tuple[str, ...], status: int, code: str
) -> None:
    run = spokesmodel("video", *arguments, "--out", str(tmp_path / "out.mp4"), "--json")
    assert (run.returncode, error_of(run)["code"]) == (status, code), run.stderr
    assert run.stdout == ""


def test_picture_without_a_face_is_rejected_with_its_code(tmp_path: Path) -> None:
    picture = tmp_path / "nothing.png"
    picture.write_bytes(plain_png(300, 300))
    run = spokesmodel(
        "video", "--portrait", str(picture), "--synthetic", "--text", "Hi.", "--out", str(tmp_path / "new" / "out.mp4")
    )
    assert run.returncode == 3
    assert "code: face_not_found" in run.stderr
    assert not (tmp_path / "new").exists()


def test_missing_weights_are_unavailable(tmp_path: Path) -> None:
    out = str(tmp_path / "out.mp4")
    picture = tmp_path / "nothing.png"
    picture.write_bytes(plain_png(300, 300))
    run = spokesmodel(
        "video", "--portrait", str(picture), "--synthetic", "--text", "Hi.", "--out", out, "--json",
        SPOKESMODEL_WEIGHTS_DIR=str(tmp_path / "empty"),
    )  # fmt: skip
    assert (run.returncode, error_of(run)["code"]) == (5, "weights_missing"), run.stderr


def test_ctrl_c_cancels(tmp_path: Path) -> None:
    arguments = ["--portrait", "vera", "--text", "On and on. " * 400, *QUICK, "--out", str(tmp_path / "out.mp4")]
    process = subprocess.Popen(
        [sys.executable, "-m", "spokesmodel", "video", *arguments, "--json", "--state-dir", str(tmp_path / "state")],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A test run that was started in the background ignores Ctrl-C, and so would everything that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    give_up_at = time.monotonic() + 60
    while not list((tmp_path / "state").glob("scratch/worker-0/attempt-*")):
        assert time.monotonic() < give_up_at, "the engine did not start"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 6, stderr
    assert json.loads(stderr.strip().splitlines()[-1])["error"]["code"] == "canceled"
    assert not (tmp_path / "out.mp4").exists()


def test_script_of_a_brief() -> None:
    run = spokesmodel("script", "--brief", "-", "--json", stdin=(ROOT / "spokesmodel/demo_brief.json").read_text())
    assert run.returncode == 0, run.stderr
    script = json.loads(run.stdout)
    assert script["writer"] == "template"
    assert "Lumo" in script["text"]


def test_brief_with_a_wrong_field_is_wrong_usage() -> None:
    run = spokesmodel("script", "--brief", "-", "--json", stdin='{"product": "X", "prise": "1"}')
    assert (run.returncode, error_of(run)["code"]) == (2, "malformed_payload")
    assert "prise" in error_of(run)["detail"]


def test_voices_of_a_language() -> None:
    run = spokesmodel("voices", "--language", "de", "--json")
    voices = json.loads(run.stdout)
    assert {voice["language"].split("-")[0] for voice in voices} == {"de"}


def test_avatars_are_listed() -> None:
    run = spokesmodel("avatars")
    assert [line.split("\t")[1] for line in run.stdout.splitlines()] == ["Ellen", "Max", "Tom", "Vera"]


def test_doctor_finds_this_installation_sound() -> None:
    run = spokesmodel("doctor", "--json", "--deep")
    findings = {finding["name"]: finding for finding in json.loads(run.stdout)}
    assert run.returncode == 0, [finding for finding in findings.values() if finding["status"] == "problem"]
    assert findings["video"]["detail"] == "usable"
    assert "checksum right" in findings["face-mesh"]["detail"]


def test_doctor_names_what_is_missing(tmp_path: Path) -> None:
    run = spokesmodel("doctor", "--json", SPOKESMODEL_WEIGHTS_DIR=str(tmp_path))
    findings = {finding["name"]: finding for finding in json.loads(run.stdout)}
    assert run.returncode == 5
    assert findings["face-mesh"]["status"] == "problem"
    assert "python -m models.weights" in findings["face-mesh"]["remedy"]
    assert "weights_missing" in findings["video"]["detail"]


def test_doctor_deep_finds_a_damaged_file(tmp_path: Path) -> None:
    from models import weights

    source = weights.path("face-mesh")
    damaged = tmp_path / source.parent.name / source.name
    damaged.parent.mkdir()
    damaged.write_bytes(source.read_bytes()[:-1] + b"x")
    run = spokesmodel("doctor", "--json", "--deep", SPOKESMODEL_WEIGHTS_DIR=str(tmp_path))
    findings = {finding["name"]: finding for finding in json.loads(run.stdout)}
    assert "checksum WRONG" in findings["face-mesh"]["detail"]


def test_demo_writes_its_page_and_films(tmp_path: Path) -> None:
    run = spokesmodel("demo", "--out", str(tmp_path / "out"), "--json")
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "out"
    assert {path.name for path in folder.iterdir()} == {
        "demo.mp4", "demo.srt", "demo.vtt", "demo.jpg", "demo.txt", "demo-wig.jpg", "index.html",
    }  # fmt: skip
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert 'src="demo.mp4"' in page
    assert 'src="demo-wig.jpg"' in page
    assert "data:text/vtt;base64," in page
    assert "$" not in re.sub(r"\$\d+", "", page)  # every placeholder was filled; prices stay


def test_running_server_of_the_state_folder_is_used(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    server = subprocess.Popen(
        [sys.executable, "-m", "spokesmodel", "serve", "--port", "0", "--state-dir", state, "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        lines = ""
        while not lines.rstrip().endswith("}"):
            lines += server.stdout.readline()
        out = tmp_path / "out.mp4"
        run = spokesmodel(
            "video", "--portrait", "vera", "--text", "Hi.", *QUICK, "--state-dir", state, "--out", str(out)
        )
        assert run.returncode == 0, run.stderr
        assert out.stat().st_size > 0
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
