"""What is wrong with a wig's product photo, by name, judged by what a wearer would see."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.garment.silhouette import SIDE_PX, Silhouette, silhouette_of
from models.tryon.wig.mending import FrameCut
from services.domain.product import QualityReason

if TYPE_CHECKING:
    from models.perception.face import FaceBox
    from models.perception.faces import FaceFinder

Picture = NDArray[np.uint8]
Points = NDArray[np.float32]

_SOLID: Final = 128
_MIN_HAIR: Final = 0.12  # squared face widths: a shorn head has more
_MIN_SHARE: Final = 0.004  # of a photo without a face
_FLAT_CROWN: Final = 1.05  # face widths of a crown's cut edge beyond which no rounding looks right
_LONG_SIDE: Final = 2.6  # the same of a side's
_SKIN_AREA: Final = 0.030  # squared face widths of skin in the cutout that are seen
_SKIN_DISTANCE: Final = 2.2  # in the skin's own spread: lightness, a, b of CIELAB
_SKIN_SPREAD: Final = (12.0, 5.0, 5.0)
_TELLABLE: Final = 1.6  # hair nearer to the skin's colour than this cannot be told from it
_LOW_PX: Final = 90  # width of the wig's face opening: below that strands are mush at any usual size
_SOFT_PX: Final = 200
_SURER: Final = 0.1  # of a face's confidence, the photo turned by 180 degrees against as it is
_LYING_DEG: Final = 60.0
_CUT_CROWN: Final = 0.05  # of the photo's width
_UNSURE: Final = 0.42  # share of half transparent pixels in the matte


def emptiness(alpha: NDArray[np.uint8], face_width: float | None) -> list[QualityReason]:
    """Whether there is hair at all, and whether it is the hair that the mask shows."""
    share = float((alpha > _SOLID).mean())
    least = _MIN_SHARE if face_width is None else _MIN_HAIR * face_width**2 / alpha.size
    if share < least:
        return [QualityReason(code="product_empty", detail="No hair was found in the photo, or next to none.")]
    border = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
    if share > 0.97 or float((border > _SOLID).mean()) > 0.75:
        detail = "The mask is the wrong way round: it keeps what is around the hair. Invert it."
        return [QualityReason(code="product_polarity", detail=detail)]
    return []


def stance_reasons(rgb: Picture) -> list[QualityReason]:
    """Whether the head in a photo stands on its crown or lies on its side: its hair would hang upwards or sideways."""
    found, turned = _surest(rgb), _surest(np.ascontiguousarray(rgb[::-1, ::-1]))
    if turned is not None and turned.confidence > (0.0 if found is None else found.confidence) + _SURER:
        detail = "The head in the photo is upside down. Turn the photo by 180 degrees."
        return [QualityReason(code="product_upside_down", detail=detail)]
    if found is None:
        return []
    x, y = found.keypoints[1] - found.keypoints[0]
    if abs(float(np.degrees(np.arctan2(y, x)))) > _LYING_DEG:
        detail = "The head in the photo lies on its side. Turn the photo upright."
        return [QualityReason(code="product_upside_down", detail=detail)]
    return []


def _surest(rgb: Picture) -> FaceBox | None:
    return max(_finder().find(rgb), key=lambda face: face.confidence * face.width, default=None)


@cache
def _finder() -> FaceFinder:
    from models.perception.faces import FaceFinder

    return FaceFinder()


def kind_reasons(alpha: NDArray[np.uint8]) -> list[QualityReason]:
    """Of hair that no face wears, uint8 (h, w): whether it is a garment, or hangs upwards."""
    from models.tryon.garment.category import looks_cut_and_sewn
    from models.tryon.wig.pins import face_opening

    # Hair whose crown the frame cut off ends as straight as a waistband; that is told by another name.
    is_cut = float((alpha[0] > _SOLID).mean()) > _CUT_CROWN
    seen = None if is_cut else looks_cut_and_sewn(_outline(alpha))
    if seen is not None:
        detail = f"The photo shows something with {seen}: a garment, not a wig."
        return [QualityReason(code="product_wrong_kind", detail=detail)]
    if face_opening(alpha) is None and face_opening(np.ascontiguousarray(alpha[::-1])) is not None:
        detail = "The wig is upside down in the photo: it opens upwards. Turn the photo by 180 degrees."
        return [QualityReason(code="product_upside_down", detail=detail)]
    return []


def place_reasons(alpha: NDArray[np.uint8]) -> list[QualityReason]:
    """Whether hair that neither a face nor pins place says by its own opening, uint8 (h, w), where the face goes."""
    from models.tryon.wig.pins import face_opening

    if face_opening(alpha) is not None:
        return []
    detail = (
        "The photo shows neither a face nor an opening for one in the hair, so nothing says where the wig sits. Set "
        "the pins right_ear, left_ear and chin where they would be, or send a photo of it on a head."
    )
    return [QualityReason(code="pins_needed", detail=detail)]


def _outline(alpha: NDArray[np.uint8]) -> Silhouette:
    import cv2

    rows, columns = np.flatnonzero((alpha > _SOLID).any(1)), np.flatnonzero((alpha > _SOLID).any(0))
    tight = np.pad(alpha[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], max(2, round(0.04 * max(alpha.shape))))
    scale = SIDE_PX / max(tight.shape)
    size = (max(1, round(tight.shape[1] * scale)), max(1, round(tight.shape[0] * scale)))
    return silhouette_of(np.asarray(cv2.resize(tight, size, interpolation=cv2.INTER_AREA) > _SOLID, np.bool_))


def frame_reasons(cuts: tuple[FrameCut, ...], face_width: float) -> list[QualityReason]:
    """Hair that the photo's edge cuts off; what can be rounded is only told."""
    reasons = []
    for cut in cuts:
        length = cut.length / face_width
        if length < 0.08:
            continue
        limit = {"top": _FLAT_CROWN, "left": _LONG_SIDE, "right": _LONG_SIDE, "bottom": np.inf}[cut.edge]
        blocking = bool(length > limit)
        what = "Take a photo with room around the hair." if blocking else "Its missing rim was rounded off."
        if cut.edge == "bottom":
            what = "The locks end where the photo does."
        detail = f"The hair touches the photo's {cut.edge} edge along {length:.1f} face widths. {what}"
        reasons.append(QualityReason(code="product_touches_frame", detail=detail, blocking=blocking))
    return reasons


def skin_reasons(rgba: Picture, picture_rgb: Picture, points: Points) -> list[QualityReason]:
    """Skin of the photo's own wearer that was kept: it would lie on the sitter like a mask."""
    import cv2

    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    lab = cv2.cvtColor(np.divide(picture_rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    face = np.zeros(rgba.shape[:2], np.uint8)
    cv2.fillPoly(face, [np.round(points[list(FACE_OVAL), :2]).astype(np.int32)], 1)
    solid = rgba[..., 3] > _SOLID
    samples = lab[(face > 0) & (rgba[..., 3] < 20)]
    if len(samples) < 50 or not solid.any():
        return []
    middle = np.median(samples, axis=0)
    spread = np.maximum(1.4826 * np.median(np.abs(samples - middle), axis=0), _SKIN_SPREAD)
    distance = np.sqrt((((lab - middle) / spread) ** 2).sum(2))
    away_from_face = solid & (
        cv2.dilate(face, np.ones((3, 3), np.uint8), iterations=max(1, round(0.12 * face_width))) == 0
    )
    if away_from_face.sum() < 100:
        return []
    hair = _palette(lab[away_from_face] / spread)
    if float(np.linalg.norm(hair - middle / spread, axis=1).min()) < _TELLABLE:
        return []
    to_hair = np.linalg.norm(lab[..., None, :] / spread - hair, axis=3).min(2)
    skin = (solid & (distance < _SKIN_DISTANCE) & (to_hair > 1.5 * distance)).astype(np.uint8)
    skin = cv2.morphologyEx(
        skin, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8), iterations=max(1, round(0.008 * face_width))
    )
    num, _, stats, centres = cv2.connectedComponentsWithStats(skin)
    reasons = []
    for index in range(1, num):
        area = stats[index, cv2.CC_STAT_AREA] / face_width**2
        where = _place(centres[index], points, face_width)
        if where is None or area < _SKIN_AREA * 0.4:
            continue
        blocking = bool(area > _SKIN_AREA)
        detail = f"The cutout keeps the wearer's {where} ({area:.0%} of a squared face width)."
        reasons.append(QualityReason(code="product_keeps_skin", detail=detail, blocking=blocking))
    return reasons


def _palette(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """The hair's main colours, (5, 3)."""
    import cv2

    chosen = np.ascontiguousarray(samples[:: max(1, len(samples) // 4000)], np.float32)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, 12, 0.1)
    cv2.setRNGSeed(0)
    _, _, centres = cv2.kmeans(chosen, 5, None, criteria, 2, cv2.KMEANS_PP_CENTERS)  # type: ignore[call-overload]
    return np.asarray(centres, np.float32)


def _place(centre: NDArray[np.float64], points: Points, face_width: float) -> str | None:
    """What part of a head is there; None far from any that is bare."""
    inside = np.linalg.norm(points[:, :2] - centre, axis=1).min() / face_width
    ears = np.linalg.norm(points[[234, 454], :2] - centre, axis=1).min() / face_width
    if ears < 0.28 and centre[1] > points[9, 1]:
        return "ear or earring"
    if inside < 0.2:
        return "forehead" if centre[1] < points[9, 1] else "face"
    return None


def sharpness_reasons(rgba: Picture, face_width: float) -> list[QualityReason]:
    """Too few pixels, or a matte that could not tell hair from what is behind it."""
    reasons = []
    if face_width < _SOFT_PX:
        blocking = face_width < _LOW_PX
        detail = f"The head in the photo is {face_width:.0f} pixels wide; {_SOFT_PX} or more keep strands sharp."
        reasons.append(QualityReason(code="product_low_resolution", detail=detail, blocking=bool(blocking)))
    alpha = rgba[..., 3]
    half, solid = float(((alpha > 25) & (alpha < 230)).sum()), float((alpha >= 230).sum())
    if half > _UNSURE * (half + solid):
        detail = "Hair and background have much the same colour: the cutout's edges are a guess."
        reasons.append(QualityReason(code="product_low_contrast", detail=detail, blocking=False))
    return reasons
