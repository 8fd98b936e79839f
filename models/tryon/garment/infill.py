"""What appears where an old garment is taken away: background, the cloth below it, and skin with its shading."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Limb
from models.tryon.garment.sleeves import outward, reach_of
from models.tryon.garment.warp import Box, Colours, Mask, Points, strip_map

_SIDE_PX: Final = 256  # smooth fills are made at this size
_DETAIL: Final = 0.012  # of the long side: what varies over less is texture
_EDGE_LIGHT: Final = 0.58  # of the middle: skin at the edge of a limb turns away from the light
_SHADOW_TINT: Final = (1.0, 0.955, 0.925)  # shadows on skin are redder: red, green, blue


def smooth_fill(picture: Colours, known: Mask) -> Colours:
    """``picture`` (h, w, 3) where ``known``, elsewhere what lies round it, smooth (push-pull, Gortler et al. 1996)."""
    import cv2

    height, width = known.shape
    scale = min(1.0, _SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    weight = cv2.resize(known, size, interpolation=cv2.INTER_AREA)
    colour = cv2.resize(picture * known[..., None], size, interpolation=cv2.INTER_AREA)
    filled = _push_pull(colour, weight)
    return np.asarray(cv2.resize(filled, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _push_pull(premultiplied: Colours, weight: Mask) -> Colours:
    import cv2

    height, width = weight.shape
    if min(height, width) <= 2:
        total = max(float(weight.sum()), 1e-6)
        return np.broadcast_to(premultiplied.sum((0, 1)) / total, premultiplied.shape).astype(np.float32)
    half = ((width + 1) // 2, (height + 1) // 2)
    coarse = _push_pull(
        cv2.resize(premultiplied, half, interpolation=cv2.INTER_AREA),
        np.asarray(cv2.resize(weight, half, interpolation=cv2.INTER_AREA), np.float32),
    )
    below = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    share = np.clip(weight * 1.5, 0, 1)[..., None]
    own = premultiplied / np.maximum(weight, 1e-4)[..., None]
    return np.asarray(own * share + below * (1 - share), np.float32)


def mirrored_fill(picture: Colours, known: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Colours:
    """``picture`` with ``wanted`` pixels taken from ``known`` ones, mirrored at the nearest border: texture goes on.

    What mirroring cannot reach is filled smoothly; low frequencies follow the smooth fill, so no seam shows.
    """
    import cv2

    smooth = smooth_fill(picture, known.astype(np.float32))
    out = picture.copy()
    rows, columns = np.nonzero(wanted)
    if not len(rows):
        return out
    _, labels = cv2.distanceTransformWithLabels(
        (~known).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    known_rows, known_columns = np.nonzero(known)
    order = np.zeros(int(labels.max()) + 1, np.int64)
    order[labels[known_rows, known_columns]] = np.arange(len(known_rows))
    nearest = order[labels[rows, columns]]
    height, width = known.shape
    to_row = np.clip(2 * known_rows[nearest] - rows, 0, height - 1)
    to_column = np.clip(2 * known_columns[nearest] - columns, 0, width - 1)
    good = known[to_row, to_column]
    radius = (2 * max(3, round(_DETAIL * max(height, width))) + 1,) * 2
    weight = cv2.blur(known.astype(np.float32), radius)
    mean = cv2.blur(picture * known[..., None].astype(np.float32), radius) / np.maximum(weight, 1e-3)[..., None]
    detail = picture[to_row, to_column] - mean[to_row, to_column]
    out[rows, columns] = smooth[rows, columns] + np.where(good[:, None], detail, 0)
    return out


def skin_colour(picture: Colours, skin: Mask, fallback: Colours | None = None) -> Colours:
    """The lit colour of the person's skin (3,): what the brighter half of ``skin`` looks like."""
    pixels = picture[skin > 0.7]
    if len(pixels) < 50:
        return np.array([200, 160, 140], np.float32) if fallback is None else fallback
    light = pixels @ np.array([0.3, 0.59, 0.11], np.float32)
    low, high = np.percentile(light, (45, 85))
    chosen = pixels[(light >= low) & (light <= high)]
    return np.asarray(np.median(chosen if len(chosen) else pixels, axis=0), np.float32)


def matched(colours: Colours, picture: Colours, real: NDArray[np.bool_], reach: float) -> Colours:
    """Made ``colours`` led into ``picture``: as it is where ``real``, less and less over ``reach`` pixels."""
    import cv2

    if real.sum() < 60:
        return colours
    difference = smooth_fill(picture - colours, real.astype(np.float32))
    distance = cv2.distanceTransform((~real).astype(np.uint8), cv2.DIST_L2, 3)
    share = np.exp(-distance / max(reach, 1.0)).astype(np.float32)[..., None]
    return np.asarray(colours + difference * share, np.float32)


def seen_thickness(limb: Limb, side: object, skin: Mask) -> tuple[float, float]:
    """How thick a limb is where it first is bare, of what is usual, and how far outwards of its axis it lies, pixels.

    1 and 0 where nothing of it is seen.
    """
    from models.tryon.garment.figure import Side

    at = np.linspace(0.3, 1.0, 29)
    line = limb.centre_line(41)
    shares = np.arange(len(line)) / 40
    centre = np.stack([np.interp(at, shares, line[:, k]) for k in range(2)], 1).astype(np.float32)
    normals = outward(line, Side(str(side)))
    normal = np.stack([np.interp(at, shares, normals[:, k]) for k in range(2)], 1).astype(np.float32)
    bare = limb.radius_at(at.astype(np.float32))
    ends = [reach_of(skin, centre, way * normal, float(bare.max()) * 1.8) for way in (1, -1)]
    seen = (ends[0][0] + ends[1][0]) / 2 / np.maximum(bare, 1.0)
    good = ends[0][1] & ends[1][1] & (seen > 0.5)
    if good.sum() < 3:
        return 1.0, 0.0
    first = np.flatnonzero(good)[:5]
    shift = (ends[0][0] - ends[1][0])[first] / 2
    return float(np.clip(np.median(seen[first]), 0.7, 1.25)), float(np.median(shift))


def limb_strip(
    limb: Limb, side: object, start: float, end: float, *, scale: float = 1.0, aside: float = 0.0
) -> tuple[Points, Points]:
    """The bare limb between two shares of its length as meshes: picture (rows, 9, 2) and (across -1..1, along 0..1)."""
    from models.tryon.garment.figure import Side

    line = limb.centre_line(41)
    past = line[-1] - line[-4]
    line = np.concatenate([line, line[-1:] + past * np.linspace(0.33, 2.66, 8, dtype=np.float32)[:, None]])
    shares = np.arange(len(line)) / 40
    at = np.linspace(start, end, 33)
    centre = np.stack([np.interp(at, shares, line[:, k]) for k in range(2)], 1).astype(np.float32)
    normal = outward(line, Side(str(side)))
    normal = np.stack([np.interp(at, shares, normal[:, k]) for k in range(2)], 1).astype(np.float32)
    radius = limb.radius_at(np.minimum(at, 1).astype(np.float32)) * np.float32(scale)
    centre = np.asarray(centre + np.float32(aside) * normal, np.float32)
    across = np.linspace(1, -1, 9, dtype=np.float32)
    picture = centre[:, None] + across[None, :, None] * radius[:, None, None] * normal[:, None]
    coordinates = np.stack(
        [np.broadcast_to(across, (33, 9)), np.broadcast_to(at[:, None].astype(np.float32), (33, 9))], -1
    )
    return picture.astype(np.float32), coordinates.astype(np.float32)


def shaded_limb(
    limb: Limb,
    side: object,
    start: float,
    end: float,
    colour: Colours,
    shape: tuple[int, ...],
    *,
    light_from: float = 0.0,
    scale: float = 1.0,
    aside: float = 0.0,
    bend: float | None = None,
) -> tuple[Box, Colours, Mask]:
    """A bare limb as a picture: its box, colours (h, w, 3) and alpha.

    Args:
        light_from: -1 to 1: lit from the picture's left or right.
        scale: On the limb's width.
        aside: How far outwards of its axis it lies, pixels.
        bend: Where on the limb a knee is, drawn as one.
    """
    import cv2

    picture, coordinates = limb_strip(limb, side, start, end, scale=scale, aside=aside)
    mapped = strip_map(picture, coordinates, shape)
    if mapped.box.is_empty:
        return mapped.box, np.zeros((0, 0, 3), np.float32), np.zeros((0, 0), np.float32)
    inside = (mapped.x > -50).astype(np.float32)
    across = np.clip(np.where(inside > 0, mapped.x, 0), -1, 1)
    sign = 1.0 if str(side) == "left" else -1.0  # outward of the left limb is the picture's right
    tilt = np.clip(across * sign + 0.0, -1, 1)
    round_light = np.sqrt(np.clip(1 - (0.92 * tilt - 0.25 * light_from) ** 2, 0, 1))
    lit: Mask = (_EDGE_LIGHT + (1 - _EDGE_LIGHT) * round_light).astype(np.float32)
    light = cv2.GaussianBlur(lit, (0, 0), max(0.6, 0.04 * float(limb.radii[2])))
    if bend is not None:
        along = np.where(inside > 0, mapped.y, 0)
        cap = np.exp(-(((along - bend) / 0.045) ** 2) - (across / 0.55) ** 2)
        below = np.exp(-(((along - bend - 0.075) / 0.03) ** 2) - (across / 0.6) ** 2)
        shin = np.exp(-((across * sign + 0.25) ** 2) / 0.06) * np.clip((along - bend - 0.08) / 0.1, 0, 1)
        light = light * (1 + 0.05 * cap - 0.07 * below + 0.035 * shin).astype(np.float32)
    shadow = np.clip(1 - light, 0, 1)[..., None]
    tint = np.array(_SHADOW_TINT, np.float32) ** (shadow * 2.2)
    colours = colour * light[..., None] * tint
    alpha = cv2.GaussianBlur(inside, (0, 0), 0.9)
    return mapped.box, colours.astype(np.float32), np.asarray(alpha, np.float32)


def add_grain(colours: Colours, alpha: Mask, strength: float, generator: np.random.Generator) -> Colours:
    """Noise as strong as the picture's own, so that a fill does not look airbrushed."""
    import cv2

    noise = generator.standard_normal(alpha.shape).astype(np.float32)
    noise = cv2.GaussianBlur(noise, (0, 0), 0.7) * 2.2
    return np.asarray(colours + noise[..., None] * np.float32(strength) * alpha[..., None], np.float32)
