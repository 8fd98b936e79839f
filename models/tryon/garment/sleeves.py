"""Sleeves follow the arms: each is a strip of quads between an outer and an inner contour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Figure, Limb, Side, usable_arm
from models.tryon.garment.fit import Trunk
from models.tryon.garment.warp import Colours, Mask, Points, path_length, resampled

_ROWS: Final = 25
_COLUMNS: Final = 6
_OVERLAP: Final = 0.10  # of the span: how far a sleeve's layer reaches into the trunk, faded in
_DRAPE: Final = 0.82  # a sleeve's flat width to its width round an arm
_SNAP: Final = (0.72, 1.3)
_LONG: Final = (0.74, 1.16)  # of the arm: a sleeve of such a length ends at the wrist
_EASE_OUTER: Final = (1.08, 1.38)  # least and most half-width, of the bare arm's
_EASE_INNER: Final = (1.08, 1.75)
_OVER_CUFF: Final = 0.03  # of the span: how far a long sleeve goes on over the hand, to hide the rim of the old cuff
_FLARED: Final = 0.35  # how much more the end of a short sleeve may stand off
_HIDDEN: Final = 0.10  # of the span: how far inwards of the seam an arm may hide the trunk
_LEAST_INNER: Final = 0.55  # of the bare arm's: a sleeve squeezed against the trunk
_OVER_SIDE: Final = 0.02  # of the span
_SHORTEST: Final = 0.06  # of the arm: how far beyond the armpit the shortest sleeve ends
_SLANT: Final = 0.3  # of the slant of a cuff lying flat
_USUAL_ARM: Final = 1.42  # of the span; an arm that points at the camera looks shorter


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Matching meshes of a limb's cloth, (rows, columns, 2), outer column first.

    Attributes:
        overlap_rows: The first rows, which fade in over the trunk.
        end_share: Where on the limb (0 its start, 1 wrist or ankle) the cloth ends.
    """

    picture: Points
    product: Points
    overlap_rows: int
    side: Side
    end_share: float = 1.0

    @property
    def outline(self) -> Points:
        """The closed polygon in the picture."""
        return np.concatenate([self.picture[:, 0], self.picture[::-1, -1]])

    @property
    def end(self) -> Points:
        """The last row in the picture, (columns, 2)."""
        return np.asarray(self.picture[-1])


@dataclass(frozen=True, slots=True)
class _Room:
    """Between an arm and the trunk: a sleeve beside it does not reach over its side into the print."""

    figure: Figure
    side: Side
    armpit: Points

    def beside(self, centre: Points, normal: Points) -> NDArray[Any]:
        """How far each point may go along its normal until it is at the armpit's column of the torso, pixels."""
        sign = 1.0 if self.side is Side.LEFT else -1.0
        column = sign * float(self.figure.locate(self.armpit[None])[0, 0]) - _OVER_SIDE * self.figure.span
        aside = sign * self.figure.locate(centre)[:, 0]
        inward = -sign * (normal @ self.figure.across)
        return np.asarray(np.where(inward > 0.3, (aside - column) / np.maximum(inward, 0.3), np.inf), np.float32)


def outward(centre_line: Points, side: Side) -> Points:
    """Unit normals of an arm's axis that point away from the body, (n, 2)."""
    step = np.gradient(centre_line, axis=0)
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-6)
    sign = 1.0 if side is Side.LEFT else -1.0
    return np.asarray(sign * np.stack([step[:, 1], -step[:, 0]], 1), np.float32)


def reach_of(mask: Mask, points: Points, normals: Points, most: float) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """How far ``mask`` goes on from each point along its normal, pixels, and whether its edge was met."""
    import cv2

    steps = np.linspace(0, most, 48, dtype=np.float32)
    at = points[:, None] + steps[None, :, None] * normals[:, None]
    x, y = at[..., 0].astype(np.float32), at[..., 1].astype(np.float32)
    values = cv2.remap(mask, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    height, width = mask.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    outside_person = values < 0.5
    met = outside_person.any(1)
    index = np.where(met, outside_person.argmax(1), len(steps) - 1)
    met &= inside[np.arange(len(points)), index] & (index > 2)
    return steps[index].astype(np.float32), met


def fit_sleeve(trunk: Trunk, figure: Figure, side: Side, person: Mask, hand: Mask) -> Strip:
    """One sleeve on its arm.

    Args:
        trunk: What it is sewn to.
        figure: The body.
        side: Whose arm.
        person: Matte of the person.
        hand: The bare hand of that side: a long sleeve ends where it begins.
    """
    edges = trunk.edges
    if edges is None:
        raise ValueError("a trunk without edges has no sleeves")
    product = (resampled(edges.outer[side], _ROWS), resampled(edges.inner[side], _ROWS))
    lengths = [path_length(path) * trunk.scale for path in product]
    own_width = np.linalg.norm(product[0] - product[1], axis=1) / 2 * trunk.scale * _DRAPE

    arm = usable_arm(figure.arms[side], figure, side)
    usual = max(arm.length, _USUAL_ARM * figure.span)
    line = arm.centre_line(61)
    past = line[-1] - line[-6]
    line = np.concatenate([line, line[-1:] + past * np.linspace(0.2, 2.4, 12, dtype=np.float32)[:, None]])
    starts = [_share_along(line, point) for point in trunk.seams[side]]
    ends = [start + length / usual for start, length in zip(starts, lengths, strict=True)]
    if _LONG[0] <= (ends[0] + ends[1]) / 2 <= _LONG[1]:
        ends = [_hand_begins(hand, line) + _OVER_CUFF * figure.span / max(arm.length, 1.0)] * 2
    else:
        # A cuff goes round the arm, whichever way the sleeve lay on the table.
        middle = max((ends[0] + ends[1]) / 2, max(starts) + _SHORTEST)
        ends = [middle + _SLANT * (end - middle) for end in ends]
    ends = [min(end, 1.15) for end in ends]
    room = _Room(figure, side, trunk.seams[side][1])
    contours = [
        _contour(
            person,
            arm,
            line,
            side,
            np.linspace(start, end, _ROWS),
            own_width,
            room if inwards else None,
            is_short=max(ends) < _LONG[0],
        )
        for start, end, inwards in zip(starts, ends, (False, True), strict=True)
    ]
    armpit = trunk.seams[side][1]
    if max(ends) < _LONG[0]:
        armpit = _in_front(armpit, contours[1][0], figure, side)
    outer, inner = (
        _from_seam(contour, seam, 0.22 * figure.span)
        for contour, seam in zip(contours, (trunk.seams[side][0], armpit), strict=True)
    )
    columns = np.linspace(0, 1, _COLUMNS, dtype=np.float32)[None, :, None]
    picture = outer[:, None] * (1 - columns) + inner[:, None] * columns
    mesh = product[0][:, None] * (1 - columns) + product[1][:, None] * columns
    return _with_overlap(picture, mesh, trunk, figure, edges.armpits, side, min(ends))


def _in_front(seam: Points, arm: Points, figure: Figure, side: Side) -> Points:
    """Where a short sleeve starts at the armpit: an arm that hangs lies before the trunk's side and hides the seam."""
    seam_at, arm_at = figure.locate(np.stack([seam, arm]))
    sign = 1.0 if side is Side.LEFT else -1.0
    inwards = float(np.clip(sign * (seam_at[0] - arm_at[0]), 0, _HIDDEN * figure.span))
    return np.asarray(seam - sign * inwards * figure.across, np.float32)


def _hand_begins(hand: Mask, line: Points) -> float:
    """Where on the arm (0 shoulder, 1 wrist) the bare hand comes out; the wrist when it is not seen."""
    height, width = hand.shape
    for index in range(50, len(line)):
        x, y = np.rint(line[index]).astype(int)
        if 0 <= x < width and 0 <= y < height and hand[y, x] > 0.5:
            return float(np.clip((index + 0.5) / 60, 0.93, 1.15))
    return 1.01


def _share_along(line: Points, point: Points) -> float:
    """Where on an arm's axis (0 shoulder, 1 wrist) a point of the seam is."""
    nearest = int(np.argmin(((line[:40] - point) ** 2).sum(1)))
    return nearest / 60


def _contour(
    person: Mask,
    arm: Limb,
    line: Points,
    side: Side,
    position: NDArray[Any],
    own_width: NDArray[Any],
    room: _Room | None,
    *,
    is_short: bool,
) -> Points:
    """One edge of a sleeve along the arm, (rows, 2): the inner one where ``room`` is given."""
    inwards = room is not None
    shares = np.arange(len(line), dtype=np.float32) / 60
    centre = np.stack([np.interp(position, shares, line[:, k]) for k in range(2)], 1).astype(np.float32)
    normals = outward(line, side) * (-1.0 if inwards else 1.0)
    normal = np.stack([np.interp(position, shares, normals[:, k]) for k in range(2)], 1)
    normal = (normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)).astype(np.float32)
    bare = arm.radius_at(np.minimum(position, 1).astype(np.float32))
    # Cloth lies on the outer side of an arm and hangs on the inner one.
    least, most = _EASE_INNER if inwards else _EASE_OUTER
    # A short sleeve is as wide at its end as it is cut, where a long one is gathered by its cuff.
    ease = 1 + _FLARED * np.linspace(0, 1, len(position)) * is_short
    width = np.clip(own_width, bare * least, bare * most * ease).astype(np.float32)
    edge = _edge(person, centre, normal, width, bare)
    if is_short:
        edge = np.maximum(edge, width * np.linspace(0.8, 0.97, len(width), dtype=np.float32))
    if room is not None:
        edge = np.minimum(edge, np.maximum(room.beside(centre, normal), bare * _LEAST_INNER))
    return np.asarray(centre + normal * edge[:, None], np.float32)


def _from_seam(path: Points, seam: Points, reach: float) -> Points:
    """``path`` led out of the seam: its start moved there, the rest less and less."""
    along = np.linalg.norm(path - path[0], axis=1)
    weight = np.exp(-((along / reach) ** 2)).astype(np.float32)[:, None]
    return np.asarray(path + (seam - path[0]) * weight, np.float32)


def _edge(person: Mask, centre: Points, normal: Points, width: NDArray[Any], bare: NDArray[Any]) -> NDArray[Any]:
    """Half-widths to one side: where the dressed arm's edge is seen near the wanted width, else that width."""
    import cv2

    seen, met = reach_of(person, centre, normal, float(width.max()) * 1.8)
    ratio = seen / np.maximum(width, 1e-6)
    snapped = np.where(met & (ratio > _SNAP[0]) & (ratio < _SNAP[1]), seen * 1.01, width)
    snapped = np.where(met & (ratio <= _SNAP[0]), np.maximum(bare * 1.05, width * 0.8), snapped)
    smooth = cv2.GaussianBlur(snapped.astype(np.float32)[:, None], (1, 7), 0, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth[:, 0], np.float32)


def _with_overlap(
    picture: Points,
    product: Points,
    trunk: Trunk,
    figure: Figure,
    armpits: Mapping[Side, Points],
    side: Side,
    end: float,
) -> Strip:
    """Rows added before the first that reach into the trunk, the same way in picture and product."""
    other = Side.RIGHT if side is Side.LEFT else Side.LEFT
    reach = _OVERLAP * figure.span
    across = trunk.seams[other].mean(0) - trunk.seams[side].mean(0)
    inward_picture = across / max(float(np.linalg.norm(across)), 1e-6) * reach
    product_across = armpits[other] - armpits[side]
    inward_product = product_across / max(float(np.linalg.norm(product_across)), 1e-6) * reach / trunk.scale
    inward_picture = inward_picture.astype(np.float32)
    # The cuff's own edge ends the sleeve, not the mesh.
    beyond = [mesh[-1:] + 1.5 * (mesh[-1:] - mesh[-2:-1]) for mesh in (picture, product)]
    return Strip(
        picture=np.concatenate([picture[:1] + inward_picture, picture, beyond[0]]).astype(np.float32),
        product=np.concatenate([product[:1] + inward_product, product, beyond[1]]).astype(np.float32),
        overlap_rows=1,
        side=side,
        end_share=end,
    )


def closed(colours: Colours, alpha: Mask, along: Mask) -> tuple[Colours, Mask, float]:
    """A sleeve without gaps from its seam to its cuff, and the share of it that had to be closed.

    Where sleeve and side meet, the straight rows of the mesh leave the cloth's outline: left open, the armpit would be
    torn.

    Args:
        colours: (h, w, 3).
        alpha: As the product photo says.
        along: Negative outside of the mesh, 0 to 1 over the trunk, 1 on the sleeve, up to 2 beyond its cuff.
    """
    import cv2

    sleeve = (along > 0.98) & (along <= 1.0 + 1e-4)
    hole = sleeve & (alpha < 0.98)
    # Beyond the cuff only its own soft edge counts, no piece of the side that lies there in the product photo.
    alpha = np.where(along > 1, alpha * np.clip(1.6 - along, 0, 0.6) / 0.6, alpha).astype(np.float32)
    share = float((sleeve & (alpha < 0.5)).sum()) / max(float(sleeve.sum()), 1.0)
    cloth = sleeve & (alpha >= 0.98)
    if not hole.any() or not cloth.any():
        return colours, alpha, share
    _, labels = cv2.distanceTransformWithLabels(
        (~cloth).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    rows, columns = np.nonzero(cloth)
    order = np.zeros(int(labels.max()) + 1, np.int64)
    order[labels[rows, columns]] = np.arange(len(rows))
    nearest = order[labels[hole]]
    weight = alpha[hole][:, None]
    colours = colours.copy()
    colours[hole] = colours[hole] * weight + colours[rows[nearest], columns[nearest]] * (1 - weight)
    alpha[hole] = 1.0
    return colours, alpha, share
