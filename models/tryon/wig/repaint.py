"""What of a wig preview a generative pass may repaint: the wig's edges, and what the sitter's own hair had hidden."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.refining import Refiner, seams_of
from models.tryon.wig.worn import WornWig

if TYPE_CHECKING:
    from models.tryon.wig.preview import Fitting

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_SEAM: Final = 0.012  # half the width of a seam, in face widths
_LEAST: Final = 1 / 255  # less than this of a repaint is none


class SeamRepaint:
    """The pass over the pictures of one job.

    Args:
        worn: The wig at the size at which it was worked on; its colours share outline and seams.
    """

    def __init__(
        self, refiner: Refiner, fitting: Fitting, worn: WornWig, seed: int, check_canceled: Callable[[], None]
    ) -> None:
        self._refiner = refiner
        self._seed = seed
        self._check_canceled = check_canceled
        self._facts: dict[str, Mapping[str, Any]] = {}
        height, width = fitting.source.rgb.shape[:2]
        left, top, right, bottom = fitting.window
        window = (slice(top, bottom), slice(left, right))
        removed, _, wig, _ = (_fit(part, (right - left, bottom - top)) for part in worn.parts)
        changed = worn.overlay().resized(right - left, bottom - top).changed()
        scale = fitting.scale
        seams, deep = seams_of(
            wig, np.asarray(removed * (1 - wig), np.float32), width_px=max(1.0, _SEAM * worn.sitter.face_width / scale)
        )
        outline = (worn.sitter.points[list(FACE_OVAL), :2] + 0.5) / scale - 0.5
        face = _polygon(outline, seams.shape)
        protected = deep | (face & ~changed)
        self._protected = np.zeros((height, width), np.bool_)
        self._protected[window] = protected
        self._seams = np.zeros((height, width), np.float32)
        self._seams[window] = np.where(protected | (seams < _LEAST), 0, seams)
        self._wig = np.zeros((height, width), np.bool_)
        self._wig[window] = wig > 0.5

    def __call__(self, role: str, picture_rgb: Picture) -> Picture:
        """The picture of a role, the whole portrait's size, with its seams repainted."""
        product = np.where(self._wig[..., None], picture_rgb, np.uint8(255))
        picture, facts = self._refiner(
            picture_rgb,
            seams=self._seams,
            protected=self._protected,
            product_rgb=product,
            seed=self._seed,
            check_canceled=self._check_canceled,
        )
        self._facts[role] = facts
        return picture

    def grown(self, mask: Picture) -> Picture:
        """A mask of what was changed, with what the pass may have changed."""
        return np.where(self._seams > 0, np.uint8(255), mask)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The front's facts, and ``refined_roles``: the pictures whose repaint was kept."""
        kept = sorted(role for role, facts in self._facts.items() if facts.get("refined"))
        return {**self._facts.get("front", {}), "refined_roles": kept}


def _fit(values: Matte, size: tuple[int, int]) -> Matte:
    import cv2

    if values.shape == size[::-1]:
        return values
    method = cv2.INTER_AREA if size[0] < values.shape[1] else cv2.INTER_LINEAR
    return np.asarray(np.clip(cv2.resize(values, size, interpolation=method), 0, 1), np.float32)


def _polygon(outline: NDArray[np.floating], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    import cv2

    mask = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(outline).astype(np.int32)], 1)
    return mask > 0
