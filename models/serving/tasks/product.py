"""The photos of a product become what previews use: cut out, measured, judged, packed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from models.serving.context import TaskContext, TaskResult
from models.serving.signing import signer_of
from models.serving.tasks.pictures import Fetched, load_pictures, make_pictures, pack_asset, read_storyboard
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.picture_storyboards import ASSET_ROLE, CUTOUT_ROLE, ProductShot, ProductStoryboard
from services.domain.product import GarmentCategory, ProductKind, ProductView, QualityReason
from services.ports.signer import Signer
from services.settings import Settings

if TYPE_CHECKING:
    from models.provenance.marks import Marks
    from models.tryon.garment.asset import GarmentAsset
    from models.tryon.wig.asset import WigAsset

_SHEET_PX: Final = 720  # height
_GROUNDS: Final = (235.0, 40.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What was made of the photos; ``usage`` is empty: taking a product in is not priced."""

    files: Mapping[str, Path]
    facts: Mapping[str, Any]
    marks: Mapping[str, Marks]
    usage: Mapping[str, float] = field(default_factory=dict)


class ProductTask:
    """Serves ``EngineKind.PRODUCT``."""

    def __init__(self, settings: Settings, *, signer: Callable[[Settings], Signer] = signer_of) -> None:
        """``signer``: makes the signer of one attempt."""
        self._settings = settings
        self._signer = signer

    def load(self) -> None:
        """Check weights and packages, and load the networks.

        Raises:
            Unavailable: ``weights_missing``, ``engine_not_installed``.
        """

        def parts() -> None:
            from models.tryon.garment import ingest  # noqa: F401
            from models.tryon.wig import ingest as wig_ingest  # noqa: F401

        load_pictures(parts)

    def run(self, context: TaskContext) -> TaskResult:
        """Take in the photos of the storyboard at ``storyboard_key``.

        What is wrong with a photo stands in the answer's ``reasons``, so that the client hears of all of them at once;
        with a blocking one nothing is stored.
        """
        storyboard = read_storyboard(ProductStoryboard, context)

        def make(fetched: Fetched, on_progress: Callable[[str, float], None]) -> _Taken:
            return self._take_in(storyboard, context, fetched, on_progress)

        return make_pictures(
            context, make, signer=self._signer(self._settings), timestamp_url=self._settings.timestamp_url
        )

    def _take_in(
        self,
        storyboard: ProductStoryboard,
        context: TaskContext,
        fetched: Fetched,
        on_progress: Callable[[str, float], None],
    ) -> _Taken:
        reasons: list[QualityReason] = []
        assets: dict[int, WigAsset | GarmentAsset] = {}
        category = storyboard.category
        for number, shot in _front_first(storyboard.photos):
            context.check_canceled()
            on_progress("photos", number / len(storyboard.photos))
            try:
                asset = self._ingest(storyboard.kind, shot, category, fetched, context.check_canceled)
            except (ContentRejected, InvalidRequest) as error:
                reasons.append(QualityReason(code=error.code, detail=error.detail, photo=number))
                continue
            assets[number] = asset
            category = category or getattr(asset, "category", None)  # the front says what the other sides show
            reasons += [replace(reason, blocking=False, photo=number) for reason in asset.quality]
        facts: dict[str, Any] = {"reasons": [asdict(reason) for reason in reasons]}
        if category is not None:
            facts["category"] = category.value
        if any(reason.blocking for reason in reasons):
            return _Taken(files={}, facts=facts, marks={})
        facts["confidence"] = round(min(asset.confidence for asset in assets.values()), 3)
        files, marks = self._packed(assets, storyboard.job_id, context.folder)
        return _Taken(files=files, facts=facts, marks=marks)

    def _ingest(
        self,
        kind: ProductKind,
        shot: ProductShot,
        category: GarmentCategory | None,
        fetched: Fetched,
        check_canceled: Callable[[], None],
    ) -> WigAsset | GarmentAsset:
        photo, max_pixels = fetched.picture(shot.photo_key or ""), self._settings.max_picture_pixels
        name = f"the {shot.view} photo"
        if kind is ProductKind.WIG:
            from models.tryon.wig.ingest import ingest_wig

            return ingest_wig(
                photo,
                pins=shot.pins,
                view=shot.view,
                max_pixels=max_pixels,
                name=name,
                check_canceled=check_canceled,
            )
        from models.tryon.garment.ingest import ingest_garment

        return ingest_garment(
            photo,
            category=category,
            view=shot.view,
            pins=shot.pins,
            max_pixels=max_pixels,
            name=name,
            check_canceled=check_canceled,
        )

    def _packed(
        self, assets: Mapping[int, WigAsset | GarmentAsset], job_id: str, folder: Path
    ) -> tuple[dict[str, Path], dict[str, Marks]]:
        from PIL import Image

        from models.provenance.pictures import save_picture

        files: dict[str, Path] = {}
        marks: dict[str, Marks] = {}
        for number, asset in assets.items():
            role, cutout = ASSET_ROLE.format(number), CUTOUT_ROLE.format(number)
            asset.save(folder / role)
            files[role] = pack_asset(folder / role, folder / f"{role}.zip")
            files[cutout], marks[cutout] = folder / f"{cutout}.png", self._marks(job_id, cutout)
            picture = Image.fromarray(asset.picture_rgba, "RGBA")
            save_picture(picture, files[cutout], marks[cutout], compress_level=2)
        files["sheet"], marks["sheet"] = folder / "sheet.jpg", self._marks(job_id, "sheet")
        pictures = [asset.picture_rgba for _, asset in sorted(assets.items())]
        save_picture(Image.fromarray(_sheet(pictures)), files["sheet"], marks["sheet"], quality=90)
        return files, marks

    def _marks(self, job_id: str, role: str) -> Marks:
        from models.provenance.marks import Marks, SourceType

        return Marks(
            source_type=SourceType.COMPOSITE, producer=self._settings.content_producer, content_id=f"{job_id}.{role}"
        )


def _sheet(pictures_rgba: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Each cutout on a light and on a dark ground, where one that keeps some of its photo shows it; uint8 (h, w, 3)."""
    import cv2

    cells = []
    for rgba in pictures_rgba:
        width = max(1, round(rgba.shape[1] * _SHEET_PX / rgba.shape[0]))
        alpha = rgba[..., 3:].astype(np.float32) / 255
        for ground in _GROUNDS:
            shown = rgba[..., :3] * alpha + ground * (1 - alpha)
            cells.append(cv2.resize(shown, (width, _SHEET_PX), interpolation=cv2.INTER_AREA))
    return np.clip(np.rint(np.hstack(cells)), 0, 255).astype(np.uint8)


def _front_first(photos: tuple[ProductShot, ...]) -> list[tuple[int, ProductShot]]:
    return sorted(enumerate(photos), key=lambda one: one[1].view is not ProductView.FRONT)
