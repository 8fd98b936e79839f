"""Garments that hang from the waist: trousers as two strips that follow the legs, skirts as a spline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Figure, Limb, Side
from models.tryon.garment.fit import Trunk, hanging_half_width
from models.tryon.garment.seams import Garment, ProductFrame, product_frame, top_edges
from models.tryon.garment.sleeves import Strip, outward, reach_of
from models.tryon.garment.warp import Mask, Points, path_length, resampled

_RISE_ROWS: Final = 10
_LEG_ROWS: Final = 24
_COLUMNS: Final = 7
_DRAPE: Final = 0.90
_LEG_DRAPE: Final = 0.86
_CROTCH: Final = 0.20  # of the span below the hip joints
_WAIST: Final = -0.30  # of the span: where a waistband sits, from the hip joints
_HIGHER: Final = 0.3  # of the span: how far up a waistband may be moved
_FULL: Final = (0.83, 1.22)  # of the leg: trousers of such a length end at the ankle
_FULL_BAGGY: Final = (0.6, 1.22)  # overalls are wider at the waist than what they end at says
_SNAP: Final = (0.74, 1.28)
_EASE: Final = (1.1, 2.1)
_WIDTHS: Final = (0.8, 1.22)
_WIDEST: Final = 1.12  # of what is worn on the hips in the photo
_WIDEST_END: Final = 1.5  # the same at the end of a leg
_STRIDE: Final = 1.3  # most that legs apart widen a skirt
_PARTING: Final = 0.03  # of the span: half the gap between two trouser legs at the ankles, at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Waist:
    """Where a waistband lies in the picture.

    Attributes:
        scale: Picture pixels per product pixel.
        row: Down from the shoulders, pixels.
        half: Half-width to the right and to the left, pixels.
    """

    scale: float
    row: float
    half: dict[Side, float]


def fit_waist(garment: Garment, figure: Figure, cloth: Mask | None = None) -> Waist:
    """The waistband on the hips, as wide as the body there if the garment lets it.

    Args:
        garment: What hangs from the waist.
        figure: The body.
        cloth: What is worn there in the photo: the new waistband is not below an old one that is seen.
    """
    marks = {name: np.array(point, np.float32) for name, point in garment.landmarks.items()}
    width = float(np.linalg.norm(marks["waist_left"] - marks["waist_right"]))
    row = figure.torso_length + _WAIST * figure.span
    if cloth is not None:
        row = min(row, max(_top_of(cloth, figure) - 0.03 * figure.span, row - _HIGHER * figure.span))
    usual = 0.52 * figure.shown_span
    # Hands beside the hips look like a part of them.
    half = {side: float(np.clip(figure.reach(row, side) * 1.01, 0.75 * usual, 1.2 * usual)) for side in Side}
    hips = 2 * 0.50 * figure.span * figure.shown_span / figure.span
    body = float(np.clip(sum(half.values()), 0.85 * hips, 1.25 * hips))
    narrow = figure.shown_span / figure.span
    return Waist(scale=body / narrow / (width * _DRAPE), row=row, half=half)


def _top_of(cloth: Mask, figure: Figure) -> float:
    """How far below the shoulders cloth begins near the body's axis, pixels; infinite where none is seen."""
    aside = np.linspace(-0.2, 0.2, 9, dtype=np.float32) * np.float32(figure.shown_span)
    rows = np.arange(0.45 * figure.torso_length, 1.2 * figure.torso_length, dtype=np.float32)
    at = np.rint(figure.place(np.stack(np.meshgrid(aside, rows), -1))).astype(int)
    height, width = cloth.shape
    inside = (at[..., 0] >= 0) & (at[..., 0] < width) & (at[..., 1] >= 0) & (at[..., 1] < height)
    seen = inside & (cloth[np.clip(at[..., 1], 0, height - 1), np.clip(at[..., 0], 0, width - 1)] > 0.5)
    full = seen.mean(1) > 0.25
    return float(rows[int(full.argmax())]) if full.any() else float("inf")


def leg_frame(garment: Garment) -> ProductFrame:
    """Axes of trousers: through the waistband's middle, down to the hems'."""
    marks = garment.landmarks
    top = np.mean([marks["waist_left"], marks["waist_right"]], axis=0)
    names = [f"leg_{side}_{edge}" for side in Side for edge in ("outer", "inner")]
    bottom = np.mean([marks[name] for name in names], axis=0)
    down = (bottom - top) / max(float(np.linalg.norm(bottom - top)), 1e-6)
    across = np.array([down[1], -down[0]])
    if across @ (np.array(marks["waist_left"]) - np.array(marks["waist_right"])) < 0:
        across = -across
    return ProductFrame(origin=top.astype(np.float32), across=across.astype(np.float32), down=down.astype(np.float32))


def fit_leg(
    garment: Garment,
    waist: Waist,
    figure: Figure,
    side: Side,
    person: Mask,
    cloth: Mask,
    *,
    full: tuple[float, float] = _FULL,
    clothes: Mask | None = None,
) -> Strip:
    """One half of a pair of trousers: from the waistband's middle and its side down to the hem of the leg.

    Args:
        garment: The trousers.
        waist: Where the waistband lies.
        figure: The body.
        side: Whose leg.
        person: Matte of the person.
        cloth: What is worn on the legs in the photo: full-length trousers end where that does.
        full: Lengths, as shares of the leg, that count as full.
        clothes: All that is worn, without hands: as wide as that hips are at most.
    """
    from scipy.ndimage import gaussian_filter1d, median_filter

    marks = {name: np.array(point, np.float32) for name, point in garment.landmarks.items()}
    frame = leg_frame(garment)
    sign = 1.0 if side is Side.LEFT else -1.0
    outer = garment.outline_between(f"waist_{side}", f"leg_{side}_outer")
    inner = garment.outline_between("crotch", f"leg_{side}_inner")
    crotch_below = float(frame.locate(marks["crotch"][None])[0, 1])
    below = frame.locate(outer)[:, 1]
    split = int(np.clip(np.argmax(below > crotch_below), 2, len(outer) - 2))
    middle = (marks["waist_left"] + marks["waist_right"]) / 2
    product_outer = np.concatenate(
        [resampled(outer[: split + 1], _RISE_ROWS), resampled(outer[split:], _LEG_ROWS + 1)[1:]]
    )
    product_inner = np.concatenate(
        [resampled(np.stack([middle, marks["crotch"]]), _RISE_ROWS), resampled(inner, _LEG_ROWS + 1)[1:]]
    )

    hips = (figure.hips[Side.LEFT] + figure.hips[Side.RIGHT]) / 2
    crotch = hips + figure.down * _CROTCH * figure.span
    crotch_row = float(figure.locate(crotch[None])[0, 1])
    narrow = figure.shown_span / figure.span
    rows = np.linspace(waist.row, crotch_row, _RISE_ROWS)
    own = np.abs(frame.locate(product_outer[:_RISE_ROWS])[:, 0]) * waist.scale * narrow * _DRAPE
    body = np.minimum(figure.reach(rows, side) * 1.01, 0.68 * figure.shown_span)
    # Hands beside the hips are no hips.
    middle_line = figure.place(np.stack([np.zeros_like(rows), rows], 1))
    aside = np.broadcast_to(sign * figure.across, middle_line.shape).astype(np.float32)
    worn, met = reach_of(cloth if clothes is None else clothes, middle_line, aside, 0.9 * figure.shown_span)
    sure = met & (worn > 0.4 * figure.shown_span)
    if sure.mean() > 0.5:  # one that is seen in a few rows only would dent the side
        hips = np.interp(np.arange(len(rows)), np.flatnonzero(sure), worn[sure]) * 1.02
        hips = gaussian_filter1d(median_filter(hips, 5, mode="nearest"), 1.0, mode="nearest")
        body = np.clip(body, None, np.maximum(hips, 0.8 * body))
    ratio = body / np.maximum(own, 1e-6)
    half = np.where((ratio > _SNAP[0]) & (ratio < _SNAP[1]), body, np.minimum(own, 0.7 * figure.shown_span))
    half = np.minimum(half, _WIDEST * body)
    half[0] = np.clip(waist.half[side], 0.8 * own[0], 1.25 * own[0])
    rise_outer = figure.place(np.stack([sign * half, rows], 1))
    rise_inner = figure.place(np.stack([np.zeros_like(rows), rows], 1))
    rise_inner += np.linspace(0, 1, _RISE_ROWS, dtype=np.float32)[:, None] * (crotch - rise_inner[-1])

    own_length = path_length(inner) * waist.scale
    leg_outer, leg_inner = _leg_contours(
        figure,
        side,
        person,
        own_length,
        product_outer[_RISE_ROWS:],
        product_inner[_RISE_ROWS:],
        waist.scale,
        full,
        cloth,
    )
    leg_outer = _eased_in(rise_outer[-1], leg_outer)
    leg_inner = _eased_in(rise_inner[-1], leg_inner)
    columns = np.linspace(0, 1, _COLUMNS, dtype=np.float32)[None, :, None]
    picture_outer = np.concatenate([rise_outer, leg_outer])
    picture_inner = np.concatenate([rise_inner, leg_inner])
    picture = picture_outer[:, None] * (1 - columns) + picture_inner[:, None] * columns
    product = product_outer[:, None] * (1 - columns) + product_inner[:, None] * columns
    return Strip(picture=picture.astype(np.float32), product=product.astype(np.float32), overlap_rows=0, side=side)


def _leg_contours(
    figure: Figure,
    side: Side,
    person: Mask,
    own_length: float,
    product_outer: Points,
    product_inner: Points,
    scale: float,
    full: tuple[float, float],
    cloth: Mask,
) -> tuple[Points, Points]:
    leg = figure.legs[side]
    line = leg.centre_line(61)
    past = line[-1] - line[-4]
    line = np.concatenate([line, line[-1:] + past * np.linspace(0.33, 2.0, 6)[:, None]]).astype(np.float32)
    shares = np.arange(len(line), dtype=np.float32) / 60
    crotch_share = _CROTCH * figure.span / max(leg.length, 1.0)
    # Both legs are cut alike: a leg that is bent or further away must not look shorter.
    share = float(np.mean([_share_of(own_length, figure.legs[each], figure.span) for each in Side]))
    end = _cloth_ends(cloth, line) if full[0] <= share <= full[1] else min(share, 1.1)
    at = np.linspace(crotch_share, end, _LEG_ROWS + 1)[1:]
    centre = np.stack([np.interp(at, shares, line[:, k]) for k in range(2)], 1).astype(np.float32)
    normals = outward(line, side)
    normal = np.stack([np.interp(at, shares, normals[:, k]) for k in range(2)], 1).astype(np.float32)
    bare = leg.radius_at(np.minimum(at, 1).astype(np.float32))
    own = np.linalg.norm(product_outer - product_inner, axis=1) / 2 * scale * _LEG_DRAPE
    width = np.clip(own, bare * _EASE[0], np.maximum(bare * _EASE[1], 0.17 * figure.span)).astype(np.float32)
    # Of all sizes the shop would send one that is not wider at every place than the body.
    seen, met = reach_of(cloth, centre, normal, float(width.max()) * 1.7)
    close = met & (seen > bare * 0.9)
    tapering = np.linspace(_WIDEST, _WIDEST_END, len(at), dtype=np.float32)
    outward_width = np.where(close, np.minimum(width, np.maximum(seen, bare * _EASE[0]) * tapering), width)
    outer = centre + normal * _edge(person, centre, normal, outward_width.astype(np.float32))[:, None]
    to_inside = _edge(person, centre, -normal, width)
    # A skirt in the photo fills the gap between the legs: trousers part there all the same.
    other = figure.legs[Side.RIGHT if side is Side.LEFT else Side.LEFT].centre_line(61)
    between = np.stack([np.interp(np.minimum(at, 1), shares[:61], other[:, k]) for k in range(2)], 1) - centre
    middle = (between * -normal).sum(1) / 2 - np.linspace(0.0, _PARTING, len(at)) * figure.span
    to_inside = np.minimum(to_inside, np.maximum(middle, bare * 1.02)).astype(np.float32)
    inner = centre - normal * to_inside[:, None]
    return outer.astype(np.float32), inner.astype(np.float32)


def _share_of(own_length: float, leg: Limb, span: float) -> float:
    """Where on a leg (0 hip, 1 ankle) trousers of an inner length end."""
    usual = max(leg.length, 2.35 * span if leg.seen < 0.5 else 0.0)
    return own_length / max(usual, 1.0) + _CROTCH * span / max(leg.length, 1.0)


def _cloth_ends(cloth: Mask, line: Points) -> float:
    """Where on the leg (0 hip, 1 ankle) long trousers in the photo end; the ankle when none are worn."""
    height, width = cloth.shape
    end = 1.02
    for index in range(46, len(line)):
        x, y = np.rint(line[index]).astype(int)
        if not (0 <= x < width and 0 <= y < height and cloth[y, x] > 0.5):
            break
        end = max(end, (index + 1.5) / 60)
    return min(end, 1.14)


def _edge(person: Mask, centre: Points, normal: Points, width: NDArray[Any]) -> NDArray[Any]:
    import cv2

    seen, met = reach_of(person, centre, normal, float(width.max()) * 1.7)
    ratio = seen / np.maximum(width, 1e-6)
    snapped = np.where(met & (ratio > _SNAP[0]) & (ratio < _SNAP[1]), seen * 1.015, width).astype(np.float32)
    smooth = cv2.GaussianBlur(cv2.medianBlur(snapped[:, None], 5), (1, 7), 0, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth[:, 0], np.float32)


def _eased_in(start: Points, path: Points) -> Points:
    """``path`` with its first rows led to ``start``."""
    keep = np.concatenate([start[None], path[3:]])
    smooth = resampled(keep, len(path) + 1)[1:]
    weight = np.linspace(1, 0, len(path), dtype=np.float32)[:, None] ** 2
    return np.asarray(smooth * weight + path * (1 - weight), np.float32)


def fit_overall(garment: Garment, figure: Figure, person: Mask, cloth: Mask) -> tuple[Trunk, tuple[Strip, ...]]:
    """Overalls: a bib on straps as long as it is cut, and below its end the two legs."""
    waist = fit_waist(garment, figure)
    marks = {name: np.array(point, np.float32) for name, point in garment.landmarks.items()}
    top = (marks["shoulder_left"] + marks["shoulder_right"]) / 2
    middle = (marks["waist_left"] + marks["waist_right"]) / 2
    # Straps are adjusted to the wearer: the way from shoulder to waist is theirs, within what straps give.
    half = float(np.linalg.norm(marks["shoulder_left"] - marks["shoulder_right"])) / 2 * waist.scale
    lift = figure.shoulder_top(min(half, 0.6 * figure.span))
    length = float(np.linalg.norm(middle - top)) * waist.scale
    row = float(np.clip(length - lift, waist.row - 0.15 * figure.span, waist.row + 0.2 * figure.span))
    stretch = (row + lift) / max(length, 1.0)
    waist = Waist(scale=waist.scale, row=row, half=waist.half)
    legs = tuple(fit_leg(garment, waist, figure, side, person, cloth, full=_FULL_BAGGY) for side in Side)
    edges = top_edges(garment, "waist")
    joined: list[tuple[Points, tuple[float, float]]] = []
    narrow = figure.shown_span / figure.span
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        located = edges.frame.locate(marks[f"waist_{side}"][None])[0]
        across = waist.half[side] / max(abs(float(located[0])), 1e-6)
        path = np.concatenate([marks[f"shoulder_{side}"][None], resampled(edges.sides[side], 7)])
        for point, (aside, below) in zip(path, edges.frame.locate(path), strict=True):
            share = np.clip(float(below) * waist.scale * stretch / (row + lift), 0, 1)
            factor = across * share + waist.scale * narrow * (1 - share)
            joined.append((point, (float(aside) * factor, float(below) * waist.scale * stretch - lift)))
        joined[-1] = (joined[-1][0], (sign * waist.half[side], row))
    for share in (0.0, 0.5):
        point = top + (middle - top) * (0.5 + share)
        joined.append((point, (0.0, -lift + (row + lift) * (0.5 + share))))
    bib = Trunk(
        scale=waist.scale,
        product_points=np.stack([point for point, _ in joined]).astype(np.float32),
        picture_points=figure.place(np.array([place for _, place in joined], np.float32)),
        seams={},
        hem=figure.place(np.array([[-waist.half[Side.RIGHT], row], [waist.half[Side.LEFT], row]], np.float32)),
        polygon=edges.polygon,
    )
    return bib, legs


def fit_skirt(garment: Garment, figure: Figure, cloth: Mask | None = None) -> Trunk:
    """A skirt on the hips, ending at its own hem."""
    marks = {name: np.array(point, np.float32) for name, point in garment.landmarks.items()}
    waist = fit_waist(garment, figure, cloth)
    frame = product_frame(marks, ("waist_right", "waist_left"), ("hem_right", "hem_left"))
    narrow = figure.shown_span / figure.span
    product: list[Points] = []
    torso: list[tuple[float, float]] = []
    factors: dict[Side, float] = {}
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        edge = resampled(garment.outline_between(f"waist_{side}", f"hem_{side}"), 8)
        for index, (point, (aside, below)) in enumerate(zip(edge, frame.locate(edge), strict=True)):
            own = abs(float(aside)) * waist.scale * narrow * _DRAPE
            row = waist.row + float(below) * waist.scale
            body = float(figure.reach(row, side))
            hips = figure.torso_length + 0.12 * figure.span
            if index == 0:
                half = float(np.clip(waist.half[side], 0.85 * own, 1.2 * own))
            elif row < hips:
                half = float(np.clip(max(own, body * 1.01), _WIDTHS[0] * own, _WIDTHS[1] * own))
            else:
                half = hanging_half_width(own / _DRAPE, float(figure.reach(hips, side)))
                half = max(half, min(body * 1.02, _STRIDE * own))  # legs apart draw it wide
            factors[side] = half / max(abs(float(aside)), 1e-6)
            product.append(point)
            torso.append((sign * half, row))
    for name in ("waist", "hem"):
        edge = resampled(garment.outline_between(f"{name}_right", f"{name}_left"), 5)[1:-1]
        for point, (aside, below) in zip(edge, frame.locate(edge), strict=True):
            side = Side.LEFT if aside > 0 else Side.RIGHT
            factor = (
                factors[side]
                if name == "hem"
                else waist.half[side] / max(abs(float(frame.locate(marks[f"waist_{side}"][None])[0, 0])), 1e-6)
            )
            product.append(point)
            torso.append((float(aside) * factor, waist.row + float(below) * waist.scale))
    picture = figure.place(np.array(torso, np.float32))
    return Trunk(
        scale=waist.scale,
        product_points=np.stack(product).astype(np.float32),
        picture_points=picture,
        seams={},
        hem=picture[-3:],
        polygon=np.zeros((0, 2), np.float32),
    )
