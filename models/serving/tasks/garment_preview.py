"""A storyboard becomes a preview of a garment on a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from models.serving.context import TaskContext, TaskResult
from models.serving.signing import signer_of
from models.serving.tasks.diffusion import model_maker, refiner_for
from models.serving.tasks.pictures import Fetched, about, load_pictures, make_pictures, read_storyboard
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.picture_storyboards import GarmentStoryboard, ProductShot
from services.domain.product import GarmentCategory
from services.ports.signer import Signer
from services.settings import Settings

if TYPE_CHECKING:
    from models.perception.analysis_cache import AnalysisCache
    from models.tryon.garment.asset import GarmentAsset
    from models.tryon.previews import Previews


class GarmentPreviewTask:
    """Serves ``EngineKind.GARMENT_PREVIEW``."""

    def __init__(self, settings: Settings, *, signer: Callable[[Settings], Signer] = signer_of) -> None:
        """``signer``: makes the signer of one attempt."""
        self._settings = settings
        self._signer = signer
        self._cache: AnalysisCache | None = None

    def load(self) -> None:
        """Check weights and packages, and load the networks.

        Raises:
            Unavailable: ``weights_missing``, ``engine_not_installed``.
        """

        def parts() -> None:
            from models.tryon.garment import ingest, preview  # noqa: F401

        load_pictures(parts)
        from models.perception.analysis_cache import AnalysisCache

        # In memory alone: a folder would keep what is known of people after they have been deleted.
        self._cache = AnalysisCache(None)

    def run(self, context: TaskContext) -> TaskResult:
        """Make the pictures of the storyboard at ``storyboard_key``."""
        from models.talking_head.film import MediaLimits
        from models.tryon.garment.preview import GarmentInputs, make_garment_preview

        storyboard = read_storyboard(GarmentStoryboard, context)
        background, category = storyboard.background.key, storyboard.category

        def make(fetched: Fetched, on_progress: Callable[[str, float], None]) -> Previews:
            generate = model_maker(seed=storyboard.seed, settings=self._settings, check_canceled=context.check_canceled)
            model = fetched.model(storyboard.model, generate=generate)
            plate = fetched.picture(background) if background else None
            assets = [self._asset(shot, number, category, fetched) for number, shot in enumerate(storyboard.garment)]
            context.check_canceled()
            inputs = GarmentInputs(
                storyboard=storyboard,
                model=model,
                assets=assets,
                background=plate,
                limits=MediaLimits(max_picture_pixels=self._settings.max_picture_pixels),
                producer=self._settings.content_producer,
                cache=self._cache,
                refiner=refiner_for(storyboard, self._settings),
            )
            return make_garment_preview(
                inputs, out_dir=context.folder, on_progress=on_progress, check_canceled=context.check_canceled
            )

        return make_pictures(
            context, make, signer=self._signer(self._settings), timestamp_url=self._settings.timestamp_url
        )

    def _asset(
        self, shot: ProductShot, number: int, category: GarmentCategory | None, fetched: Fetched
    ) -> GarmentAsset:
        from models.tryon.garment.asset import GarmentAsset
        from models.tryon.garment.ingest import ingest_garment

        if shot.asset_key is not None:
            return GarmentAsset.load(fetched.asset_folder(shot.asset_key, number))
        photo = fetched.picture(shot.photo_key or "")
        try:
            return ingest_garment(
                photo,
                category=category,
                view=shot.view,
                pins=shot.pins,
                max_pixels=self._settings.max_picture_pixels,
                name="the photo of the garment",
            )
        except (ContentRejected, InvalidRequest) as error:
            raise about(error, "garment") from error
