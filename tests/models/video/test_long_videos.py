"""Ten minutes of file: what drifts is only seen at the end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.video.source import VideoSource, open_source

SIZE = (64, 48)


def uneven_times(duration_s: int) -> list[Fraction]:
    """As a phone records in changing light: 30 frames a second, then 24, and now and then one is missing."""
    times, time, index = [], Fraction(0), 0
    while time < duration_s:
        if index % 17:
            times.append(time)
        time += Fraction(1001, 30_000) if (index // 90) % 2 else Fraction(1, 24)
        index += 1
    return times


def clock_face(index: int) -> NDArray[np.uint8]:
    """The index in binary, as 16 black or white fields of 16 by 12 pixels."""
    bits = np.array([index >> bit & 1 for bit in range(16)], np.uint8).reshape(4, 4)
    return np.repeat(np.kron(bits * 255, np.ones((12, 16), np.uint8))[..., None], 3, axis=2)


def index_of(rgb: NDArray[np.uint8]) -> int:
    fields = rgb[6::12, 8::16, 0] > 127
    return int((fields.reshape(-1) * (1 << np.arange(16))).sum())


@pytest.mark.slow
@pytest.mark.parametrize("out_fps", [25, 60])
def test_variable_frame_rate_does_not_drift_in_ten_minutes(make_video: Callable[..., Path], out_fps: int) -> None:
    times = uneven_times(602)
    path = make_video(num_frames=len(times), times=times, frame=clock_face, size=SIZE, gop=250)
    source = open_source(path, max_duration_s=700)
    assert isinstance(source, VideoSource)
    expected = np.array([float(time) for time in times]) - float(times[0])
    num_frames = 600 * out_fps
    moments = (np.arange(num_frames) + 0.5) / out_fps
    wanted = np.searchsorted(expected, moments + 1e-4, side="right") - 1
    shown = np.fromiter((index_of(frame.rgb) for frame in source.frames_at(out_fps, num_frames)), int, num_frames)
    late_s = moments - expected[shown]
    assert np.abs(late_s[-out_fps:]).max() < 0.1  # the longest a frame of this clip stands
    assert (np.abs(shown - wanted) <= 1).all()
    assert (shown == wanted).mean() > 0.99
