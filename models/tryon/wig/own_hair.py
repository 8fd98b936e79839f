"""The sitter without their own hair: what is behind it, the scalp under it, the shoulders below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import (
    FACE_OVAL,
    LEFT_EYE_LOWER,
    LEFT_EYE_UPPER,
    RIGHT_EYE_LOWER,
    RIGHT_EYE_UPPER,
)
from models.tryon.wig.filling import grain_of, push_pull, with_grain

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]
Mask = NDArray[np.bool_]

_SKULL: Final = (0.53, 0.60)  # half axes about the eyes' middle, in face widths and face heights
_SCALP_SHARE: Final = 0.6  # of the forehead's median colour in the scalp
_SCALP_SHADE: Final = 0.2  # darker towards the skull's edge
_SIDE_LIGHT: Final = 24.0  # of 255
_HALO: Final = 0.05  # face widths round hair and person that hold mixed colours
_SKIN_PLACES: Final = (151, 9, 108, 337, 69, 299, 50, 280, 205, 425, 195, 5, 101, 330)
_BROWS: Final = ((70, 63, 105, 66, 107, 55, 65, 52, 53, 46), (300, 293, 334, 296, 336, 285, 295, 282, 283, 276))
_EYES: Final = (RIGHT_EYE_UPPER + RIGHT_EYE_LOWER, LEFT_EYE_UPPER + LEFT_EYE_LOWER)
_NECK_WIDTH: Final = 0.36  # half, in face widths
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
    head = _HeadFrame(points, picture_rgb.shape[:2])
    halo = max(2, round(_HALO * head.width))
    rgb = picture_rgb.astype(np.float32)
    skull, face = head.skull(), head.face()
    near_hair = (cv2.dilate(hair_alpha, _disc(halo)) > 0.08) & ~(head.brows_and_eyes() & (hair_alpha < 0.15))
    body_visible = (person_matte > 0.6) & ~near_hair
    torso = _torso(head, body_visible, person_matte, near_hair)
    neck = head.neck() & ~torso
    inside = skull | face | neck | torso
    near_hair |= _loose(head, near_hair, person_matte, inside, halo)
    rim = face & ~(cv2.erode(face.astype(np.uint8), _disc(max(1, round(0.1 * head.width)))) > 0)
    near_hair |= _strands(rgb, head, near_hair, hair_alpha, (inside & ~face) | (rim & ~head.brows_and_eyes()))

    known_behind = (cv2.dilate(person_matte, _disc(max(1, halo // 2))) < 0.06) & ~near_hair
    plate = push_pull(rgb, known_behind.astype(np.float32))
    plate = with_grain(plate, grain_of(picture_rgb, known_behind), ~known_behind, generator)
    # Ears, cheeks, shoulders: what is person and not hair stays as it is.
    kept = np.clip(person_matte - hair_alpha, 0, 1)
    edge = np.asarray(cv2.GaussianBlur(inside.astype(np.float32), (0, 0), max(0.7, 0.012 * head.width)), np.float32)
    person_alpha = np.where(near_hair, np.maximum(kept * ~near_hair, edge), person_matte)
    ear_like = np.where(near_hair & head.ears(), kept * (hair_alpha < 0.3), 0)
    person_alpha = np.asarray(np.clip(np.maximum(person_alpha, ear_like), 0, 1), np.float32)

    skin = _skin(rgb, head, near_hair, face)
    clothes = _clothes(rgb, head, body_visible & torso & ~face, torso & near_hair, plate, skin)
    fill = np.where((torso & ~face & ~skull)[..., None], clothes, skin)
    fill = cv2.GaussianBlur(fill, (0, 0), max(0.6, 0.006 * head.width))
    mix = _soft(near_hair, halo)
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


class _HeadFrame:
    """Shapes of the head in the picture, from its mesh alone."""

    def __init__(self, points: Points, shape: tuple[int, ...]) -> None:
        self.points = points
        self.height_px, self.width_px = int(shape[0]), int(shape[1])
        across, down = points[454, :2] - points[234, :2], points[152, :2] - points[10, :2]
        self.width = max(float(np.linalg.norm(across)), 1.0)
        self.height = max(float(np.linalg.norm(down)), 1.0)
        self.right = across / self.width
        self.down = np.array([-self.right[1], self.right[0]], np.float32)
        self.chin = points[152, :2]
        x, y = np.meshgrid(np.arange(self.width_px, dtype=np.float32), np.arange(self.height_px, dtype=np.float32))
        self._x, self._y = x, y

    def from_point(self, place: Points) -> tuple[Matte, Matte]:
        """How far right and down of ``place`` each pixel is in the head's own directions, pixels."""
        dx, dy = self._x - place[0], self._y - place[1]
        return dx * self.right[0] + dy * self.right[1], dx * self.down[0] + dy * self.down[1]

    def face(self) -> Mask:
        import cv2

        mask = np.zeros((self.height_px, self.width_px), np.uint8)
        cv2.fillPoly(mask, [np.round(self.points[list(FACE_OVAL), :2]).astype(np.int32)], 1)
        return mask > 0

    def skull(self) -> Mask:
        """The bald head above the ears."""
        middle = (self.points[[234, 454], :2].mean(0) + self.points[168, :2]) / 2
        x, y = self.from_point(middle)
        ellipse = (x / (_SKULL[0] * self.width)) ** 2 + (y / (_SKULL[1] * self.height)) ** 2
        # Below the eyes the ellipse narrows into the jaw by itself; the neck begins there.
        return np.asarray((ellipse < 1) & (y < 0.25 * self.height))

    def neck(self) -> Mask:
        x, y = self.from_point(self.chin)
        jaw = 0.38 * self.height
        widening = np.clip((y - 0.15 * self.width) / (0.5 * self.width), 0, 1) * 0.10
        return np.asarray((np.abs(x) < (_NECK_WIDTH + widening) * self.width) & (y > -jaw) & (y < 0.75 * self.width))

    def ears(self) -> Mask:
        """Where ears stand out of the head."""
        x, y = self.from_point(np.asarray(self.points[[234, 454], :2].mean(0), np.float32))
        aside = np.abs(x) / self.width
        return np.asarray((aside > 0.42) & (aside < 0.72) & (np.abs(y + 0.02 * self.height) < 0.24 * self.height))

    def brows_and_eyes(self) -> Mask:
        """What must never be taken for hair; not the tails of brows, over which hair hangs from the temples."""
        import cv2

        inner = cv2.erode(self.face().astype(np.uint8), _disc(max(1, round(0.085 * self.width))))
        return (self._hulls(_BROWS, 0.01) & (inner > 0)) | self._hulls(_EYES, 0.035)

    def _hulls(self, parts: tuple[tuple[int, ...], ...], grown: float) -> Mask:
        """The convex parts of the face, grown by so many face widths."""
        import cv2

        mask = np.zeros((self.height_px, self.width_px), np.uint8)
        for part in parts:
            hull = cv2.convexHull(np.round(self.points[list(part), :2]).astype(np.int32))
            cv2.fillConvexPoly(mask, hull, 1)
        return cv2.dilate(mask, _disc(max(1, round(grown * self.width)))) > 0

    def below_chin(self) -> Matte:
        return self.from_point(self.chin)[1]

    @property
    def rows(self) -> Matte:
        return self._y


def _torso(head: _HeadFrame, body_visible: Mask, person_matte: Matte, near_hair: Mask) -> Mask:
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


def _loose(head: _HeadFrame, near_hair: Mask, person_matte: Matte, inside: Mask, halo: int) -> Mask:
    """What else of the person round the head is no body: strands that the hair mask missed, and their halo."""
    import cv2

    around = cv2.dilate(near_hair.astype(np.uint8), _disc(5 * halo)) > 0
    suspected = cv2.dilate(person_matte, _disc(max(1, halo // 2))) > 0.04
    solid_ear = head.ears() & (person_matte > 0.7)
    above = head.below_chin() < 0.6 * head.width
    return np.asarray(around & suspected & above & ~inside & ~solid_ear)


def _strands(rgb: Matte, head: _HeadFrame, near_hair: Mask, hair_alpha: Matte, place: Mask) -> Mask:
    """Hair on neck and shoulders that the mask missed: what looks like the hair beside it and like nothing else."""
    import cv2

    _, y = head.from_point(head.chin)
    hanging = (hair_alpha > 0.8) & (y > -1.1 * head.width)
    if hanging.sum() < 0.05 * head.width**2:
        return np.zeros_like(near_hair)
    reach = cv2.dilate(hanging.astype(np.uint8), _disc(max(2, round(0.35 * head.width)))) > 0
    face = cv2.erode(head.face().astype(np.uint8), _disc(max(1, round(0.12 * head.width)))) > 0
    skin = np.median(rgb[face & ~near_hair], axis=0) if (face & ~near_hair).any() else np.array([190, 150, 130])
    cloth = rgb[place & ~near_hair & ~reach & (y > 0.5 * head.width)]
    others = [skin * shade for shade in (1.1, 0.85, 0.65, 0.5, 0.38)]
    others += list(_palette(cloth)) if len(cloth) > 200 else []
    to_hair = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in _palette(rgb[hanging])], axis=0)
    to_other = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in others], axis=0)
    like = place & reach & ~near_hair & (to_hair < 40) & (to_hair < 0.7 * to_other)
    like = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_CLOSE, _disc(max(1, round(0.01 * head.width))))
    _, labels = cv2.connectedComponents(np.maximum(like, near_hair.astype(np.uint8)))
    joined = np.unique(labels[near_hair])
    found = (like > 0) & np.isin(labels, joined[joined > 0])
    return np.asarray((cv2.dilate(found.astype(np.uint8), _disc(max(1, round(0.025 * head.width)))) > 0) & place)


def _palette(samples: Matte) -> Matte:
    """Three main colours of pixels (n, 3)."""
    import cv2

    chosen = np.ascontiguousarray(samples[:: max(1, len(samples) // 3000)], np.float32)
    cv2.setRNGSeed(0)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, 10, 1.0)
    _, _, colours = cv2.kmeans(chosen, 3, None, criteria, 1, cv2.KMEANS_PP_CENTERS)  # type: ignore[call-overload]
    return np.asarray(colours, np.float32)


def _clothes(rgb: Matte, head: _HeadFrame, known: Mask, wanted: Mask, otherwise: Matte, skin: Matte) -> Matte:
    """Clothes (and a bare chest) carried on under hair that lay over them, edges and weave included.

    Sources are looked for along the row rather than along the column: a collar or a lapel is seen at the same height
    on the hair's other side. Beside the neck clothes alone are carried on, unless the shoulders are bare.
    """
    import cv2

    if known.sum() < 50 or not wanted.any():
        return otherwise
    safe = cv2.erode(known.astype(np.uint8), _disc(max(1, round(0.02 * head.width)))) > 0
    known = safe if safe.sum() >= 50 else known
    x, y = head.from_point(head.chin)
    colour = np.median(skin[known], axis=0)
    bare = np.min([np.abs(rgb - colour * shade).max(2) for shade in (1.15, 1.0, 0.85, 0.7, 0.55)], axis=0) < 34
    dressed = known & ~bare
    filled = _carried_on(rgb, known, wanted, stretch=2)
    beside = np.abs(x) > 0.42 * head.width
    if (bare & known & beside).sum() > 0.4 * (known & beside).sum() or dressed.sum() < 50:
        return filled
    # A neckline is seen in the middle; hidden, it rises to where the neck meets the shoulder.
    middle = dressed & (np.abs(x) < 0.25 * head.width)
    depth = float(np.percentile(y[middle], 2)) / head.width if middle.sum() > 30 else 0.6
    rise = np.sqrt((x / (0.5 * head.width)) ** 2 + (np.maximum(y, 0) / (max(depth, 0.3) * head.width)) ** 2)
    weight = np.clip((rise - 0.97) / 0.06, 0, 1)[..., None]
    only = _carried_on(rgb, dressed, wanted, stretch=2)
    return _symmetric(rgb, head, known, wanted, np.asarray(filled * (1 - weight) + only * weight, np.float32))


def _symmetric(rgb: Matte, head: _HeadFrame, known: Mask, wanted: Mask, otherwise: Matte) -> Matte:
    """``otherwise``, but where the body's other side shows the same place, that: lapels come in pairs."""
    import cv2

    width = known.shape[1]
    columns = np.round(2 * head.chin[0] - np.arange(width)).astype(int)
    there = (columns >= 0) & (columns < width)
    columns = np.clip(columns, 0, width - 1)
    other, seen = rgb[:, columns], known[:, columns] & there
    # Light differs from side to side: what both sides show tells by how much.
    both = known & seen
    shift = np.clip(rgb - other, -_SIDE_LIGHT, _SIDE_LIGHT) * both[..., None]
    if both.sum() > 50:
        other = other + push_pull(np.asarray(shift, np.float32), both.astype(np.float32))
    use = cv2.erode((wanted & seen).astype(np.uint8), _disc(max(1, round(0.015 * head.width))))
    mix = cv2.GaussianBlur(use.astype(np.float32), (0, 0), max(0.8, 0.012 * head.width))[..., None]
    return np.asarray(otherwise * (1 - mix) + other * mix, np.float32)


def _carried_on(rgb: Matte, known: Mask, wanted: Mask, *, stretch: int) -> Matte:
    """``rgb`` with the wanted pixels taken from the nearest known ones, mirrored there, so that texture goes on.

    Args:
        stretch: How much nearer the row's pixels count than the column's.
    """
    import cv2

    out = push_pull(rgb, known.astype(np.float32))
    rows, columns = np.nonzero(wanted)
    if not known.any() or not len(rows):
        return out
    height, width = known.shape
    step = stretch if min(height, width) > 64 else 1
    small = cv2.resize((~known).astype(np.uint8), (width // step, height), interpolation=cv2.INTER_NEAREST)
    if small.all():
        return out
    _, labels = cv2.distanceTransformWithLabels(small, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL)
    known_rows, known_columns = np.nonzero(small == 0)
    place = np.zeros(int(labels.max()) + 1, np.int64)
    place[labels[known_rows, known_columns]] = np.arange(len(known_rows))
    nearest = place[labels[rows, np.minimum(columns // step, small.shape[1] - 1)]]
    to_row = np.clip(2 * known_rows[nearest] - rows, 0, height - 1)
    to_column = np.clip(2 * known_columns[nearest] * step - columns, 0, width - 1)
    good = known[to_row, to_column]
    carried = rgb[to_row, to_column]
    out[rows, columns] = np.where(good[:, None], carried, out[rows, columns])
    return out


def _skin(rgb: Matte, head: _HeadFrame, near_hair: Mask, face: Mask) -> Matte:
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
    inner = cv2.erode(face.astype(np.uint8), _disc(max(1, round(0.03 * head.width)))) > 0
    spread = np.abs(rgb - median).max(2) < 90
    x, under = head.from_point(head.chin)
    throat = head.neck() & (np.abs(x) < 0.3 * head.width) & (under > 0.06 * head.width) & ~near_hair
    throat &= np.abs(rgb - median).max(2) < 110
    known = ((inner & spread) | throat) & ~near_hair
    filled = push_pull(rgb, known.astype(np.float32))
    filled = np.asarray(cv2.GaussianBlur(filled, (0, 0), 0.05 * head.width), np.float32)
    scalp = np.clip(-below / (0.15 * head.height), 0, 1) * _SCALP_SHARE * ~face
    mixed = filled * (1 - scalp[..., None]) + median * scalp[..., None]
    x, y = head.from_point((head.points[[234, 454], :2].mean(0) + head.points[168, :2]) / 2)
    out = np.sqrt((x / (_SKULL[0] * head.width)) ** 2 + (y / (_SKULL[1] * head.height)) ** 2)
    shade = 1 - _SCALP_SHADE * np.clip((out - 0.6) / 0.4, 0, 1)
    # A neck that is not seen anywhere lies in the chin's shadow.
    dimmed = 0.16 if throat.sum() < 0.02 * head.width**2 else 0.0
    neck = 1 - dimmed * np.clip((under + 0.1 * head.width) / (0.15 * head.width), 0, 1)
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


def _disc(radius: int) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2), np.uint8)


def _bytes(values: Matte) -> Picture:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
