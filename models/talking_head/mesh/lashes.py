"""What lies over an eye and its lid: upper lashes, which go with the lid, and glasses, which stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.grid import Field, warped

_LASH_WIDTH: Final = 0.34  # dark strokes narrower than this, in half eye widths, are lashes
_FAN_WIDTH: Final = 0.6  # and so are darker patches narrower than this: the fan of long lashes at the outer corner
_LASH_REACH: Final = 0.62  # how far above the open lid they end at most
_RIM_WIDTH: Final = 0.45  # dark lines narrower than this may be rims
# Below both eyes a line this much darker than its surroundings is a rim: in the pictures looked at, glasses reach .45
# and more, bags under the eyes .37 and less.
_RIM_CONTRAST: Final = 0.41


@dataclass(frozen=True, slots=True, kw_only=True)
class Lashes:
    """Maps of one eye's box, float32 (h, w).

    Attributes:
        dark: How much the upper lashes darken the Y plane, 0 to 1.
        bare: What the Y plane gains where they are taken away.
        rims: 1 where glasses pass, outside the eye's opening; None without glasses.
    """

    dark: Field
    bare: Field
    rims: Field | None


def find_lashes(
    luma: NDArray[np.uint8], outward: Field, above: Field, below: Field, room: Field, half_px: float, *, glasses: bool
) -> Lashes:
    """The lashes in a box of the Y plane.

    Args:
        outward: Along the eye at each pixel, 1 at the outer corner, -1 at the one by the nose.
        above: How far each pixel lies above the upper lid's edge, in half eye widths.
        below: The same below the lower lid's edge.
        room: How far above the lid's edge the brow begins.
        half_px: Half the eye's width.
        glasses: Dark lines are rims.
    """
    value = luma.astype(np.float32)
    if glasses:
        thin = _closed(luma, _RIM_WIDTH * half_px, across_only=False).astype(np.float32)
        contrast = (thin - value) / np.maximum(thin - 16, 30)
        outside = np.maximum(np.maximum(above - 0.08, below - 0.08), np.abs(outward) - 1.0)
        rims = np.clip((contrast - 0.15) / 0.15, 0, 1) * np.clip(outside / 0.06, 0, 1)
        soft = cv2.GaussianBlur(cv2.dilate(rims.astype(np.float32), np.ones((3, 3))), (0, 0), 0.7)
        return Lashes(dark=np.zeros_like(value), bare=np.zeros_like(value), rims=np.asarray(soft, np.float32))
    # Lashes stand, the crease lies: what is dark over a short way across is lash. Only a fan of them is as dark as ink.
    stroke = _closed(luma, _LASH_WIDTH * half_px, across_only=True).astype(np.float32)
    patch = _closed(luma, _FAN_WIDTH * half_px, across_only=False).astype(np.float32)
    ink = np.clip((1 - (value - 16) / np.maximum(patch - 16, 1) - 0.2) / 0.15, 0, 1)
    skin = cv2.GaussianBlur((stroke + (patch - stroke) * np.maximum(ink, 0)).astype(np.float32), (0, 0), 0.8)
    bare = np.maximum(skin - value, 0)
    where = np.clip((above + 0.04) / 0.06, 0, 1) * np.clip(
        (np.clip(room - 0.12, 0.08, _LASH_REACH) - above) / 0.12, 0, 1
    )
    where *= np.clip((1.55 - outward) / 0.2, 0, 1) * np.clip((1.1 + outward) / 0.2, 0, 1)
    dark = bare / np.maximum(skin - 16, 1) * where
    return Lashes(dark=np.clip(dark, 0, 0.9).astype(np.float32), bare=(bare * where).astype(np.float32), rims=None)


def bare_colour(chroma: NDArray[np.uint8], dark: Field, eyeball: Field, half_px: float) -> Field:
    """What a U or V plane gains where lashes are taken away, float32 at its own size: lashes are grey, skin is not.

    ``dark`` is of ``Lashes``, ``eyeball`` 1 in the eye's opening, both at the Y plane's size; ``half_px`` in pixels of
    the plane.
    """
    value = chroma.astype(np.float32)
    size = (chroma.shape[1], chroma.shape[0])
    covered = cv2.dilate(cv2.resize(dark, size, interpolation=cv2.INTER_AREA), np.ones((3, 3), np.uint8))
    covered = np.clip(covered / np.float32(0.12), 0, 1)
    no_skin = np.maximum(covered, cv2.resize(eyeball, size, interpolation=cv2.INTER_AREA))
    seen, sigma = np.float32(1.001) - no_skin, max(0.2 * half_px, 0.8)
    around = cv2.GaussianBlur(value * seen, (0, 0), sigma) / cv2.GaussianBlur(seen, (0, 0), sigma)
    return np.asarray((around - value) * covered, np.float32)


def wears_glasses(luma: NDArray[np.uint8], below_eyes: list[Field], half_px: float) -> bool:
    """Whether a dark thin line passes below both eyes; ``below_eyes``: pixels (h, w, 2) in rows downward."""
    x0, y0 = (max(0, int(min(part[..., axis].min() for part in below_eyes)) - 8) for axis in (0, 1))
    x1, y1 = (max(0, int(max(part[..., axis].max() for part in below_eyes)) + 8) for axis in (0, 1))
    near = luma[y0:y1, x0:x1]
    if not near.size:
        return False
    closed = _closed(near, _RIM_WIDTH * half_px, across_only=False).astype(np.float32)
    contrast = np.asarray((closed - near) / np.maximum(closed - 16, 30), np.float32)
    lines = (warped(contrast, (part - np.array([x0, y0])).astype(np.float32)).max(0) for part in below_eyes)
    return all(float(np.percentile(line, 20)) > _RIM_CONTRAST for line in lines)


def _closed(luma: NDArray[np.uint8], width_px: float, *, across_only: bool) -> NDArray[np.uint8]:
    """``luma`` without dark detail narrower than ``width_px``."""
    size = max(3, int(width_px) | 1)
    shape = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, 1 if across_only else size))
    return np.asarray(cv2.morphologyEx(luma, cv2.MORPH_CLOSE, shape), np.uint8)
