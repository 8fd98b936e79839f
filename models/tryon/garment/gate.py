"""Refuses rather than tears: whether a pose can wear a garment, and whether the warp that was found is sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from models.perception.pose import BodyPoint, BodyPose
from models.tryon.garment.dress import Dressed, Layer
from models.tryon.garment.figure import Side
from models.tryon.garment.warp import Mask
from services.domain.errors import ContentRejected
from services.domain.product import GarmentCategory

_SEEN: Final = 0.5
_LEAST_SPAN_PX: Final = 40
_LEAST_TURN: Final = 0.34  # shoulder joints over torso: below it the body is seen from the side
_MOST_LEAN: Final = 0.75  # across over down: a body that lies or bends over
_SHORT_THIGH: Final = 0.55  # of the span: a thigh that points at the camera, of somebody who sits
_MOST_FOLDED: Final = 0.004  # of the trunk's pixels
_RIM: Final = 0.05  # of a layer's width: at its silhouette cloth goes round the body
_MOST_ANISOTROPY: Final = 1.9  # of the trunk, 95th percentile
_MOST_ON_STRAPS: Final = 3.0  # of overalls: straps are let out and taken in
_MOST_FOLDED_STRIP: Final = 0.2  # of a sleeve's or a leg's pixels: a bent elbow folds some
_MOST_TORN: Final = 0.12  # of a sleeve from seam to cuff: how much may have been missing, and was closed
_LEAST_PIECE: Final = 0.93  # of a sleeve's pixels that must hang together
_LEAST_COVERED: Final = 0.97
_MOST_BARED: Final = 0.4
_STANDING: Final = "Use a picture of somebody who stands facing the camera, arms beside the body."
_SHOWN: Final = "Use a picture that shows at least head and shoulders; where it shows several people, choose by `face`."
_LARGER: Final = "Use a larger picture, or one taken from nearer."
_LEGS: Final = "Use a picture that shows the body down to below the knees."
_OR_PINS: Final = f"See whether the points of the garment are right, or set pins; else: {_STANDING}"
_CLOSER: Final = "Use a picture of somebody whose clothes lie closer to the body."
_ON_LEGS: Final = (GarmentCategory.SKIRT, GarmentCategory.TROUSERS, GarmentCategory.OVERALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpQuality:
    """How sound a dressed picture is.

    Attributes:
        folded: Share of the trunk's pixels at which the map turns over.
        anisotropy: 95th percentile over the trunk of how much more a print is stretched one way than the other; None
            for a garment without a trunk, as trousers are.
        strips_folded: The largest share of turned pixels of any sleeve or leg.
        torn: The largest share of any sleeve, from its seam to its cuff, that the product photo left open.
        sleeve_piece: The least share of any sleeve's pixels that hangs together as one piece.
        shoulders_scaled: How much wider than by its own proportions a garment's shoulders are drawn, to fit the body.
        covered: Share of the old clothes that is gone: under the garment, or filled.
        bared: Share of the old clothes behind which the background had to be made up.
    """

    folded: float
    anisotropy: float | None
    strips_folded: float
    covered: float
    bared: float
    torn: float = 0.0
    sleeve_piece: float = 1.0
    shoulders_scaled: float = 1.0


def require_pose(
    pose: BodyPose | None, category: GarmentCategory, shape: tuple[int, ...], *, param: str = "model"
) -> BodyPose:
    """The pose, if a garment of the category can be fitted to it.

    Raises:
        ContentRejected: ``pose_not_usable``; the message says what is in the way.
    """
    if pose is None:
        raise _refused("no body was found below the face", param, _SHOWN)
    height, width = shape[:2]
    left, right = pose.at(BodyPoint.LEFT_SHOULDER), pose.at(BodyPoint.RIGHT_SHOULDER)
    if pose.faces_away:
        raise _refused("the person is seen from the back", param)
    if not pose.sees(BodyPoint.LEFT_SHOULDER, BodyPoint.RIGHT_SHOULDER, at_least=_SEEN):
        raise _refused("the shoulders are not both seen", param, _SHOWN)
    if max(left[1], right[1]) > 0.97 * height or min(right[0], left[0]) < -0.15 * width or left[0] > 1.15 * width:
        raise _refused("the shoulders are outside the picture", param, _SHOWN)
    span = pose.shoulder_width
    if span < _LEAST_SPAN_PX:
        raise _refused(
            f"the shoulders are only {span:.0f} pixels apart, at least {_LEAST_SPAN_PX} are needed", param, _LARGER
        )
    across = (left - right) / span
    if abs(across[1]) > 0.5:
        raise _refused("the person lies or leans far to one side", param)
    hips = (pose.at(BodyPoint.LEFT_HIP) + pose.at(BodyPoint.RIGHT_HIP)) / 2
    hips_seen = pose.sees(BodyPoint.LEFT_HIP, BodyPoint.RIGHT_HIP, at_least=_SEEN) and 0 <= hips[1] < height
    torso = hips - (left + right) / 2
    if hips_seen:
        _require_upright(torso, span, param)
    if _arms_crossed(pose, (left + right) / 2, across, span):
        raise _refused("the arms are crossed before the body", param)
    if category in _ON_LEGS:
        _require_legs(pose, category, hips_seen, height, param)
    return pose


def _require_upright(torso: Mask, span: float, param: str) -> None:
    if torso[1] <= 0 or abs(torso[0]) > _MOST_LEAN * torso[1]:
        raise _refused("the person lies or bends over", param)
    if span < _LEAST_TURN * float(np.hypot(*torso)):
        raise _refused("the person is seen from the side", param)


def _require_legs(pose: BodyPose, category: GarmentCategory, hips_seen: bool, height: int, param: str) -> None:
    span = pose.shoulder_width
    if not hips_seen:
        raise _refused("the hips are not in the picture, and this garment hangs from them", param, _LEGS)
    for side in Side:
        hip, knee = pose.at(BodyPoint[f"{side.name}_HIP"]), pose.at(BodyPoint[f"{side.name}_KNEE"])
        least = knee[1] if category is not GarmentCategory.SKIRT else hip[1] + 0.6 * span
        if least > height:
            raise _refused("the picture ends above the knees", param, _LEGS)
        if knee[1] < height and (knee[1] - hip[1]) < _SHORT_THIGH * span:
            raise _refused("the person sits or kneels", param)


def _arms_crossed(pose: BodyPose, middle: Mask, across: Mask, span: float) -> bool:
    """Both wrists on the other side of the body, before the trunk."""
    places = []
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        wrist = BodyPoint[f"{side.name}_WRIST"]
        if pose.visibility[wrist] < _SEEN:
            return False
        offset = pose.at(wrist) - middle
        places.append((sign * float(offset @ across) / span, float(offset[1]) / span))
    return all(aside < 0.02 and 0 < below < 1.3 for aside, below in places)


def quality_of(dressed: Dressed) -> WarpQuality:
    """What the maps did to the garment, and what is left of the old clothes."""
    trunk = next((layer for layer in dressed.layers if layer.name == "trunk"), None)
    folded, anisotropy = _stretch(trunk) if trunk is not None else (0.0, None)
    strips = [_stretch(layer)[0] for layer in dressed.layers if layer.name != "trunk"]
    sleeves = [layer for layer in dressed.layers if layer.name.startswith("sleeve")]
    old = dressed.removal.old > 0.6
    changed = dressed.canvas.changed > 0.3
    covered = float((changed & old).sum()) / max(float(old.sum()), 1.0) if old.any() else 1.0
    bared = float((dressed.removal.background * (1 - dressed.garment)).sum())
    return WarpQuality(
        folded=folded,
        anisotropy=anisotropy,
        strips_folded=max(strips, default=0.0),
        covered=covered,
        bared=bared / max(float(dressed.removal.old.sum()), 1.0),
        shoulders_scaled=dressed.fitted.trunk.shoulders_scaled if dressed.fitted.trunk is not None else 1.0,
        torn=max((layer.gaps for layer in sleeves), default=0.0),
        sleeve_piece=min((_largest_piece(layer) for layer in sleeves), default=1.0),
    )


def _largest_piece(layer: Layer) -> float:
    """Share of a sleeve's pixels in its largest piece: 1 for a whole one, about a half where it is torn in two."""
    import cv2

    solid = (layer.alpha > 0.5).astype(np.uint8)
    if solid.sum() < 20:
        return 1.0  # hardly in the picture
    stats = cv2.connectedComponentsWithStats(solid, connectivity=8)[2]
    return float(stats[1:, cv2.CC_STAT_AREA].max()) / float(solid.sum())


def _stretch(layer: Layer) -> tuple[float, float]:
    """Share of turned-over pixels, and the ratio of the map's stretches, its 95th percentile off the silhouette."""
    import cv2

    step = 4
    x, y, alpha = layer.map.x[::step, ::step], layer.map.y[::step, ::step], layer.alpha[::step, ::step]
    if min(x.shape) < 3:
        return 0.0, 1.0
    a, b = np.diff(x, axis=1)[:-1] / step, np.diff(x, axis=0)[:, :-1] / step
    c, d = np.diff(y, axis=1)[:-1] / step, np.diff(y, axis=0)[:, :-1] / step
    # Where a strip ends, the map jumps to far outside.
    smooth = np.maximum.reduce([abs(a), abs(b), abs(c), abs(d)]) < 50
    if layer.hidden is not None:
        rows, columns = (np.arange(0, count, step) for count in layer.hidden.shape)
        folds = np.logical_or.reduceat(np.logical_or.reduceat(layer.hidden, rows, 0), columns, 1)
        smooth &= ~folds[:-1, :-1]
    solid = alpha[:-1, :-1] > 0.5
    inside = solid & smooth
    if inside.sum() < 20:
        return 0.0, 1.0
    determinant = a * d - b * c
    turned = determinant[inside]
    sign = 1.0 if np.median(turned) > 0 else -1.0
    frobenius = a**2 + b**2 + c**2 + d**2
    root = np.sqrt(np.maximum(frobenius**2 - 4 * determinant**2, 0))
    ratio = np.sqrt((frobenius + root) / np.maximum(frobenius - root, 1e-9))
    rim = max(1, round(_RIM * solid.shape[1]))
    within = inside & (cv2.erode(solid.astype(np.uint8), np.ones((2 * rim + 1, 2 * rim + 1), np.uint8)) > 0)
    measured = ratio[within] if within.sum() >= 20 else ratio[inside]
    return float((sign * turned <= 0).mean()), float(np.percentile(measured, 95))


def require_quality(quality: WarpQuality, category: GarmentCategory, *, param: str = "model") -> None:
    """Raises when the picture would look torn.

    Raises:
        ContentRejected: ``pose_not_usable``.
    """
    if quality.folded > _MOST_FOLDED:
        raise _refused("the garment would fold over itself on this body", param, _OR_PINS)
    most = _MOST_ON_STRAPS if category is GarmentCategory.OVERALL else _MOST_ANISOTROPY
    if quality.anisotropy is not None and quality.anisotropy > most:
        raise _refused("the garment would have to be stretched too far", param, _OR_PINS)
    if quality.strips_folded > _MOST_FOLDED_STRIP:
        raise _refused("a sleeve or a leg would fold over itself", param, _OR_PINS)
    if quality.torn > _MOST_TORN or quality.sleeve_piece < _LEAST_PIECE:
        raise _refused("a sleeve would be torn", param, _OR_PINS)
    if quality.covered < _LEAST_COVERED:
        raise _refused("too much of the old clothes would stay", param, _CLOSER)
    if quality.bared > _MOST_BARED:
        raise _refused("what is worn stands out too far from the body", param, _CLOSER)


def _refused(reason: str, param: str, way_out: str = _STANDING) -> ContentRejected:
    return ContentRejected(
        f"The garment cannot be fitted: {reason}. {way_out}",
        code="pose_not_usable",
        param=param,
    )
