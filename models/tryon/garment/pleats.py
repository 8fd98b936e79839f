"""Folds of a skirt that is cut wide: worn, it hangs in them; lying on a floor for its photo, it is spread out.

Drawn narrower as a whole, its print would be squeezed. Here each fold shows its front nearly unsqueezed, and what is
left over lies hidden behind the next fold's edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Side
from models.tryon.garment.seams import ProductFrame
from models.tryon.garment.warp import Colours, Mask, WarpMap

# Edges of the folds from the middle to the side, as shares of the half-width; uneven, as cloth falls.
_EDGES: Final = {
    Side.LEFT: (0.0, 0.17, 0.37, 0.52, 0.71, 0.86, 1.0),
    Side.RIGHT: (0.0, 0.17, 0.33, 0.53, 0.68, 0.87, 1.0),
}
_SQUEEZED: Final = 1.16  # so far cloth gives way as a whole
_FRONT: Final = 0.08  # of what is more than that is squeezed on the folds' fronts
_UPRIGHT: Final = 0.16  # of the length: towards the hem its line is kept
_DEEP: Final = 0.62  # darkening behind a fold's edge, for a cloth that is narrowed to nothing
_JUMP: Final = 2.5  # product pixels from one pixel to the next
_CREST: Final = 0.16


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """How far a garment is narrowed from row to row.

    Attributes:
        frame: Axes of the product photo.
        below: (n,) rows in the frame, from the top down.
        flat: (n,) half its width there, product pixels, of each side.
        narrowed: (n,) worn over flat width, of each side.
    """

    frame: ProductFrame
    below: dict[Side, NDArray[Any]]
    flat: dict[Side, NDArray[Any]]
    narrowed: dict[Side, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pleated:
    """A map with folds.

    Attributes:
        map: Product coordinates of what is seen.
        light: Factor about 1 of light and shade on the folds.
        hidden: Where cloth is hidden behind a fold's edge: the map jumps there.
    """

    map: WarpMap
    light: Mask
    hidden: NDArray[np.bool_]


def pleated(mapped: WarpMap, gather: Gather) -> Pleated:
    """``mapped``, which only squeezes, with folds instead wherever it squeezes much."""
    frame = gather.frame
    basis = np.linalg.inv(np.stack([frame.across, frame.down], 1)).astype(np.float32)
    dx, dy = mapped.x - np.float32(frame.origin[0]), mapped.y - np.float32(frame.origin[1])
    aside, below = basis[0, 0] * dx + basis[0, 1] * dy, basis[1, 0] * dx + basis[1, 1] * dy
    shift, drop, light = np.zeros_like(aside), np.zeros_like(aside), np.ones_like(aside)
    hidden = np.zeros(aside.shape, np.bool_)
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        flat = np.interp(below, gather.below[side], gather.flat[side]).astype(np.float32)
        narrowed = np.interp(below, gather.below[side], gather.narrowed[side]).astype(np.float32)
        share = np.float32(sign) * aside / np.maximum(flat, 1.0)
        own = (share >= 0) & (share <= 1.02) & (narrowed < 1 / _SQUEEZED)
        if not own.any():
            continue
        share, flat, narrowed = share[own], flat[own], narrowed[own]
        edges = np.asarray(_EDGES[side], np.float32)
        fold = np.clip(np.searchsorted(edges, share, side="right") - 1, 0, len(edges) - 2)
        width = edges[fold + 1] - edges[fold]
        visible = narrowed * (_SQUEEZED + _FRONT * (1 / narrowed - _SQUEEZED))
        # The middle fold keeps its middle, the others their outer edge.
        to_edge = np.where(fold == 0, -share, edges[fold + 1] - share)
        shift[own] = np.float32(sign) * to_edge * flat * (1 - visible)
        # Spread out, the folds fan out: each is turned upright as a whole, not sheared.
        rows = gather.below[side]
        fans = np.interp(below[own], rows, np.gradient(gather.flat[side], rows)).astype(np.float32)
        middle = (edges[fold + 1] + edges[fold]) / 2 * (fold > 0)
        pivot = np.where(fold == len(edges) - 2, 1.0, middle)  # the garment's own edge stays where it is
        beside = (share + to_edge * (1 - visible) - pivot) * flat
        free = np.clip((rows[-1] - below[own]) / (_UPRIGHT * (rows[-1] - rows[0])), 0, 1)
        drop[own] = -np.clip(fans, 0, 0.8) * middle * beside * free * np.clip((1 / narrowed - _SQUEEZED) / 0.3, 0, 1)
        depth = np.where(fold == 0, share / width, to_edge / width)
        strength = np.clip(1 - visible, 0, 1)
        shade = np.clip(depth, 0, 1) ** 3 * _DEEP - np.exp(-(((depth - 0.35) / 0.25) ** 2)) * _CREST
        light[own] = 1 - strength * shade
        per_pixel = 1.5 / np.maximum(flat, 1.0)  # a pixel or so of the product
        hidden[own] = (strength > 0.02) & (
            np.abs(share[:, None] - edges[None, 1:-1]).min(1) < np.maximum(4 * per_pixel, 0.02)
        )
    x = mapped.x + shift * np.float32(frame.across[0]) + drop * np.float32(frame.down[0])
    y = mapped.y + shift * np.float32(frame.across[1]) + drop * np.float32(frame.down[1])
    return Pleated(map=WarpMap(box=mapped.box, x=x, y=y), light=_soft(light), hidden=hidden)


def smoothed_edges(colours: Colours, mapped: WarpMap) -> Colours:
    """Colours seen through a map with folds, without the stairs that a jump of the map makes."""
    import cv2

    jumps = np.zeros(mapped.x.shape, np.uint8)
    for plane in (mapped.x, mapped.y):
        jumps[:, 1:] |= np.abs(np.diff(plane, axis=1)) > _JUMP
    if not jumps.any():
        return colours
    near = cv2.dilate(jumps, np.ones((3, 3), np.uint8)) > 0
    out = colours.copy()
    out[near] = cv2.GaussianBlur(colours, (0, 0), 0.9)[near]
    return out


def _soft(light: Mask) -> Mask:
    import cv2

    return np.asarray(cv2.GaussianBlur(light.astype(np.float32), (0, 0), 1.3), np.float32)
