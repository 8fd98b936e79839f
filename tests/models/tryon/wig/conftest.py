"""A wig drawn by arithmetic, and sitters whose every pixel is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.light import FaceLight
from models.tryon.wig.pins import front_face


def head_at(x: float, y: float, face_width: float) -> np.ndarray:
    """Mesh of a head that looks at us, the middle between its ears at (x, y)."""
    return (front_face() * np.float32(face_width) + np.float32([x, y, 0])).astype(np.float32)


def ring_wig(size: int = 400, face_width: float = 180.0) -> WigAsset:
    """Brown hair all round the face, strands running down; the face and what is below the chin are bare."""
    y, x = np.mgrid[:size, :size].astype(np.float32)
    centre = size / 2
    points = head_at(centre, centre, face_width)
    outer = ((x - centre) / (0.78 * face_width)) ** 2 + ((y - centre + 0.1 * face_width) / (0.98 * face_width)) ** 2 < 1
    inner = ((x - centre) / (0.48 * face_width)) ** 2 + ((y - centre - 0.1 * face_width) / (0.68 * face_width)) ** 2 < 1
    open_below = (np.abs(x - centre) < 0.48 * face_width) & (y > centre)
    strands = 1 + 0.35 * np.sin(x * 0.9)
    rgb = np.float32([96, 62, 40]) * strands[..., None]
    alpha = np.where(outer & ~inner & ~open_below, 255, 0)
    rgba = np.dstack([np.clip(rgb, 0, 255), alpha]).astype(np.uint8)
    return WigAsset(picture_rgba=rgba, landmarks=points, light=FaceLight(lightness=65.0, slope=0.0))


@pytest.fixture
def wig() -> WigAsset:
    return ring_wig()


@pytest.fixture
def head() -> Callable[[float, float, float], np.ndarray]:
    return head_at


@pytest.fixture(scope="session")
def presenter() -> Callable[[str], np.ndarray]:
    """RGB pixels of a built-in presenter's picture: always there."""
    return lambda name: np.array(Image.open(weights.path(f"avatar-{name}")).convert("RGB"))
