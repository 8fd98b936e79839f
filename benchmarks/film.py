"""The film stage alone: encoding, subtitles, memory; the numbers behind the encoder's settings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, cpu_seconds
from models import weights
from models.video import yuv
from models.video.picture import PictureSource
from models.video.playback import decoded_i420
from models.video.source import open_source
from models.video.subtitles import Cue, SubtitleBurner
from models.video.writer import VideoWriter

SIDE, FPS, NUM_FRAMES = 512, 25, 150
Frame = NDArray[np.uint8]


def moving_head(num_frames: int) -> Iterator[Frame]:
    """Frames as the renderer makes them: a portrait whose head sways and whose mouth opens; the rest stands still."""
    source = open_source(weights.path("avatar-vera"))
    assert isinstance(source, PictureSource)
    short = min(source.size)
    left = (source.size[0] - short) // 2
    portrait = cv2.resize(source.rgb[:short, left : left + short], (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    center_x, center_y, radius = 0.5 * SIDE, 0.42 * SIDE, 0.28 * SIDE
    distance = np.hypot((x - center_x) / 1.6, (y - center_y) / 2.0) / radius
    head = np.clip(1.5 - 1.5 * distance, 0, 1)
    mouth_y = center_y + 0.75 * radius
    mouth = np.exp(-(((x - center_x) / (0.35 * radius)) ** 2) - ((y - mouth_y) / (0.35 * radius)) ** 2)
    opening = np.convolve(np.random.default_rng(0).random(num_frames + 8), np.ones(4) / 4, "same")
    for index in range(num_frames):
        time_s = index / FPS
        sway_x = SIDE * 0.010 * np.sin(2 * np.pi * 0.23 * time_s)
        sway_y = SIDE * 0.006 * np.sin(2 * np.pi * 0.31 * time_s + 2)
        from_x = (x - head * sway_x).astype(np.float32)
        shift = mouth * np.sign(y - mouth_y) * opening[index] * 0.12 * radius
        from_y = (y - head * sway_y - shift).astype(np.float32)
        yield yuv.rgb_to_i420(np.asarray(cv2.remap(portrait, from_x, from_y, cv2.INTER_CUBIC), np.uint8))


def encode(path: Path, frames: list[Frame]) -> None:
    sound = np.zeros(len(frames) * 48_000 // FPS, np.float32)
    with VideoWriter(path, width=SIDE, height=SIDE, fps=FPS, samples=sound) as writer:
        for frame in frames:
            writer.write(frame)


def luma_ssim(path: Path, frames: list[Frame]) -> float:
    """Mean structural similarity of Y (Wang et al. 2004) over every tenth frame."""
    values = []
    for index, (decoded, _) in enumerate(decoded_i420(path)):
        if index % 10:
            continue
        a, b = (planes[:SIDE].astype(np.float32) for planes in (frames[index], decoded))
        mean_a, mean_b, aa, bb, ab = (cv2.GaussianBlur(plane, (11, 11), 1.5) for plane in (a, b, a * a, b * b, a * b))
        covariance = ab - mean_a * mean_b
        variances = aa - mean_a**2 + bb - mean_b**2
        top = (2 * mean_a * mean_b + 6.5025) * (2 * covariance + 58.5225)
        values.append(float((top / ((mean_a**2 + mean_b**2 + 6.5025) * (variances + 58.5225))).mean()))
    return float(np.mean(values))


_LONG = """
import sys
from pathlib import Path
import numpy as np
from benchmarks.measure import peak_memory_mb
from models.video import yuv
from models.video.writer import VideoWriter
num_frames, frame = int(sys.argv[1]), yuv.new_frame(512, 512)
texture = np.random.default_rng(0).integers(0, 24, (512, 512), dtype=np.uint8)
sound = np.broadcast_to(np.float32(0.1), (num_frames * 640,))
with VideoWriter(Path(sys.argv[2]), width=512, height=512, fps=25, samples=sound, sample_rate_hz=16_000) as writer:
    for index in range(num_frames):
        frame[:512] = texture + 40 + index % 100
        writer.write(frame)
print(peak_memory_mb())
"""


def peak_mb(num_frames: int) -> float:
    """Peak memory of a process that writes a film of so many frames."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _LONG, str(num_frames), str(Path(folder) / "film.mp4")]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def burn_rows() -> list[Row]:
    rows = []
    for width, height in ((512, 512), (1080, 1920)):
        cues = [
            Cue(start_s=n, end_s=n + 1, lines=("Meet Aurora 🎁, the shoe", "that learns every day")) for n in range(12)
        ]
        burner = SubtitleBurner(cues, (width, height), "en")
        frame = yuv.new_frame(width, height)
        burner.draw(frame, 0.5)
        state = {"second": 0}

        def set_next(burner: SubtitleBurner = burner, frame: Frame = frame, state: dict[str, int] = state) -> None:
            state["second"] += 1
            burner.draw(frame, state["second"] + 0.5)

        setting_s = cpu_seconds(set_next)[0]

        def lay_on(burner: SubtitleBurner = burner, frame: Frame = frame, state: dict[str, int] = state) -> None:
            for _ in range(200):
                burner.draw(frame, state["second"] + 0.5)

        laying_ms = cpu_seconds(lay_on)[0] / 200 * 1000
        rows.append(
            Row(
                what=f"burning subtitles, {width}x{height}, a frame",
                value=f"{laying_ms:.3f} CPU-ms",
                target="< 0.3 CPU-ms",
                reached=laying_ms < 0.3,
                note=f"and {setting_s * 1000:.0f} CPU-ms once a cue; two lines with an emoji",
            )
        )
    return rows


def rows() -> list[Row]:
    cv2.setNumThreads(1)
    frames = list(moving_head(NUM_FRAMES))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        median_s, least_s, most_s = cpu_seconds(lambda: encode(path, frames))
        similarity = luma_ssim(path, frames)
        kbit_s = path.stat().st_size * 8 / 1000 / (NUM_FRAMES / FPS)
    short_mb, long_mb = peak_mb(60 * FPS), peak_mb(600 * FPS)
    return [
        Row(
            what="encoding alone, 512x512 talking head with sound",
            value=f"{NUM_FRAMES / median_s:.0f} frames per CPU-second",
            note=f"{kbit_s:.0f} kbit/s, SSIM {similarity:.4f}; median of 5, {NUM_FRAMES / most_s:.0f} to "
            f"{NUM_FRAMES / least_s:.0f}",
        ),
        *burn_rows(),
        Row(
            what="peak memory of the writer, 10 minutes against 1 minute, 512x512",
            value=f"{long_mb:.0f} MB against {short_mb:.0f} MB",
            target="within 10 %",
            reached=long_mb < 1.1 * short_mb,
        ),
    ]
