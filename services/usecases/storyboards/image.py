"""The storyboard of a picture and what is done to it."""

from __future__ import annotations

from services.domain import wire
from services.domain.image_steps import BackgroundStep, ImageRequest, ImageStep
from services.domain.picture_storyboards import BackgroundSwap, ImageStoryboard, ShotStep
from services.usecases.choose_model import HEADS
from services.usecases.copy_inputs import copy_background
from services.usecases.storyboards.pictures import copy_model
from services.usecases.storyboards.preparation import Preparation


def image_storyboard(parts: Preparation) -> bytes:
    """The picture and the steps, their pictures by key."""
    request = wire.from_values(ImageRequest, parts.job.request)
    return wire.encode(
        ImageStoryboard(
            job_id=parts.job.id,
            image=copy_model(request.image, parts, poses=HEADS, seed=request.seed, param="image"),
            steps=tuple(_shot(number, step, parts) for number, step in enumerate(request.steps)),
            disclosure=request.disclosure,
            seed=request.seed,
        )
    )


def _shot(number: int, step: ImageStep, parts: Preparation) -> ShotStep:
    if not isinstance(step, BackgroundStep):
        return step
    background = copy_background(
        step.background,
        parts.job,
        objects=parts.objects,
        uploads=parts.uploads,
        fetch=parts.fetch,
        param=f"steps.{number}",
    )
    return BackgroundSwap(background=background)
