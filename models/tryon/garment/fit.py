"""How large a garment is on a body and where its trunk lies: tops, shirts, jackets, dresses, bibs.

The garment keeps its own proportions. One scale comes from the shoulders and the chest; lengths follow from it, so that
a cropped top stays cropped and a dress ends at its own hem. Only widths give way, within bounds, to the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Figure, Side
from models.tryon.garment.pleats import Gather
from models.tryon.garment.seams import Garment, TopEdges, top_edges
from models.tryon.garment.warp import Box, Points, WarpMap, box_of, resampled, spline_map
from services.domain.product import GarmentCategory

_SEAM_ASIDE: Final = 0.585  # of the span: where a sleeve is sewn on
_CHEST: Final = 0.59  # half the front of a clothed chest
_DRAPE: Final = 0.92  # a garment lying flat is wider than the same garment round a body
_NECK: Final = 0.20  # half a neck at its base
_SNAP: Final = (0.84, 1.16)  # own width over the body's: within it the edge goes where the old edge is seen
_WIDTHS: Final = (0.885, 1.18)  # most that a width may change against the length
_TO_HIPS: Final = (GarmentCategory.TOP, GarmentCategory.SHIRT, GarmentCategory.JACKET)
_LONGEST: Final = 1.2  # of the torso: where tops end at the latest
_SMALLER: Final = 0.85
# sin(angle) / angle of a half-cylinder that narrows a flat cloth so far, and the angle.
_ANGLES: Final = (1.3, 1.1, 0.9, 0.7, 0.5, 0.05)
_NARROWED: Final = tuple(float(np.sin(angle) / angle) for angle in _ANGLES)
_ROUND: Final = 0.45
_FLARE: Final = 0.55
_HEM: Final = 1.45  # of the hips: a worn hem, whatever it measures spread out on a floor
_LEVEL: Final = 0.4  # of a hem's bow: so much is gone when it hangs
_GATHERED: Final = 0.45  # of the flat width: the least that folds leave
_STRIDE: Final = 1.2  # most that legs apart widen a skirt
_NUM_SIDE_POINTS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Trunk:
    """A garment's trunk on a body.

    Attributes:
        scale: Picture pixels per product pixel, along the body.
        product_points, picture_points: What the spline joins, (n, 2).
        seams: For each side, shoulder and armpit in the picture, (2, 2); what sleeves are sewn to.
        hem: The lower edge in the picture, from right to left, (n, 2).
        polygon: The trunk in the product photo, without sleeves.
        gather: Where it is much narrower than it lies in its photo, and hangs in folds; None where it is not.
        shoulders_scaled: Width of its shoulders in the picture over what its own proportions would make it: above 1
            where the garment is narrower than the body and is drawn to it.
    """

    scale: float
    product_points: Points
    picture_points: Points
    seams: Mapping[Side, Points]
    hem: Points
    polygon: Points
    edges: TopEdges | None = None
    gather: Gather | None = None
    shoulders_scaled: float = 1.0

    def map(self, shape: tuple[int, ...]) -> WarpMap:
        """For a picture of ``shape``."""
        box = self.box(shape)
        return spline_map(self.picture_points, self.product_points, box)

    def box(self, shape: tuple[int, ...]) -> Box:
        margin = 0.12 * float(np.ptp(self.picture_points[:, 0]))
        return box_of(self.picture_points, shape, margin)


def worn_half_width(own: float, body: float, *, is_sure: bool, scale_across: float) -> float:
    """Where an edge goes that would reach ``own`` pixels from the axis, on a body that reaches ``body``."""
    ratio = own / max(body, 1e-6)
    if _SNAP[0] <= ratio <= _SNAP[1]:
        target = body if is_sure else own + 0.5 * (body - own)
    elif ratio < _SNAP[0]:
        target = body
    else:
        target = own - 0.3 * (own - body * _SNAP[1])
    flat = own / _DRAPE * scale_across
    return float(np.clip(target, flat * _WIDTHS[0], flat * _WIDTHS[1]))


def hanging_half_width(flat: float, hips: float) -> float:
    """Half the width of a skirt below the hips, where legs do not shape it: its flare falls into folds."""
    hanging = min(hips + _FLARE * (flat - hips), _HEM * hips)
    return float(np.clip(hanging, _GATHERED * flat, 1.15 * flat))


def fit_trunk(garment: Garment, figure: Figure, *, bottom: str = "hem") -> Trunk:
    """The trunk of a garment that hangs from the shoulders."""
    edges = top_edges(garment, bottom)
    marks, frame, sleeved = edges.marks, edges.frame, garment.sleeved
    at = {name: frame.locate(point[None])[0] for name, point in marks.items()}
    span, narrow = figure.span, figure.shown_span / figure.span
    armpits = {side: frame.locate(edges.armpits[side][None])[0] for side in Side}
    scale = _scale(at, armpits, span, sleeved=sleeved)
    if garment.category in _TO_HIPS:
        # Of all sizes the shop would send the one that ends at the hips of this body.
        end = float((at[f"{bottom}_left"][1] + at[f"{bottom}_right"][1]) / 2) * scale - 0.1 * span
        scale *= float(np.clip(_LONGEST * figure.torso_length / max(end, 1.0), _SMALLER, 1.0))
    least, most = (0.50, 0.66) if sleeved else (0.24, 0.60)
    seam_aside = {
        side: float(np.clip(abs(float(at[f"shoulder_{side}"][0])) * scale, least * span, most * span)) * narrow
        for side in Side
    }
    lift = float(np.mean([figure.shoulder_top(seam_aside[side]) for side in Side]))
    join = _Joined(edges, figure, scale, lift, flares=garment.category is GarmentCategory.DRESS)
    join.hangs_from(armpits, bottom)
    seams: dict[Side, Points] = {}
    collar_row = 0.0
    for side, sign in _SIGNS.items():
        join.add(marks[f"shoulder_{side}"], sign * seam_aside[side], -figure.shoulder_top(seam_aside[side], side))
        shoulder = join.torso[-1]
        collar = max(abs(float(at[f"collar_{side}"][0])) * scale, _NECK * span) * narrow
        collar = min(collar, 0.8 * seam_aside[side])
        collar_row = -figure.shoulder_top(collar, side)
        join.add(marks[f"collar_{side}"], sign * collar, collar_row)
        depth = float(np.clip(float(armpits[side][1]) * scale - lift, 0.2 * span, 0.75 * span))
        aside = join.worn(abs(float(armpits[side][0])), depth, side)
        aside = min(aside, 0.64 * span * narrow) if sleeved else aside
        join.add(edges.armpits[side], sign * aside, depth)
        seams[side] = np.array([shoulder, join.torso[-1]], np.float32)
        edge = resampled(edges.sides[side], _NUM_SIDE_POINTS + 1)[1:]
        for point, (own, below) in zip(edge, frame.locate(edge), strict=True):
            row = float(below) * scale - lift
            worn = join.worn(sign * float(own), row, side)
            row = join.levelled(row, 0.0)
            join.add(point, sign * worn, row)
            join.add_within(float(own), float(below), sign * worn, row)
    collar = (float(at["collar_left"][1]) + float(at["collar_right"][1])) / 2
    if "neck_front" in marks:
        join.add(marks["neck_front"], 0.0, collar_row + max(0.0, float(at["neck_front"][1]) - collar) * scale)
    hem = join.hem(bottom)
    return Trunk(
        scale=scale,
        product_points=np.stack(join.product).astype(np.float32),
        picture_points=figure.place(np.array(join.torso, np.float32)),
        seams={side: figure.place(seam) for side, seam in seams.items()},
        hem=figure.place(hem),
        polygon=edges.polygon,
        edges=edges,
        gather=join.gather(),
        shoulders_scaled=sum(seam_aside.values()) / max(_own_shoulders(at) * scale * narrow, 1.0),
    )


def _own_shoulders(at: Mapping[str, Points]) -> float:
    """From one shoulder seam to the other, product pixels."""
    return float(sum(abs(float(at[f"shoulder_{side}"][0])) for side in Side))


_SIGNS: Final = {Side.LEFT: 1.0, Side.RIGHT: -1.0}


class _Joined:
    """Pairs of product points and torso coordinates."""

    def __init__(self, edges: TopEdges, figure: Figure, scale: float, lift: float, *, flares: bool) -> None:
        self._flares = flares
        self._edges, self._figure, self._scale, self._lift = edges, figure, scale, lift
        self.product: list[Points] = []
        self.torso: list[tuple[float, float]] = []
        self._bow = 0.0
        self._cone: tuple[tuple[float, float], tuple[float, float]] | None = None
        self._rows: dict[Side, list[tuple[float, float, float]]] = {side: [] for side in Side}

    def hangs_from(self, armpits: Mapping[Side, Points], bottom: str) -> None:
        """A dress is no wider than a cone from the chest to its hem: what is cut wider hangs in folds."""
        if not self._flares:
            return
        figure, narrow = self._figure, self._figure.shown_span / self._figure.span
        depth = float(np.mean([point[1] for point in armpits.values()])) * self._scale - self._lift
        chest = float(np.mean([self.worn(abs(float(armpits[side][0])), depth, side) for side in Side]))
        ends = self._edges.frame.locate(np.stack([self._edges.marks[f"{bottom}_{side}"] for side in Side]))
        low = float(ends[:, 1].mean()) * self._scale - self._lift
        hips_row = figure.torso_length + 0.1 * figure.span
        hips = float(np.mean([figure.reach(hips_row, side) for side in Side]))
        hem = hanging_half_width(float(np.abs(ends[:, 0]).mean()) * self._scale * narrow, hips)
        self._cone = ((depth, chest), (low, max(hem, chest)))
        if "hem_middle" in self._edges.marks:
            lowest = float(self._edges.frame.locate(self._edges.marks["hem_middle"][None])[0, 1])
            bow = lowest * self._scale - self._lift - low
            self._bow = _LEVEL * float(np.clip(bow, 0.0, 0.3 * (low - depth)))

    def levelled(self, row: float, middle: float) -> float:
        """A wide skirt lies in a bow on the floor, and hangs with a level hem; ``middle`` is 1 half-way of the hem."""
        if self._cone is None or row <= self._cone[0][0]:
            return row
        (top, _), (low, _) = self._cone
        share = min((row - top) / max(low - top, 1.0), 1.0)
        return row + self._bow * share**2 * (1 - middle)

    def _within_cone(self, half: float, row: float, body: float) -> float:
        if self._cone is None:
            return half
        (top, chest), (low, hem) = self._cone
        if row <= top:
            return half
        share = min((row - top) / max(low - top, 1.0), 1.0)
        return min(half, max(chest + (hem - chest) * share, body))

    def gather(self) -> Gather | None:
        """How far each row was narrowed."""
        if not self._flares or not all(self._rows.values()):
            return None
        rows = {side: np.array(sorted(values), np.float32) for side, values in self._rows.items()}
        return Gather(
            frame=self._edges.frame,
            below={side: values[:, 0] for side, values in rows.items()},
            flat={side: values[:, 1] for side, values in rows.items()},
            narrowed={side: values[:, 2] for side, values in rows.items()},
        )

    def add(self, point: Points, aside: float, below: float) -> None:
        self.product.append(point)
        self.torso.append((aside, below))

    def add_within(self, own: float, below: float, aside: float, row: float) -> None:
        """A point half-way to an edge: cloth goes round the body, so it is narrowed at the edges, not in the middle.

        Args:
            own, below: The edge in the product's frame.
            aside, row: The edge in the torso's.
        """
        narrowed = abs(aside) / max(abs(own) * self._scale, 1e-6)
        share_shown = self._figure.shown_span / self._figure.span
        self._rows[Side.LEFT if aside > 0 else Side.RIGHT].append((below, abs(own), narrowed / share_shown))
        angle = float(np.interp(narrowed, _NARROWED, _ANGLES))
        round_share = float(np.sin(angle / 2) / np.sin(angle))
        share = 0.5 + _ROUND * (round_share - 0.5)  # all of it would stretch a print near the sides too far
        point = self._edges.frame.place(np.array([[own / 2, below]], np.float32))[0]
        self.add(point, aside * float(share), row)

    def worn(self, own: float, row: float, side: Side) -> float:
        """How far from the axis an edge goes that is ``own`` product pixels from the garment's."""
        figure = self._figure
        body = float(figure.reach(row, side))
        index = int(np.clip(np.searchsorted(figure.outline_rows, row), 0, len(figure.outline_rows) - 1))
        is_sure = bool(figure.outline_sure[index, int(side is Side.LEFT)])
        flat = own * self._scale * figure.shown_span / figure.span
        hips = figure.torso_length + 0.1 * figure.span
        if row > hips and self._flares:
            hanging = self._within_cone(flat, row, 0.0)
            return max(hanging, min(body, _STRIDE * flat))  # legs apart draw it wide
        half = worn_half_width(flat * _DRAPE, body, is_sure=is_sure, scale_across=1.0)
        return self._within_cone(half, row, body if is_sure else 0.0)

    def hem(self, bottom: str) -> NDArray[Any]:
        """Adds the lower edge; from right to left with both ends, as torso coordinates."""
        edge = resampled(self._edges.hem, 7)
        located = self._edges.frame.locate(edge)
        half = {side: abs(float(located[index, 0])) for side, index in ((Side.RIGHT, 0), (Side.LEFT, -1))}
        rows = []
        for index, (point, (aside, below)) in enumerate(zip(edge, located, strict=True)):
            side = Side.LEFT if aside > 0 else Side.RIGHT
            row = float(below) * self._scale - self._lift
            end = self.worn(half[side], row, side)
            share = float(aside) / max(half[side], 1e-6)
            rows.append((share * end, self.levelled(row, 1 - abs(share))))
            if 0 < index < len(edge) - 1:
                self.add(point, *rows[-1])
        return np.array(rows, np.float32)


def _scale(at: Mapping[str, Points], armpits: Mapping[Side, Points], span: float, *, sleeved: bool) -> float:
    chest = float(armpits[Side.LEFT][0] - armpits[Side.RIGHT][0])
    seam = float(at["shoulder_left"][0] - at["shoulder_right"][0])
    by_chest = 2 * _CHEST * span / (_DRAPE * max(chest, 1.0))
    if not sleeved:
        return by_chest
    by_seam = 2 * _SEAM_ASIDE * span / max(seam, 1.0)
    return float(np.sqrt(by_chest * by_seam))
