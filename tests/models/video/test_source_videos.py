from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from models.video.source import VideoSource, open_source
from services.domain.errors import ContentRejected
from tests.models.video.conftest import AWKWARD_NAMES, tone

Make = Callable[..., Path]


def video(path: Path, **options: float) -> VideoSource:
    source = open_source(path, **options)  # type: ignore[arg-type]
    assert isinstance(source, VideoSource)
    return source


def number(rgb: NDArray[np.uint8]) -> int:
    """Which of ``make_video``'s frames this is, read from its grey."""
    return round((float(rgb.mean()) - 16) / 5)


def test_frames_come_in_order_with_their_times(make_video: Make) -> None:
    source = video(make_video(num_frames=24, fps=24))
    assert [number(rgb) for rgb, _ in source.frames()] == list(range(24))
    assert np.allclose([time for _, time in source.frames()], np.arange(24) / 24, atol=1e-3)
    assert source.duration_s == pytest.approx(1.0, abs=1e-3)
    assert source.size == (64, 48)


@pytest.mark.parametrize("fps", [Fraction(24000, 1001), 24, Fraction(30000, 1001), 30, 50, Fraction(60000, 1001)])
@pytest.mark.parametrize("out_fps", [25, 30, 50, 60])
def test_resampled_frames_are_within_one_frame_of_their_time(make_video: Make, fps: Fraction, out_fps: int) -> None:
    source = video(make_video(num_frames=40, fps=fps))
    num_frames = int(source.duration_s * out_fps)
    for index, frame in enumerate(source.frames_at(out_fps, num_frames)):
        assert number(frame.rgb) == frame.index == int(Fraction(2 * index + 1, 2 * out_fps) * fps)


def test_same_rate_shows_every_frame_once(make_video: Make) -> None:
    source = video(make_video(num_frames=30, fps=25))
    assert [number(frame.rgb) for frame in source.frames_at(25, 30)] == list(range(30))


def test_no_drift_after_ten_minutes() -> None:
    """29.97 fps over ten minutes, without a file: the schedule alone decides."""
    times = np.arange(18_000) * 1001 / 30_000
    source = VideoSource(
        path=Path("-"),
        name="-",
        size=(2, 2),
        fps=29.97,
        duration_s=18_000 * 1001 / 30_000,
        times_s=times,
        rotation=0,
        _pts=(),
        _stream_index=0,
    )
    schedule = source.schedule(25, 15_000)
    drift_s = np.array(schedule) * 1001 / 30_000 - (np.arange(15_000) + 0.5) / 25
    assert drift_s.max() <= 1e-5
    assert drift_s.min() > -1001 / 30_000 - 1e-5


def test_variable_frame_rate_keeps_its_time_stamps(make_video: Make) -> None:
    times = [Fraction(n, 100) for n in (0, 4, 8, 50, 54, 120, 124, 128, 132, 190)]
    source = video(make_video(num_frames=10, times=times))
    assert np.allclose(source.times_s, [float(time) for time in times], atol=1e-3)
    shown = [number(frame.rgb) for frame in source.frames_at(25, 47)]
    expected = [max(i for i, time in enumerate(times) if time <= Fraction(2 * n + 1, 50)) for n in range(47)]
    assert shown == expected


def test_short_clip_plays_forth_and_back(make_video: Make) -> None:
    """Twelve frames with key frames every five: turning round needs frames from before the last key frame."""
    source = video(make_video(num_frames=12, fps=25, gop=5))
    forth = list(range(12))
    expected = (forth + forth[::-1]) * 3
    assert [number(frame.rgb) for frame in source.frames_at(25, 70)] == expected[:70]


def test_playing_back_holds_few_frames(make_video: Make) -> None:
    """A long group of pictures must not be decoded into memory whole: 300 frames of 320x240 are 69 MB as RGB."""
    source = video(make_video(num_frames=300, fps=30, size=(320, 240), gop=300))
    tracemalloc.start()
    for _ in source.frames_at(30, 600):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation_in_the_file_is_applied(make_video: Make, degrees: int) -> None:
    """The stored frame is white above black; which side is white afterwards follows from the angle by hand."""

    def half(_: int) -> NDArray[np.uint8]:
        frame = np.zeros((48, 64, 3), np.uint8)
        frame[:24] = 255
        return frame

    source = video(make_video(num_frames=3, frame=half, rotation=degrees))
    rgb, _ = next(source.frames())
    white = {"top": rgb[:4].mean(), "bottom": rgb[-4:].mean(), "left": rgb[:, :4].mean(), "right": rgb[:, -4:].mean()}
    # Turned counter-clockwise the top goes left; ffmpeg's display matrix counts that way.
    expected = {90: "left", 180: "bottom", 270: "right"}[degrees]
    assert max(white, key=lambda side: white[side]) == expected
    assert source.size == ((48, 64) if degrees != 180 else (64, 48))
    assert any("Turned" in note for note in source.notes)


def test_colours_are_those_of_the_source(make_video: Make) -> None:
    """A small untagged clip is BT.601, as every player takes it."""

    def orange(_: int) -> NDArray[np.uint8]:
        return np.full((48, 64, 3), (230, 120, 30), np.uint8)

    rgb, _ = next(video(make_video(num_frames=2, frame=orange)).frames())
    assert np.abs(rgb.astype(int) - (230, 120, 30)).max() <= 5


def test_ten_bit_and_other_containers_are_read(make_video: Make) -> None:
    for name, codec, pix_fmt, kind in (
        ("a", "libx265", "yuv420p10le", "mp4"),
        ("b", "libvpx-vp9", "yuv420p", "webm"),
        ("c", "libx264", "yuv420p", "mpegts"),
        ("d", "mjpeg", "yuvj420p", "matroska"),
    ):
        path = make_video(name=name, codec=codec, pix_fmt=pix_fmt, container_format=kind, num_frames=10, fps=25)
        assert [number(rgb) for rgb, _ in video(path).frames()] == list(range(10)), kind


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_file_name_works(make_video: Make, name: str) -> None:
    path = make_video(num_frames=4)
    assert video(path.rename(path.with_name(f"{name}.txt"))).num_frames == 4


def test_too_long_is_refused_with_both_numbers(make_video: Make) -> None:
    with pytest.raises(ContentRejected) as caught:
        open_source(make_video(num_frames=60, fps=30), max_duration_s=1.5)
    assert caught.value.code == "video_too_long"
    assert "2.0 s" in caught.value.detail
    assert "1.5 s" in caught.value.detail


def test_too_many_pixels_are_refused(make_video: Make) -> None:
    with pytest.raises(ContentRejected) as caught:
        open_source(make_video(), max_pixels=1000)
    assert caught.value.code == "picture_too_large"


def test_sound_without_pictures_is_refused(make_wav: Make) -> None:
    with pytest.raises(ContentRejected) as caught:
        open_source(make_wav(tone(0.2)))
    assert caught.value.code == "unsupported_media"


@pytest.mark.parametrize("options", [{}, {"movflags": "+faststart"}])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.8])
def test_cut_off_video_is_refused(make_video: Make, options: dict[str, str], share: float) -> None:
    noise = np.random.default_rng(1)

    def frame(_: int) -> NDArray[np.uint8]:
        return noise.integers(0, 255, (48, 64, 3), dtype=np.uint8)

    path = make_video(num_frames=60, frame=frame, container_options=options)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ContentRejected) as caught:
        list(video(path).frames())
    assert caught.value.code == "unreadable_media"
    assert "clip.mp4" in caught.value.detail


def test_real_clips_of_every_kind(shared_data: Path) -> None:
    folder = shared_data / "videos"
    turned = video(folder / "rot90_derived.mp4")
    assert turned.size == (720, 1280)
    variable = video(folder / "vfr_derived.mp4")
    assert np.diff(variable.times_s).max() > 1.5 * np.diff(variable.times_s).min()
    for name in ("vfr_derived.mp4", "man_mouthopen_30fps.mp4"):
        source = video(folder / name)
        assert sum(1 for _ in source.frames()) == source.num_frames


def planes_video(
    path: Path, yuv: tuple[int, int, int], size: tuple[int, int], *, tags: tuple[int, int] | None = None
) -> Path:
    """Three frames of one colour, its samples as given; ``tags`` are AVColorSpace and AVColorRange."""
    width, height = size
    frame = np.empty((height * 3 // 2, width), np.uint8)
    frame[:height], frame[height : height * 5 // 4], frame[height * 5 // 4 :] = yuv
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "1"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if tags is not None:
            stream.codec_context.colorspace, stream.codec_context.color_range = tags
        for _ in range(3):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="yuv420p")))
        container.mux(stream.encode(None))
    return path


# Red by the tables of BT.601 and BT.709; what a file does not say, players assume by its size.
@pytest.mark.parametrize(
    ("yuv", "size", "tags"),
    [
        ((81, 90, 240), (64, 48), None),
        ((63, 102, 240), (1280, 720), None),
        ((63, 102, 240), (64, 48), (1, 1)),
        ((81, 90, 240), (1280, 720), (6, 1)),
        ((76, 85, 255), (64, 48), (6, 2)),
    ],
)
def test_red_is_red_in_every_colour_system(
    tmp_path: Path, yuv: tuple[int, int, int], size: tuple[int, int], tags: tuple[int, int] | None
) -> None:
    rgb, _ = next(video(planes_video(tmp_path / "red.mp4", yuv, size, tags=tags)).frames())
    assert np.abs(rgb[10, 10].astype(int) - (255, 0, 0)).max() <= 3


def test_high_dynamic_range_is_brought_down(tmp_path: Path) -> None:
    """HLG, as phones record: by BT.2408 a white page lies at 75 % of the signal and an 18 % grey card at 38 %."""
    levels = (0.0, 0.38, 0.75)
    frame = np.full((96, 192), 512, np.uint16)
    for number, level in enumerate(levels):
        frame[:64, 64 * number : 64 * number + 64] = round(64 + 876 * level)
    hlg = "log-level=none:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc:range=limited"
    path = tmp_path / "phone.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx265", rate=25, options={"x265-params": hlg, "crf": "4"})
        stream.width, stream.height, stream.pix_fmt = 192, 64, "yuv420p10le"
        context = stream.codec_context
        context.color_trc, context.color_primaries, context.colorspace, context.color_range = 18, 9, 9, 1
        for _ in range(3):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="yuv420p10le")))
        container.mux(stream.encode(None))
    source = video(path)
    rgb, _ = next(source.frames())
    black, grey, white = (rgb[32, 64 * number + 32].astype(int) for number in range(3))
    assert black.max() <= 3
    assert np.abs(grey - 118).max() <= 12  # 18 % of white in sRGB
    assert white.min() >= 245
    assert any("dynamic range" in note for note in source.notes)
