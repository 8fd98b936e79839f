"""The stretches of a garment's outline that fitting follows: sides, hem, and both edges of each sleeve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Side
from models.tryon.garment.warp import Points
from services.domain.product import GarmentCategory

_HIDDEN: Final = 0.10  # of the chest: an armpit further than this from where sleeve and side part lies under the sleeve


class Garment(Protocol):
    """What fitting needs to know of a ``GarmentAsset``."""

    @property
    def landmarks(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def outline(self) -> NDArray[Any]: ...
    @property
    def category(self) -> GarmentCategory: ...
    @property
    def sleeved(self) -> bool: ...
    def outline_between(self, start: str, end: str) -> Points: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductFrame:
    """Upright axes of a product photo, whatever way the garment lies in it: (to the wearer's left, down)."""

    origin: Points
    across: Points
    down: Points

    def locate(self, points: NDArray[Any]) -> Points:
        """Product pixels (n, 2) in the frame."""
        basis = np.stack([self.across, self.down], 1)
        return np.asarray((points - self.origin) @ np.linalg.inv(basis).T, np.float32)

    def place(self, points: NDArray[Any]) -> Points:
        """The inverse of ``locate``."""
        return np.asarray(self.origin + points[..., :1] * self.across + points[..., 1:] * self.down, np.float32)


def product_frame(marks: Mapping[str, Points], top: tuple[str, str], bottom: tuple[str, str]) -> ProductFrame:
    """Axes through the middles of two pairs of landmarks (right, left)."""
    upper = (marks[top[0]] + marks[top[1]]) / 2
    lower = (marks[bottom[0]] + marks[bottom[1]]) / 2
    down = (lower - upper) / max(float(np.linalg.norm(lower - upper)), 1e-6)
    across = np.array([down[1], -down[0]], np.float32)
    if across @ (marks[top[1]] - marks[top[0]]) < 0:
        across = -across
    return ProductFrame(origin=upper, across=across, down=down)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopEdges:
    """Edges of a garment that hangs from the shoulders, in product pixels.

    Attributes:
        marks: The landmarks, completed by symmetry where one side's was not found.
        armpits: Where the seam ends below.
        sides: From each armpit to its end of the hem.
        hem: From the right to the left.
        top: From the right shoulder over the neck to the left one.
        outer, inner: Edges of each sleeve, from shoulder and armpit to the cuff; empty without sleeves.
    """

    marks: Mapping[str, Points]
    frame: ProductFrame
    armpits: Mapping[Side, Points]
    sides: Mapping[Side, Points]
    hem: Points
    top: Points
    outer: Mapping[Side, Points]
    inner: Mapping[Side, Points]

    @property
    def polygon(self) -> Points:
        """The trunk without sleeves, closed."""
        right, left = self.sides[Side.RIGHT], self.sides[Side.LEFT]
        return np.concatenate([self.top, left, self.hem[::-1], right[::-1]]).astype(np.float32)


def top_edges(garment: Garment, bottom: str = "hem") -> TopEdges:
    """Edges of a top, shirt, jacket, dress, or of a bib that ends at ``bottom``."""
    marks = {name: np.array(point, np.float32) for name, point in garment.landmarks.items()}
    frame = product_frame(marks, ("shoulder_right", "shoulder_left"), (f"{bottom}_right", f"{bottom}_left"))
    if garment.sleeved:
        _complete(marks, frame)
    outline = np.asarray(garment.outline, np.float32)

    def nearest(point: Points, among: Points = outline) -> int:
        return int(np.argmin(((among - point) ** 2).sum(1)))

    armpits, sides, outer, inner = {}, {}, {}, {}
    chest = float(np.linalg.norm(marks["armpit_left"] - marks["armpit_right"]))
    for side in Side:
        other = Side.RIGHT if side is Side.LEFT else Side.LEFT
        arc = _arc(
            outline,
            nearest(marks[f"shoulder_{side}"]),
            nearest(marks[f"{bottom}_{side}"]),
            avoid=nearest(marks[f"{bottom}_{other}"]),
        )
        armpit = marks[f"armpit_{side}"]
        if not garment.sleeved:
            at = nearest(armpit, arc)
            armpits[side], sides[side] = arc[at], arc[at:]
            continue
        cuff_outer = nearest(marks[f"cuff_{side}_outer"], arc)
        cuff_inner = max(nearest(marks[f"cuff_{side}_inner"], arc), cuff_outer + 1)
        # Behind the cuff the outline rises to where sleeve and side part, and goes down again to the hem.
        rest = arc[cuff_inner:]
        apex = cuff_inner + int(np.argmin(frame.locate(rest)[:, 1])) if len(rest) > 2 else cuff_inner
        hidden = float(np.linalg.norm(armpit - arc[apex])) > _HIDDEN * chest and (
            frame.locate(armpit[None])[0, 1] < frame.locate(arc[apex][None])[0, 1]
        )
        start = armpit[None] if hidden else arc[apex : apex + 1]
        armpits[side] = start[0]
        sides[side] = np.concatenate([start, arc[apex:]])
        outer[side] = arc[: cuff_outer + 1]
        inner[side] = np.concatenate([start, arc[cuff_inner : apex + 1][::-1]])
    shoulders = {side: nearest(marks[f"shoulder_{side}"]) for side in Side}
    hems = {side: nearest(marks[f"{bottom}_{side}"]) for side in Side}
    return TopEdges(
        marks=marks,
        frame=frame,
        armpits=armpits,
        sides=sides,
        hem=_arc(outline, hems[Side.RIGHT], hems[Side.LEFT], avoid=shoulders[Side.LEFT]),
        top=_arc(outline, shoulders[Side.RIGHT], shoulders[Side.LEFT], avoid=hems[Side.LEFT]),
        outer=outer,
        inner=inner,
    )


def _arc(outline: Points, start: int, end: int, *, avoid: int) -> Points:
    """The outline from ``start`` to ``end`` on the way that does not pass ``avoid``."""
    count = len(outline)
    ahead = (start + np.arange((end - start) % count + 1)) % count
    if avoid in ahead and avoid not in (start, end):
        ahead = (start - np.arange((start - end) % count + 1)) % count
    return outline[ahead]


def _complete(marks: dict[str, Points], frame: ProductFrame) -> None:
    """A cuff that was found on one side only is mirrored to the other."""
    for edge in ("outer", "inner"):
        for side, other in ((Side.LEFT, Side.RIGHT), (Side.RIGHT, Side.LEFT)):
            name, twin = f"cuff_{side}_{edge}", f"cuff_{other}_{edge}"
            if name not in marks and twin in marks:
                mirrored = frame.locate(marks[twin][None]) * np.array([-1, 1], np.float32)
                marks[name] = frame.place(mirrored)[0]
