"""Pinned-up hair of a turned head faces the camera, and dark photos are developed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from models.tryon.wig.exposure import developed_hair, is_dark, lifted
from models.tryon.wig.facing import facing
from models.tryon.wig.ingest import ingest_wig

Head = Callable[[float, float, float], np.ndarray]

WIDTH = 160.0
CENTRE = np.float32([250, 260, 0])


def _turned(places: np.ndarray, degrees: float) -> np.ndarray:
    """Places in space (n, 3), z away from us, turned about an upright axis to the picture's left."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y, z = (places - CENTRE).T
    return np.stack([cos * x + sin * z, y, cos * z - sin * x], 1).astype(np.float32) + CENTRE


def _cap(head: Head, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Black hair on the whole upper skull of a head turned so, and its mesh; the rear of the skull is seen beside."""
    angle, height = np.meshgrid(np.linspace(-np.pi, np.pi, 361), np.linspace(0.02, 1, 120))
    ring = np.sqrt(1 - height**2)
    skull = np.stack(
        [
            CENTRE[0] + 0.6 * WIDTH * ring * np.sin(angle),
            CENTRE[1] - 0.15 * WIDTH - 0.75 * WIDTH * height,
            CENTRE[2] + 0.2 * WIDTH - 0.8 * WIDTH * ring * np.cos(angle),
        ],
        -1,
    ).reshape(-1, 3)
    behind_the_hairline = (skull[:, 2] > -0.35 * WIDTH) | (skull[:, 1] < CENTRE[1] - 0.55 * WIDTH)
    alpha = np.zeros((480, 500), np.uint8)
    for x, y, _ in np.round(_turned(skull[behind_the_hairline].astype(np.float32), degrees)):
        alpha[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3] = 255
    alpha = cv2.morphologyEx(alpha, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    rgba = np.dstack([np.full((480, 500, 3), 30, np.uint8), alpha])
    return rgba, _turned(head(*CENTRE[:2].tolist(), WIDTH), degrees)


def _likeness_of_sides(rgba: np.ndarray, points: np.ndarray) -> float:
    """Hair that has its like on the other side of the face's middle, as a share of all hair above the ears."""
    middle = float(points[[234, 454], 0].mean())
    mirror = np.float32([[-1, 0, 2 * middle], [0, 1, 0]])
    alpha = rgba[: int(points[[234, 454], 1].mean() - 0.1 * WIDTH), :, 3]
    other = cv2.warpAffine(alpha, mirror, alpha.shape[::-1])
    return float(np.minimum(alpha, other).sum() / np.maximum(np.maximum(alpha, other).sum(), 1))


@pytest.mark.parametrize("degrees", [14.0, 20.0, -18.0])
def test_hair_pinned_up_on_a_turned_head_is_alike_on_both_sides_once_it_faces_us(head: Head, degrees: float) -> None:
    rgba, points = _cap(head, degrees)

    faced, mesh = facing(rgba, points)

    assert _likeness_of_sides(rgba, points) < 0.87
    assert _likeness_of_sides(faced, mesh) > 0.93
    assert mesh[234, 2] == pytest.approx(mesh[454, 2], abs=0.5)
    # A head that faces us is as wide as it is in space, and nothing of the hair hangs lower than before.
    assert mesh[454, 0] - mesh[234, 0] == pytest.approx(WIDTH, rel=0.02)
    assert np.flatnonzero((faced[..., 3] > 128).any(1)).max() <= np.flatnonzero((rgba[..., 3] > 128).any(1)).max()


def test_hair_of_a_head_that_faces_us_already_comes_back_as_it_is(head: Head) -> None:
    rgba, points = _cap(head, 4.0)

    faced, mesh = facing(rgba, points)

    assert np.array_equal(faced, rgba)
    assert np.array_equal(mesh, points)


def test_hair_that_hangs_is_not_turned(head: Head) -> None:
    rgba, points = _cap(head, 18.0)
    rgba[260:400, 330:370, 3] = 255

    assert np.array_equal(facing(rgba, points)[0], rgba)


def test_a_photo_in_deep_shadow_is_told_and_its_hair_is_dark_but_not_a_hole() -> None:
    generator = np.random.default_rng(3)
    rgb = generator.integers(0, 12, (200, 200, 3), np.uint8)
    rgb[60:140, 60:140] = (150, 100, 80)
    rgba = np.dstack([np.where(np.arange(200)[:, None, None] < 100, 0, rgb), np.full((200, 200), 255)]).astype(np.uint8)

    shown = developed_hair(rgba, 100.0)

    assert is_dark(rgb)
    assert not is_dark(lifted(np.full((50, 50, 3), 90, np.uint8)))
    assert lifted(rgb).mean() > 2 * rgb.mean()
    black = shown[10:50, :, :3].astype(int)
    assert 12 < black.mean() < 50
    assert np.ptp(black.mean(2)) < 12  # no pattern where the photo had none
    assert np.array_equal(shown[..., 3], rgba[..., 3])


def test_shared_bun_has_no_lump_beside_the_head_and_keeps_its_knot(shared_data: Path) -> None:
    asset = ingest_wig(shared_data / "hair" / "ref_bun_dark.jpg")

    middle, width = asset.landmarks[[234, 454], :2].mean(0), asset.face_width
    y, x = np.nonzero(asset.picture_rgba[..., 3] > 128)
    beside = (y > middle[1] - 0.6 * width) & (y < middle[1] - 0.15 * width)
    left, right = middle[0] - x[beside].min(), x[beside].max() - middle[0]
    assert left == pytest.approx(right, rel=0.08)
    assert max(left, right) < 0.7 * width
    crown = asset.picture_rgba[int(middle[1] - 0.95 * width) : int(middle[1] - 0.76 * width), int(middle[0]), 3]
    assert crown.min() > 200
    assert y.max() < middle[1] + 0.1 * width
    assert y.min() < middle[1] - 1.1 * width
