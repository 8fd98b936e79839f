"""Soft edges of a cut-out garment: how much of each edge pixel it covers, and what colour it has there."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_BAND: Final = 0.004  # of the long side, to either side of the mask's edge, where coverage is open
_EPSILON: Final = 1e-5  # of the matting Laplacian: photos from shops are JPEG, whose noise is not the garment's edge
_SURE: Final = (0.08, 0.92)  # coverage beyond these is none and all
_TOLERANCE: Final = 1e-4


def soft_edges(
    rgb: NDArray[np.uint8], mask: NDArray[np.float32], *, is_drawn: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Straight colour uint8 (h, w, 3) without the old background, and coverage float32 (h, w) from 0 to 1.

    Closed-form matting (Levin, Lischinski and Weiss, CVPR 2006) over a narrow band about the mask's edge alone, then
    multi-level foreground estimation (Germer et al., 2020), both by pymatting. A mask whose outline ``is_drawn`` is the
    coverage already: matting would take the ground's pattern for fringes.
    """
    import cv2

    reach = max(2, round(_BAND * max(mask.shape)))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1,) * 2)
    hard = (mask > 0.5).astype(np.uint8)
    inside = cv2.erode(hard, disc) > 0
    outside = cv2.dilate(hard, disc) == 0
    image = np.divide(rgb, 255, dtype=np.float64)
    if is_drawn:
        return _foreground(image, mask, rgb), mask
    alpha = _matted(image, inside, outside)
    low, high = _SURE
    alpha = np.asarray(np.clip((alpha - low) / (high - low), 0, 1), np.float32)
    alpha[inside], alpha[outside] = 1, 0
    return _foreground(image, alpha, rgb), alpha


def _matted(image: NDArray[np.float64], inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Coverage where it is open, solved for with what is known held fast."""
    import pymatting
    from scipy.sparse.linalg import LinearOperator, cg

    known = inside | outside
    laplacian: Any = pymatting.cf_laplacian(image, epsilon=_EPSILON, radius=1, is_known=known.ravel()).tocsr()
    open_at, known_at = np.flatnonzero(~known.ravel()), np.flatnonzero(known.ravel())
    alpha = inside.ravel().astype(np.float64)
    if len(open_at):
        rows = laplacian[open_at]
        system, pull = rows[:, open_at], -(rows[:, known_at] @ alpha[known_at])
        diagonal = np.maximum(system.diagonal(), 1e-12)
        scaled = LinearOperator(system.shape, matvec=lambda vector: vector / diagonal)
        solved, _ = cg(system, pull, x0=np.full(len(open_at), 0.5), rtol=_TOLERANCE, maxiter=400, M=scaled)
        alpha[open_at] = solved
    return np.asarray(alpha.reshape(inside.shape), np.float32)


def _foreground(image: NDArray[np.float64], alpha: NDArray[np.float32], rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The garment's own colour at its edges, carried on outside them; inside, the photo's very pixels."""
    import pymatting

    estimate = pymatting.estimate_foreground_ml(image, alpha.astype(np.float64))
    color = np.asarray(np.clip(np.round(estimate * 255), 0, 255), np.uint8)
    return np.where((alpha >= 1)[:, :, None], rgb, color)
