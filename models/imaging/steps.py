"""A picture and an ordered list of tools become files: the picture, a mask of what changed, a sheet, and crops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.background import NOTHING_BEHIND, swapped
from models.imaging.crops import crop_window, cropped
from models.imaging.cutout import cut_out
from models.imaging.generated_light import Relighter, relit_by
from models.imaging.layers import Layers, layers_of
from models.imaging.relight import relit
from models.imaging.retouch import retouched
from models.imaging.subject import Subject, find_subject
from models.imaging.upscale import upscaled
from models.perception.portrait import PortraitAnalysis
from models.provenance.marks import GENERATOR, Marks, SourceType
from models.provenance.pictures import save_picture
from models.talking_head.film import MediaLimits
from models.tryon.previews import Previews
from models.video.label import KeepClear, VisibleLabel, face_mask
from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected, Unavailable
from services.domain.image_steps import CropShape, CropStep, CutoutStep, RelightStep, RetouchStep, UpscaleStep
from services.domain.picture_storyboards import BackgroundSwap, ImageStoryboard, ShotStep
from services.domain.video import BackgroundKind

IMAGE_ROLE: Final = "image"
MASK_ROLE: Final = "mask"
SHEET_ROLE: Final = "sheet"
_SHEET_HEIGHT_PX: Final = 900
_SHEET_GAP_PX: Final = 16
_CHECK_PX: Final = 12  # of the pattern that stands for transparency on the sheet
_JPEG: Final[dict[str, Any]] = {"quality": 90, "subsampling": 0}
_PNG: Final[dict[str, Any]] = {"compress_level": 3}
_PADDED: Final = "{role} is larger than the picture allows round what it must show: its rest continues the background."
_NO_SUBJECT: Final = "{role} is cut from the picture's middle: nobody and nothing stands out from the background."
_ON_FACE: Final = "The label covers a part of a face: no corner of the picture is free."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInputs:
    """A storyboard with its objects as files.

    Attributes:
        image: The picture.
        backgrounds: Pictures that background steps name, by key.
        producer: Who the files' metadata say made them.
        analyze: ``Analyst.portrait`` or a cache's; None looks at the picture with the process's own networks.
        relighter: For steps that ask for a generative relight.
    """

    storyboard: ImageStoryboard
    image: Path
    backgrounds: Mapping[str, Path] = field(default_factory=dict)
    limits: MediaLimits = field(default_factory=MediaLimits)
    producer: str = GENERATOR
    analyze: Callable[..., PortraitAnalysis] | None = None
    relighter: Relighter | None = None


def make_image(
    inputs: ImageInputs,
    *,
    out_dir: Path,
    on_progress: Callable[[str, float], None] = lambda stage, fraction: None,
    check_canceled: Callable[[], None] = lambda: None,
) -> Previews:
    """``image`` and ``mask`` (PNG), ``sheet`` (JPEG) and ``crop_...`` (PNG) in ``out_dir``.

    ``mask`` is 255 where ``image`` differs from the picture (scaled up with it), without the label; a picture whose
    every step has strength 0 comes back bit-identical.

    Args:
        on_progress: Told the tool at work and the fraction of the whole, 0 to 1.
        check_canceled: Called between and within steps; what it raises ends the work.

    Raises:
        ContentRejected: ``unreadable_media``, ``picture_too_large``, ``subject_not_found``; ``face_not_found``,
            ``face_index`` and ``face_too_small`` where a step needs a face or one was chosen.
        InvalidRequest: ``background_missing``, ``malformed_color``.
        Unavailable: ``weights_missing``, ``checkpoint_not_configured``; what the relighter says.
    """
    storyboard = inputs.storyboard
    on_progress("reading", 0.0)
    source = _opened(inputs.image, "the picture", inputs.limits)
    work = _Work(inputs, source, check_canceled)
    for number, step in enumerate(storyboard.steps):
        check_canceled()
        on_progress(step.tool, 0.05 + 0.8 * number / len(storyboard.steps))
        work.apply(step)
    check_canceled()
    on_progress("writing", 0.85)
    files, marks = work.save(out_dir)
    on_progress("done", 1.0)
    return Previews(files=files, facts=work.facts(), usage={"pictures": 1.0 + len(work.crops)}, marks=marks)


class _Work:
    """One picture on its way through the steps."""

    def __init__(self, inputs: ImageInputs, source: PictureSource, check_canceled: Callable[[], None]) -> None:
        self._inputs = inputs
        self._source = source
        self._check_canceled = check_canceled
        self._subject: Subject | None = None
        self._before = layers_of(source)
        self._enlarged = 1
        self._label: VisibleLabel | None = None
        self.layers = self._before
        self.crops: dict[CropShape, Layers] = {}
        self.warnings = list(source.notes)
        self._facts: dict[str, Any] = {}

    @property
    def subject(self) -> Subject:
        """What the picture shows; looked for once, in the picture as it came, and only if a step asks."""
        if self._subject is None:
            steps = self._inputs.storyboard.steps
            self._subject = find_subject(
                self._source.rgb,
                self._source.alpha,
                face=self._inputs.storyboard.image.face,
                needs_face=any(isinstance(step, RetouchStep) for step in steps),
                analyze=self._inputs.analyze,
            ).resized(*self.layers.size)
        return self._subject

    def apply(self, step: ShotStep) -> None:
        match step:
            case BackgroundSwap():
                self._swap(step)
            case RelightStep():
                self.subject.require_matte()
                self._relight(step)
            case RetouchStep():
                result = retouched(self.layers, self.subject, step)
                self.layers = result.layers
                self.warnings += result.notes
                self._facts["num_blemishes"] = self._facts.get("num_blemishes", 0) + result.num_blemishes
            case UpscaleStep():
                self._upscale(step.factor)
            case CutoutStep():
                self.subject.require_matte()
                self.layers = cut_out(self.layers, self.subject)
            case CropStep():
                self._crop(step.shapes)

    def _relight(self, step: RelightStep) -> None:
        if not step.generative:
            self.layers, notes = relit(self.layers, self.subject, step)
            self.warnings += notes
            return
        if self._inputs.relighter is None:
            raise Unavailable(
                "No checkpoint that relights is configured here.", code="checkpoint_not_configured", retryable=False
            )
        self.layers = relit_by(self._inputs.relighter, self.layers, self.subject, step, self._check_canceled)

    def _swap(self, step: BackgroundSwap) -> None:
        shot = step.background
        if shot.kind is BackgroundKind.ORIGINAL:
            return
        if shot.kind is BackgroundKind.BLUR and self.layers.alpha is not None:
            self.warnings.append(NOTHING_BEHIND)
            return
        self.subject.require_matte()
        path = self._inputs.backgrounds.get(shot.key) if shot.key is not None else None
        picture = None if path is None else _opened(path, "the background", self._inputs.limits)
        if picture is not None:
            self.warnings += picture.notes
        self.layers = swapped(self.layers, self.subject, shot, picture)

    def _upscale(self, factor: int) -> None:
        known = self._subject
        self.layers = upscaled(self.layers, factor, check_canceled=self._check_canceled)
        self._enlarged *= factor
        if known is not None:
            alpha = self.layers.alpha
            matte = None if alpha is None else np.divide(alpha, 255, dtype=np.float32)
            self._subject = known.resized(*self.layers.size, matte)

    def _crop(self, shapes: tuple[CropShape, ...]) -> None:
        for shape in dict.fromkeys(shapes):
            self._check_canceled()
            if self.subject.box.height <= 0 and self.subject.head is None:
                self.warnings.append(_NO_SUBJECT.format(role=shape.role))
            if any(crop_window(self.subject, shape).padding(self.layers.size)):
                self.warnings.append(_PADDED.format(role=shape.role))
            self.crops[shape] = cropped(self.layers, self.subject, shape)

    def save(self, out_dir: Path) -> tuple[dict[str, Path], dict[str, Marks]]:
        """The files and what they say about themselves; the label is drawn last."""
        from PIL import Image

        changed = self._changed()
        self._facts["changed_share"] = round(float((changed > 0).mean()), 4)
        pixels = {IMAGE_ROLE: self.layers.pixels().copy()}
        pixels |= {shape.role: layers.pixels().copy() for shape, layers in self.crops.items()}
        self._draw_labels(pixels)
        files = {role: out_dir / f"{role}.png" for role in (*pixels, MASK_ROLE)}
        files[SHEET_ROLE] = out_dir / "sheet.jpg"
        marks = {
            role: Marks(
                source_type=SourceType.COMPOSITE,
                producer=self._inputs.producer,
                content_id=f"{self._inputs.storyboard.job_id}.{role}",
            )
            for role in files
        }
        for role, values in pixels.items():
            self._check_canceled()
            save_picture(Image.fromarray(values), files[role], marks[role], **_PNG)
        save_picture(Image.fromarray(changed), files[MASK_ROLE], marks[MASK_ROLE], **_PNG)
        sheet = sheet_of(self._before.pixels(), pixels[IMAGE_ROLE])
        save_picture(Image.fromarray(sheet), files[SHEET_ROLE], marks[SHEET_ROLE], **_JPEG)
        return files, marks

    def _changed(self) -> NDArray[np.uint8]:
        """255 where a pixel of the picture, or its transparency, is another than before."""
        if self._enlarged > 1:
            return np.full(self.layers.rgb.shape[:2], 255, np.uint8)
        changed = (self.layers.rgb != self._before.rgb).any(axis=2)
        for one, other in ((self.layers.alpha, self._before.alpha), (self._before.alpha, self.layers.alpha)):
            if one is not None:
                changed |= one != (255 if other is None else other)
        return np.asarray(255 * changed, np.uint8)

    def _draw_labels(self, pixels: Mapping[str, NDArray[np.uint8]]) -> None:
        disclosure = self._inputs.storyboard.disclosure
        if not disclosure.visible_label:
            return
        for role, values in pixels.items():
            size = (values.shape[1], values.shape[0])
            label = VisibleLabel(
                size, None, corner=disclosure.corner, keep_clear=KeepClear(faces=self._faces(role, size))
            )
            label.draw_on_picture(values)
            if label.covers_face:
                self.warnings.append(_ON_FACE)
            if role == IMAGE_ROLE:
                self._label = label

    def _faces(self, role: str, size: tuple[int, int]) -> NDArray[np.bool_] | None:
        if self._subject is None or self._subject.face is None:
            return None
        points = self._subject.face.points[:, :2].copy()
        if role != IMAGE_ROLE:
            return face_mask(size, [self._in_crop(points, next(s for s in self.crops if s.role == role))])
        return face_mask(size, [points])

    def _in_crop(self, points: NDArray[np.float32], shape: CropShape) -> NDArray[np.float32]:
        subject = self.subject
        # A crop that was made before the picture was enlarged is smaller than its window is now.
        window = crop_window(subject, shape)
        scale = self.crops[shape].size[0] / window.width
        return np.asarray((points - (window.left, window.top)) * scale, np.float32)

    def facts(self) -> dict[str, Any]:
        """For the job's result."""
        width, height = self.layers.size
        return {
            "width_px": width,
            "height_px": height,
            "steps": [step.tool for step in self._inputs.storyboard.steps],
            "subject": None if self._subject is None else self._subject.kind.value,
            "has_face": None if self._subject is None else self._subject.face is not None,
            "transparent": self.layers.alpha is not None,
            "visible_label": self._label is not None,
            "label_corner": self._label.corner.value if self._label else None,
            "digital_source_type": SourceType.COMPOSITE.value,
            "warnings": list(dict.fromkeys(self.warnings)),
            **self._facts,
        }


def _opened(path: Path, name: str, limits: MediaLimits) -> PictureSource:
    source = read_picture(path, name, max_pixels=limits.max_picture_pixels)
    if source is None:
        raise ContentRejected(f"{name} is no picture.", code="unreadable_media", param="image")
    return source


def sheet_of(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Before and after side by side at one height, uint8 (h, w, 3); transparency as a pattern of squares."""
    import cv2

    height = min(_SHEET_HEIGHT_PX, max(before.shape[0], after.shape[0]))
    small = []
    for pixels in (before, after):
        width = max(1, round(pixels.shape[1] * height / pixels.shape[0]))
        method = cv2.INTER_AREA if height < pixels.shape[0] else cv2.INTER_CUBIC
        small.append(_over_squares(np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)))
    gap = np.full((height, _SHEET_GAP_PX, 3), 255, np.uint8)
    return np.hstack([small[0], gap, small[1]]).astype(np.uint8)


def _over_squares(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.shape[2] == 3:
        return pixels
    rows, columns = np.mgrid[: pixels.shape[0], : pixels.shape[1]] // _CHECK_PX
    ground = np.where((rows + columns) % 2, 205, 240).astype(np.float32)[..., None]
    alpha = pixels[..., 3:].astype(np.float32) / 255
    return np.asarray(np.rint(ground + alpha * (pixels[..., :3] - ground)), np.uint8)
