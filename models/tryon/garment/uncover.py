"""Takes away old clothes that the new garment leaves uncovered and fills what then shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment import infill, limbs
from models.tryon.garment.bare import beside_neck
from models.tryon.garment.canvas import Canvas
from models.tryon.garment.figure import Side, usable_arm
from models.tryon.garment.leftovers import (
    EDGE,
    FRINGE_PX,
    LEGS,
    above_waist,
    below_hem,
    between_seams,
    over_edge,
    replaced,
    with_rim,
)
from models.tryon.garment.warp import Box, Colours, Mask, Points, box_of
from models.tryon.garment.wearer import Wearer, about_neck, pale_collar
from services.domain.product import GarmentCategory

_TOPS: Final = (GarmentCategory.TOP, GarmentCategory.SHIRT)
_TO_WRIST: Final = 0.97
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)
_GRAIN: Final = 1.6
_THROAT: Final = 0.86  # of the lit face's brightness
_REACH: Final = 0.25  # of the span: how far made skin takes on the colour of the skin beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What was taken away.

    Attributes:
        old: The clothes that the garment replaces.
        need: Those of them that it leaves uncovered.
        background: Where the background shows that they hid.
        bare: Skin that was made up.
        neck: Neck, throat and shoulders: in front of the inside of a collar.
        wrists: Alpha of the same part: where a made wrist runs out over the real hand.
        arms, arm_colours: Arms that were covered and now are bare: alpha of the whole picture, colours of a part.
    """

    old: Mask
    need: Mask
    background: Mask
    bare: Mask
    neck: Mask
    arms: Mapping[Side, Mask]
    arm_colours: Mapping[Side, tuple[Box, Colours]]
    wrists: Mapping[Side, Mask] = field(default_factory=dict)


def uncover(
    canvas: Canvas,
    wearer: Wearer,
    category: GarmentCategory,
    covered: Mask,
    head: Mask,
    *,
    sleeve_ends: Mapping[Side, float],
    seams: Mapping[Side, Points] | None = None,
    generator: np.random.Generator,
) -> Removal:
    """Fills the canvas where old clothes go and nothing new comes. Arms come back, as they belong before the trunk.

    Args:
        canvas: What is drawn on.
        wearer: The person.
        category: Of the new garment.
        covered: Where the new garment will be.
        head: What stays in front.
        sleeve_ends: Where on the arm (0 shoulder, 1 wrist) its sleeves end; empty without sleeves.
        seams: Where its sleeves are sewn on, shoulder and armpit.
        generator: For the grain of new skin.
    """
    import cv2

    skin = np.clip((wearer.skin - 0.35) / 0.3, 0, 1) * (1 - pale_collar(wearer))
    old = replaced(wearer, category, sleeved=bool(sleeve_ends))
    neck = _neck(wearer)
    if sleeve_ends and seams:
        neck = neck * between_seams(wearer, seams)
    if category in (*_TOPS, GarmentCategory.DRESS):
        # A hood's inside and a collar's shadow look like neither cloth nor skin.
        rest = wearer.person * (1 - skin) * (1 - head) * (1 - np.maximum(with_rim(wearer), wearer.shoes))
        size = max(3, round(0.12 * wearer.figure.span) | 1)
        kernel = np.ones((size, size), np.uint8)
        beside = cv2.dilate((old > 0.5).astype(np.float32), kernel) * (1 - cv2.dilate(wearer.hair, kernel))
        near = np.maximum(about_neck(wearer), beside)
        if wearer.face is not None:
            near = np.maximum(near, beside_neck(near.shape, wearer.figure, wearer.face))
        old = np.maximum(old, rest * near)
    fringe = cv2.dilate(old, np.ones((2 * FRINGE_PX + 1,) * 2, np.uint8))
    keep = np.maximum(head, skin)
    if category in LEGS:
        keep = np.maximum(keep, wearer.upper)
    elif category is not GarmentCategory.DRESS:
        keep = np.maximum(keep, wearer.lower * (1 - old))
    need = np.clip(fringe - keep, 0, 1) * (1 - covered)
    if need.max(initial=0) < 0.05:
        nothing = np.zeros(need.shape, np.float32)
        return Removal(old=old, need=need, background=nothing, bare=nothing, neck=neck, arms={}, arm_colours={})

    picture = wearer.rgb.astype(np.float32)
    colour = infill.skin_colour(picture, wearer.face_skin * (1 - wearer.hair))
    below = below_hem(wearer, need, old, covered) if category in _TOPS else np.zeros(need.shape, bool)
    above = above_waist(wearer, need, covered) if category in LEGS else np.zeros(need.shape, bool)
    gone = (need > 0.02) & ~below & ~above
    background = _fill_behind(canvas, wearer, picture, need, covered, gone=gone, below=below, above=above)
    bare = over_edge(need, covered, wearer) * neck * (1 - head)
    _skin_at_neck(canvas, wearer, bare, colour, picture, generator)
    if category in LEGS or category is GarmentCategory.DRESS:
        for side in Side:
            bare = np.maximum(bare, _bare_leg(canvas, wearer, side, need, covered, colour, generator))
    arms, arm_colours, wrists = {}, {}, {}
    if category not in (*LEGS, GarmentCategory.JACKET):
        for side in Side:
            if sleeve_ends.get(side, 0.0) > _TO_WRIST:
                continue
            found = _bare_arm(wearer, side, old, need, colour, generator)
            if found is not None:
                arms[side], arm_colours[side], wrists[side] = found
                bare = np.maximum(bare, found[0])
    background = np.asarray(background * (1 - bare), np.float32)
    return Removal(
        old=old,
        need=need,
        background=background,
        bare=bare,
        neck=neck,
        arms=arms,
        arm_colours=arm_colours,
        wrists=wrists,
    )


def _fill_behind(
    canvas: Canvas,
    wearer: Wearer,
    picture: Colours,
    need: Mask,
    covered: Mask,
    *,
    gone: NDArray[np.bool_],
    below: NDArray[np.bool_],
    above: NDArray[np.bool_],
) -> Mask:
    """Background where old clothes are ``gone``, the garment ``below`` and the one ``above`` going on; the first."""
    import cv2

    background = np.zeros(need.shape, np.float32)
    if gone.any():
        known = cv2.dilate(wearer.matte, np.ones((9, 9), np.uint8)) < 0.05
        if known.any():
            background = (np.clip(need * 1.6, 0, 1) * gone).astype(np.float32)
            canvas.lay(infill.mirrored_fill(picture, known, gone), background)
    if below.any():
        known = (cv2.erode(wearer.lower, np.ones((5, 5), np.uint8)) > 0.9) & (need < 0.02) & (covered < 0.02)
        if known.sum() > 100:
            soft = cv2.GaussianBlur(below.astype(np.float32), (0, 0), 1.0)
            canvas.lay(infill.mirrored_fill(picture, known, below), soft * below)
    if above.any():
        known = (cv2.erode(wearer.upper, np.ones((5, 5), np.uint8)) > 0.9) & (covered < 0.02) & ~above
        if known.sum() > 100:
            soft = cv2.GaussianBlur(above.astype(np.float32), (0, 0), 1.0)
            canvas.lay(infill.mirrored_fill(picture, known, above), np.where(above, soft, 0).astype(np.float32))
    return background


def _neck(wearer: Wearer) -> Mask:
    """Neck, throat and shoulders as they would be bare, to about the armpits."""
    import cv2

    figure = wearer.figure
    span, narrow = figure.span, figure.shown_span / figure.span
    chin = figure.locate(wearer.chin[None])[0]
    half = 0.19 * span * narrow
    if wearer.face is not None:
        half = float(np.clip(0.40 * wearer.face.width, 0.15 * span, 0.24 * span))
    points: list[tuple[float, float]] = [(chin[0] * 0.6 - half, chin[1] - 0.1 * span)]
    for aside in np.linspace(0.2, 0.62, 8) * span * narrow:
        points.append((-float(aside), -figure.shoulder_top(float(aside), Side.RIGHT) + 0.01 * span))
    points += [(-0.66 * span * narrow, 0.06 * span), (-0.62 * span * narrow, 0.5 * span)]
    points += [(0.62 * span * narrow, 0.5 * span), (0.66 * span * narrow, 0.06 * span)]
    for aside in np.linspace(0.62, 0.2, 8) * span * narrow:
        points.append((float(aside), -figure.shoulder_top(float(aside), Side.LEFT) + 0.01 * span))
    points.append((chin[0] * 0.6 + half, chin[1] - 0.1 * span))
    polygon = figure.place(np.array(points, np.float32))
    mask = np.zeros(wearer.person.shape, np.uint8)
    cv2.fillPoly(mask, [np.rint(polygon * 8).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=3)
    return cv2.GaussianBlur(mask, (0, 0), 1.2).astype(np.float32) / 255


def _skin_at_neck(
    canvas: Canvas, wearer: Wearer, alpha: Mask, colour: Colours, picture: Colours, generator: np.random.Generator
) -> None:
    """Bare neck and throat: the colour of the skin nearby, running into the mean further away."""
    import cv2

    if alpha.max(initial=0) < 0.02:
        return
    span = wearer.figure.span
    whole = alpha
    columns = np.nonzero(whole.max(0) > 0)[0]
    lines = np.nonzero(whole.max(1) > 0)[0]
    corners = np.array([[columns[0], lines[0]], [columns[-1], lines[-1]]], np.float32)
    box = box_of(corners, whole.shape, 0.35 * span)
    where = box.slices
    alpha, picture = np.ascontiguousarray(whole[where]), np.ascontiguousarray(picture[where])
    rows = box.top + np.arange(len(alpha), dtype=np.float32)[:, None]
    below_chin = (rows > wearer.chin[1] + 0.06 * span) & (rows < wearer.chin[1] + 0.9 * span)
    size = max(5, round(EDGE * span) | 1)
    hard = cv2.erode(wearer.skin[where] * (1 - wearer.hair[where]), np.ones((size, size), np.uint8)) > 0.8
    # Skin in the shadow of chin and beard would make the whole throat dark.
    usual = float(colour @ _LUMA)
    luma = picture @ _LUMA
    sure = hard & below_chin & (luma > 0.82 * usual)
    if sure.sum() < 80:
        sure = hard & (rows > wearer.chin[1] - 0.25 * span) & (luma > 0.6 * usual)
    if sure.sum() >= 80:
        around = infill.smooth_fill(picture, sure.astype(np.float32))
        # Far from what is seen the throat is as bright as what is seen of it, a little redder than the face.
        far = 0.5 * infill.skin_colour(picture, sure.astype(np.float32)) + 0.5 * colour
        distance = cv2.distanceTransform((~sure).astype(np.uint8), cv2.DIST_L2, 3)
        share = np.exp(-distance / (0.3 * span))[..., None]
        tone = around * share + far * (1 - share)
        # Below the shadow of the chin a throat is nearly as bright as the face.
        bright = np.clip(_THROAT * usual / np.maximum(tone @ _LUMA, 1.0), 1.0, 2.0)[..., None]
        tone = tone * (1 + (bright - 1) * np.clip(1 - np.exp(-distance / (0.06 * span)), 0, 1)[..., None])
    else:
        tone = np.broadcast_to(colour * 0.94, picture.shape)
    tone = infill.add_grain(np.asarray(tone, np.float32), alpha, _GRAIN, generator)
    soft = np.minimum(1, cv2.GaussianBlur(np.clip(alpha * 1.5, 0, 1), (0, 0), max(1.0, 0.012 * span)) * 1.4)
    canvas.lay(tone, np.where(alpha > 0, soft, 0).astype(np.float32), box)


def _bare_leg(
    canvas: Canvas,
    wearer: Wearer,
    side: Side,
    need: Mask,
    covered: Mask,
    colour: Colours,
    generator: np.random.Generator,
) -> Mask:
    """A leg under old trousers; where it was drawn."""
    limb = wearer.figure.legs[side]
    bare = limbs.bare_limb(limb, side, wearer.person, wearer.skin, end=1.12, is_leg=True)
    light = limbs.light_from(wearer.rgb.astype(np.float32), wearer.face)
    box, colours, alpha, _ = limbs.shaded(bare, colour * 0.97, need.shape, light, generator)
    drawn = np.zeros(need.shape, np.float32)
    if box.is_empty:
        return drawn
    colours = _like_skin_beside(wearer, box, colours, alpha, need)
    alpha = alpha * np.clip(over_edge(need, covered, wearer)[box.slices] * 1.6, 0, 1)
    alpha *= _below_end(covered, limb.centre_line(61), wearer.figure.span)[box.slices]
    canvas.lay(infill.add_grain(colours, alpha, _GRAIN, generator), alpha, box)
    drawn[box.slices] = alpha
    return drawn


def _below_end(covered: Mask, line: Points, span: float) -> Mask:
    """1 below the garment's end over a leg: a skirt that is narrower than old trousers bares no hip beside it."""
    height, width = covered.shape
    x, y = np.rint(line).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    over = np.flatnonzero(inside & (covered[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)] > 0.5))
    if not len(over):
        return np.ones(covered.shape, np.float32)
    end = float(y[over[-1]])
    rows = np.arange(height, dtype=np.float32)[:, None]
    return np.broadcast_to(np.clip((rows - end) / (0.05 * span) + 1.6, 0, 1), covered.shape).astype(np.float32)


def _like_skin_beside(wearer: Wearer, box: Box, colours: Colours, alpha: Mask, need: Mask) -> Colours:
    """A made limb in the light and colour of what is seen of the real one."""
    import cv2

    where = box.slices
    real = (wearer.skin[where] > 0.9) & (alpha > 0.9) & (need[where] < 0.02)
    # The edge of old cloth bleeds and casts a shadow.
    size = max(2 * FRINGE_PX + 1, round(EDGE * wearer.figure.span) | 1)
    real &= cv2.dilate(need[where], np.ones((size, size), np.uint8)) < 0.02
    return infill.matched(colours, wearer.rgb[where].astype(np.float32), real, _REACH * wearer.figure.span)


def _bare_arm(
    wearer: Wearer, side: Side, old: Mask, need: Mask, colour: Colours, generator: np.random.Generator
) -> tuple[Mask, tuple[Box, Colours], Mask] | None:
    """The arm under an old sleeve; None when the arm was bare already."""
    limb = usable_arm(wearer.figure.arms[side], wearer.figure, side)
    picture = wearer.rgb.astype(np.float32)
    bare = limbs.bare_limb(limb, side, wearer.person, wearer.skin, end=1.14, is_leg=False)
    colour = limbs.like_hand(picture, wearer.hands[side], colour)
    box, colours, alpha, wrist = limbs.shaded(
        bare, colour, need.shape, limbs.light_from(picture, wearer.face), generator
    )
    if box.is_empty:
        return None
    was_covered = old[box.slices]
    if float((alpha * was_covered).sum()) < 0.08 * float(alpha.sum()):
        return None
    colours = _like_skin_beside(wearer, box, colours, alpha, old)
    shape = need.shape
    whole = np.zeros(shape, np.float32)
    whole[box.slices] = alpha * np.clip(was_covered * 1.5, 0, 1)
    # Into the shoulder, which was made with the throat, it goes over softly.
    axis = limb.joints[1] - limb.joints[0]
    axis = axis / max(float(np.linalg.norm(axis)), 1e-6)
    y, x = np.ogrid[0 : shape[0], 0 : shape[1]]
    past = (x - limb.joints[0][0]) * axis[0] + (y - limb.joints[0][1]) * axis[1]
    whole *= np.clip(past / (0.18 * wearer.figure.span), 0, 1).astype(np.float32)
    return whole, (box, infill.add_grain(colours, alpha, _GRAIN, generator)), wrist
