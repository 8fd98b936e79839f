"""What users really send, from the file to the film; ``docs/cases.md`` lists which test shows what."""

from __future__ import annotations

import os
import subprocess
import sys
import wave
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models import weights
from models.talking_head.film import FilmInputs, FilmResult, make_video
from services.domain.brief import Script, WriterKind
from services.domain.errors import ContentRejected
from services.domain.storyboard import BackgroundShot, PresenterShot, SpeechShot, Storyboard
from services.domain.video import Aspect, BackgroundKind, Disclosure, FrameSettings, SubtitleMode, VoiceSettings

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")

Pixels = NDArray[np.uint8]
Samples = NDArray[np.float64]

SOURCE = FrameSettings(aspect=Aspect.SOURCE)
SMALL = FrameSettings(aspect=Aspect.SQUARE, height_px=160)
BLUE = BackgroundShot(kind=BackgroundKind.COLOR, color="#1040c0")
SPOKEN = SpeechShot(
    script=Script(text="Hello.", language="en-US", writer=WriterKind.CLIENT, estimated_duration_s=1),
    voice=VoiceSettings(voice_id="en-us"),
)
BOARD = Storyboard(
    job_id="job_test",
    presenter=PresenterShot(key="unused"),
    speech=SPOKEN,
    frame=SOURCE,
    background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
    subtitles=SubtitleMode.FILE,
    disclosure=Disclosure(visible_label=False),  # these tests look at the pixels of a corner, too
)


@pytest.fixture(scope="module")
def vera() -> Image.Image:
    """A built-in presenter, 300 by 400."""
    return Image.open(weights.path("avatar-vera")).convert("RGB").resize((300, 400), Image.Resampling.LANCZOS)


@pytest.fixture(scope="module")
def voice() -> Samples:
    """A spoken sentence at 16 kHz, cut to exactly 2 s."""
    from models.speech import synthesizer

    speech = synthesizer("en-us").synthesize("Buy more apples, please.", VoiceSettings(voice_id="en-us"))
    times = np.arange(32_000) / 16_000
    return np.interp(times, np.arange(len(speech.samples)) / speech.sample_rate_hz, speech.samples, right=0.0)


@pytest.fixture
def sound(tmp_path: Path, voice: Samples) -> Path:
    """The first 0.8 s of it."""
    return write_sound(tmp_path / "sound.wav", voice[:12_800])


@pytest.fixture
def film(tmp_path: Path) -> Callable[..., FilmResult]:
    """The film of a presenter's file, and of a recording if there is one."""

    def make(source: Path | Image.Image, audio: Path | None = None, /, **changes: object) -> FilmResult:
        if isinstance(source, Image.Image):
            source.save(tmp_path / "presenter.png")
            source = tmp_path / "presenter.png"
        out = tmp_path / f"film {len(list(tmp_path.iterdir()))}"
        out.mkdir()
        inputs = FilmInputs(storyboard=replace(BOARD, **changes), presenter=source, audio=audio)
        return make_video(inputs, out_dir=out)

    return make


def write_sound(path: Path, samples: Samples, rate_hz: int = 16_000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return path


def write_still_clip(path: Path, picture: Pixels, num_frames: int = 25) -> Path:
    """A video in which nothing moves: whatever moves in its film was put there."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "8"})
        stream.height, stream.width = picture.shape[:2]
        stream.pix_fmt = "yuv420p"
        for _ in range(num_frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def frames_of(path: Path) -> Iterator[Pixels]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


def first_frame(result: FilmResult) -> Pixels:
    return next(frames_of(result.files["video"]))


def difference(a: Pixels, b: Pixels) -> float:
    return float(np.abs(a.astype(int) - b).mean())


def test_portrait_turned_by_exif_speaks_upright(film, vera: Image.Image, sound: Path, tmp_path: Path) -> None:
    """Orientation 6: the camera lay on its side; the picture must be turned clockwise to be seen."""
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = tmp_path / "phone.jpg"
    vera.transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif, quality=95)
    result = film(turned, sound)
    assert (result.facts["width_px"], result.facts["height_px"]) == (300, 400)
    assert difference(first_frame(result), np.asarray(vera)) < 6


@pytest.mark.parametrize("kind", ["RGBA", "P with transparency", "LA"])
@pytest.mark.parametrize("background", [BLUE, BOARD.background], ids=["colour", "original"])
def test_transparent_portrait_is_laid_on_the_chosen_background(
    film, vera: Image.Image, sound: Path, tmp_path: Path, kind: str, background: BackgroundShot
) -> None:
    """What is transparent shows the colour, or white when nothing else was chosen, and never the hidden pixels."""
    alpha = np.full((400, 300), 255, np.uint8)
    alpha[:60] = 0
    hidden = np.asarray(vera).copy()
    hidden[:60] = (255, 0, 255)
    path = tmp_path / "cut-out.png"
    picture = Image.fromarray(np.dstack([hidden, alpha]))
    if kind == "P with transparency":
        paletted = picture.convert("RGB").quantize(200)
        paletted.save(path, transparency=paletted.getpixel((5, 5)))
    else:
        picture.convert(kind).save(path)
    frame = first_frame(film(path, sound, background=background)).astype(int)
    expected = (0x10, 0x40, 0xC0) if background is BLUE else (255, 255, 255)
    assert np.abs(frame[8:50, 8:290] - expected).max() < 16
    grey = np.asarray(vera.convert("L")) if kind == "LA" else np.asarray(vera).mean(axis=2)
    for opaque in (np.s_[200:300, 120:180], np.s_[80:180, 5:60]):  # the face, and the wall that the client left in
        assert np.abs(frame[opaque].mean(axis=2) - grey[opaque]).mean() < 8


@pytest.mark.parametrize("kind", ["16 bits", "L", "P", "CMYK"])
def test_portrait_of_any_depth_speaks(film, vera: Image.Image, sound: Path, tmp_path: Path, kind: str) -> None:
    path, paletted = tmp_path / "portrait", vera.quantize(256)
    if kind == "16 bits":
        Image.fromarray(np.asarray(vera.convert("L")).astype(np.uint16) * 257).save(path, format="PNG")
    else:
        (paletted if kind == "P" else vera.convert(kind)).save(path, format="JPEG" if kind == "CMYK" else "PNG")
    result = film(path, sound)
    expected = np.asarray({"P": paletted, "CMYK": vera}.get(kind, vera.convert("L")).convert("RGB"))
    assert difference(first_frame(result), expected) < 9
    assert moves(result)


def moves(result: FilmResult) -> bool:
    frames = np.stack(list(frames_of(result.files["video"]))).astype(int)
    return bool((frames.max(axis=0) - frames.min(axis=0)).max() > 40)


def test_odd_size_is_evened_and_told(film, sound: Path) -> None:
    picture = Image.open(weights.path("avatar-vera")).convert("RGB").resize((1080, 723))
    result = film(picture, sound)
    assert first_frame(result).shape == (722, 1080, 3)
    assert (result.facts["width_px"], result.facts["height_px"]) == (1080, 722)
    assert any("1080x723 was cut to 1080x722" in warning for warning in result.facts["warnings"])


_LARGE = """
import sys
from pathlib import Path
from benchmarks.measure import peak_memory_mb
from tests.e2e.test_cases import BOARD, FilmInputs, make_video, replace
from services.domain.video import Aspect, FrameSettings
board = replace(BOARD, frame=FrameSettings(aspect=Aspect.PORTRAIT))
folder = Path(sys.argv[1])
facts = make_video(
    FilmInputs(storyboard=board, presenter=folder / "large.png", audio=folder / "sound.wav"), out_dir=folder
).facts
print(any("Worked at" in warning for warning in facts["warnings"]))
print(facts["width_px"], facts["height_px"], round(peak_memory_mb()))
"""


def test_portrait_of_25_megapixels_has_a_bounded_working_size_and_the_usual_film(sound: Path, tmp_path: Path) -> None:
    large = cv2.resize(cv2.imread(str(weights.path("avatar-vera"))), (4096, 6144), interpolation=cv2.INTER_LINEAR)
    cv2.imwrite(str(tmp_path / "large.png"), large, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    run = subprocess.run(
        [sys.executable, "-c", _LARGE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ".", "OMP_NUM_THREADS": "1"},
    )
    told, *numbers = run.stdout.split()[-4:]
    width, height, peak_mb = map(int, numbers)
    assert told == "True"
    assert (width, height) == (1080, 1920)
    assert peak_mb < 600


@pytest.mark.parametrize("face", [None, 0, 1])
def test_chosen_face_speaks_and_the_other_keeps_still(film, vera: Image.Image, sound: Path, face: int | None) -> None:
    """The left face is smaller, so the right one is the largest."""
    both = Image.new("RGB", (600, 400), (190, 190, 185))
    both.paste(vera.resize((225, 300)), (30, 100))
    both.paste(vera, (300, 0))
    result = film(both, sound, presenter=PresenterShot(key="unused", face=face))
    speaking = 1 if face is None else face
    assert (result.facts["num_faces"], result.facts["face"]) == (2, speaking)
    assert any(f"number {speaking} from the left" in warning for warning in result.facts["warnings"])
    frames = np.stack(list(frames_of(result.files["video"]))).astype(int)
    change = (frames.max(axis=0) - frames.min(axis=0)).max(axis=2)
    halves = change[:, :260].max(), change[:, 340:].max()
    assert halves[speaking] > 40
    assert halves[1 - speaking] < 25


def test_chosen_face_of_a_video_is_told(film, vera: Image.Image, sound: Path, tmp_path: Path) -> None:
    both = np.hstack([np.asarray(vera), np.asarray(vera)])
    result = film(write_still_clip(tmp_path / "two.mp4", both), sound, presenter=PresenterShot(key="unused", face=1))
    assert (result.facts["num_faces"], result.facts["face"]) == (2, 1)
    assert any("number 1 from the left" in warning for warning in result.facts["warnings"])
    frames = np.stack(list(frames_of(result.files["video"]))).astype(int)
    change = (frames.max(axis=0) - frames.min(axis=0)).max(axis=2)
    assert change[:, 320:].max() > 40
    assert change[:, :280].max() < 25


def test_face_that_is_not_there_is_refused_with_the_number_found(film, vera: Image.Image) -> None:
    with pytest.raises(ContentRejected) as caught:
        film(vera, presenter=PresenterShot(key="unused", face=3))
    assert caught.value.code == "face_index"
    assert "1 found" in caught.value.detail


def wide_shot(person: Image.Image, height: int) -> Image.Image:
    wide = Image.new("RGB", (1600, 900), (180, 180, 176))
    wide.paste(person.resize((height * 3 // 4, height), Image.Resampling.LANCZOS), (900, 880 - height))
    return wide


def test_small_face_in_a_wide_shot_is_found_and_speaks(film, vera: Image.Image, sound: Path) -> None:
    result = film(wide_shot(vera, 260), sound)
    frames = np.stack(list(frames_of(result.files["video"]))).astype(int)
    change = (frames.max(axis=0) - frames.min(axis=0)).max(axis=2)
    assert change[620:880, 900:1095].max() > 40
    assert change[:, :800].max() < 12
    assert any("face is small" in warning for warning in result.facts["warnings"])


def test_face_too_small_is_refused_with_both_sizes(film, vera: Image.Image) -> None:
    with pytest.raises(ContentRejected) as caught:
        film(wide_shot(vera, 90))
    assert caught.value.code == "face_too_small"
    assert "40" in caught.value.detail


def test_without_a_face_nothing_is_spoken(film, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither for a picture nor for a video: it is refused before any work."""
    spoken: list[object] = []
    monkeypatch.setattr("models.talking_head.film.speak", spoken.append)
    clip = write_still_clip(tmp_path / "clouds.mp4", np.full((240, 320, 3), (90, 140, 220), np.uint8))
    for source in (Image.linear_gradient("L").resize((400, 300)), clip):
        with pytest.raises(ContentRejected) as caught:
            film(source)
        assert caught.value.code == "face_not_found"
    assert spoken == []


@pytest.mark.parametrize(
    "name",
    ["anime_man.jpeg", "painting_moustache.png", "statue.jpg", "cartoon_man_teeth.png", "fullbody_smallface.jpg"],
)
def test_drawn_painted_and_carved_faces_speak(film, shared_data: Path, sound: Path, name: str) -> None:
    assert moves(film(shared_data / "portraits" / name, sound, frame=SMALL))


def test_mouth_is_still_in_silence_before_and_after_speech(
    film, vera: Image.Image, tmp_path: Path, voice: Samples
) -> None:
    """In a video whose head stands still, all motion is the mouth's."""
    nothing = np.zeros(16_000)
    sound = write_sound(tmp_path / "sound.wav", np.concatenate([nothing, voice[1600:17_600], nothing]))
    result = film(write_still_clip(tmp_path / "still.mp4", np.asarray(vera)), sound)
    frames = np.stack(list(frames_of(result.files["video"]))).astype(int)
    change = np.abs(np.diff(frames, axis=0)).max(axis=(1, 2, 3))
    assert len(frames) == 75
    assert change[:20].max() <= 12  # what the encoder adds
    assert change[-18:].max() <= 12
    assert change[28:48].max() > 60


def test_nothing_of_a_seam_at_thirty_seconds(film, vera: Image.Image, tmp_path: Path, voice: Samples) -> None:
    """Sound that repeats every 2 s: the mouth of second 28 to 32 is that of second 10 to 14."""
    sound = write_sound(tmp_path / "long.wav", np.tile(voice, 18))
    result = film(vera, sound, frame=SMALL, subtitles=SubtitleMode.NONE)
    assert result.facts["num_frames"] == 36 * 25
    mouths = np.array([frame.mean() for frame in mouth_regions(result)])
    steps = np.abs(np.diff(mouths))
    assert steps[28 * 25 : 32 * 25].max() <= 1.5 * steps[10 * 25 : 14 * 25].max()
    assert steps[29 * 25 : 31 * 25].max() > 0.3 * steps[10 * 25 : 14 * 25].max()


def mouth_regions(result: FilmResult) -> Iterator[Pixels]:
    """The lower middle of the head in a small square film, where the mouth is."""
    for frame in frames_of(result.files["video"]):
        yield frame[85:120, 60:100]


def test_emoji_and_markdown_are_not_spoken_and_the_subtitles_keep_the_emoji(film, vera: Image.Image) -> None:
    assert SPOKEN.script is not None

    def said(text: str) -> FilmResult:
        script = replace(SPOKEN.script, text=text)
        return film(vera, speech=replace(SPOKEN, script=script), frame=SMALL)

    decorated, plain = said("Meet **Numa**! 🎉\nOrder now 👟"), said("Meet Numa!\nOrder now")
    subtitles = decorated.files["subtitles_srt"].read_text(encoding="utf-8")
    assert "Meet Numa! 🎉" in subtitles
    assert "👟" in subtitles
    assert decorated.facts["duration_s"] == pytest.approx(plain.facts["duration_s"], abs=0.3)


RECORDED_TEXTS = {
    "ar": "نقدم لكم أفضل العروض على الأحذية",
    "he": "הכירו את אורורה: נעל ריצה חדשה",
    "th": "วันนี้เรามีรองเท้าวิ่งรุ่นใหม่มาแนะนำ",
    "zh-CN": "我们的智能手表可以全天候监测心率、睡眠",
    "ja": "新しいランニングシューズが発売されました。",
    "ko": "새로운 러닝화를 만나보세요",
}


@pytest.mark.parametrize("language", RECORDED_TEXTS)
def test_transcript_in_any_writing_is_burnt_in_whole_inside_the_safe_area(
    film, vera: Image.Image, tmp_path: Path, voice: Samples, language: str
) -> None:
    sound = write_sound(tmp_path / "voice.wav", voice)
    speech = SpeechShot(audio_key="unused", language=language, transcript=RECORDED_TEXTS[language])
    frame = FrameSettings(aspect=Aspect.PORTRAIT, height_px=640)
    burnt, bare = (
        film(vera, sound, speech=speech, frame=frame, subtitles=mode) for mode in (SubtitleMode.BURN, SubtitleMode.FILE)
    )
    lines = burnt.files["subtitles_srt"].read_text(encoding="utf-8").splitlines()
    written = "".join(line for line in lines if not line.isdecimal() and "-->" not in line)
    assert written.replace(" ", "") == RECORDED_TEXTS[language].replace(" ", "")
    marks = np.zeros((640, 360), bool)
    for with_text, without in zip(frames_of(burnt.files["video"]), frames_of(bare.files["video"]), strict=True):
        marks |= np.abs(with_text.astype(int) - without).max(axis=2) > 100
    rows, columns = np.nonzero(marks)
    assert len(rows) > 150
    assert columns.min() > 360 * 0.04
    assert columns.max() < 360 * 0.96
    assert rows.max() < 640 * 0.97
    assert rows.min() > 640 * 0.4


def test_files_of_any_name_become_a_film_of_any_name(vera: Image.Image, tmp_path: Path, voice: Samples) -> None:
    """No shell and no ffmpeg address is made of a name."""
    folder = tmp_path / "产品 'a' \"b\" $(touch x); 50%d"
    folder.mkdir()
    presenter, sound = folder / "张伟 `id`.png", folder / "-i 录音 & co.wav"
    vera.save(presenter)
    write_sound(sound, voice[:4800])
    (folder / "out|put").mkdir()
    result = make_video(
        FilmInputs(storyboard=replace(BOARD, frame=SMALL), presenter=presenter, audio=sound), out_dir=folder / "out|put"
    )
    assert sum(1 for _ in frames_of(result.files["video"])) == 8
    assert not Path("x").exists()


@pytest.mark.parametrize("name", ["de_48k_24bit.wav", "en_lj.m4a", "en_libri.mp3"])
def test_recording_of_any_format_keeps_its_length_in_the_film(
    film, vera: Image.Image, shared_data: Path, name: str
) -> None:
    path = shared_data / "speech" / name
    with av.open(str(path)) as container:
        decoded = sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))
    result = film(vera, path, frame=SMALL)
    assert result.facts["duration_s"] == pytest.approx(decoded, abs=0.04 + 0.02)  # a frame, and 20 ms


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "empty_file"), (b"RIFF\x24\0\0\0WAVEfmt ", "unreadable_media"), (b"plain words", "unsupported_media")],
)
def test_bad_recording_is_refused_saying_which_file_and_why(
    film, vera: Image.Image, tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "recording"
    path.write_bytes(content)
    with pytest.raises(ContentRejected) as caught:
        film(vera, path)
    assert caught.value.code == code
    assert "the recording" in caught.value.detail


@pytest.mark.parametrize("duration_s", [0.06, 0.2])
def test_recording_of_an_instant_becomes_a_film(
    film, vera: Image.Image, tmp_path: Path, voice: Samples, duration_s: float
) -> None:
    sound = write_sound(tmp_path / "short.wav", voice[4800 : 4800 + round(duration_s * 16_000)])
    assert film(vera, sound, frame=SMALL).facts["num_frames"] == int(np.ceil(duration_s * 25))
