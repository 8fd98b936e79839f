from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models.video import yuv
from models.video.audio import load_audio
from models.video.playback import decoded_i420
from models.video.poster import write_poster
from models.video.writer import VideoFacts, VideoWriter
from services.domain.errors import EngineFailed
from tests.models.video.conftest import AWKWARD_NAMES, tone

WIDTH, HEIGHT = 96, 64


def grey(value: int) -> NDArray[np.uint8]:
    frame = yuv.new_frame(WIDTH, HEIGHT)
    frame[:HEIGHT] = value
    return frame


def write(
    path: Path, num_frames: int, *, fps: Fraction | int = 25, flash: int | None = None, **options: object
) -> VideoFacts:
    with VideoWriter(path, width=WIDTH, height=HEIGHT, fps=fps, **options) as writer:  # type: ignore[arg-type]
        for index in range(num_frames):
            writer.write(grey(200 if index == flash else 40))
        return writer.close()


@pytest.mark.parametrize("fps", [25, 30, 50, 60, Fraction(30000, 1001)])
@pytest.mark.parametrize("rate_hz", [16_000, 22_050, 48_000])
def test_click_and_flash_stay_together_and_the_length_is_exact(tmp_path: Path, fps: Fraction, rate_hz: int) -> None:
    num_frames, flash = round(2 * fps) + 1, round(fps)
    at_s = float(flash / Fraction(fps))
    samples = np.zeros(round((num_frames / Fraction(fps) + 1) * rate_hz), np.float32)
    samples[round(at_s * rate_hz) : round(at_s * rate_hz) + 2] = (0.9, -0.9)
    path = tmp_path / "film.mp4"
    write(path, num_frames, fps=fps, flash=flash, samples=samples, sample_rate_hz=rate_hz)
    brightest = max(decoded_i420(path), key=lambda item: float(item[0][:HEIGHT].mean()))[1]
    heard = np.abs(load_audio(path).samples).argmax() / 48_000
    assert brightest == pytest.approx(at_s, abs=0.001)
    assert heard == pytest.approx(at_s, abs=0.005)
    with av.open(str(path)) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert video.average_rate == fps
        assert video.frames == num_frames
        exact = num_frames / Fraction(fps)
        assert float(video.duration * video.time_base) == pytest.approx(float(exact), abs=1e-4)
        assert float(audio.duration * audio.time_base) == pytest.approx(float(exact), abs=2e-3)


def test_sound_shorter_than_the_film_is_followed_by_silence(tmp_path: Path) -> None:
    write(tmp_path / "f.mp4", 50, samples=tone(0.5))
    samples = load_audio(tmp_path / "f.mp4").samples
    assert len(samples) == pytest.approx(96_000, abs=480)
    assert np.abs(samples[30_000:]).max() < 0.01


def test_codecs_tags_and_streaming_layout(tmp_path: Path) -> None:
    path = tmp_path / "f.mp4"
    facts = write(path, 30, samples=np.stack([tone(1.0), tone(1.0)], axis=1), metadata={"comment": "made by AI"})
    with av.open(str(path)) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert video.codec_context.name == "h264"
        assert video.pix_fmt == "yuv420p"
        context = video.codec_context
        assert (context.color_range, context.colorspace, context.color_primaries, context.color_trc) == (1, 1, 1, 1)
        assert (audio.codec_context.name, audio.rate, audio.layout.name) == ("aac", 48_000, "stereo")
        assert container.metadata["comment"] == "made by AI"
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    assert facts.size_bytes == len(content)
    assert (facts.num_frames, facts.duration_s, facts.has_audio) == (30, 1.2, True)


def test_planes_arrive_as_they_were_given(tmp_path: Path) -> None:
    frame = yuv.new_frame(WIDTH, HEIGHT)
    planes = yuv.planes(frame)
    planes.y[:] = np.linspace(40, 200, WIDTH)[None]
    planes.u[:, :24], planes.v[:, 24:] = 90, 160
    with VideoWriter(tmp_path / "f.mp4", width=WIDTH, height=HEIGHT, fps=25) as writer:
        for _ in range(5):
            writer.write(frame)
    decoded, _ = next(decoded_i420(tmp_path / "f.mp4"))
    assert np.abs(decoded.astype(int) - frame).mean() < 1.0


def test_frame_array_may_be_reused(tmp_path: Path) -> None:
    """Frames are handed over, not kept: overwriting one must not change what was written before."""
    frame = grey(0)
    with VideoWriter(tmp_path / "f.mp4", width=WIDTH, height=HEIGHT, fps=25) as writer:
        for index in range(40):
            frame[:HEIGHT] = 30 + 5 * index
            writer.write(frame)
    means = [float(planes[:HEIGHT].mean()) for planes, _ in decoded_i420(tmp_path / "f.mp4")]
    assert np.abs(np.array(means) - (30 + 5 * np.arange(40))).max() < 2


def test_rgb_frames_keep_their_colours(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "f.mp4", width=WIDTH, height=HEIGHT, fps=25) as writer:
        for _ in range(5):
            writer.write(np.full((HEIGHT, WIDTH, 3), (220, 60, 90), np.uint8))
    with av.open(str(tmp_path / "f.mp4")) as container:
        rgb = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert np.abs(rgb.astype(int) - (220, 60, 90)).max() <= 6


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.mp4"
    assert write(path, 3).path == path
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def write_and_fail() -> None:
        with VideoWriter(tmp_path / "f.mp4", width=WIDTH, height=HEIGHT, fps=25) as writer:
            writer.write(grey(50))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


def test_film_without_frames_is_a_failure_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed) as caught:
        write(tmp_path / "f.mp4", 0)
    assert caught.value.code == "empty_output"
    assert list(tmp_path.iterdir()) == []


def test_odd_sizes_and_wrong_frames_are_programming_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="even"):
        VideoWriter(tmp_path / "f.mp4", width=95, height=64, fps=25)
    with VideoWriter(tmp_path / "f.mp4", width=WIDTH, height=HEIGHT, fps=25) as writer:
        writer.write(grey(0))
        with pytest.raises(ValueError, match="does not fit"):
            writer.write(np.zeros((10, 10, 3), np.uint8))


_MEMORY = """
import sys
import numpy as np
from pathlib import Path
from benchmarks.measure import peak_memory_mb
from models.video import yuv
from models.video.writer import VideoWriter
num_frames = int(sys.argv[1])
frame = yuv.new_frame(256, 256)
sound = np.broadcast_to(np.float32(0.1), (num_frames * 640,))  # one number however long, as only the writer is weighed
with VideoWriter(Path(sys.argv[2]), width=256, height=256, fps=25, samples=sound, sample_rate_hz=16_000) as writer:
    for index in range(num_frames):
        frame[:256] = 40 + index % 100
        writer.write(frame)
print(peak_memory_mb())
"""


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    def peak_mb(num_frames: int) -> float:
        command = [sys.executable, "-c", _MEMORY, str(num_frames), str(tmp_path / "f.mp4")]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": "."})
        return float(run.stdout)

    assert peak_mb(2000) < 1.1 * peak_mb(200)


def test_poster_is_a_jpeg_of_the_frame(tmp_path: Path) -> None:
    rgb = np.full((HEIGHT, WIDTH, 3), (200, 120, 40), np.uint8)
    for frame in (rgb, yuv.rgb_to_i420(rgb)):
        path = tmp_path / "poster of nothing in particular"
        assert write_poster(path, frame) == path.stat().st_size
        with Image.open(path) as image:
            assert image.format == "JPEG"
            assert np.abs(np.asarray(image).astype(int) - (200, 120, 40)).max() <= 4
