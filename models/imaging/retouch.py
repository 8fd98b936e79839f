"""Portraits retouched so that they still look like photos: skin even but with its pores, blemishes healed, teeth and
eyes brighter.

Skin is taken apart by fineness (frequency separation, as retouchers do it by hand): pores and fine hair stay, blotches
between the size of a pore and that of a cheek are evened, the face's own shading stays. Every mask keeps off brows,
lashes, lips and beards, and what no mask covers comes back bit-identical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.layers import Layers
from models.imaging.skin_areas import FaceAreas, face_areas
from models.imaging.subject import Subject
from services.domain.errors import ContentRejected
from services.domain.image_steps import RetouchStep

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

# Sizes in face widths.
_PORE: Final = 0.007  # finer than this is texture, and stays
_BLOTCH: Final = 0.055  # coarser than this is the face's own light and shape, and stays
_FOLD: Final = (5.0, 13.0)  # L: blotches up to the first are evened, folds and edges from the second on are not
_EVENED: Final = 0.85  # of a blotch at full strength
_SPOTS: Final = (0.011, 0.017, 0.026)  # radii of blemishes
_SPOT_SCORE: Final = 2.8  # deviations of the skin's own unevenness
_SPOT_CONTRAST: Final = 1.6  # of L and redness together, at least
_MOLE: Final = 17.0  # L darker than the skin round it: a mole is part of a face, and stays
_MOST_SPOTS: Final = 60
_ROUND: Final = 0.35  # smaller to larger bend of a spot; hair and folds bend one way only
_SIGMA_PX: Final = 4.0  # at which wide blurs are made
_TEETH_LIFT: Final = 7.0  # of L
_TEETH_YELLOW: Final = 0.6  # of the yellow that is taken out
_EYE_LIFT: Final = 9.0
_EYE_RED: Final = 0.55


@dataclass(frozen=True, slots=True, kw_only=True)
class Retouched:
    """Attributes:
    layers: The picture.
    num_blemishes: How many were healed.
    notes: What could not be done, and why.
    """

    layers: Layers
    num_blemishes: int = 0
    notes: tuple[str, ...] = ()


def retouched(layers: Layers, subject: Subject, step: RetouchStep) -> Retouched:
    """The chosen face retouched; all strengths 0 give ``layers`` itself.

    The mean colour of the skin does not change. Pixels outside skin, teeth and eyes stay bit-identical.

    Raises:
        ContentRejected: ``face_not_found``.
    """
    if subject.face is None:
        raise ContentRejected(
            "No face was found in the picture; retouching needs one that is seen from the front and well lit.",
            code="face_not_found",
            param="image",
        )
    if max(step.skin, step.blemishes, step.teeth, step.eyes) <= 0:
        return Retouched(layers=layers)
    import cv2

    areas = face_areas(layers.rgb, subject, subject.face)
    before = np.ascontiguousarray(layers.rgb[areas.where])
    lab = np.asarray(cv2.cvtColor(np.divide(before, 255, dtype=np.float32), cv2.COLOR_RGB2LAB), np.float32)
    touched = np.zeros(before.shape[:2], np.bool_)
    notes: list[str] = []
    num_blemishes = 0
    after = lab
    if step.blemishes > 0:
        spots = find_blemishes(lab, areas)
        num_blemishes = len(spots)
        after, healed = _healed(after, areas, spots, step.blemishes)
        touched |= healed
    if step.skin > 0:
        after = _evened(after, areas, step.skin)
        touched |= areas.skin > 0
    if touched.any():
        after = _same_mean(lab, after, areas.skin)
    if step.teeth > 0:
        teeth = teeth_mask(lab, areas)
        if teeth is None:
            notes.append("The mouth shows no teeth that could be whitened.")
        else:
            after = _whitened(after, teeth, step.teeth)
            touched |= teeth > 0
    if step.eyes > 0:
        after = _brightened(after, areas.eyes, step.eyes)
        touched |= areas.eyes > 0
    rgb = layers.rgb.copy()
    values = np.clip(np.rint(cv2.cvtColor(after, cv2.COLOR_LAB2RGB) * 255), 0, 255).astype(np.uint8)
    rgb[areas.where][touched] = values[touched]
    return Retouched(layers=Layers(rgb=rgb, alpha=layers.alpha), num_blemishes=num_blemishes, notes=tuple(notes))


def _blurred(values: Mask, weight: Mask, sigma: float) -> Mask:
    """Mean of the weighted pixels round each: what is not skin does not bleed in. Wide means are made small."""
    import cv2

    height, width = weight.shape
    step = max(1, int(sigma / _SIGMA_PX))
    size = (max(1, round(width / step)), max(1, round(height / step)))

    def blurred(part: Mask) -> Mask:
        small = cv2.resize(part, size, interpolation=cv2.INTER_AREA) if step > 1 else part
        return np.asarray(cv2.GaussianBlur(small, (0, 0), sigma / step), np.float32)

    norm = blurred(weight)
    mean = blurred(values * weight[..., None]).reshape(*norm.shape, -1) / np.maximum(norm, 1e-4)[..., None]
    if step > 1:
        mean = np.asarray(cv2.resize(mean, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    return np.asarray(mean, np.float32).reshape(values.shape)


def _evened(lab: Mask, areas: FaceAreas, strength: float) -> Mask:
    """Blotches taken out of the middle band; small differences more than large ones, which are folds and edges."""
    weight = np.asarray(areas.skin + 1e-4, np.float32)
    fine = _blurred(lab, weight, max(0.7, _PORE * areas.width_px))
    coarse = _blurred(lab, weight, max(2.0, _BLOTCH * areas.width_px))
    blotch = fine - coarse
    size = np.abs(blotch[..., :1])
    small = np.clip((_FOLD[1] - size) / (_FOLD[1] - _FOLD[0]), 0, 1)
    return np.asarray(lab - strength * _EVENED * small * areas.skin[..., None] * blotch, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blemish:
    """A spot in pixels of the window."""

    x: int
    y: int
    radius: float


def find_blemishes(lab: Mask, areas: FaceAreas) -> list[Blemish]:
    """Round spots on the skin that are darker or redder than round them; moles are left.

    Differences of Gaussians at three sizes (Lowe 2004, section 3) with the test for roundness of section 4.1.
    """
    import cv2

    skin = areas.skin
    if float(skin.sum()) < 100:
        return []
    weight = np.asarray(skin + 1e-4, np.float32)
    # One plane in which blemishes are bright: less light, more red.
    plane = np.asarray(1.6 * lab[..., 1] - lab[..., 0], np.float32)[..., None]
    found: list[tuple[float, Blemish]] = []
    taken = np.zeros(skin.shape, np.uint8)
    for radius in _SPOTS:
        sigma = max(0.8, radius * areas.width_px / 1.5)
        inner, outer = _blurred(plane, weight, sigma)[..., 0], _blurred(plane, weight, 2.2 * sigma)[..., 0]
        stands_out = inner - outer
        usual = 1.48 * float(np.median(np.abs(stands_out[skin > 0.5]))) if (skin > 0.5).any() else 1.0
        least = max(_SPOT_CONTRAST * (radius / _SPOTS[0]) ** 0.7, _SPOT_SCORE * usual)
        size = 2 * max(1, round(1.5 * sigma)) + 1
        peaks = (stands_out >= cv2.dilate(stands_out, np.ones((size, size), np.uint8))) & (stands_out > least)
        peaks &= cv2.erode(skin, np.ones((size, size), np.uint8)) > 0.6
        for y, x in zip(*np.nonzero(peaks), strict=True):
            if _is_round(stands_out, int(x), int(y), max(1, round(sigma))):
                spot = Blemish(x=int(x), y=int(y), radius=radius * areas.width_px)
                found.append((float(stands_out[y, x]) / least, spot))
    light = _blurred(lab[..., :1], weight, max(2.0, _BLOTCH * areas.width_px))[..., 0]
    kept = []
    for _, spot in sorted(found, key=lambda pair: -pair[0]):
        core = lab[max(0, spot.y - 1) : spot.y + 2, max(0, spot.x - 1) : spot.x + 2, 0]
        if taken[spot.y, spot.x] or float(light[spot.y, spot.x] - core.mean()) > _MOLE:
            continue
        cv2.circle(taken, (spot.x, spot.y), max(2, round(2 * spot.radius)), 1, -1)
        kept.append(spot)
    return kept[:_MOST_SPOTS]


def _is_round(values: Mask, x: int, y: int, step: int) -> bool:
    height, width = values.shape
    if not (step <= x < width - step and step <= y < height - step):
        return False
    here = 2 * values[y, x]
    across = float(values[y, x - step] + values[y, x + step] - here)
    down = float(values[y - step, x] + values[y + step, x] - here)
    falling = values[y + step, x + step] + values[y - step, x - step]
    rising = values[y - step, x + step] + values[y + step, x - step]
    mixed = 0.25 * float(falling - rising)
    trace, determinant = across + down, across * down - mixed * mixed
    if determinant <= 0 or trace >= 0:
        return False
    root = float(np.sqrt(max(trace * trace / 4 - determinant, 0)))
    low, high = abs(trace / 2 + root), abs(trace / 2 - root)
    return min(low, high) >= _ROUND * max(low, high)


def _healed(lab: Mask, areas: FaceAreas, spots: list[Blemish], strength: float) -> tuple[Mask, NDArray[np.bool_]]:
    """Spots take the colour of the skin round them; its texture is theirs already, made finer than the spot."""
    import cv2

    if not spots:
        return lab, np.zeros(lab.shape[:2], np.bool_)
    holes = np.zeros(lab.shape[:2], np.float32)
    for spot in spots:
        cv2.circle(holes, (spot.x, spot.y), max(1, round(1.35 * spot.radius)), 1.0, -1, cv2.LINE_AA)
    widest = max(spot.radius for spot in spots)
    around = np.asarray((1 - holes) * areas.skin + 1e-4, np.float32)
    filled = _blurred(lab, around, max(1.5, 1.1 * widest))
    # What the fill misses is the light over the hole; what it must not bring back is the spot: fine detail is measured
    # against a mean as narrow as a pore, and is no stronger than elsewhere.
    fine = lab - _blurred(lab, np.asarray(areas.skin + 1e-4, np.float32), max(0.7, _PORE * areas.width_px))
    usual = 2 * np.median(np.abs(fine[areas.skin > 0.5]), axis=0) if (areas.skin > 0.5).any() else np.ones(3)
    fine = np.clip(fine, -usual, usual)
    alpha = cv2.GaussianBlur(holes, (0, 0), max(0.6, 0.35 * widest)) * np.clip(areas.skin * 1.5, 0, 1)
    alpha = np.where(alpha > 0.01, alpha, 0) * strength
    healed = lab + alpha[..., None] * (filled + fine - lab)
    return np.asarray(healed, np.float32), np.asarray(alpha > 0)


def _same_mean(before: Mask, after: Mask, skin: Mask) -> Mask:
    """``after`` with the skin's mean colour as it was: retouching makes nobody lighter."""
    total = float(skin.sum())
    if total < 1:
        return after
    drift = ((after - before) * skin[..., None]).sum((0, 1)) / float(np.square(skin).sum())
    return np.asarray(after - drift * skin[..., None], np.float32)


def teeth_mask(lab: Mask, areas: FaceAreas) -> Mask | None:
    """Teeth between open lips: light and little red beside tongue, gums and the dark of the mouth; None without."""
    import cv2

    mouth = areas.mouth
    inside = mouth > 0.3
    open_px = float(np.linalg.norm(areas.points[13] - areas.points[14]))
    if inside.sum() < 30 or open_px < 0.02 * areas.width_px:
        return None
    lips = areas.points[[0, 17, 37, 267, 84, 314, 40, 270, 91, 321]]
    height, width = mouth.shape
    places = np.clip(np.round(lips).astype(int), 0, (width - 1, height - 1))
    lip = np.median(lab[places[:, 1], places[:, 0]], axis=0)
    light = lab[..., 0]
    brightest = float(np.percentile(light[inside], 90))
    if brightest < 42:
        return None
    bright = np.clip((light - 0.58 * brightest) / (0.17 * brightest), 0, 1)
    pale = np.clip((0.5 * (lip[1] + 8.0) + 4.0 - lab[..., 1]) / 6.0, 0, 1)
    sigma = max(0.6, 0.004 * areas.width_px)
    teeth = np.asarray(cv2.GaussianBlur(np.asarray(bright * pale, np.float32), (0, 0), sigma) * mouth, np.float32)
    return teeth if float(teeth.sum()) > max(20.0, 0.06 * float(inside.sum())) else None


def _whitened(lab: Mask, teeth: Mask, strength: float) -> Mask:
    """Less yellow, a little lighter; shades between teeth stay, and nothing gets whiter than paper."""
    after = lab.copy()
    share = strength * teeth
    after[..., 2] -= share * _TEETH_YELLOW * np.maximum(lab[..., 2] - 2.0, 0)
    after[..., 1] -= share * 0.25 * np.maximum(lab[..., 1] - 1.0, 0)
    after[..., 0] += share * _TEETH_LIFT * np.clip((96 - lab[..., 0]) / 30, 0, 1)
    return after


def _brightened(lab: Mask, eyes: Mask, strength: float) -> Mask:
    """Whites clearer and less red, irises livelier; pupils and lashes stay dark, catchlights as they are."""
    after = lab.copy()
    light = lab[..., 0]
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    share = strength * eyes
    lifted = np.clip((light - 12) / 22, 0, 1) * np.clip((98 - light) / 30, 0, 1)
    after[..., 0] += share * _EYE_LIFT * lifted
    white = np.clip((light - 45) / 20, 0, 1) * np.clip((26 - chroma) / 12, 0, 1)
    for axis in (1, 2):
        after[..., axis] -= share * white * _EYE_RED * np.maximum(lab[..., axis] - 2.0, 0)
    iris = np.clip((55 - light) / 20, 0, 1) * np.clip((light - 10) / 15, 0, 1)
    after[..., 1:] += (share * iris * 0.15)[..., None] * lab[..., 1:]
    return after
