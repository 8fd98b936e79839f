"""Skin carried on under hair: one tone with what is seen beside it, its light, and its pores."""

from __future__ import annotations

from typing import Final

import numpy as np

from models.tryon.wig.filling import push_pull
from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, disc, grown

_PLACES: Final = (151, 9, 108, 337, 69, 299, 50, 280, 205, 425, 195, 5, 101, 330)
_SMALL: Final = 96  # pixels of a face's width at which low frequencies are solved
_SWEEPS: Final = 12  # of the relaxation
_LIGHTEST: Final = 1.35  # of skin, relative to the face's median
_HUE: Final = 0.17  # by how much one channel's share may differ from the face's
_ROUND: Final = (0.20, 0.14)  # how much darker a head is at its outline, and over how many face widths
_NECK_HUE: Final = 0.15
_NECK_ROUND: Final = 0.30  # how much darker a neck is at its sides
_SQUASH: Final = 3  # a neck's rows are each of one colour rather than its columns
_DETAIL: Final = 14.0  # of 255: deeper than pores are wrinkles and hairs
_HAIR_SHADE: Final = (0.06, 0.08, 0.30)  # relative darkness of hair's shadow: on forehead, on cheeks; at most
_THROAT_SHADE: Final = 0.13  # the same of a throat, which is round
_MOSTLY: Final = 0.6  # of a shadow lies within that reach
_TURNED: Final = 0.12  # face widths of the nose from the middle, beyond which a cheek lies in its own shade
_SHADOW_REACH: Final = 0.14  # face widths from hair
_DEEPEST: Final = 3.0  # of 255, standard deviation of made pores
_PATCHES: Final = (151, 108, 337, 50, 280, 205, 425, 9, 101, 330)


def face_colour(rgb: Matte, head: HeadFrame, hidden: Mask) -> Matte:
    """Median colour of the face's skin, (3,)."""
    radius = max(1, round(0.04 * head.width))
    samples = []
    for index in _PLACES:
        x, y = np.round(head.points[index, :2]).astype(int)
        window = (slice(max(0, y - radius), y + radius + 1), slice(max(0, x - radius), x + radius + 1))
        free = ~hidden[window]
        if free.any():
            samples.append(np.median(rgb[window][free], axis=0))
    return np.median(samples, axis=0).astype(np.float32) if samples else np.array([180, 140, 120], np.float32)


def skin_like(
    rgb: Matte, colour: Matte, face_width: float, *, darkest: float = 0.45, blur: float = 0.01, hue: float = _HUE
) -> Mask:
    """Where the picture has the hue of ``colour`` in light or shade, down to ``darkest`` of it.

    Args:
        blur: How wide structure is that does not count, in face widths.
        hue: By how much one channel's share may differ.
    """
    import cv2

    calm = cv2.GaussianBlur(rgb, (0, 0), max(0.6, blur * face_width))
    share = calm / np.maximum(colour, 8)
    shade = share.mean(2)
    apart = np.abs(share / np.maximum(shade, 1e-3)[..., None] - 1).max(2)
    return np.asarray((shade > darkest) & (shade < _LIGHTEST) & (apart < hue))


def hair_shadow(rgb: Matte, head: HeadFrame, near_hair: Mask, place: Mask) -> Mask:
    """Skin beside hair that is darker than the skin further in: shadow and stray hairs, to be taken along."""
    import cv2

    free = place & ~near_hair
    if free.sum() < 200:
        return np.zeros_like(near_hair)
    step = _SMALL / head.width
    size = (max(8, round(rgb.shape[1] * step)), max(8, round(rgb.shape[0] * step)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    known = (cv2.resize(free.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.9).astype(np.float32)
    filled = np.clip(push_pull(np.asarray(small, np.float32), known), 0, 255).astype(np.uint8)
    calm = cv2.medianBlur(filled, 31).astype(np.float32).mean(2)
    calm = cv2.resize(calm, (rgb.shape[1], rgb.shape[0]), interpolation=cv2.INTER_LINEAR)
    here = cv2.GaussianBlur(rgb, (0, 0), max(0.6, 0.008 * head.width)).mean(2)
    share = here / np.maximum(calm, 1)
    _, below = head.from_point(head.points[9, :2])
    on_cheek, most = _HAIR_SHADE[1:]
    if abs(head.turned) > _TURNED:
        on_cheek = most
    least = np.where(below < 0, _HAIR_SHADE[0], on_cheek)
    # Wrinkles are no shadow, and cheeks turn away from the light by themselves.
    rough = 2.2 * float(np.median(np.abs(share[free] - np.median(share[free]))))
    found = free & (share < 1 - np.clip(rough, least, most))
    return _joined_to(near_hair, found, head) & free


def shaded_throat(rgb: Matte, head: HeadFrame, near_hair: Mask, bare: Mask) -> Mask:
    """What of a throat is darker than the lightest of its rows: hair's shadow, or hair."""
    import cv2

    _, y = head.from_point(head.chin)
    here = cv2.GaussianBlur(rgb, (0, 0), max(0.6, 0.008 * head.width)).mean(2)
    rows = np.round((y[bare] / head.width + 0.5) * 24).astype(int).clip(0, 60)
    if len(rows) < 50:
        return np.zeros_like(near_hair)
    light = np.array([np.percentile(here[bare][rows == i], 80) if (rows == i).sum() > 5 else np.nan for i in range(61)])
    found = np.flatnonzero(~np.isnan(light))
    level = np.interp(np.arange(61), found, light[found])
    level = np.convolve(np.pad(level, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    wanted = level[np.round((y / head.width + 0.5) * 24).astype(int).clip(0, 60)]
    found = bare & ~near_hair & (here < (1 - _THROAT_SHADE) * wanted)
    return np.asarray(cv2.dilate(found.astype(np.uint8), disc(max(1, round(0.02 * head.width)))) > 0)


def _joined_to(near_hair: Mask, dark: Mask, head: HeadFrame) -> Mask:
    """What of ``dark`` begins at hair and goes no further from it than hair's shadow does, a little grown."""
    import cv2

    band = grown(near_hair, _SHADOW_REACH * head.width)
    num, labels = cv2.connectedComponents(dark.astype(np.uint8))
    area = np.bincount(labels.ravel(), minlength=num)
    near = np.bincount(labels.ravel(), weights=(dark & band).ravel(), minlength=num)
    beside = cv2.dilate(near_hair.astype(np.uint8), disc(max(1, round(0.012 * head.width)))) > 0
    joined = np.bincount(labels.ravel(), weights=(dark & beside).ravel(), minlength=num) > 0
    # What goes on far from hair is the head's own shade.
    chosen = np.flatnonzero(joined & (near > _MOSTLY * area))
    found = dark & band & np.isin(labels, chosen[chosen > 0])
    return np.asarray(cv2.dilate(found.astype(np.uint8), disc(max(1, round(0.015 * head.width)))) > 0)


def head_skin(rgb: Matte, head: HeadFrame, known: Mask, outline: Mask, colour: Matte) -> Matte:
    """Skin of face and scalp for the whole picture, from the face's skin where ``known``.

    What is solved for is the skin without the roundness of the head, so that light goes on across the hairline without
    a step and falls off towards ``outline``.
    """
    import cv2

    depth, over = _ROUND
    distance = cv2.distanceTransform(outline.astype(np.uint8), cv2.DIST_L2, 5) / (over * head.width)
    shade = 1 - depth * np.clip(1 - distance, 0, 1) ** 2
    return _solved(rgb, known, np.asarray(shade, np.float32), head.width, colour, squash=1)


def neck_skin(rgb: Matte, head: HeadFrame, known: Mask, colour: Matte) -> Matte:
    """Skin of neck and chest for the whole picture, row by row from what is seen of them.

    Args:
        known: Where skin below the jaw is seen; where none is, it is the face's ``colour`` in the chin's shadow.
    """
    x, y = head.from_point(head.chin)
    aside = np.clip(np.abs(x) / (0.36 * head.width), 0, 1.2)
    lower = np.clip(y / (0.55 * head.width), 0, 1)
    shade = np.asarray(1 - _NECK_ROUND * aside**2.2 * (1 - lower), np.float32)
    if known.any():
        # Strands and the red of a collar's edge do not colour a neck.
        known = known & skin_like(rgb, np.median(rgb[known], axis=0), head.width, darkest=0.5, hue=_NECK_HUE)
    if known.sum() < 0.006 * head.width**2:
        dimmed = 0.70 + 0.18 * np.clip((y + 0.1 * head.width) / (0.6 * head.width), 0, 1)
        return np.asarray(colour * (dimmed * shade)[..., None], np.float32)
    return _solved(rgb, known, shade, head.width, colour * 0.8, squash=_SQUASH)


def _solved(rgb: Matte, known: Mask, shade: Matte, face_width: float, otherwise: Matte, *, squash: int) -> Matte:
    """The smoothest continuation of ``rgb / shade`` from where it is known (Laplace's equation), times ``shade``."""
    import cv2

    height, width = known.shape
    step = min(1.0, _SMALL / face_width)
    size = (max(8, round(width * step / squash)), max(8, round(height * step)))
    weight = cv2.resize(known.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    flat = cv2.resize(rgb / shade[..., None] * known[..., None], size, interpolation=cv2.INTER_AREA)
    sure = weight > 0.5
    if not sure.any():
        return np.asarray(otherwise * shade[..., None], np.float32)
    flat = flat / np.maximum(weight, 1e-3)[..., None]
    mass = cv2.GaussianBlur(weight * sure, (0, 0), 1.5)
    calm = cv2.GaussianBlur(flat * (weight * sure)[..., None], (0, 0), 1.5) / np.maximum(mass, 1e-3)[..., None]
    values = push_pull(np.asarray(calm, np.float32), sure.astype(np.float32))
    for sigma in np.geomspace(9, 1.0, _SWEEPS):
        values = np.where(sure[..., None], calm, cv2.GaussianBlur(values, (0, 0), sigma))
    smooth = cv2.resize(np.asarray(values, np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(smooth * shade[..., None], np.float32)


def pores(rgb: Matte, head: HeadFrame, known: Mask, generator: np.random.Generator) -> Matte:
    """Fine structure like that of the sitter's own skin, (h, w, 1): its spectrum with phases of chance.

    Random phase noise (Galerne, Gousseau and Morel 2011) repeats nowhere, as a tile would.
    """
    import cv2

    fine = rgb.mean(2) - cv2.GaussianBlur(rgb, (0, 0), max(1.0, 0.012 * head.width)).mean(2)
    side = max(8, round(0.17 * head.width))
    parts = []
    for index in _PATCHES:
        x, y = np.round(head.points[index, :2]).astype(int) - side // 2
        window = (slice(max(0, y), max(0, y) + side), slice(max(0, x), max(0, x) + side))
        if fine[window].shape == (side, side) and known[window].mean() > 0.98:
            parts.append(np.clip(fine[window] - fine[window].mean(), -_DETAIL, _DETAIL))
    height, width = known.shape
    if not parts:
        return np.zeros((height, width, 1), np.float32)
    part = sorted(parts, key=lambda values: float(values.std()))[len(parts) // 3]
    taper = np.outer(np.hanning(side), np.hanning(side))
    placed = np.zeros((height, width), np.float32)
    placed[: min(side, height), : min(side, width)] = (part * taper)[:height, :width]
    noise = np.fft.rfft2(generator.standard_normal((height, width)))
    value = np.fft.irfft2(np.abs(np.fft.rfft2(placed)) * np.exp(1j * np.angle(noise)), s=(height, width))
    value *= min(float(part.std()), _DEEPEST) / max(float(value.std()), 1e-6)
    return np.asarray(value[..., None], np.float32)
