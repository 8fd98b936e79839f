"""The sitter without their own hair: what is behind it, the scalp under it, the shoulders below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.bare_skin import face_colour, hair_shadow, head_skin, neck_skin, pores, shaded_throat, skin_like
from models.tryon.wig.beside_hair import (
    adrift,
    earrings,
    glasses,
    islands,
    large,
    loose,
    strands,
    whole_ears,
    with_ears,
)
from models.tryon.wig.clothes_under_hair import clothes_under_hair, cut_print
from models.tryon.wig.filling import grain_of, push_pull, with_grain
from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, Points, disc, grown
from models.tryon.wig.neckline import bare_below, bare_skin_seen
from models.tryon.wig.patch_filling import patch_filled

Picture = NDArray[np.uint8]

_SPECK: Final = 0.012  # squared face widths
_BEHIND: Final = 0.3  # face widths behind head and shoulders that a turn may bring to light
_HALO: Final = 0.05  # face widths round hair and person that hold mixed colours
_HANGS: Final = 0.08  # squared face widths of hair below the eyes that throws a shadow on cheeks
_DARK_THROAT: Final = 0.28  # of the face's colour in the chin's shadow
_SCRAP: Final = 0.06  # squared face widths of throat below which all of it is made anew
# The shoulder line of an average person seen from the front: sideways and down from the chin, in face widths.
_SHOULDERS: Final = ((0.0, 0.50), (0.36, 0.42), (0.60, 0.56), (0.95, 0.72), (1.25, 0.87), (1.45, 1.40), (1.55, 2.60))


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
    colour = face_colour(rgb, head, hair_alpha > 0.1)
    like = skin_like(rgb, colour, head.width)
    free = (hair_alpha < 0.3) & (person_matte > 0.6) & (rgb.mean(2) > 0.3 * colour.mean())
    ears = whole_ears(head, free, like & (person_matte > 0.6))
    shaded = skin_like(rgb, colour, head.width, darkest=_DARK_THROAT, blur=0.02)
    near_hair, inside = _hair_and_body(rgb, head, (person_matte, hair_alpha), (like, shaded), ears)

    plate = _behind(picture_rgb, rgb, head, person_matte, near_hair, inside, generator)
    # Ears, cheeks, shoulders: what is person and not hair stays as it is.
    soft = max(0.7, 0.007 * head.width)
    edge = np.asarray(cv2.GaussianBlur(inside.astype(np.float32), (0, 0), soft), np.float32)
    person_alpha = np.asarray(np.clip(np.where(near_hair, edge, person_matte), 0, 1), np.float32)

    below = inside & ~head.face() & ~head.skull()
    near_hair, bare, dressed, is_bare = _below(rgb, head, (person_matte > 0.6) & below, near_hair, hair_alpha, colour)
    skin = _skin(rgb, head, near_hair, inside, bare, colour)
    skin = np.asarray(skin + pores(rgb, head, head.face() & ~near_hair & ~head.brows_and_eyes(), generator), np.float32)
    clothes = clothes_under_hair(rgb, head, dressed, inside & near_hair, skin)
    cloth = cv2.GaussianBlur((below_jaw(head) & ~is_bare).astype(np.float32), (0, 0), max(0.6, 0.008 * head.width))
    fill = skin + cloth[..., None] * (clothes - skin)
    # Over skin hair ends sharply, and what is kept of it there looks like a bruise.
    mix = np.where(head.face(), _soft(near_hair, max(2, round(0.35 * halo))), _soft(near_hair, halo))
    person = rgb * (1 - mix[..., None]) + fill * mix[..., None]
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


def _below(
    rgb: Matte, head: HeadFrame, body: Mask, near_hair: Mask, hair_alpha: Matte, colour: Matte
) -> tuple[Mask, Mask, Mask, Mask]:
    """What hair taints, with what it does to neck and clothes; bare skin and clothes that are seen; and where the
    body is bare.
    """
    import cv2

    _, y = head.from_point(head.chin)
    like = skin_like(rgb, colour, head.width, darkest=_DARK_THROAT, blur=0.025)
    bare = bare_skin_seen(like, body & ~near_hair, head)
    lower = near_hair & (y > -0.2 * head.width) & (hair_alpha > 0.5)
    near_hair = near_hair.copy()
    hung = np.zeros_like(body)
    if lower.sum() > 0.03 * head.width**2:
        hung = grown(lower, 0.45 * head.width)
    first = bare
    near_hair |= shaded_throat(rgb, head, near_hair, bare) & body & hung
    ring = cv2.dilate(near_hair.astype(np.uint8), disc(max(1, round(0.025 * head.width)))) > 0
    near_hair |= ring & bare & hung
    bare = bare & ~near_hair
    if bare.sum() < _SCRAP * head.width**2:
        near_hair |= bare & hung  # for its colour it is good enough; left standing it would be a stripe
    dressed = large(body & ~near_hair & ~bare & (y > 0.02 * head.width), 0.06 * head.width**2)
    is_bare = bare_below(head, first, dressed & ~first)
    # On skin what is no skin beside hair is hair; on clothes a letter half hidden is better gone.
    inner = cv2.erode(is_bare.astype(np.uint8), disc(max(1, round(0.015 * head.width)))) > 0
    near_hair |= body & inner & ~bare & hung
    for _ in range(2):  # what the first leaves of a letter stands alone
        near_hair |= cut_print(rgb, head, dressed, near_hair) & body & hung
    specks = body & ~near_hair
    near_hair |= specks & hung & ~large(specks, 2 * _SPECK * head.width**2)
    return near_hair, bare, dressed & ~near_hair, is_bare


def below_jaw(head: HeadFrame) -> Mask:
    """Everything below face and skull."""
    _, y = head.from_point(np.asarray(head.points[[58, 288], :2].mean(0), np.float32))
    return np.asarray((y > 0) & ~head.face() & ~head.skull())


def _hair_and_body(
    rgb: Matte, head: HeadFrame, mattes: tuple[Matte, Matte], skin: tuple[Mask, Mask], ears: Mask
) -> tuple[Mask, Mask]:
    """Where hair and what it taints is, and where the body without hair is.

    Args:
        mattes: Person and hair.
        skin: What is of the skin's hue in the light, and in shade, too.
    """
    import cv2

    (person_matte, hair_alpha), (like, shaded) = mattes, skin
    halo = max(2, round(_HALO * head.width))
    skull, face = head.skull(), head.face()
    far = cv2.dilate(hair_alpha, disc(max(1, round(0.03 * head.width)))) < 0.15
    kept = (head.brows_and_eyes() & (hair_alpha < 0.15)) | (head.brows() & far) | glasses(rgb, head)
    kept |= ears
    near_hair = (cv2.dilate(hair_alpha, disc(halo)) > 0.08) & ~kept
    body_visible = (person_matte > 0.6) & ~near_hair
    torso = _torso(head, body_visible, person_matte, near_hair)
    seen = (person_matte > 0.7) & ~near_hair & like
    inside = with_ears(head, _rounded(head, skull | face | head.neck() | torso, seen), ears)
    near_hair |= loose(head, near_hair, person_matte, inside | (like & (person_matte > 0.7)), halo)
    rim = face & ~(cv2.erode(face.astype(np.uint8), disc(max(1, round(0.16 * head.width)))) > 0)
    place = (inside & ~face) | (rim & ~head.brows_and_eyes())
    near_hair |= strands(rgb, head, near_hair, hair_alpha, place) & ~kept
    near_hair |= islands(head, near_hair, (person_matte > 0.3) & ~face) & ~kept
    near_hair |= earrings(rgb, head, near_hair, inside | like | ears)
    near_hair |= adrift(head, near_hair, person_matte, inside)
    _, y = head.from_point(head.points[168, :2])
    hangs = ((hair_alpha > 0.5) & (y > 0.1 * head.height)).sum() > _HANGS * head.width**2
    lit = rim & shaded & ~head.features() & ~head.middle() & ~kept
    near_hair |= hair_shadow(rgb, head, near_hair, lit if hangs else lit & (y < -0.12 * head.height))
    # Right beside hair skin holds single hairs.
    ring = cv2.dilate(near_hair.astype(np.uint8), disc(max(1, round(0.02 * head.width)))) > 0
    near_hair |= ring & (face | skull) & ~kept & ~head.features()
    seen = (person_matte > 0.5) & ~near_hair
    return np.asarray(near_hair), np.asarray(inside | seen)


def _behind(
    picture_rgb: Picture,
    rgb: Matte,
    head: HeadFrame,
    person_matte: Matte,
    near_hair: Mask,
    inside: Mask,
    generator: np.random.Generator,
) -> Matte:
    """The picture without person and hair."""
    import cv2

    halo = max(2, round(_HALO * head.width))
    known = (cv2.dilate(person_matte, disc(max(1, halo // 2))) < 0.06) & ~near_hair
    plate = push_pull(rgb, known.astype(np.float32))
    plate = with_grain(plate, grain_of(picture_rgb, known), ~known, generator)
    hidden = ~grown(~inside, _BEHIND * head.width)
    return patch_filled(rgb, plate, known, near_hair & ~hidden)


def _rounded(head: HeadFrame, mask: Mask, seen: Mask) -> Mask:
    """The outline without corners: a neck runs into the shoulders in a curve, and a bald head has no dents.

    Args:
        seen: What of the head is seen outside of ``mask``.
    """
    import cv2

    reach = disc(max(1, round(0.1 * head.width)))
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, reach)
    _, y = head.from_point(head.chin)
    closed = np.where(y > -0.25 * head.width, closed, mask)
    smooth = cv2.GaussianBlur(closed.astype(np.float32), (0, 0), max(0.7, 0.03 * head.width)) > 0.5
    x, y = head.from_point(head.points[168, :2])
    high = (np.abs(x) < 0.5 * head.width) & (y < -0.12 * head.width)
    crown = (head.skull() | (seen & high)) & (y < 0)
    outline, _ = cv2.findContours(crown.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    whole = np.zeros(mask.shape, np.uint8)
    if outline:
        cv2.fillConvexPoly(whole, cv2.convexHull(np.vstack(outline)), 1)
    return np.asarray(smooth | (whole > 0))


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
    on_outline &= _runs(on_outline, round(0.06 * head.width))
    offset = np.zeros_like(columns)
    if on_outline.any():
        known = np.flatnonzero(on_outline)
        offset = np.interp(columns, columns[known], (top - expected)[known]).astype(np.float32)
    line = expected + offset
    # What is seen of the body lies below its outline, whatever an average person has there.
    line = np.where(found & (sideways > 0.4) & _runs(found, round(0.2 * head.width)), np.minimum(line, top), line)
    line = np.where(on_outline, top, line)
    return np.asarray((head.rows >= line[None]) & (sideways[None] < 2.6))


def _runs(columns: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
    """Which columns stand in a run of at least so many."""
    import cv2

    row = columns.astype(np.uint8)[None]
    return np.asarray(cv2.morphologyEx(row, cv2.MORPH_OPEN, np.ones((1, max(1, least)), np.uint8))[0] > 0)


def _skin(rgb: Matte, head: HeadFrame, near_hair: Mask, inside: Mask, bare: Mask, colour: Matte) -> Matte:
    """Skin for the whole picture: the face's and the neck's own, each carried on."""
    import cv2

    face, skull = head.face(), head.skull()
    alike = skin_like(rgb, colour, head.width, darkest=_DARK_THROAT)
    spread = alike | (np.abs(rgb - colour).max(2) < 60)
    inner = cv2.erode(face.astype(np.uint8), disc(max(1, round(0.03 * head.width)))) > 0
    beside = inside & ~inner & ~below_jaw(head) & alike
    known = ((inner & spread) | beside) & ~near_hair & ~head.brows_and_eyes()
    upper = head_skin(rgb, head, known, face | skull, colour)
    clear = cv2.erode(bare.astype(np.uint8), disc(max(1, round(0.006 * head.width)))) > 0
    lower = neck_skin(rgb, head, clear, colour)
    neck = cv2.GaussianBlur(below_jaw(head).astype(np.float32), (0, 0), max(0.6, 0.012 * head.width))
    return np.asarray(upper + neck[..., None] * (lower - upper), np.float32)


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
