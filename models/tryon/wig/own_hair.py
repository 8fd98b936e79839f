"""The sitter without their own hair: what is behind it, the scalp under it, the shoulders below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.clothes_under_hair import clothes_under_hair, palette
from models.tryon.wig.filling import grain_of, push_pull, with_grain
from models.tryon.wig.head_frame import SKULL, HeadFrame, Mask, Matte, Points, disc
from models.tryon.wig.patch_filling import patch_filled

Picture = NDArray[np.uint8]

_SCALP_SHARE: Final = 0.6  # of the forehead's median colour in the scalp
_SCALP_SHADE: Final = 0.2  # darker towards the skull's edge
_SPECK: Final = 0.012  # squared face widths
_BEHIND: Final = 0.3  # face widths behind head and shoulders that a turn may bring to light
_HALO: Final = 0.05  # face widths round hair and person that hold mixed colours
_SKIN_PLACES: Final = (151, 9, 108, 337, 69, 299, 50, 280, 205, 425, 195, 5, 101, 330)
# The shoulder line of an average person seen from the front: sideways and down from the chin, in face widths.
_SHOULDERS: Final = ((0.0, 0.50), (0.36, 0.42), (0.60, 0.56), (0.95, 0.72), (1.25, 0.95), (1.45, 1.50), (1.55, 2.60))


@dataclass(frozen=True, slots=True, kw_only=True)
class BareSitter:
    """The sitter, hair taken away; everything at the size of the picture it was made from.

    Attributes:
        picture_rgb: The picture itself, uint8 (h, w, 3).
        points: Mesh of the face in it, float32 (468, 3).
        plate_rgb: What is behind the person, uint8.
        person_rgb: The person without hair, uint8; the picture's own pixels wherever there was no hair.
        person_alpha: float32; where the person without hair is.
        skin_rgb: uint8; what skin looks like at each place, also where none is.
        hair_alpha: float32; the hair that was taken away.
        removed: float32; 1 where ``plate_rgb`` and ``person_rgb`` replace the picture, with soft ends in known ground.
    """

    picture_rgb: Picture
    points: Points
    plate_rgb: Picture
    person_rgb: Picture
    person_alpha: Matte
    skin_rgb: Picture
    hair_alpha: Matte
    removed: Matte

    @property
    def face_width(self) -> float:
        return float(np.linalg.norm(self.points[454, :2] - self.points[234, :2]))


def take_hair_away(picture_rgb: Picture, points: Points, person_matte: Matte, hair_alpha: Matte) -> BareSitter:
    """The sitter of the picture without hair.

    Args:
        picture_rgb: uint8 (h, w, 3).
        points: The face's mesh in its pixels.
        person_matte, hair_alpha: float32 (h, w), 0 to 1.
    """
    import cv2

    generator = np.random.default_rng(0)
    head = HeadFrame(points, picture_rgb.shape[:2])
    halo = max(2, round(_HALO * head.width))
    rgb = picture_rgb.astype(np.float32)
    skull, face = head.skull(), head.face()
    near_hair = (cv2.dilate(hair_alpha, disc(halo)) > 0.08) & ~(head.brows_and_eyes() & (hair_alpha < 0.15))
    body_visible = (person_matte > 0.6) & ~near_hair
    torso = _torso(head, body_visible, person_matte, near_hair)
    neck = head.neck() & ~torso
    inside = skull | face | neck | torso
    near_hair |= _loose(head, near_hair, person_matte, inside, halo)
    rim = face & ~(cv2.erode(face.astype(np.uint8), disc(max(1, round(0.16 * head.width)))) > 0)
    near_hair |= _strands(rgb, head, near_hair, hair_alpha, (inside & ~face) | (rim & ~head.brows_and_eyes()))

    near_hair |= _islands(head, near_hair, (person_matte > 0.3) & ~face)

    known_behind = (cv2.dilate(person_matte, disc(max(1, halo // 2))) < 0.06) & ~near_hair
    plate = push_pull(rgb, known_behind.astype(np.float32))
    plate = with_grain(plate, grain_of(picture_rgb, known_behind), ~known_behind, generator)
    hidden = cv2.erode((skull | torso | face).astype(np.uint8), disc(max(1, round(_BEHIND * head.width)))) > 0
    plate = patch_filled(rgb, plate, known_behind, near_hair & ~hidden)
    # Ears, cheeks, shoulders: what is person and not hair stays as it is.
    kept = np.clip(person_matte - hair_alpha, 0, 1)
    edge = np.asarray(cv2.GaussianBlur(inside.astype(np.float32), (0, 0), max(0.7, 0.012 * head.width)), np.float32)
    person_alpha = np.where(near_hair, np.maximum(kept * ~near_hair, edge), person_matte)
    ear_like = np.where(near_hair & head.ears(), kept * (hair_alpha < 0.3), 0)
    ear_like = _joined(ear_like, inside, head)
    person_alpha = np.asarray(np.clip(np.maximum(person_alpha, ear_like), 0, 1), np.float32)

    skin = _skin(rgb, head, near_hair, face)
    clothes = clothes_under_hair(rgb, head, body_visible & ~near_hair & torso & ~face, torso & near_hair, plate, skin)
    fill = np.where((torso & ~face & ~skull)[..., None], clothes, skin)
    fill = cv2.GaussianBlur(fill, (0, 0), max(0.6, 0.006 * head.width))
    # Over skin hair ends sharply, and what is kept of it there looks like a bruise.
    mix = np.where(face, _soft(near_hair, max(2, round(0.35 * halo))), _soft(near_hair, halo))
    person = rgb * (1 - mix[..., None]) + fill * mix[..., None]
    person = with_grain(np.asarray(person, np.float32), grain_of(picture_rgb, face & ~near_hair), near_hair, generator)
    return BareSitter(
        picture_rgb=picture_rgb,
        points=points,
        plate_rgb=_bytes(plate),
        person_rgb=_bytes(person),
        person_alpha=person_alpha,
        skin_rgb=_bytes(skin),
        hair_alpha=hair_alpha,
        removed=_soft(near_hair, halo, outward=True),
    )


def _joined(ears: Matte, inside: Mask, head: HeadFrame) -> Matte:
    """Ears with what hair had hidden between them and the face; without what is loose or no more than a sliver."""
    import cv2

    whole = cv2.morphologyEx((ears > 0.5).astype(np.uint8), cv2.MORPH_OPEN, disc(max(1, round(0.02 * head.width))))
    if not whole.any():
        return np.zeros_like(ears)
    reach = disc(max(1, round(0.09 * head.width)))
    both = cv2.morphologyEx(np.maximum(whole, inside.astype(np.uint8)), cv2.MORPH_CLOSE, reach)
    near = cv2.dilate(whole, reach) > 0
    bridge = cv2.GaussianBlur(
        ((both > 0) & near & head.ears()).astype(np.float32), (0, 0), max(0.7, 0.012 * head.width)
    )
    return np.asarray(np.maximum(ears * (cv2.dilate(whole, disc(max(1, round(0.02 * head.width)))) > 0), bridge))


def _torso(head: HeadFrame, body_visible: Mask, person_matte: Matte, near_hair: Mask) -> Mask:
    """Where shoulders and clothes are, hair or not: the outline as seen, where hidden an average person's."""
    columns = np.arange(head.width_px, dtype=np.float32)
    sideways = np.abs(columns - head.chin[0]) / head.width
    expected = head.chin[1] + head.width * np.interp(sideways, *np.array(_SHOULDERS).T)
    below = body_visible & (head.rows > head.chin[1] + 0.3 * head.width)
    found = below.any(0)
    top = below.argmax(0).astype(np.float32)
    above = np.clip(top.astype(int) - 2, 0, head.height_px - 1)
    at = (above, np.arange(head.width_px))
    on_outline = found & (person_matte[at] < 0.5) & ~near_hair[at] & (sideways > 0.4)
    offset = np.zeros_like(columns)
    if on_outline.any():
        known = np.flatnonzero(on_outline)
        offset = np.interp(columns, columns[known], (top - expected)[known]).astype(np.float32)
    line = expected + offset
    # What is seen of the body lies below its outline, whatever an average person has there.
    line = np.where(found & (sideways > 0.4), np.minimum(line, top), line)
    line = np.where(on_outline, top, line)
    return np.asarray((head.rows >= line[None]) & (sideways[None] < 2.6))


def _loose(head: HeadFrame, near_hair: Mask, person_matte: Matte, inside: Mask, halo: int) -> Mask:
    """What else of the person round the head is no body: strands that the hair mask missed, and their halo."""
    import cv2

    around = cv2.dilate(near_hair.astype(np.uint8), disc(5 * halo)) > 0
    suspected = cv2.dilate(person_matte, disc(max(1, halo // 2))) > 0.04
    solid_ear = head.ears() & (person_matte > 0.7)
    above = head.below_chin() < 0.6 * head.width
    return np.asarray(around & suspected & above & ~inside & ~solid_ear)


def _strands(rgb: Matte, head: HeadFrame, near_hair: Mask, hair_alpha: Matte, place: Mask) -> Mask:
    """Hair on neck and shoulders that the mask missed: what looks like the hair beside it and like nothing else."""
    import cv2

    _, y = head.from_point(head.chin)
    hanging = (hair_alpha > 0.8) & (y > -1.1 * head.width)
    if hanging.sum() < 0.05 * head.width**2:
        return np.zeros_like(near_hair)
    reach = cv2.dilate(hanging.astype(np.uint8), disc(max(2, round(0.35 * head.width)))) > 0
    face = cv2.erode(head.face().astype(np.uint8), disc(max(1, round(0.12 * head.width)))) > 0
    skin = np.median(rgb[face & ~near_hair], axis=0) if (face & ~near_hair).any() else np.array([190, 150, 130])
    cloth = rgb[place & ~near_hair & ~reach & (y > 0.5 * head.width)]
    others = [skin * shade for shade in (1.1, 0.85, 0.65, 0.5, 0.38)]
    others += list(palette(cloth)) if len(cloth) > 200 else []
    to_hair = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in palette(rgb[hanging])], axis=0)
    to_other = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in others], axis=0)
    like = place & reach & ~near_hair & (to_hair < 40) & (to_hair < 0.7 * to_other)
    like = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_CLOSE, disc(max(1, round(0.01 * head.width))))
    _, labels = cv2.connectedComponents(np.maximum(like, near_hair.astype(np.uint8)))
    joined = np.unique(labels[near_hair])
    found = (like > 0) & np.isin(labels, joined[joined > 0])
    return np.asarray((cv2.dilate(found.astype(np.uint8), disc(max(1, round(0.025 * head.width)))) > 0) & place)


def _islands(head: HeadFrame, near_hair: Mask, body: Mask) -> Mask:
    """Specks of body all round which there is hair: shadow and skin between locks, of no use alone."""
    import cv2

    num, labels, stats, _ = cv2.connectedComponentsWithStats((body & ~near_hair).astype(np.uint8), connectivity=4)
    small = [i for i in range(1, num) if stats[i, cv2.CC_STAT_AREA] < _SPECK * head.width**2]
    x, y = head.from_point(head.chin)
    return np.asarray(np.isin(labels, small) & (y > -0.3 * head.width) & ~head.ears() & (np.abs(x) < 1.5 * head.width))


def _skin(rgb: Matte, head: HeadFrame, near_hair: Mask, face: Mask) -> Matte:
    """Skin for the whole picture: the face's own, carried outward, with much of the forehead's colour on the scalp."""
    import cv2

    radius = max(1, round(0.04 * head.width))
    samples = []
    for index in _SKIN_PLACES:
        x, y = np.round(head.points[index, :2]).astype(int)
        window = (slice(max(0, y - radius), y + radius + 1), slice(max(0, x - radius), x + radius + 1))
        free = ~near_hair[window]
        if free.any():
            samples.append(np.median(rgb[window][free], axis=0))
    median = np.median(samples, axis=0).astype(np.float32) if samples else np.array([180, 140, 120], np.float32)
    _, below = head.from_point(head.points[9, :2])
    inner = cv2.erode(face.astype(np.uint8), disc(max(1, round(0.03 * head.width)))) > 0
    spread = np.abs(rgb - median).max(2) < 90
    x, under = head.from_point(head.chin)
    throat = head.neck() & (np.abs(x) < 0.3 * head.width) & (under > 0.06 * head.width) & ~near_hair
    throat &= np.abs(rgb - median).max(2) < 110
    beside_hair = cv2.dilate(near_hair.astype(np.uint8), disc(max(1, round(0.09 * head.width)))) > 0
    spread &= ~beside_hair | (np.abs(rgb - median).max(2) < 55)
    known = ((inner & spread) | throat) & ~near_hair
    filled = push_pull(rgb, known.astype(np.float32))
    filled = np.asarray(cv2.GaussianBlur(filled, (0, 0), 0.05 * head.width), np.float32)
    scalp = np.clip(-below / (0.15 * head.height), 0, 1) * _SCALP_SHARE * ~face
    mixed = filled * (1 - scalp[..., None]) + median * scalp[..., None]
    x, y = head.from_point((head.points[[234, 454], :2].mean(0) + head.points[168, :2]) / 2)
    out = np.sqrt((x / (SKULL[0] * head.width)) ** 2 + (y / (SKULL[1] * head.height)) ** 2)
    shade = 1 - _SCALP_SHADE * np.clip((out - 0.6) / 0.4, 0, 1)
    # A neck lies in the chin's shadow; where it is seen its own colour holds some of that already.
    dimmed = 0.26 if throat.sum() < 0.02 * head.width**2 else 0.18
    in_shadow = np.clip((under + 0.45 * head.height) / (0.2 * head.height), 0, 1)
    in_shadow *= 1 - 0.6 * np.clip(under / (0.45 * head.width), 0, 1)
    in_shadow = cv2.GaussianBlur(in_shadow * ~face, (0, 0), max(0.6, 0.012 * head.width))
    neck = 1 - dimmed * in_shadow
    return np.asarray(mixed * np.minimum(shade, neck)[..., None], np.float32)


def _soft(mask: Mask, reach: int, *, outward: bool = False) -> Matte:
    """The mask with a soft border inside it, or outside it."""
    import cv2

    if outward:
        distance = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
        value = np.clip(1 - distance / max(reach, 1), 0, 1)
    else:
        distance = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
        value = np.clip(distance / max(reach * 0.6, 1), 0, 1)
    return np.asarray(value * value * (3 - 2 * value), np.float32)


def _bytes(values: Matte) -> Picture:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
