"""A garment on a person's photo, end to end: picture, mask of what changed, and a sheet of before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.background import swapped
from models.imaging.layers import Layers
from models.imaging.subject import SubjectKind, subject_of
from models.perception.analysis_cache import AnalysisCache, digest_of
from models.perception.analyst import Analyst, shared_analyst
from models.perception.body import BodyAnalysis
from models.provenance.marks import GENERATOR, Marks, SourceType
from models.provenance.pictures import save_picture
from models.talking_head.film import MediaLimits
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.dress import Dressed, dress
from models.tryon.garment.gate import WarpQuality, quality_of, require_pose, require_quality
from models.tryon.garment.wearer import Wearer, wearer_of
from models.tryon.previews import Previews
from models.tryon.refining import Refiner, seams_of
from models.video.label import KeepClear, VisibleLabel, face_mask
from models.video.picture import PictureSource, read_picture, worked_at
from services.domain.errors import ContentRejected
from services.domain.picture_storyboards import GarmentStoryboard
from services.domain.product import ProductView
from services.domain.video import BackgroundKind

_SEAM: Final = 0.015  # of the shoulder span: half the width of a seam
_SHEET_HEIGHT_PX: Final = 900
_SHEET_GAP_PX: Final = 16
_JPEG: Final = {"quality": 90, "subsampling": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GarmentInputs:
    """A storyboard with its objects as files.

    Attributes:
        model: The photo of the person.
        assets: The garment, one for each view that was photographed; the front is used.
        background: The picture that replaces the photo's background, if one does.
        producer: Who the files' metadata say made them.
        cache: Of analyses, so that the next garment on the same photo costs less.
        refiner: Repaints edges, new skin and what came to light, where the storyboard asks for it.
    """

    storyboard: GarmentStoryboard
    model: Path
    assets: Sequence[GarmentAsset]
    background: Path | None = None
    limits: MediaLimits = field(default_factory=MediaLimits)
    producer: str = GENERATOR
    cache: AnalysisCache | None = None
    refiner: Refiner | None = None


def make_garment_preview(
    inputs: GarmentInputs,
    *,
    out_dir: Path,
    on_progress: Callable[[str, float], None] = lambda stage, fraction: None,
    check_canceled: Callable[[], None] = lambda: None,
    analyst: Analyst | None = None,
) -> Previews:
    """``picture`` and ``mask`` (PNG) and ``sheet`` (JPEG) in ``out_dir``.

    Without a visible label and with the original background, every pixel of ``picture`` where ``mask`` is 0 is the
    photo's own.

    Raises:
        ContentRejected: ``pose_not_usable``, and the codes of reading and analysing the photo (``unreadable_media``,
            ``picture_too_large``, ``face_not_found``, ``face_index``).
    """
    storyboard = inputs.storyboard
    on_progress("person", 0.0)
    source = _open(inputs.model, "the model's photo", inputs.limits)
    asset = front_of(inputs.assets)
    wearer = look(inputs, source, asset, analyst)
    check_canceled()
    on_progress("garment", 0.4)
    dressed = dress(wearer, asset, seed=storyboard.seed)
    quality = quality_of(dressed)
    require_quality(quality, asset.category)
    check_canceled()
    on_progress("picture", 0.8)
    picture = dressed.canvas.picture()
    mask = (np.clip(dressed.canvas.changed, 0, 1) * 255).astype(np.uint8)
    mask[(dressed.canvas.changed > 0) & (mask == 0)] = 1
    refined: Mapping[str, Any] = {}
    if storyboard.refine and inputs.refiner is not None:
        picture, mask, refined = _refined(
            inputs.refiner, wearer, dressed, picture, mask, storyboard.seed, check_canceled
        )
    picture, mask = _on_background(inputs, wearer, dressed, picture, mask)
    label = _label(inputs, wearer, picture)
    files, marks = _save(inputs, out_dir, wearer.rgb, picture, mask)
    check_canceled()
    on_progress("done", 1.0)
    return Previews(
        files=files,
        marks=marks,
        facts={**_facts(wearer, source, asset, quality, label), **refined},
        usage={"pictures": 1.0},
    )


def look(inputs: GarmentInputs, source: PictureSource, asset: GarmentAsset, analyst: Analyst | None = None) -> Wearer:
    """The person in the photo, ready to be dressed.

    Raises:
        ContentRejected: ``pose_not_usable``, ``face_not_found``, ``face_index``.
    """
    face = inputs.storyboard.model.face

    def analyse() -> BodyAnalysis:
        return (analyst or shared_analyst()).body(source.rgb, face=face)

    if inputs.cache is None:
        analysis = analyse()
    else:
        key = f"face={face} pixels={inputs.limits.max_picture_pixels}"
        analysis = inputs.cache.body(digest_of(inputs.model), key, analyse)
    require_pose(analysis.pose, asset.category, analysis.rgb.shape)
    return wearer_of(analysis)


def front_of(assets: Sequence[GarmentAsset]) -> GarmentAsset:
    """The asset that shows the front.

    Raises:
        ContentRejected: ``garment_not_found``, ``product_not_ready``: no photo shows the front.
    """
    if not assets:
        raise ContentRejected("The preview has no garment.", code="garment_not_found", param="garment")
    for asset in assets:
        if asset.view is ProductView.FRONT:
            return asset
    raise ContentRejected(
        "The garment has no photo from the front; add one to its product.", code="product_not_ready", param="garment"
    )


def _open(path: Path, name: str, limits: MediaLimits) -> PictureSource:
    source = read_picture(path, name, max_pixels=limits.max_picture_pixels)
    if source is None:
        raise ContentRejected(f"{name} is no picture.", code="unreadable_media", param="model")
    return source


def _refined(
    refiner: Refiner,
    wearer: Wearer,
    dressed: Dressed,
    picture: NDArray[np.uint8],
    mask: NDArray[np.uint8],
    seed: int,
    check_canceled: Callable[[], None],
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Mapping[str, Any]]:
    """The picture, the mask of what changed and facts after the generative pass over what no photo showed."""
    removal = dressed.removal
    invented = np.maximum.reduce([removal.background, removal.bare]) * (1 - dressed.garment)
    width_px = max(1.0, _SEAM * wearer.figure.span)
    seams, deep = seams_of(dressed.garment, np.asarray(invented, np.float32), width_px=width_px)
    face = (wearer.face_skin > 0) & (dressed.canvas.changed == 0)
    protected = deep | face
    seams = np.where(protected, 0, seams).astype(np.float32)
    product = np.where(dressed.garment[..., None] > 0.5, picture, 255).astype(np.uint8)
    picture, facts = refiner(
        picture,
        seams=seams,
        protected=protected,
        product_rgb=product,
        seed=seed,
        check_canceled=check_canceled,
    )
    return picture, np.maximum(mask, np.where(seams > 0, 255, 0)).astype(np.uint8), facts


def _on_background(
    inputs: GarmentInputs, wearer: Wearer, dressed: Dressed, picture: NDArray[np.uint8], mask: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The picture on the background that was asked for; a new background changes every pixel it covers."""
    shot = inputs.storyboard.background
    if shot.kind is BackgroundKind.ORIGINAL:
        return picture, mask
    plate = _open(inputs.background, "the background", inputs.limits) if inputs.background else None
    # Where the old clothes stood out beyond the new ones, the person's outline has changed.
    gone = np.clip(dressed.removal.background - dressed.garment, 0, 1)
    matte = np.maximum(wearer.person * (1 - gone), dressed.garment).astype(np.float32)
    composed = swapped(Layers(rgb=picture), subject_of(matte, SubjectKind.PERSON), shot, plate).rgb
    changed = (composed != picture).any(axis=2)
    share = np.maximum(np.rint((1 - matte) * 255), 1).astype(np.uint8)
    return composed, np.where(changed, np.maximum(mask, share), mask)


def _label(inputs: GarmentInputs, wearer: Wearer, picture: NDArray[np.uint8]) -> VisibleLabel | None:
    """Draws the label on ``picture``, unless the client turned it off."""
    disclosure = inputs.storyboard.disclosure
    if not disclosure.visible_label:
        return None
    size = (picture.shape[1], picture.shape[0])
    faces = face_mask(size, [wearer.face.points]) if wearer.face is not None else None
    label = VisibleLabel(size, None, corner=disclosure.corner, keep_clear=KeepClear(faces=faces))
    label.draw_on_picture(picture)
    return label


def _save(
    inputs: GarmentInputs,
    out_dir: Path,
    before: NDArray[np.uint8],
    picture: NDArray[np.uint8],
    mask: NDArray[np.uint8],
) -> tuple[dict[str, Path], dict[str, Marks]]:
    from PIL import Image

    files = {
        "picture": out_dir / "picture.png",
        "mask": out_dir / "mask.png",
        "sheet": out_dir / "sheet.jpg",
    }
    job_id = inputs.storyboard.job_id
    marks = {
        role: Marks(source_type=SourceType.COMPOSITE, producer=inputs.producer, content_id=f"{job_id}.{role}")
        for role in files
    }
    save_picture(Image.fromarray(picture), files["picture"], marks["picture"], compress_level=1)
    save_picture(Image.fromarray(mask), files["mask"], marks["mask"], compress_level=1)
    save_picture(Image.fromarray(sheet_of(before, picture)), files["sheet"], marks["sheet"], **_JPEG)
    return files, marks


def sheet_of(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Before and after side by side, uint8 (h, w, 3)."""
    import cv2

    height = min(_SHEET_HEIGHT_PX, before.shape[0])
    width = max(1, round(before.shape[1] * height / before.shape[0]))
    gap = np.full((height, _SHEET_GAP_PX, 3), 255, np.uint8)
    small = [cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA) for picture in (before, after)]
    return np.hstack([small[0], gap, small[1]]).astype(np.uint8)


def _facts(
    wearer: Wearer, source: PictureSource, asset: GarmentAsset, quality: WarpQuality, label: VisibleLabel | None
) -> dict[str, Any]:
    height, width = wearer.rgb.shape[:2]
    warnings = list(source.flattened_notes)
    if (width, height) != source.size:
        warnings = [note for note in warnings if note != worked_at(source.size, source.original_size)]
        warnings.append(worked_at((width, height), source.original_size))
    warnings += [reason.detail for reason in asset.quality]
    return {
        "width_px": width,
        "height_px": height,
        "category": asset.category.value,
        "sleeved": asset.sleeved,
        "hips_in_picture": wearer.figure.hips_seen,
        "anisotropy": None if quality.anisotropy is None else round(quality.anisotropy, 3),
        "old_clothes_covered": round(quality.covered, 3),
        "shoulders_scaled": round(quality.shoulders_scaled, 3),
        "visible_label": label is not None,
        "label_corner": label.corner.value if label else None,
        "digital_source_type": SourceType.COMPOSITE.value,
        "warnings": warnings,
    }
