"""What a photo's edge cut off is rounded from the hair's own pixels."""

from __future__ import annotations

import numpy as np

from models.tryon.wig.mending import frame_cuts, mended, tapered

POINTS = np.zeros((468, 3), np.float32)


def _cut_crown() -> np.ndarray:
    """Dark hair whose crown the photo's upper edge cut, with bits of a light ground between its topmost strands."""
    y, x = np.mgrid[:300, :300]
    hair = ((x - 150) / 130) ** 2 + ((y - 90) / 130) ** 2 < 1
    rgb = np.full((300, 300, 3), (60, 40, 32), np.float32) * (0.85 + 0.3 * (x % 6 < 3))[..., None]
    rgb[:10, 130:170] = (170, 160, 158)
    return np.dstack([rgb, np.where(hair, 255, 0)]).astype(np.uint8)


def test_cut_crown_rises_ends_softly_and_shows_no_ground_between_its_strands() -> None:
    rgba = _cut_crown()

    result, points = mended(rgba, POINTS, frame_cuts(rgba[..., 3], frozenset({"top"})))

    added = int(points[0, 1])
    alpha = result[..., 3].astype(int)
    assert added > 8
    middle = alpha[:, 150]
    first = int((middle > 25).argmax())
    assert first < added
    assert np.flatnonzero(middle > 240)[0] - first > 3  # no cut line
    heights = (alpha > 128).argmax(0)[100:201]
    assert np.abs(np.diff(heights)).max() <= 2  # one outline, no comb
    solid = result[: added + 12][alpha[: added + 12] > 200]
    assert np.percentile(solid[:, :3].max(1), 99) < 125


def test_locks_that_a_shoulder_hid_end_as_a_whole_without_slits() -> None:
    generator = np.random.default_rng(5)
    points = POINTS.copy()
    points[454, 0], points[234, 0], points[152, 1] = 250, 50, 150
    bottom = 300 + generator.integers(-2, 3, 400)
    y, x = np.mgrid[:420, :400]
    hair = (x > 20) & (x < 160) & (y > 20) & (y < bottom[None])
    body = (y >= bottom[None]) & (x < 200)
    body[:, [60, 61, 90, 131]] = False  # strands below which the photo shows neither shoulder nor ground
    rgba = np.dstack([np.full((420, 400, 3), 90), np.where(hair, 255, 0)]).astype(np.uint8)

    result = tapered(rgba, points, body, np.random.default_rng(0))

    solid = result[200:290, 30:150, 3] > 128
    assert solid[:5].all()
    ends = np.flatnonzero((result[:, 30:150, 3] > 40).any(1)).max()
    assert ends > 315  # longer than the photo showed
    row = result[305, 30:150, 3] > 40
    slits = np.flatnonzero(~row[1:-1] & row[:-2] & row[2:])
    assert len(slits) == 0
