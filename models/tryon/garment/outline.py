"""Draws the outline of a cut-out garment anew where a mask alone is ragged: photos taken at home, white on white.

An edge of cloth is a smooth line with a few corners. Along the mask's own outline, colours a little inside and a little
outside say at each place what is cloth and what is ground; the line that parts them best, and bends little, is found by
dynamic programming as in ``snapping``. Noise, fringes and JPEG's blocks even out along the line.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.snapping import cheapest_path

_SPIKE: Final = 0.018  # of the long side: thinner is no cloth
_STEP: Final = 2.0  # px between points of the line, of a garment of a thousand
_ROUNDED: Final = {False: (3.0,), True: (8.0, 2.5)}  # points: by how much it is evened before each pass
_REACH: Final = {False: 0.014, True: 0.034}  # of the long side: how far the line may move; of a faint garment
_BESIDE: Final = 0.010  # of the long side, beyond the reach: where cloth and ground are surely seen
_ALONG: Final = {False: 3.0, True: 6.0}  # points: noise is evened along the line
_FAR_ALONG: Final = 7.0  # points: over which colours of cloth and ground change slowly
_STIFF: Final = {False: 0.12, True: 0.3}
_WORTH: Final = 6.0  # of the parting, against the line's bends
_EVENED: Final = 1.6  # points: of the line found
_APART: Final = 2.0  # LAB distance below which cloth and ground say little
_INSET: Final = 0.0016  # of the long side: pixels that cloth and ground share are left away
_SOFT: Final = 0.7  # px


def redrawn(rgb: NDArray[np.uint8], mask: NDArray[np.float32], *, faint: bool) -> NDArray[np.float32]:
    """Coverage float32 (h, w), 0 to 1, within an even outline near that of ``mask``; its holes stay.

    Args:
        rgb: uint8 (h, w, 3).
        mask: float32 (h, w), 0 to 1.
        faint: The garment is nearly of the ground's colour; hue, noisy but steady, then counts more.
    """
    import cv2

    hard = (mask > 0.5).astype(np.uint8)
    contours, _ = cv2.findContours(hard, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    side = max(mask.shape)
    step = max(1.0, _STEP * side / 1000)
    if not contours or cv2.arcLength(max(contours, key=cv2.contourArea), True) < 64 * step:
        return mask
    lab = _seen(rgb, faint=faint)
    curve = max(contours, key=cv2.contourArea)[:, 0].astype(np.float32)
    for rounded in _ROUNDED[faint]:
        curve = _moved(lab, _spaced(curve, step), side, rounded, faint=faint)
    curve = curve - _outward(curve) * max(0.8, _INSET * side)
    out = np.zeros(mask.shape, np.uint8)
    cv2.fillPoly(out, [np.round(curve * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    soft = cv2.GaussianBlur(out, (0, 0), _SOFT).astype(np.float32) / 255
    return np.asarray(np.minimum(soft, 1 - _holes(hard)), np.float32)


def _moved(
    lab: NDArray[np.float32], curve: NDArray[np.float32], side: int, rounded: float, *, faint: bool
) -> NDArray[np.float32]:
    """The curve where it parts cloth from ground best."""
    import cv2
    from scipy.ndimage import gaussian_filter1d

    curve = gaussian_filter1d(curve, rounded, axis=0, mode="wrap")
    normal = _outward(curve)
    reach, beside = max(3, round(_REACH[faint] * side)), max(3, round(_BESIDE * side))
    offsets = np.arange(-reach - beside, reach + beside + 1, dtype=np.float32)
    places = np.asarray(curve[:, None] + offsets[None, :, None] * normal[:, None], np.float32)
    x, y = (np.ascontiguousarray(places[..., k]) for k in (0, 1))
    profile = cv2.remap(lab, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    profile = gaussian_filter1d(profile, _ALONG[faint], axis=0, mode="wrap")
    cloth, ground = (
        gaussian_filter1d(part.mean(1), _FAR_ALONG, axis=0, mode="wrap")
        for part in (profile[:, :beside], profile[:, -beside:])
    )
    across, middle = cloth - ground, (cloth + ground) / 2
    apart = np.linalg.norm(across, axis=1)
    is_cloth = ((profile - middle[:, None]) * across[:, None]).sum(2) / np.maximum(apart**2 / 2, 1e-3)[:, None]
    is_cloth = np.clip(is_cloth, -1, 1) * np.clip(apart / _APART, 0.1, 1)[:, None]
    # All within the line is cloth and all beyond it ground: the best place is where their sum is highest.
    gained = np.cumsum(is_cloth, axis=1)[:, beside : beside + 2 * reach + 1] * (_WORTH / reach)
    chosen = cheapest_path(np.asarray(-gained, np.float32), _STIFF[faint])
    moved = curve + offsets[beside : beside + 2 * reach + 1][chosen][:, None] * normal
    return np.asarray(gaussian_filter1d(moved, _EVENED, axis=0, mode="wrap"), np.float32)


def without_spikes(mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """``mask`` without a hanger's stubs and nicks; the corners that this rounds, ``redrawn`` finds again."""
    import cv2

    size = max(3, round(_SPIKE * max(mask.shape)) | 1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    hard = (mask > 0.5).astype(np.float32)
    return np.asarray(cv2.morphologyEx(cv2.morphologyEx(hard, cv2.MORPH_OPEN, disc), cv2.MORPH_CLOSE, disc), np.float32)


def _seen(rgb: NDArray[np.uint8], *, faint: bool) -> NDArray[np.float32]:
    """LAB as the line sees it."""
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    if not faint:
        return np.asarray(cv2.GaussianBlur(lab, (0, 0), 1.2), np.float32)
    planes = [cv2.GaussianBlur(np.ascontiguousarray(lab[..., k]), (0, 0), 1.0 if k == 0 else 3.0) for k in range(3)]
    return np.asarray(np.dstack(planes) * np.array([1.0, 1.5, 1.5], np.float32), np.float32)


def _holes(hard: NDArray[np.uint8]) -> NDArray[Any]:
    """1 in openings within the garment."""
    import cv2

    contours, levels = cv2.findContours(hard, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    out = np.zeros(hard.shape, np.uint8)
    for index, contour in enumerate(contours):
        if levels[0][index][3] >= 0:
            cv2.drawContours(out, [contour], -1, 1, cv2.FILLED)
    return np.asarray(cv2.GaussianBlur((out & (1 - hard)).astype(np.float32), (0, 0), _SOFT))


def _spaced(curve: NDArray[np.float32], step: float) -> NDArray[np.float32]:
    """A closed curve, clockwise on the screen, resampled to about equal steps."""
    x, y = curve.T
    if float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) < 0:
        curve = curve[::-1]
    closed = np.vstack([curve, curve[:1]])
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    at = np.linspace(0, along[-1], max(8, round(along[-1] / step)), endpoint=False)
    columns = [np.interp(at, along, closed[:, k]) for k in (0, 1)]
    return np.asarray(np.stack(columns, axis=1), np.float32)


def _outward(curve: NDArray[Any]) -> NDArray[Any]:
    """Unit normals of a closed clockwise curve that point out of it."""
    along = np.roll(curve, -2, axis=0) - np.roll(curve, 2, axis=0)
    return np.asarray(np.stack([along[:, 1], -along[:, 0]], axis=1) / np.maximum(np.hypot(*along.T), 1e-6)[:, None])
