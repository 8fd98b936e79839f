"""What the picture tasks ask of diffusion: a refiner, a relighter, a model's picture to a specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.generated_light import Relighter
from models.tryon.refining import Matte, Picture, Refiner
from services.domain.image_steps import RelightStep
from services.domain.model_choice import ModelSpecification
from services.domain.picture_storyboards import GarmentStoryboard, ImageStoryboard, WigStoryboard
from services.settings import Settings


def refiner_for(storyboard: WigStoryboard | GarmentStoryboard, settings: Settings) -> Refiner | None:
    """The pass that ``refine`` asks for, loaded; None where it is not asked for.

    Raises:
        Unavailable: ``checkpoint_not_configured``, ``weights_missing``, ``checkpoint_not_usable``, ``lora_not_usable``,
            ``engine_not_installed``.
        InvalidRequest: ``bad_checkpoints_file``.
    """
    if not storyboard.refine:
        return None
    from models.diffusion.checkpoints import find_checkpoint
    from models.diffusion.pipelines import load_generator
    from models.diffusion.refine import refine

    generator = load_generator(find_checkpoint(settings.refine_checkpoint, settings.checkpoints_file), "inpainting")

    def repaint(
        picture_rgb: Picture,
        *,
        seams: Matte,
        protected: NDArray[np.bool_],
        product_rgb: Picture | None,
        seed: int,
        check_canceled: Callable[[], None],
    ) -> tuple[Picture, Mapping[str, Any]]:
        refined = refine(
            picture_rgb,
            seams=seams,
            protected=protected,
            generator=generator,
            seed=seed,
            check_canceled=check_canceled,
            product_rgb=product_rgb,
        )
        return refined.picture_rgb, refined.facts

    return repaint


def relighter_for(storyboard: ImageStoryboard, settings: Settings) -> Relighter | None:
    """The network that a generative relight asks for, loaded; None where no step does.

    Raises:
        Unavailable: As ``refiner_for`` does.
        InvalidRequest: ``bad_checkpoints_file``.
    """
    if not any(isinstance(step, RelightStep) and step.generative for step in storyboard.steps):
        return None
    from models.diffusion.checkpoints import find_checkpoint
    from models.diffusion.pipelines import load_generator
    from models.diffusion.relight import relight

    generator = load_generator(find_checkpoint(settings.relight_checkpoint, settings.checkpoints_file), "image2image")

    def light_anew(
        picture_rgb: Picture,
        *,
        subject: Matte,
        light_rgb: Picture,
        repaint: Matte,
        amount: float,
        check_canceled: Callable[[], None],
    ) -> Picture:
        return relight(
            picture_rgb,
            subject=subject,
            light_rgb=light_rgb,
            repaint=repaint,
            amount=amount,
            generator=generator,
            seed=storyboard.seed,
            check_canceled=check_canceled,
        )

    return light_anew


def model_maker(
    *, seed: int, settings: Settings, check_canceled: Callable[[], None]
) -> Callable[[ModelSpecification, Path], Path] | None:
    """Makes a picture of a model to a specification as a PNG at a path; None where ``model_checkpoint`` is not set.

    What it returns raises:
        Unavailable: As ``refiner_for`` does.
        InvalidRequest: ``bad_checkpoints_file``.
        EngineFailed: ``image_not_finite``.
    """
    if not settings.model_checkpoint:
        return None

    def generate(specification: ModelSpecification, path: Path) -> Path:
        from PIL import Image

        from models.diffusion.checkpoints import find_checkpoint
        from models.diffusion.model_pictures import make_model
        from models.diffusion.pipelines import load_generator

        checkpoint = find_checkpoint(settings.model_checkpoint, settings.checkpoints_file)
        generator = load_generator(checkpoint, "text2image")
        picture = make_model(specification, generator=generator, seed=seed, check_canceled=check_canceled)
        Image.fromarray(picture).save(path)
        return path

    return generate
