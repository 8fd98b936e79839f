"""From a storyboard to files, with the real voice, face and encoder."""

from __future__ import annotations

import wave
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models import weights
from models.talking_head.film import FilmInputs, FilmResult, make_video
from models.talking_head.head_motion import plan_head
from models.talking_head.mouth_curve import plan_mouth
from models.talking_head.scene import FilmSettings, PictureScene, open_scene
from models.video.yuv import planes
from services.domain.brief import Script, WriterKind
from services.domain.errors import Canceled, ContentRejected
from services.domain.storyboard import BackgroundShot, PresenterShot, SpeechShot, Storyboard
from services.domain.timeline import SpeechTimeline, TimelineSource
from services.domain.video import Aspect, BackgroundKind, Disclosure, FrameSettings, SubtitleMode, VoiceSettings

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")

TEXT = "Bold people make a perfect pair. Meet Numa, from $19.99."
UNLABELLED = Disclosure(visible_label=False)  # for tests that look at a corner


@pytest.fixture(scope="module")
def portrait() -> Path:
    return weights.path("avatar-vera")


def storyboard(**changes: object) -> Storyboard:
    script = Script(text=TEXT, language="en-US", writer=WriterKind.CLIENT, estimated_duration_s=4)
    board = Storyboard(
        job_id="job_test",
        presenter=PresenterShot(key="unused"),
        speech=SpeechShot(script=script, voice=VoiceSettings(voice_id="en-us")),
        frame=FrameSettings(aspect=Aspect.SQUARE, height_px=256),
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        subtitles=SubtitleMode.FILE,
    )
    return replace(board, **changes)


def film(tmp_path: Path, presenter: Path, audio: Path | None = None, **changes: object) -> FilmResult:
    tmp_path.mkdir(parents=True, exist_ok=True)
    return make_video(FilmInputs(storyboard=storyboard(**changes), presenter=presenter, audio=audio), out_dir=tmp_path)


def decoded(path: Path) -> list[NDArray[np.uint8]]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def write_sound(path: Path, seconds: float, level: float = 0.0, rate: int = 16_000) -> Path:
    samples = level * np.sin(2 * np.pi * 150 * np.arange(round(seconds * rate)) / rate)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return path


def write_clip(path: Path, frames: list[NDArray[np.uint8]], fps: int = 25) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "8"})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def portrait_pixels(path: Path, height: int = 320) -> NDArray[np.uint8]:
    rgb = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    return cv2.resize(rgb, (height * 3 // 4, height), interpolation=cv2.INTER_AREA)


def test_text_becomes_a_video_with_sound_subtitles_and_poster(tmp_path: Path, portrait: Path) -> None:
    result = film(tmp_path, portrait)

    assert set(result.files) == {"video", "poster", "script", "subtitles_srt", "subtitles_vtt"}
    assert result.files["script"].read_text(encoding="utf-8") == TEXT
    with av.open(str(result.files["video"])) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert (video.codec_context.name, audio.codec_context.name) == ("h264", "aac")
        assert video.frames == result.facts["num_frames"]
        assert float(video.duration * video.time_base) == pytest.approx(result.facts["duration_s"], abs=0.001)
        assert float(audio.duration * audio.time_base) == pytest.approx(result.facts["duration_s"], abs=0.03)
    assert "Numa, from $19.99." in result.files["subtitles_srt"].read_text(encoding="utf-8")
    assert result.files["subtitles_vtt"].read_text(encoding="utf-8").startswith("WEBVTT")
    assert cv2.imread(str(result.files["poster"])).shape == (256, 256, 3)
    assert result.facts["timeline_source"] == "synthesis"
    assert result.usage["characters"] == len(TEXT)


def test_the_mouth_moves_and_the_corner_of_the_picture_does_not(tmp_path: Path, portrait: Path) -> None:
    frames = np.stack(decoded(film(tmp_path, portrait, disclosure=UNLABELLED).files["video"])).astype(np.int16)

    change = np.abs(np.diff(frames, axis=0)).max(axis=(0, 3))
    assert change[:40, :40].max() <= 8  # what the encoder adds
    assert change.max() > 60


def test_same_seed_same_film_other_seed_another(tmp_path: Path, portrait: Path) -> None:
    first, again, other = (
        decoded(film(tmp_path / name, portrait, seed=seed).files["video"])[40]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert (first == again).all()
    assert not (first == other).all()


def test_pixels_outside_the_head_region_are_the_sources_own_before_encoding(portrait: Path) -> None:
    settings = FilmSettings(
        face=None,
        frame=FrameSettings(aspect=Aspect.SOURCE),
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        background_file=None,
        max_picture_pixels=64_000_000,
        max_source_video_s=60,
    )
    scene = open_scene(portrait, settings, num_frames=8, check_canceled=lambda: None)
    assert isinstance(scene, PictureScene)
    timeline = SpeechTimeline(duration_s=0.32, source=TimelineSource.ENVELOPE)
    sound = np.sin(np.arange(16_000 * 8 // 25) * 0.06).astype(np.float32)
    mouth = plan_mouth(timeline, sound, 16_000, num_frames=8, fps=25)
    head = plan_head(timeline, num_frames=8, fps=25, seed=3)

    source = scene.base_frame.copy()
    x0, y0, x1, y1 = scene.region
    moved = False
    for frame in scene.frames(mouth, head):
        for plane, original, scale in zip(planes(frame), planes(source), (1, 2, 2), strict=True):
            inside = np.zeros(plane.shape, bool)
            inside[y0 // scale : y1 // scale, x0 // scale : x1 // scale] = True
            assert (plane[~inside] == original[~inside]).all()
            moved |= bool((plane[inside] != original[inside]).any())
    assert moved
    assert (x1 - x0) * (y1 - y0) < scene.size[0] * scene.size[1]


def test_frames_without_a_face_pass_through_and_sync_is_kept_after_them(tmp_path: Path, portrait: Path) -> None:
    person = portrait_pixels(portrait)
    blank = np.full_like(person, (40, 120, 200))
    clip = write_clip(tmp_path / "clip.mp4", [person] * 25 + [blank] * 25 + [person] * 25)
    sound = write_sound(tmp_path / "sound.wav", 3.0)

    result = film(tmp_path / "out", clip, sound, frame=FrameSettings(aspect=Aspect.SOURCE), subtitles=SubtitleMode.NONE)

    frames = decoded(result.files["video"])
    assert len(frames) == 75
    is_blank = [abs(frame.astype(int) - blank).mean() < 6 for frame in frames]
    assert is_blank == [False] * 25 + [True] * 25 + [False] * 25
    assert any("25 of 75 source frames show no face" in warning for warning in result.facts["warnings"])


def test_speech_longer_than_the_clip_plays_it_forth_and_back(tmp_path: Path, portrait: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", [portrait_pixels(portrait)] * 10)
    result = film(tmp_path / "out", clip, write_sound(tmp_path / "sound.wav", 1.4, 0.3))
    assert len(decoded(result.files["video"])) == 35
    assert result.facts["source_kind"] == "video"


@pytest.mark.parametrize("fps", [25, 30, 50, 60])
def test_every_frame_rate_keeps_the_length_of_the_sound(tmp_path: Path, portrait: Path, fps: int) -> None:
    frame = FrameSettings(aspect=Aspect.TALL, height_px=160, fps=fps)
    result = film(tmp_path, portrait, write_sound(tmp_path / "sound.wav", 1.01, 0.2), frame=frame)
    assert result.facts["num_frames"] == -(-101 * fps // 100)
    assert len(decoded(result.files["video"])) == result.facts["num_frames"]


@pytest.mark.parametrize(
    ("transcript", "says"), [(None, "Send the recording's transcript"), ("Hi.", "no speech was heard")]
)
def test_a_silent_recording_is_told_to_have_no_subtitles(
    tmp_path: Path, portrait: Path, transcript: str | None, says: str
) -> None:
    speech = SpeechShot(audio_key="unused", language="en-US", transcript=transcript)
    quiet = film(tmp_path, portrait, write_sound(tmp_path / "sound.wav", 1.0), speech=speech)
    assert quiet.facts["num_frames"] == 25
    assert any(says in warning for warning in quiet.facts["warnings"])


def test_a_silent_recording_is_told_to_hold_no_speech(tmp_path: Path, portrait: Path) -> None:
    silent = film(tmp_path / "silent", portrait, write_sound(tmp_path / "silent.wav", 0.4))
    spoken = film(tmp_path / "spoken", portrait)
    assert any(warning.startswith("No speech was heard") for warning in silent.facts["warnings"])
    assert not any(warning.startswith("No speech was heard") for warning in spoken.facts["warnings"])


@pytest.mark.parametrize("aspect", [Aspect.PORTRAIT, Aspect.SQUARE, Aspect.TALL, Aspect.LANDSCAPE])
def test_every_aspect_shows_the_whole_face(
    tmp_path: Path, portrait: Path, aspect: Aspect, face_box: Callable[[NDArray[np.uint8]], tuple[int, int, int, int]]
) -> None:
    frame = FrameSettings(aspect=aspect, height_px=256)
    result = film(tmp_path, portrait, write_sound(tmp_path / "sound.wav", 0.2), frame=frame)
    picture = decoded(result.files["video"])[0]
    wide, high = (int(part) for part in aspect.value.split(":"))
    assert picture.shape[1] / picture.shape[0] == pytest.approx(wide / high, rel=0.01)
    left, top, right, bottom = face_box(picture)
    assert left > 0
    assert top > 0
    assert right < picture.shape[1]
    assert bottom < picture.shape[0]


def test_a_colour_stands_behind_the_presenter_and_not_in_the_face(tmp_path: Path, portrait: Path) -> None:
    background = BackgroundShot(kind=BackgroundKind.COLOR, color="#1040c0")
    sound = write_sound(tmp_path / "sound.wav", 0.2)
    result = film(tmp_path, portrait, sound, background=background, disclosure=UNLABELLED)
    picture = decoded(result.files["video"])[0].astype(int)
    assert abs(picture[8, 8] - (0x10, 0x40, 0xC0)).max() < 12
    assert picture[110:150, 110:146, 0].mean() > 100


def test_a_picture_without_a_face_is_refused_by_name(tmp_path: Path) -> None:
    picture = tmp_path / 'Sonnenaufgang "日出".png'
    gradient = np.linspace(0, 255, 240 * 320 * 3).reshape(240, 320, 3).astype(np.uint8)
    picture.write_bytes(cv2.imencode(".png", gradient)[1].tobytes())
    with pytest.raises(ContentRejected) as refusal:
        film(tmp_path / "out", picture)
    assert refusal.value.code == "face_not_found"
    assert not list((tmp_path / "out").iterdir())


def test_cancel_between_frames_leaves_no_video_behind(tmp_path: Path, portrait: Path) -> None:
    def cancel_while_rendering() -> None:
        if list(tmp_path.glob(".*.partial")):
            raise Canceled("stop")

    with pytest.raises(Canceled):
        make_video(
            FilmInputs(storyboard=storyboard(), presenter=portrait),
            out_dir=tmp_path,
            check_canceled=cancel_while_rendering,
        )
    assert not list(tmp_path.glob("*.mp4"))
    assert not list(tmp_path.glob(".*.partial"))


def test_progress_rises_to_one(tmp_path: Path, portrait: Path) -> None:
    told: list[tuple[str, float]] = []
    make_video(
        FilmInputs(storyboard=storyboard(), presenter=portrait),
        out_dir=tmp_path,
        on_progress=lambda stage, fraction: told.append((stage, fraction)),
    )
    fractions = [fraction for _, fraction in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert [stage for stage, _ in told][:4] == ["face", "speech", "face", "render"]
