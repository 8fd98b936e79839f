"""A storyboard becomes a picture on which tools were used, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from models.serving.context import TaskContext, TaskResult
from models.serving.signing import signer_of
from models.serving.tasks.diffusion import relighter_for
from models.serving.tasks.pictures import Fetched, load_pictures, make_pictures, read_storyboard
from services.domain.picture_storyboards import BackgroundSwap, ImageStoryboard
from services.ports.signer import Signer
from services.settings import Settings

if TYPE_CHECKING:
    from models.tryon.previews import Previews


class ImageTask:
    """Serves ``EngineKind.IMAGE``."""

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
            from models.imaging import steps  # noqa: F401

        load_pictures(parts)

    def run(self, context: TaskContext) -> TaskResult:
        """Make the pictures of the storyboard at ``storyboard_key``."""
        from models.imaging.steps import ImageInputs, make_image
        from models.talking_head.film import MediaLimits

        storyboard = read_storyboard(ImageStoryboard, context)
        swaps = [step.background.key for step in storyboard.steps if isinstance(step, BackgroundSwap)]

        def make(fetched: Fetched, on_progress: Callable[[str, float], None]) -> Previews:
            image = fetched.model(storyboard.image, param="image")
            backgrounds = {key: fetched.picture(key) for key in swaps if key}
            context.check_canceled()
            inputs = ImageInputs(
                storyboard=storyboard,
                image=image,
                backgrounds=backgrounds,
                limits=MediaLimits(max_picture_pixels=self._settings.max_picture_pixels),
                producer=self._settings.content_producer,
                relighter=relighter_for(storyboard, self._settings),
            )
            return make_image(
                inputs, out_dir=context.folder, on_progress=on_progress, check_canceled=context.check_canceled
            )

        return make_pictures(
            context, make, signer=self._signer(self._settings), timestamp_url=self._settings.timestamp_url
        )
