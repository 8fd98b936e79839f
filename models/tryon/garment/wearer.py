"""The person as dressing needs them: one set of masks at the picture's size, and who stays in front of a garment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.body import BodyAnalysis
from models.perception.face import FaceLandmarks
from models.perception.pose import BodyPoint, BodyPose
from models.tryon.garment.bare import beside_neck, surely_bare
from models.tryon.garment.colours import told_apart, with_long_hair
from models.tryon.garment.figure import Figure, Side, measure, usable_arm
from models.tryon.garment.warp import Mask, Points

_FACE_OVAL: Final = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148, 176, 149, 150,
    136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)  # fmt: skip
_ARM: Final = 0.17


@dataclass(frozen=True, slots=True, kw_only=True)
class Wearer:
    """A person's photo and what is where in it; masks are float32 (height, width), 0 to 1.

    Attributes:
        rgb: uint8, upright.
        person: Matte of this person alone.
        matte: Of everybody in the picture.
        hair, skin: Of this person.
        face_skin, hands: Parts of ``skin``.
        upper, lower: Their clothes above and below the waist; a dress is both.
        shoes: Whatever covers the feet.
        is_one_piece: Whether upper and lower clothes are one cloth.
    """

    rgb: NDArray[np.uint8]
    person: Mask
    matte: Mask
    hair: Mask
    skin: Mask
    face_skin: Mask
    hands: Mapping[Side, Mask]
    upper: Mask
    lower: Mask
    shoes: Mask
    is_one_piece: bool
    pose: BodyPose
    face: FaceLandmarks | None
    figure: Figure

    @property
    def clothes(self) -> Mask:
        return np.maximum(self.upper, self.lower)

    @property
    def chin(self) -> Points:
        """The lowest point of the face, or a guess from the pose."""
        if self.face is not None:
            return np.asarray(self.face.points[152, :2], np.float32)
        return np.asarray(self.figure.origin - self.figure.down * 0.45 * self.figure.span, np.float32)


def wearer_of(analysis: BodyAnalysis) -> Wearer:
    """The person of an analysis, measured."""
    person, skin, clothing = analysis.person, analysis.skin, analysis.clothing
    hair = analysis.hair.mask if analysis.hair is not None else np.zeros_like(person)
    own: Mask | float = 1.0
    if len(analysis.faces) > 1:  # people who stand close are one shape to the networks
        own = _hull(analysis)
        person = person * own
    upper, lower = clothing.upper, clothing.lower
    # Where one ends and the other begins is a guess over some rows, but clothes have an edge.
    both = np.minimum(upper + lower, 1)
    figure = measure(analysis.pose, person)
    share = _split(upper / np.maximum(upper + lower, 1e-3), both, figure.span)
    upper, lower = both * share, both * (1 - share)
    hands = {Side.LEFT: skin.left_hand * own, Side.RIGHT: skin.right_hand * own}
    bare = surely_bare(skin.mask * own, upper * own, figure, hands, analysis.face)
    kept = np.where(skin.mask > 1e-3, bare / np.maximum(skin.mask, 1e-3), 0).astype(np.float32)
    upper = np.maximum(upper, (skin.mask - bare) * own)  # what only seemed skin is cloth
    upper, lower = told_apart(analysis.rgb, upper * own, lower * own, figure)
    rims = _rims_of_cuffs(upper, hands, figure.span)
    hands = {side: hand - rims[side] for side, hand in hands.items()}
    for rim in rims.values():
        bare, upper = np.maximum(bare - rim, 0), np.maximum(upper, rim)
    slivers = _beside_hands(upper, lower, hands, figure.span)
    upper, lower = upper - slivers, np.maximum(lower, slivers)
    scraps = upper - without_scraps(upper)
    upper, lower = upper - scraps, np.maximum(lower, scraps * (lower_zone(figure, upper.shape)))
    hair = with_long_hair(analysis.rgb, hair * own, upper, bare, person, figure)
    upper, lower = upper * (1 - hair), lower * (1 - hair)
    return Wearer(
        rgb=analysis.rgb,
        person=person,
        matte=analysis.matte,
        hair=hair,
        skin=bare,
        face_skin=skin.face * own * kept,
        hands={side: np.clip(1.6 * hand * kept, 0, 1) for side, hand in hands.items()},
        upper=upper,
        lower=lower,
        shoes=clothing.shoes * own,
        is_one_piece=clothing.is_one_piece,
        pose=analysis.pose,
        face=analysis.face,
        figure=figure,
    )


def _split(share: Mask, both: Mask, span: float) -> Mask:
    """How much of the clothes is the upper one's, with an edge that is as smooth as a hem and as sharp."""
    import cv2

    sigma = max(1.0, 0.02 * span)
    weight = cv2.GaussianBlur(both, (0, 0), sigma)
    smooth = cv2.GaussianBlur(share * both, (0, 0), sigma) / np.maximum(weight, 1e-3)
    gentle = np.abs(smooth - share) < 0.25  # where one cloth ends plainly, its own edge is better
    near = np.clip((np.where(gentle, smooth, share) - 0.5) * 60 + 0.5, 0, 1)
    return np.asarray(near, np.float32)


def _rims_of_cuffs(upper: Mask, hands: Mapping[Side, Mask], span: float) -> dict[Side, Mask]:
    """What of a hand's mask is the lit rim of its cuff: thin, beside the cuff, sticking out from the wrist."""
    import cv2

    near, thin = (
        cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        for size in (max(3, round(share * span) | 1) for share in (0.09, 0.07))
    )
    reach = round(0.1 * span) + 2
    out = {}
    for side, hand in hands.items():
        rim = np.zeros_like(hand)
        rows, columns = np.nonzero(hand > 0.1)
        if len(rows):
            top, left = max(0, int(rows.min()) - reach), max(0, int(columns.min()) - reach)
            part = np.s_[top : int(rows.max()) + reach, left : int(columns.max()) + reach]
            own = np.ascontiguousarray(hand[part])
            sticks_out = np.clip(own - cv2.morphologyEx(own, cv2.MORPH_OPEN, thin), 0, 1)
            rim[part] = np.minimum(own, cv2.dilate(np.ascontiguousarray(upper[part]), near) * sticks_out)
        out[side] = rim
    return out


def _beside_hands(upper: Mask, lower: Mask, hands: Mapping[Side, Mask], span: float) -> Mask:
    """What seems a sleeve and is a thin strip between a bare hand and the trousers beside it."""
    import cv2

    def disc(share: float) -> NDArray[np.uint8]:
        size = max(3, round(share * span) | 1)
        return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)), np.uint8)

    out = np.zeros_like(upper)
    for hand in hands.values():
        rows, columns = np.nonzero(hand > 0.5)
        if len(rows) < 30:
            continue
        reach = round(0.12 * span) + 2
        top, left = max(0, int(rows.min())), max(0, int(columns.min()) - reach)
        part = np.s_[top : int(rows.max()) + reach, left : int(columns.max()) + reach]
        between = cv2.dilate(hand[part], disc(0.16)) * cv2.dilate(lower[part], disc(0.16))
        thick = cv2.dilate(cv2.morphologyEx(upper[part], cv2.MORPH_OPEN, disc(0.09)), disc(0.03))
        out[part] = np.maximum(out[part], upper[part] * np.clip(between - thick, 0, 1))
    return out


def without_scraps(clothes: Mask) -> Mask:
    """Clothes without what seems cloth far from them, as a pale shoe does below a pale dress."""
    import cv2

    solid = (clothes > 0.5).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=8)
    if count < 2:
        return clothes
    areas = stats[:, cv2.CC_STAT_AREA].copy()
    areas[0] = 0
    keep = (areas > 0.05 * areas.max())[labels].astype(np.uint8)
    return np.asarray(clothes * cv2.dilate(keep, np.ones((7, 7), np.uint8)), np.float32)


def lower_zone(figure: Figure, shape: tuple[int, ...]) -> Mask:
    """1 below the hips, where a scrap of cloth belongs to the lower clothes."""
    height, width = shape[:2]
    y, x = np.ogrid[0:height, 0:width]
    down = (x - figure.origin[0]) * figure.down[0] + (y - figure.origin[1]) * figure.down[1]
    return np.asarray(np.clip((down - 0.9 * figure.torso_length) / (0.1 * figure.span), 0, 1), np.float32)


def _hull(analysis: BodyAnalysis) -> Mask:
    """How far a dressed body reaches round its skeleton: 1 inside, fading out over a short way."""
    import cv2

    pose = analysis.pose
    span = max(pose.shoulder_width, 0.2 * float(np.linalg.norm(pose.at(BodyPoint.NOSE) - pose.at(BodyPoint.LEFT_HIP))))
    near = np.zeros(analysis.person.shape, np.uint8)

    def draw(reach: float, *names: str) -> None:
        path = np.stack([pose.at(BodyPoint[name]) for name in names])
        np.maximum(near, capsule(near.shape, path, reach * span), out=near)

    draw(0.42, "LEFT_SHOULDER", "LEFT_HIP", "RIGHT_HIP", "RIGHT_SHOULDER", "LEFT_SHOULDER")
    for side in ("LEFT", "RIGHT"):
        if pose.sees(BodyPoint[f"{side}_ELBOW"], BodyPoint[f"{side}_WRIST"]):  # else it is behind somebody
            draw(0.24, f"{side}_SHOULDER", f"{side}_ELBOW", f"{side}_WRIST", f"{side}_INDEX")
        draw(0.36, f"{side}_HIP", f"{side}_KNEE", f"{side}_ANKLE", f"{side}_FOOT_INDEX")
    if analysis.face is not None:
        centre, width = analysis.face.points[:, :2].mean(0), analysis.face.width
        cv2.circle(near, (round(float(centre[0])), round(float(centre[1]))), round(1.3 * width), 1, -1)
    return np.asarray(cv2.GaussianBlur(near.astype(np.float32), (0, 0), max(1.0, 0.03 * span)), np.float32)


def head_mask(wearer: Wearer) -> Mask:
    """What is always in front of a garment: face, beard and hair."""
    import cv2

    head = wearer.hair.copy()
    if wearer.face is None:
        return head
    oval = wearer.face.points[list(_FACE_OVAL), :2]
    filled = np.zeros(wearer.person.shape, np.uint8)
    cv2.fillPoly(filled, [np.rint(oval * 8).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=3)
    face = filled.astype(np.float32) / 255
    # Forehead, ears, bald heads and beards lie outside the mesh; clothes and the neck do not count.
    centre, width = oval.mean(0), wearer.face.width
    height, columns = wearer.person.shape
    y, x = (values.astype(np.float32) for values in np.ogrid[0:height, 0:columns])
    above = np.clip((wearer.chin[1] - 0.02 * width - y) / (0.04 * width) + 0.5, 0, 1)
    near = np.clip((0.95 * width - np.hypot((x - centre[0]) * 1.25, (y - centre[1]) * 0.8)) / (0.1 * width), 0, 1)
    around = wearer.person * above * near * (1 - wearer.upper)
    around = around * (1 - beside_neck(wearer.person.shape, wearer.figure, wearer.face))  # a hood is behind
    beard_zone = np.clip(
        (0.42 * width - np.hypot(x - wearer.chin[0], (y - wearer.chin[1]) * 1.15)) / (0.06 * width), 0, 1
    )
    beard = wearer.person * beard_zone * (1 - wearer.upper) * (1 - wearer.skin) * (1 - pale_collar(wearer))
    return np.asarray(np.maximum.reduce([head, face, around, beard, wearer.face_skin]), np.float32)


def about_neck(wearer: Wearer) -> Mask:
    """1 between chin and collarbones, about a shoulder's width across."""
    figure = wearer.figure
    height, width = wearer.person.shape
    y, x = np.ogrid[0:height, 0:width]
    top, bottom = wearer.chin[1], figure.origin[1] + 0.25 * figure.span
    down = np.clip((y - top) / (0.1 * figure.span) + 1, 0, 1) * np.clip((bottom - y) / (0.1 * figure.span) + 1, 0, 1)
    aside = np.clip((0.5 * figure.span - np.abs(x - figure.origin[0])) / (0.1 * figure.span) + 1, 0, 1)
    return np.asarray(down * aside, np.float32)


def pale_collar(wearer: Wearer) -> Mask:
    """A white collar at the throat, which the light of the skin beside it makes look like skin."""
    import cv2

    about = about_neck(wearer)
    rows, columns = np.nonzero(about > 0)
    out = np.zeros_like(about)
    sure = wearer.face_skin > 0.8
    if not len(rows) or sure.sum() < 50:
        return out
    box = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    color = cv2.cvtColor(wearer.rgb[box].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    ys, xs = np.nonzero(sure)
    step = max(1, len(ys) // 4000)
    sample = wearer.rgb[ys[::step], xs[::step]][None].astype(np.float32) / 255
    light, *tint = np.median(cv2.cvtColor(sample, cv2.COLOR_RGB2LAB)[0], axis=0)
    chroma = np.hypot(color[..., 1], color[..., 2]) / max(float(np.hypot(*tint)), 4.0)
    pale = np.clip((0.55 - chroma) / 0.15, 0, 1) * np.clip((color[..., 0] - light) / 6, 0, 1)
    out[box] = cv2.GaussianBlur(pale.astype(np.float32), (0, 0), 0.8) * about[box]
    return out


def capsule(shape: tuple[int, ...], path: Points, radius: float) -> NDArray[np.uint8]:
    """A thick line through ``path``, 0 or 1."""
    import cv2

    drawn = np.zeros(shape[:2], np.uint8)
    cv2.polylines(drawn, [np.rint(path).astype(np.int32)], False, 1, thickness=max(1, round(2 * radius)))
    return drawn


def arm_mask(wearer: Wearer, side: Side, sleeves: Mask | None = None) -> Mask:
    """The arm as the photo shows it where it is bare, or with ``sleeves`` (the clothes) in its sleeve, too."""
    arm = usable_arm(wearer.figure.arms[side], wearer.figure, side)
    zone = capsule(wearer.person.shape, arm.joints, _ARM * wearer.figure.span).astype(np.float32)
    shown = wearer.skin if sleeves is None else np.maximum(wearer.skin, sleeves)
    return np.asarray(zone * shown, np.float32)
