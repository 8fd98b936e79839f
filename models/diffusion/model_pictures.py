"""Makes a picture of a model to a specification, where the catalogue has none and a checkpoint is configured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from models.diffusion.pipelines import Generator, Picture, size_for
from services.domain.model_choice import DARKEST, AgeBand, BodyType, ModelSpecification, Pose, Presentation, Scene

_PEOPLE: Final = {None: "person", Presentation.WOMAN: "woman", Presentation.MAN: "man"}
_AGES: Final = {
    AgeBand.FROM_18: "in their twenties",
    AgeBand.FROM_30: "in their thirties",
    AgeBand.FROM_45: "in their fifties",
    AgeBand.FROM_60: "in their late sixties",
}
_BODIES: Final = {BodyType.SLIM: "slim", BodyType.AVERAGE: "of average build", BodyType.FULL: "plus-size"}
# Text encoders know words, not the Monk scale: its ten tones in five steps.
_SKINS: Final = ("very fair skin", "light skin", "medium brown skin", "dark brown skin", "very dark skin")
_POSES: Final = {
    Pose.PORTRAIT: "head and shoulders, facing the camera",
    Pose.STANDING: "full body from head to shoes, standing upright, facing the camera, arms at the sides",
    Pose.WALKING: "full body from head to shoes, walking towards the camera",
}
_SCENES: Final = {
    Scene.PLAIN: "before a plain light wall",
    Scene.STUDIO: "in a photo studio with a seamless grey background",
    Scene.HOME: "in a bright living room",
    Scene.OFFICE: "in a modern office",
    Scene.PARK: "on a path in a park",
}
_CLOTHES: Final = "plain fitted t-shirt and jeans"  # what a garment preview can take away cleanly
_SHAPES: Final = {Pose.PORTRAIT: (4, 5), Pose.STANDING: (3, 4), Pose.WALKING: (3, 4)}


def prompt_for(specification: ModelSpecification) -> str:
    """The specification in a text encoder's words. It always says adult."""
    person = _PEOPLE[specification.gender]
    parts = [f"photo of an adult {person}"]
    if specification.age is not None:
        parts[0] += f" {_AGES[specification.age]}"
    if specification.body is not None:
        parts.append(_BODIES[specification.body])
    if specification.skin_tone is not None:
        middle = (specification.skin_tone.lightest + specification.skin_tone.darkest) / 2
        parts.append(_SKINS[min(len(_SKINS) - 1, int((middle - 1) / DARKEST * len(_SKINS)))])
    parts.append(_POSES[specification.pose or Pose.PORTRAIT])
    parts.append(_CLOTHES)
    parts.append(_SCENES[specification.scene or Scene.PLAIN])
    return ", ".join(parts)


def make_model(
    specification: ModelSpecification, *, generator: Generator, seed: int, check_canceled: Callable[[], None]
) -> Picture:
    """A picture of such a model, uint8 (height, width, 3): 4:5 for portraits, 3:4 for whole figures.

    Whether it shows a face, or a body in a usable pose, is for the preview to find out, as with any photo.

    Args:
        generator: A text-to-image pipeline.

    Raises:
        EngineFailed: ``image_not_finite``.
    """
    checkpoint = generator.checkpoint
    width, height = size_for(checkpoint.family, *_SHAPES[specification.pose or Pose.PORTRAIT])
    return generator.run(
        {
            "prompt": f"{prompt_for(specification)}, {checkpoint.prompt}",
            "negative_prompt": checkpoint.negative_prompt,
            "width": width,
            "height": height,
            "num_inference_steps": checkpoint.num_inference_steps,
            "guidance_scale": checkpoint.guidance_scale,
        },
        seed=seed,
        check_canceled=check_canceled,
    )
