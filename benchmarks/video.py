"""The talking video as a whole: render speed, text to mp4, memory over length.

Children are started so that each memory figure is a process's own peak.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, cpu_seconds, peak_memory_mb
from models import weights
from models.talking_head.film import FilmInputs, make_video
from models.talking_head.scene import FilmSettings, open_scene
from services.domain.brief import Script, WriterKind
from services.domain.storyboard import BackgroundShot, PresenterShot, SpeechShot, Storyboard
from services.domain.timeline import SpeechTimeline, TimelineSource
from services.domain.video import Aspect, BackgroundKind, FrameSettings, SubtitleMode, VoiceSettings

SENTENCE = "Meet the new spring collection, made for bold people and busy days, from Monday to Friday. "
ORIGINAL = BackgroundShot(kind=BackgroundKind.ORIGINAL)
FRAME = FrameSettings(aspect=Aspect.SQUARE, height_px=512)


def storyboard(text: str) -> Storyboard:
    """A 512x512 film at 25 fps of ``text``, with subtitle files."""
    script = Script(text=text, language="en-US", writer=WriterKind.CLIENT, estimated_duration_s=0)
    return Storyboard(
        job_id="job_bench",
        presenter=PresenterShot(key="unused"),
        speech=SpeechShot(script=script, voice=VoiceSettings(voice_id="en-us")),
        frame=FRAME,
        background=ORIGINAL,
        subtitles=SubtitleMode.FILE,
    )


def rows() -> list[Row]:
    """Render and encode, text to mp4, memory."""
    import cv2

    cv2.setNumThreads(1)  # as the engine does
    return [_render_row("head crop", "avatar-vera"), _text_to_mp4_row(), *_memory_rows()]


def _render_row(what: str, avatar: str) -> Row:
    import numpy as np

    from models.talking_head.head_motion import plan_head
    from models.talking_head.mouth_curve import plan_mouth
    from models.video.writer import VideoWriter

    num_frames = 500
    settings = FilmSettings(
        face=None,
        frame=FRAME,
        background=ORIGINAL,
        background_file=None,
        max_picture_pixels=64_000_000,
        max_source_video_s=120,
    )
    from models.speech import synthesizer

    speech = synthesizer("en-us").synthesize(SENTENCE * 4, VoiceSettings(voice_id="en-us"))
    sound = np.resize(speech.samples, 20 * speech.sample_rate_hz)
    timeline = (
        speech.timeline
        if speech.duration_s <= 20
        else SpeechTimeline(
            duration_s=20,
            source=TimelineSource.SYNTHESIS,
            phonemes=tuple(one for one in speech.timeline.phonemes if one.end_s <= 20),
        )
    )
    mouth = plan_mouth(timeline, sound, speech.sample_rate_hz, num_frames=num_frames, fps=25)
    head = plan_head(timeline, num_frames=num_frames, fps=25, seed=0)
    scene = open_scene(weights.path(avatar), settings, num_frames=num_frames, check_canceled=lambda: None)
    width, height = scene.size

    def render_and_encode() -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            VideoWriter(
                Path(folder, "a.mp4"),
                width=width,
                height=height,
                fps=25,
                samples=sound,
                sample_rate_hz=speech.sample_rate_hz,
            ) as writer,
        ):
            for frame in scene.frames(mouth, head):
                writer.write(frame)

    def render_only() -> None:
        for _ in scene.frames(mouth, head):
            pass

    whole, least, most = cpu_seconds(render_and_encode)
    render, _, _ = cpu_seconds(render_only, repetitions=3)
    speed = num_frames / whole
    return Row(
        what=f"render + encode, 512x512, 25 fps, {what}",
        value=f"{speed:.0f} frames per CPU-second",
        target=">= 110",
        reached=speed >= 110,
        note=f"median of 5 ({num_frames / most:.0f} to {num_frames / least:.0f}); rendering {num_frames / render:.0f}",
    )


def _text_to_mp4_row() -> Row:
    board = storyboard(SENTENCE + SENTENCE[: SENTENCE.index(",")] + ".")

    def text_to_mp4() -> float:
        with tempfile.TemporaryDirectory() as folder:
            inputs = FilmInputs(storyboard=board, presenter=weights.path("avatar-vera"))
            return float(make_video(inputs, out_dir=Path(folder)).facts["duration_s"])

    duration_s = text_to_mp4()
    taken, least, most = cpu_seconds(text_to_mp4)
    per_ten = taken * 10 / duration_s
    return Row(
        what="text to mp4, every stage, warm, scaled to a 10 s clip",
        value=f"{per_ten:.2f} CPU-s",
        target="<= 4",
        reached=per_ten <= 4,
        note=f"clip of {duration_s:.1f} s; median of 5 ({least:.2f} to {most:.2f} CPU-s); speech process included",
    )


def _memory_rows() -> list[Row]:
    one, ten = _child_peak_mb(1), _child_peak_mb(10)
    return [
        Row(
            what="peak memory, 10-minute clip",
            value=f"{ten:.0f} MB",
            target="< 600 MB",
            reached=ten < 600,
            note=f"the engine's process; 1-minute clip {one:.0f} MB",
        ),
        Row(
            what="peak memory, 10-minute against 1-minute clip",
            value=f"{100 * (ten / one - 1):+.1f} %",
            target="within 10 %",
            reached=ten <= 1.1 * one,
        ),
    ]


def _child_peak_mb(minutes: int) -> float:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.video", str(minutes)], capture_output=True, text=True, check=True
    )
    return float(json.loads(run.stdout.splitlines()[-1])["peak_mb"])


def _make_long(minutes: int) -> None:
    import cv2

    cv2.setNumThreads(1)
    sentences = round(minutes * 60 / 5.6)
    with tempfile.TemporaryDirectory() as folder:
        inputs = FilmInputs(storyboard=storyboard(SENTENCE * sentences), presenter=weights.path("avatar-vera"))
        facts = make_video(inputs, out_dir=Path(folder)).facts
    print(json.dumps({"peak_mb": peak_memory_mb(), "duration_s": facts["duration_s"]}))


if __name__ == "__main__":
    _make_long(int(sys.argv[1]))
