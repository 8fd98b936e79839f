"""What of a person is bare for sure: cloth of the colour of skin makes scraps, streaks and cuffs of seeming skin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.tryon.garment.figure import Figure, Limb, Side, usable_arm
from models.tryon.garment.warp import Mask

_ROWS: Final = 96  # along an arm, from the shoulder to the knuckles
_BARE: Final = 0.72  # of an arm's width: where so much of it seems skin, it is
_GAP: Final = 0.05  # of the arm: a watch or a bracelet
_SHOULDER: Final = 0.12  # of the arm: a shoulder says nothing about a sleeve
_SLEEVE: Final = 0.5  # a sleeve seems skin over less of its width
_SCRAP: Final = 0.010  # of the span squared: smaller islands are no skin
_FIRM: Final = 0.55


def surely_bare(
    skin: Mask, upper: Mask, figure: Figure, hands: Mapping[Side, Mask], face: FaceLandmarks | None
) -> Mask:
    """``skin`` without seeming skin on sleeves, hoods and collars; float32 (height, width).

    Args:
        skin: As the colours say.
        upper: Clothes above the waist.
        figure: The body.
        hands: Of this person.
        face: The face, to which a bare neck is joined.
    """
    import cv2

    out = skin.copy()
    for side in Side:
        arm = usable_arm(figure.arms[side], figure, side)
        _without_sleeve(out, skin, arm, figure.span)
    if face is not None:
        out *= 1 - beside_neck(skin.shape, figure, face)
    if upper.max(initial=0) < 0.5:
        return out
    # Islands: skin goes on to a hand, the face or a leg, or it is large.
    kernel = np.ones((max(3, round(0.02 * figure.span) | 1),) * 2, np.uint8)
    firm = cv2.morphologyEx((out > _FIRM).astype(np.uint8), cv2.MORPH_OPEN, kernel)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(firm, connectivity=8)
    keep = np.zeros(count, bool)
    keep[1:] = stats[1:, cv2.CC_STAT_AREA] > _SCRAP * figure.span**2
    if face is not None:
        x, y = np.rint(face.points[:, :2]).astype(int).T
        inside = (x >= 0) & (y >= 0) & (x < skin.shape[1]) & (y < skin.shape[0])
        keep[np.unique(labels[y[inside], x[inside]])] = True
    for hand in hands.values():
        keep[np.unique(labels[hand > 0.8])] = True
    keep[0] = False
    reach = np.ones((2 * max(2, round(0.025 * figure.span)) + 1,) * 2, np.uint8)
    near = cv2.GaussianBlur(cv2.dilate(keep[labels].astype(np.uint8), reach).astype(np.float32), (0, 0), 1.0)
    near = np.maximum(near, 1 - np.clip(upper_zone(upper, figure) * 1.5, 0, 1))
    return np.asarray(out * near, np.float32)


def upper_zone(upper: Mask, figure: Figure) -> Mask:
    """About clothes above the waist: 1 on them and near by."""
    import cv2

    size = max(3, round(0.12 * figure.span) | 1)
    return np.asarray(cv2.blur(cv2.dilate((upper > 0.5).astype(np.float32), np.ones((size, size))), (5, 5)), np.float32)


def beside_neck(shape: tuple[int, ...], figure: Figure, face: FaceLandmarks) -> Mask:
    """1 beside the neck and above the shoulders, where a hood and a collar may be but no skin is."""
    height, width = shape[:2]
    y, x = (values.astype(np.float32) for values in np.ogrid[0:height, 0:width])
    chin = face.points[152, :2]
    jaw = float(face.points[[58, 288], 0].mean())  # of a head that is turned, the neck lies behind the chin
    centre = jaw + (figure.origin[0] - jaw) * np.clip(
        (y - float(chin[1])) / max(float(figure.origin[1] - chin[1]), 1.0), 0, 1
    )
    aside = np.abs(x - centre) / max(face.width, 1.0)
    knots = np.linspace(0.2, 0.6, 9) * figure.span
    top = np.array([figure.shoulder_top(float(knot)) for knot in knots])
    above = figure.origin[1] - np.interp(np.abs(x - figure.origin[0]), knots, top) - 0.05 * figure.span
    below_jaw = np.clip((y - float(chin[1]) + 0.3 * face.width) / (0.05 * face.width), 0, 1)
    zone = np.clip((aside - 0.48) / 0.04 + 0.5, 0, 1) * np.clip((above - y) / (0.03 * figure.span) + 0.5, 0, 1)
    return np.asarray(zone * below_jaw, np.float32)


def _without_sleeve(out: Mask, skin: Mask, arm: Limb, span: float) -> None:
    """Takes seeming skin off a sleeve: an arm is bare from its hand to where its cloth begins, and no further."""
    import cv2

    line = np.concatenate([arm.centre_line(_ROWS - 12), arm.joints[2] + (arm.tip - arm.joints[2]) * _steps(12)])
    step = np.gradient(line, axis=0)
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-6)
    normal = np.stack([step[:, 1], -step[:, 0]], 1)
    radius = arm.radius_at(np.clip(np.arange(_ROWS) / (_ROWS - 13), 0, 1).astype(np.float32)) * 0.7
    across = np.linspace(-1, 1, 9, dtype=np.float32)
    at = line[:, None] + normal[:, None] * (across[None, :] * radius[:, None])[..., None]
    x, y = at[..., 0].astype(np.float32), at[..., 1].astype(np.float32)
    share = cv2.remap(skin, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).mean(1)
    bare = share > _BARE
    tip = np.flatnonzero(bare[_ROWS - 24 :])
    if not len(tip):
        return  # the hand is not seen: nothing to go by
    index = _ROWS - 24 + int(tip[-1])
    gap = max(2, round(_GAP * _ROWS))
    while index > 0 and bare[max(0, index - gap) : index].any():
        index -= 1
    sleeve = share[round(_SHOULDER * _ROWS) : index]
    if len(sleeve) < gap or sleeve.mean() > _SLEEVE:
        return
    y0, x0 = line[index, 1], line[index, 0]
    # Along the arm: 0 above the row, 1 below it, within the arm's own width alone.
    zone = np.zeros(skin.shape, np.uint8)
    cv2.polylines(zone, [np.rint(line[: index + 1]).astype(np.int32)], False, 1, thickness=max(1, round(0.42 * span)))
    rows, columns = np.nonzero(zone)
    past = (columns - x0) * step[index, 0] + (rows - y0) * step[index, 1]
    out[rows, columns] *= np.clip(past / max(1.5, 0.012 * span) + 0.5, 0, 1).astype(np.float32)


def _steps(count: int) -> NDArray[np.float32]:
    return np.linspace(0.1, 1, count, dtype=np.float32)[:, None]
