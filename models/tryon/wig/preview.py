"""A storyboard becomes pictures of a wig on a head: the front, its mask, colours, and a sheet to compare."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.analysis_cache import AnalysisCache, digest_of
from models.perception.analyst import shared_analyst
from models.perception.portrait import PortraitAnalysis
from models.provenance.marks import GENERATOR, Marks, SourceType
from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.previews import Previews
from models.tryon.refining import Refiner
from models.tryon.region import Overlay, composite
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.backdrop import Backdrop
from models.tryon.wig.colour import hair_colour, recoloured
from models.tryon.wig.light import face_light, lit
from models.tryon.wig.own_hair import BareSitter, take_hair_away
from models.tryon.wig.removable import require_removable
from models.tryon.wig.repaint import SeamRepaint
from models.tryon.wig.seeing import SeenHead, head_in, head_window
from models.tryon.wig.turntable import CONVINCING_YAW_DEG, TurnedView, Turntable
from models.tryon.wig.turntable_film import for_film, write_turntable
from models.tryon.wig.worn import WornWig, wear
from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected
from services.domain.picture_storyboards import WigStoryboard
from services.domain.preview import turned_views
from services.domain.product import ProductView
from services.domain.video import BackgroundKind, LabelCorner

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_WORKING_PX: Final = 1024  # long side of the window in which layers are made; photos of wigs hold no more strands
MAX_PORTRAIT_PIXELS: Final = 3072 * 3072  # larger portraits are scaled: memory holds a dozen layers of that size
_LEAST_FACE_PX: Final = 70  # below, hair and collar are a few pixels that nothing tells apart
_KEPT_SITTERS: Final = 4  # portraits whose hair stays taken away between jobs
_SHEET_PX: Final = 720  # height of a cell
_PNG_EFFORT: Final = 2  # a fifth of the time of zlib's default for 7 % more bytes
_SOURCE_TYPE: Final = SourceType.COMPOSITE
_FAR_TURN: Final = (
    f"A view is turned by more than {CONVINCING_YAW_DEG:g} degrees: it shows much that is on no photo and is invented."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WigInputs:
    """A storyboard with its objects as files.

    Attributes:
        model: The portrait.
        assets: The wig, one a view; the front view among them, or the only one.
        background: The picture behind, where the storyboard names one.
        producer: Who the files' metadata say made them.
        cache: Of analyses, so that a portrait that comes again costs less.
        refiner: Repaints the wig's edges and what came to light, where the storyboard asks for it.
    """

    storyboard: WigStoryboard
    model: Path
    assets: Sequence[WigAsset]
    background: Path | None = None
    max_picture_pixels: int = 64_000_000
    producer: str = GENERATOR
    cache: AnalysisCache | None = None
    refiner: Refiner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A portrait made ready for wigs: everything that does not depend on the wig.

    Attributes:
        source: The portrait.
        seen: What perception says about it, in pixels of ``source.rgb``.
        window: Left, top, right, bottom of the head's part of it.
        sitter: The sitter without hair, in that window at the working size.
        scale: Of the working size relative to the portrait.
    """

    source: PictureSource
    seen: SeenHead
    window: tuple[int, int, int, int]
    sitter: BareSitter
    scale: float


_fittings: OrderedDict[tuple[str, int | None, int], Fitting] = OrderedDict()


def make_wig_previews(
    inputs: WigInputs,
    *,
    out_dir: Path,
    on_progress: Callable[[str, float], None] = lambda stage, fraction: None,
    check_canceled: Callable[[], None] = lambda: None,
) -> Previews:
    """The pictures of the storyboard in ``out_dir``.

    Roles: ``front``, ``front_mask`` (white where the picture was changed), ``colour_<name>``, ``view_<yaw>`` (see
    ``view_role``; the yaw 0 is ``front``), ``turntable`` (a looping mp4 of the head's window), ``sheet``.

    Raises:
        ContentRejected: The portrait cannot be used: ``face_not_found``, ``face_index``, ``face_too_small``,
            ``hair_not_removable``, ``unsupported_media``, ``unreadable_media``, ``picture_too_large``.
        InvalidRequest: ``colour_unknown``.
    """
    storyboard = inputs.storyboard
    colours = [hair_colour(text) for text in storyboard.colours]
    asset = front_of(inputs.assets)
    on_progress("face", 0.0)
    fitting = fitting_of(inputs.model, storyboard.model.face, max_pixels=inputs.max_picture_pixels, cache=inputs.cache)
    check_canceled()
    on_progress("fit", 0.4)
    worn = wear(fitting.sitter, asset.picture_rgba, asset.landmarks, asset.light)
    require_removable(fitting.seen, worn)
    repaint = None
    if storyboard.refine and inputs.refiner is not None:
        repaint = SeamRepaint(inputs.refiner, fitting, worn, storyboard.seed, check_canceled)
    gallery = _Gallery(inputs, fitting, out_dir, repaint)
    cells = [sheet_cell(fitting.source.rgb), gallery.saved("front", gallery.shown(worn, "front"))]
    gallery.save_mask("front_mask", gallery.overlay(worn))
    for index, colour in enumerate(colours):
        check_canceled()
        on_progress("colours", 0.5 + 0.15 * index / len(colours))
        dyed = lit(
            worn.placement.worn(recoloured(asset.picture_rgba, colour)),
            fitting.sitter.points,
            face_light(fitting.sitter.picture_rgb, fitting.sitter.points),
            asset.light,
        )
        role = f"colour_{colour.name}"
        cells.append(gallery.saved(role, gallery.shown(worn.with_wig(dyed), role)))
    yaws = turned_views(storyboard.yaw_deg)
    table = Turntable(worn) if yaws else None
    for index, yaw in enumerate(yaws):
        check_canceled()
        on_progress("views", 0.65 + 0.15 * index / len(yaws))
        assert table is not None
        cells.append(gallery.saved(view_role(yaw), gallery.turned(table.view(yaw))))
    if storyboard.turntable:

        def turning(fraction: float) -> None:
            check_canceled()
            on_progress("turntable", 0.8 + 0.15 * fraction)

        gallery.save_turntable(worn, turning)
    check_canceled()
    on_progress("sheet", 0.95)
    gallery.save_sheet(cells)
    on_progress("sheet", 1.0)
    return Previews(
        files=gallery.files,
        facts={**_facts(storyboard, fitting, asset, gallery), **(repaint.facts if repaint else {})},
        usage={"pictures": float(len(cells) - 1), **({"turntables": 1.0} if storyboard.turntable else {})},
        marks=gallery.marks,
    )


def sheet_cell(picture: Picture) -> Picture:
    """The picture as high as a cell of the sheet."""
    import cv2

    factor = _SHEET_PX / picture.shape[0]
    size = (max(1, round(picture.shape[1] * factor)), _SHEET_PX)
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, size, interpolation=method), np.uint8)


def view_role(yaw_deg: float) -> str:
    """``view_m30`` for -30 degrees, ``view_p12_5`` for 12.5; of a yaw as ``turned_views`` has it."""
    return f"view_{'m' if yaw_deg < 0 else 'p'}{abs(yaw_deg):g}".replace(".", "_")


def front_of(assets: Sequence[WigAsset]) -> WigAsset:
    """The asset that shows the wig from the front.

    Raises:
        ContentRejected: ``product_not_ready`` when there is none.
    """
    for asset in assets:
        if asset.view is ProductView.FRONT:
            return asset
    raise ContentRejected(
        "The wig has no photo from the front; add one to the product.", code="product_not_ready", param="wig"
    )


def fitting_of(model: Path, face: int | None, *, max_pixels: int, cache: AnalysisCache | None = None) -> Fitting:
    """The portrait made ready; the last few are kept, so that a second wig on the same portrait costs little."""
    digest = digest_of(model)
    key = (digest, face, max_pixels)
    found = _fittings.get(key)
    if found is None:
        source = read_picture(model, "the portrait", max_pixels=max_pixels, max_working_pixels=MAX_PORTRAIT_PIXELS)
        if source is None:
            raise ContentRejected("The portrait is no picture.", code="unsupported_media", param="model")
        rgb = source.rgb

        def analyse() -> PortraitAnalysis:
            return shared_analyst().portrait(rgb, face=face, with_clothes=False)

        seen = cache.portrait(digest, f"{face=} {max_pixels=}", analyse) if cache is not None else analyse()
        head = head_in(source.rgb, seen)
        _require_size(head)
        found = _fittings[key] = fitting_for(source, head)
        while len(_fittings) > _KEPT_SITTERS:
            _fittings.popitem(last=False)
    _fittings.move_to_end(key)
    return found


def _require_size(seen: SeenHead) -> None:
    """Refuse a head too small for its hair to be told, before anything else is said about that hair.

    Raises:
        ContentRejected: ``face_too_small``.
    """
    width = float(np.linalg.norm(seen.points[454, :2] - seen.points[234, :2]))
    if width < _LEAST_FACE_PX:
        raise ContentRejected(
            f"The head is {width:.0f} pixels wide, at least {_LEAST_FACE_PX} are needed for a wig; "
            "use a larger or closer picture.",
            code="face_too_small",
            param="model",
        )


def fitting_for(source: PictureSource, seen: SeenHead) -> Fitting:
    """The portrait made ready, from what was seen in it."""
    import cv2

    width, height = source.size
    left, top, right, bottom = window = head_window(seen.points, width, height)
    scale = min(1.0, _WORKING_PX / max(right - left, bottom - top))
    size = (max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale)))

    def part(values: NDArray[Any]) -> NDArray[Any]:
        inside = np.ascontiguousarray(values[top:bottom, left:right])
        return inside if scale == 1 else cv2.resize(inside, size, interpolation=cv2.INTER_AREA)

    points = seen.points.copy()
    points[:, :2] = (points[:, :2] - (left, top) + 0.5) * scale - 0.5
    points[:, 2] *= scale
    sitter = take_hair_away(part(source.rgb), points.astype(np.float32), part(seen.person), part(seen.hair))
    return Fitting(source=source, seen=seen, window=window, sitter=sitter, scale=scale)


class _Gallery:
    """Turns layers into the files of one job."""

    def __init__(self, inputs: WigInputs, fitting: Fitting, out_dir: Path, repaint: SeamRepaint | None = None) -> None:
        self._inputs = inputs
        self._repaint = repaint
        self._fitting = fitting
        self._out_dir = out_dir
        self.files: dict[str, Path] = {}
        self.marks: dict[str, Marks] = {}
        self._label = self._made_label()
        shot = inputs.storyboard.background
        self._backdrop: Backdrop | None = None
        if shot.kind is not BackgroundKind.ORIGINAL:
            self._backdrop = Backdrop(fitting.source, shot, inputs.background, inputs.max_picture_pixels)
        self.label_corner = self._label.corner.value if self._label else None

    def overlay(self, worn: WornWig) -> Overlay:
        """The layers at the portrait's own size, for its window."""
        left, top, right, bottom = self._fitting.window
        return worn.overlay().resized(right - left, bottom - top)

    def shown(self, worn: WornWig, role: str) -> Picture:
        """The whole portrait with the wig on its background, before any label."""
        return self._laid(self.overlay(worn), worn.parts, role)

    def turned(self, view: TurnedView) -> Picture:
        """The same for a turned head."""
        left, top, right, bottom = self._fitting.window
        return self._laid(view.overlay.resized(right - left, bottom - top), view.parts)

    def _laid(self, overlay: Overlay, parts: tuple[Matte, Matte, Matte, Matte], repainted: str = "") -> Picture:
        left, top, _, _ = self._fitting.window
        picture = composite(self._fitting.source.rgb, overlay, left=left, top=top)
        if self._repaint is not None and repainted:
            picture = self._repaint(repainted, picture)
        return picture if self._backdrop is None else self._backdrop.behind(picture, parts, self._fitting)

    def saved(self, role: str, picture: Picture) -> Picture:
        """The picture's cell of the sheet, once it is in its file: seventeen whole ones would fill memory."""
        labelled = picture
        if self._label is not None:
            labelled = picture.copy()
            self._label.draw_on_picture(labelled)
        self._write(role, labelled, ".png", compress_level=_PNG_EFFORT)
        return sheet_cell(picture)

    def save_mask(self, role: str, overlay: Overlay) -> None:
        """White where the portrait was changed, grey where partly; black pixels are the portrait's own."""
        width, height = self._fitting.source.size
        left, top, right, bottom = self._fitting.window
        mask = np.zeros((height, width), np.uint8)
        strength = np.ceil(overlay.alpha * overlay.changed() * 255).astype(np.uint8)
        mask[top:bottom, left:right] = strength
        if self._repaint is not None:
            mask = self._repaint.grown(mask)
        self._write(role, mask, ".png", compress_level=_PNG_EFFORT)

    def save_turntable(self, worn: WornWig, on_progress: Callable[[float], None]) -> None:
        """The looping film of the head's window."""
        from models.provenance.boxes import append_xmp

        fitting, small = for_film(self._fitting, worn)
        film = _Gallery(self._inputs, fitting, self._out_dir)

        def shown(view: TurnedView) -> Picture:
            picture = film.turned(view)
            if film._label is not None:
                film._label.draw_on_picture(picture)
            return picture

        role = "turntable"
        self.marks[role] = self._marks(role)
        self.files[role] = self._out_dir / f"{role}.mp4"
        tags = self.marks[role].container_tags()
        write_turntable(self.files[role], small, shown, metadata=tags, on_progress=on_progress)
        append_xmp(self.files[role], self.marks[role].xmp())

    def save_sheet(self, cells: Sequence[Picture]) -> None:
        """Before, after and variants, side by side, up to four a row."""
        cells = list(cells)
        columns = min(4, len(cells))
        blank = np.full_like(cells[0], 255)
        cells += [blank] * (-len(cells) % columns)
        rows = [np.hstack(cells[start : start + columns]) for start in range(0, len(cells), columns)]
        sheet = np.vstack(rows)
        if self._label is not None:
            from models.video.label import VisibleLabel

            # Below on the right: an empty cell, or shoulders.
            label = VisibleLabel((sheet.shape[1], sheet.shape[0]), None, corner=LabelCorner.BOTTOM_RIGHT)
            label.draw_on_picture(sheet)
        self._write("sheet", sheet, ".jpg", quality=90)

    def _write(self, role: str, pixels: Picture, ending: str, **options: Any) -> None:
        from PIL import Image

        from models.provenance.pictures import save_picture

        self.marks[role] = self._marks(role)
        self.files[role] = self._out_dir / f"{role}{ending}"
        save_picture(Image.fromarray(pixels), self.files[role], self.marks[role], **options)

    def _marks(self, role: str) -> Marks:
        content_id = f"{self._inputs.storyboard.job_id}.{role}"
        return Marks(source_type=_SOURCE_TYPE, producer=self._inputs.producer, content_id=content_id)

    def _made_label(self) -> Any:
        from models.video.label import KeepClear, VisibleLabel, face_mask

        disclosure = self._inputs.storyboard.disclosure
        if not disclosure.visible_label:
            return None
        size = self._fitting.source.size
        left, top, _, _ = self._fitting.window
        outline = (self._fitting.sitter.points[list(FACE_OVAL), :2] + 0.5) / self._fitting.scale - 0.5 + (left, top)
        return VisibleLabel(
            size, None, corner=disclosure.corner, keep_clear=KeepClear(faces=face_mask(size, [outline]))
        )


def _facts(storyboard: WigStoryboard, fitting: Fitting, asset: WigAsset, gallery: _Gallery) -> Mapping[str, Any]:
    width, height = fitting.source.size
    warnings = [*fitting.source.flattened_notes, *(reason.detail for reason in asset.quality)]
    if max((abs(yaw) for yaw in storyboard.yaw_deg), default=0) > CONVINCING_YAW_DEG:
        warnings.append(_FAR_TURN)
    return {
        "width_px": width,
        "height_px": height,
        "num_faces": fitting.seen.num_faces,
        "face": fitting.seen.face_index,
        "hair_confidence": round(fitting.seen.confidence, 3),
        "colours": list(storyboard.colours),
        "yaw_deg": sorted({0.0, *turned_views(storyboard.yaw_deg)}),
        "warnings": warnings,
        "visible_label": gallery.label_corner is not None,
        "label_corner": gallery.label_corner,
        "digital_source_type": _SOURCE_TYPE.value,
    }
