from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from models.talking_head.head_motion import plan_head
from models.talking_head.tracks import HeadTrack
from services.domain.timeline import SpeechTimeline, TimelineSource, Word

WORDS = tuple(
    Word(text="tremendous", start_s=start, end_s=start + 0.7, char_start=0, char_end=10)
    for start in np.arange(0.2, 18, 1.1).tolist()
)
TIMELINE = SpeechTimeline(duration_s=20, source=TimelineSource.SYNTHESIS, words=WORDS)


def curves(track: HeadTrack) -> dict[str, np.ndarray]:
    return {field.name: getattr(track, field.name) for field in fields(track)}


def test_the_seed_decides_the_motion():
    first, again, other = (plan_head(TIMELINE, num_frames=500, fps=25, seed=seed) for seed in (7, 7, 8))
    assert all(np.array_equal(curve, curves(again)[name]) for name, curve in curves(first).items())
    assert not np.array_equal(first.yaw, other.yaw)


def test_every_curve_has_one_value_a_frame():
    track = plan_head(TIMELINE, num_frames=123, fps=30, seed=0)
    assert {len(curve) for curve in curves(track).values()} == {123}
    assert {curve.dtype for curve in curves(track).values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("seed", range(5))
def test_the_head_moves_gently(seed):
    track = plan_head(TIMELINE, num_frames=1500, fps=25, seed=seed)
    for name in ("yaw", "pitch", "roll"):
        curve = getattr(track, name)
        assert 0.003 < curve.std() < 0.035  # radians
        assert np.abs(np.diff(curve)).max() < 0.012
    assert np.abs(track.shift_x).max() < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_people_blink_every_few_seconds_and_fully(seed):
    track = plan_head(None, num_frames=1500, fps=25, seed=seed)
    starts = np.flatnonzero((track.blink[1:] > 0.01) & (track.blink[:-1] <= 0.01))
    gaps_s = np.diff(starts) / 25
    assert 12 <= len(starts) <= 26  # in a minute
    assert gaps_s.min() > 1.0
    assert gaps_s.max() < 6.5
    peaks = [track.blink[start : start + 12].max() for start in starts[:-1]]
    assert min(peaks) > 0.9


def test_the_same_second_is_the_same_at_another_frame_rate():
    slow, fast = (
        plan_head(TIMELINE, num_frames=500, fps=25, seed=3),
        plan_head(TIMELINE, num_frames=1000, fps=50, seed=3),
    )
    middle = (fast.yaw[0::2] + fast.yaw[1::2]) / 2
    assert np.abs(middle - slow.yaw).max() < 0.001


def test_long_words_are_nodded_to():
    still = plan_head(None, num_frames=500, fps=25, seed=4)
    nodding = plan_head(TIMELINE, num_frames=500, fps=25, seed=4)
    assert np.ptp(nodding.brow) > 0.05
    assert np.ptp(still.brow) == 0


def test_no_frames_make_no_motion():
    assert len(plan_head(TIMELINE, num_frames=0, fps=25, seed=0)) == 0
