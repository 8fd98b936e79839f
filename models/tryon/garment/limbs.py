"""Bare arms and legs where old sleeves and trousers are taken away: their shape under the cloth, and their shading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.tryon.garment.figure import Limb, Side
from models.tryon.garment.sleeves import outward, reach_of
from models.tryon.garment.warp import Box, Colours, Mask, Points, strip_map

_ROWS: Final = 49
_COLUMNS: Final = 5
_UNDER_CLOTH: Final = 0.80  # of the cloth's width over a limb
_USUAL: Final = 0.86  # of the figure's radii, which leave room for cloth, where nothing of the limb is seen
_THICKNESS: Final = (0.66, 1.12)
_LEAST: Final = 0.60  # of the usual width: cloth that seems narrower was not seen right
_WRIST: Final = 1.04  # of an arm: up to there, and a little beyond the end of a sleeve, the seen hand's edges count
_HAND: Final = 0.03
_WIDEST, _WIDEST_HAND = 1.45, 1.9  # of the usual width: what is still the limb itself
_MELT: Final = 0.05  # of the arm: over so much of the hand the made wrist runs out
_EDGE_LIGHT: Final = 0.60  # of the middle: skin at the edge of a limb turns away from the light
_SHADOW_TINT: Final = (1.0, 0.955, 0.925)  # shadows on skin are redder: red, green, blue
_MOTTLE: Final = 0.012  # how much skin varies from place to place
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)
_CHEEKS: Final = ((117, 50, 205), (346, 280, 425))  # of the face mesh: the picture's left and right cheek


@dataclass(frozen=True, slots=True, kw_only=True)
class BareLimb:
    """A limb's edges, row by row from its first joint to beyond its last.

    Attributes:
        at: (rows,): shares of the limb's length.
        outer, inner: Its edges in the picture, (rows, 2).
        bend: Share at which the elbow or the knee is.
        is_leg: Whether that is a knee.
        hand_at: Share at which the bare hand comes out of a sleeve; None when it is not seen.
    """

    at: NDArray[Any]
    outer: Points
    inner: Points
    side: Side
    bend: float
    is_leg: bool
    hand_at: float | None = None

    @property
    def width(self) -> float:
        """Half the middle width, pixels."""
        return float(np.median(np.linalg.norm(self.outer - self.inner, axis=1))) / 2


def bare_limb(limb: Limb, side: Side, person: Mask, skin: Mask, *, end: float, is_leg: bool) -> BareLimb:
    """The shape of a limb: where skin is seen its own edges, elsewhere what fits under the cloth, led into each other.

    Args:
        limb: Its joints and usual radii.
        side: Whose.
        person: Matte of the dressed person.
        skin: What is bare in the photo.
        end: Share of the length up to which it is wanted; may lie beyond the last joint.
        is_leg: A leg, not an arm.
    """
    import cv2

    line = limb.centre_line(61)
    past = line[-1] - line[-5]
    line = np.concatenate([line, line[-1:] + past * np.linspace(0.25, 3.0, 12, dtype=np.float32)[:, None]])
    shares = np.arange(len(line)) / 60
    hand_at = None if is_leg else _hand_begins(skin, line, shares)
    at = np.linspace(0.0, end if hand_at is None else max(end, hand_at + 0.12), _ROWS)
    centre = np.stack([np.interp(at, shares, line[:, k]) for k in range(2)], 1).astype(np.float32)
    normals = outward(line, side)
    normal = np.stack([np.interp(at, shares, normals[:, k]) for k in range(2)], 1).astype(np.float32)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    usual = limb.radius_at(np.minimum(at, 1).astype(np.float32))
    most = float(usual.max()) * 2.2
    cloth = [reach_of(person, centre, way * normal, most) for way in (1, -1)]
    seen = [reach_of(skin, centre, way * normal, most) for way in (1, -1)]
    thick = (seen[0][0] + seen[1][0]) / 2
    widest = np.where(at >= (hand_at or np.inf), _WIDEST_HAND, _WIDEST) * usual
    real = seen[0][1] & seen[1][1] & (thick > 0.45 * usual) & (thick < widest)
    if not is_leg:
        real &= at < (_WRIST if hand_at is None else max(hand_at + _HAND, _WRIST))  # a hand is wider than its wrist
    firm = real & (at < 0.98) & (at > 0.25)
    thickness = float(np.median(thick[firm] / usual[firm])) if firm.sum() >= 3 else _USUAL
    radius = usual * np.float32(np.clip(thickness, *_THICKNESS))
    # Where cloth shows both of its edges the limb lies in its middle, where one, a little within it.
    both = cloth[0][1] & cloth[1][1]
    half = np.clip((cloth[0][0] + cloth[1][0]) / 2 * _UNDER_CLOTH, _LEAST * radius, radius)
    middle = np.where(both, (cloth[0][0] - cloth[1][0]) / 2, 0)
    alone = cloth[0][1] & ~cloth[1][1]
    middle = np.where(alone, np.minimum(cloth[0][0] * 0.94 - radius, 0), middle)
    half = np.where(both, half, radius)
    most_aside = 0.6 * float(np.median(radius))
    middle = np.where(at < 0.12, 0, np.clip(middle, -most_aside, most_aside))
    middle = np.where(real, (seen[0][0] - seen[1][0]) / 2, middle)
    half = np.where(real, thick, half)
    last = int(np.flatnonzero(real)[-1]) if real.any() else len(at)
    if hand_at is not None and last < len(at) and at[last] >= hand_at:
        half[last + 1 :], middle[last + 1 :] = half[last], middle[last]
    edges = [half + middle, half - middle]
    smooth = [
        cv2.GaussianBlur(
            cv2.medianBlur(edge.astype(np.float32)[:, None], 5), (1, 13), 2.6, borderType=cv2.BORDER_REPLICATE
        )[:, 0]
        for edge in edges
    ]
    # Blurring must not lead seen edges astray.
    weight = cv2.GaussianBlur(real.astype(np.float32)[:, None], (1, 5), 1.0, borderType=cv2.BORDER_REPLICATE)[:, 0]
    smooth = [edge * weight + wide * (1 - weight) for edge, wide in zip(edges, smooth, strict=True)]
    first = float(np.linalg.norm(limb.joints[1] - limb.joints[0])) / max(limb.length, 1e-6)
    return BareLimb(
        at=at,
        outer=(centre + normal * smooth[0][:, None]).astype(np.float32),
        inner=(centre - normal * smooth[1][:, None]).astype(np.float32),
        side=side,
        bend=first,
        is_leg=is_leg,
        hand_at=hand_at,
    )


def _hand_begins(skin: Mask, line: Points, shares: NDArray[Any]) -> float | None:
    """Where on an arm the skin of its hand begins."""
    height, width = skin.shape
    x, y = np.rint(line).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    bare = inside & (skin[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)] > 0.5)
    late = np.flatnonzero(bare[:-1] & bare[1:] & (shares[:-1] > 0.75))
    if not len(late) or bare[late[0] - 2 : late[0]].all():
        return None  # not seen, or bare further up
    return float(shares[late[0]])


def light_from(picture: Colours, face: FaceLandmarks | None) -> float:
    """-1 to 1: how far the light comes from the picture's left or right, by the two cheeks; 0 without a face."""
    if face is None:
        return 0.0
    height, width = picture.shape[:2]
    reach = max(1, round(0.03 * face.width))
    sides = []
    for places in _CHEEKS:
        values = []
        for x, y in np.rint(face.points[list(places), :2]).astype(int):
            if reach <= x < width - reach and reach <= y < height - reach:
                values.append(float((picture[y - reach : y + reach + 1, x - reach : x + reach + 1] @ _LUMA).mean()))
        sides.append(float(np.median(values)) if values else 0.0)
    left, right = sides
    if min(left, right) <= 0:
        return 0.0
    return float(np.clip(2.2 * (right - left) / (right + left), -0.8, 0.8))


def shaded(
    limb: BareLimb, colour: Colours, shape: tuple[int, ...], light: float, generator: np.random.Generator
) -> tuple[Box, Colours, Mask, Mask]:
    """The limb as a picture: its box, colours (h, w, 3), alpha, and that of the wrist, which runs out over the hand.

    Args:
        limb: Its edges.
        colour: Of lit skin, (3,).
        shape: Of the picture.
        light: What ``light_from`` says.
        generator: For the way skin varies from place to place.
    """
    import cv2

    across = np.linspace(1, -1, _COLUMNS, dtype=np.float32)
    share = (across[None, :, None] + 1) / 2
    picture = limb.outer[:, None] * share + limb.inner[:, None] * (1 - share)
    rows = np.broadcast_to(limb.at.astype(np.float32)[:, None], (_ROWS, _COLUMNS))
    mapped = strip_map(
        picture.astype(np.float32), np.stack([np.broadcast_to(across, (_ROWS, _COLUMNS)), rows], -1), shape
    )
    if mapped.box.is_empty:
        return mapped.box, np.zeros((0, 0, 3), np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)
    inside = (mapped.x > -50).astype(np.float32)
    across = np.clip(np.where(inside > 0, mapped.x, 0), -1, 1)
    along = np.where(inside > 0, mapped.y, 0)
    sign = 1.0 if limb.side is Side.LEFT else -1.0  # outward of the left limb is the picture's right
    toward = across * sign - 0.35 * light
    round_light = np.sqrt(np.clip(1 - (0.93 * toward) ** 2, 0.02, 1))
    level: NDArray[Any] = (_EDGE_LIGHT + (1 - _EDGE_LIGHT) * round_light).astype(np.float32)
    level *= 1 + (0.03 * light * across * sign).astype(np.float32)
    # The side towards the body gets less light.
    level *= (1 - 0.05 * np.clip(-across, 0, 1)).astype(np.float32)
    level *= _knee(across * sign, along, limb.bend) if limb.is_leg else _elbow(across, along, limb.bend)
    level = np.where(inside > 0, level, np.float32(_EDGE_LIGHT))
    soft = cv2.GaussianBlur(level, (0, 0), max(0.6, 0.06 * limb.width)).astype(np.float32)
    size = (max(2, inside.shape[0] // 14), max(2, inside.shape[1] // 14))
    patches = cv2.resize(
        generator.standard_normal(size).astype(np.float32), inside.shape[::-1], interpolation=cv2.INTER_CUBIC
    )
    level = np.asarray(soft * (1 + _MOTTLE * np.clip(patches, -2, 2)), np.float32)
    shadow = np.clip(1 - level, 0, 1)[..., None]
    tint = np.array(_SHADOW_TINT, np.float32) ** (shadow * 2.2)
    # The mesh is a little wider than the limb and has steps; its edge is the limb's own line.
    line = np.concatenate([limb.outer, limb.inner[::-1]]) - (mapped.box.left, mapped.box.top)
    drawn = np.zeros(inside.shape, np.uint8)
    cv2.fillPoly(drawn, [np.round((line - 0.25) * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    alpha = cv2.GaussianBlur(drawn, (0, 0), 0.9).astype(np.float32) / 255
    wrist = np.zeros_like(alpha)
    if limb.hand_at is not None:
        past = (along - limb.hand_at) / _MELT
        wrist = np.where((inside > 0) & (past > -1.2), alpha * np.clip(1.1 - past, 0, 1), 0).astype(np.float32)
    return mapped.box, (colour * level[..., None] * tint).astype(np.float32), np.asarray(alpha, np.float32), wrist


def _knee(across: Mask, along: Mask, bend: float) -> Mask:
    """Light on a kneecap, the dent below it, the shin."""
    cap = np.exp(-(((along - bend) / 0.045) ** 2) - (across / 0.55) ** 2)
    below = np.exp(-(((along - bend - 0.075) / 0.03) ** 2) - (across / 0.6) ** 2)
    shin = np.exp(-((across + 0.25) ** 2) / 0.06) * np.clip((along - bend - 0.08) / 0.1, 0, 1)
    return np.asarray(1 + 0.05 * cap - 0.07 * below + 0.035 * shin, np.float32)


def _elbow(across: Mask, along: Mask, bend: float) -> Mask:
    """The crook of an arm, softly, and the muscles above and below it."""
    crook = np.exp(-(((along - bend + 0.06 * across) / 0.022) ** 2) - ((across + 0.3) / 0.5) ** 2)
    below = np.exp(-(((along - bend - 0.14) / 0.10) ** 2) - ((across - 0.25) / 0.5) ** 2)
    above = np.exp(-(((along - bend + 0.17) / 0.12) ** 2) - ((across + 0.1) / 0.5) ** 2)
    return np.asarray(1 - 0.05 * crook + 0.03 * below + 0.025 * above, np.float32)


def like_hand(picture: Colours, hand: Mask, face_colour: Colours) -> Colours:
    """The colour of an arm, (3,): between face and hand, as bright as the face or a little less."""
    pixels = picture[hand > 0.9]
    if len(pixels) < 80:
        return face_colour
    luma = pixels @ _LUMA
    lit = np.median(pixels[luma >= np.median(luma)], axis=0)
    usual = float(face_colour @ _LUMA)
    lit = lit * np.clip(float(lit @ _LUMA), 0.86 * usual, 1.06 * usual) / max(float(lit @ _LUMA), 1.0)
    # Hands are redder than arms.
    lit = np.clip(lit, face_colour * 0.95 * (lit @ _LUMA) / usual, face_colour * 1.05 * (lit @ _LUMA) / usual)
    return np.asarray(0.4 * face_colour + 0.6 * lit, np.float32)
