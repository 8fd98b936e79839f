"""Pictures from a prompt, from a picture, or within a mask, by any checkpoint and with any of its LoRAs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_files import read_lora
from models.diffusion.lora_fit import check_fits
from models.diffusion.lora_library import Loras
from models.diffusion.pipelines import Generator, Picture, Task, size_for
from models.diffusion.prompt_states import prompt_states
from models.diffusion.prompts import LoraTag, Prompt, parse_prompt
from models.diffusion.schedulers import plain_scheduler_name
from models.diffusion.warm import WantedLora, WarmPipeline, WarmPipelines
from services.domain.errors import InvalidRequest

MAX_IMAGES: Final = 8
_MULTIPLE: Final = 16
_SMALLEST_PX: Final = 32
_LARGEST: Final = 2.0  # sides of what the family was trained on: larger pictures repeat themselves
_MAX_SKIPPED_TOLD: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateInputs:
    """What is asked for. None takes the checkpoint's own.

    Attributes:
        prompt: In A1111's syntax; see ``prompts``. The checkpoint's own prompt is not added.
        image_rgb: uint8 (height, width, 3): the picture to begin from.
        mask: (height, width) of the same size, 0 to 1 or bool: where it is above .5 is made anew; needs ``image_rgb``.
        strength: With ``image_rgb``: how much of it is forgotten, 0 to 1.
        width_px, height_px: Multiples of 16. With ``image_rgb`` the picture's own shape is taken.
        num_images: 1 to 8; the i-th has the seed ``seed + i``, so each can be made again alone.
        scheduler: See ``schedulers``.
        loras: Beside those that the prompt names.
    """

    prompt: str
    negative_prompt: str | None = None
    image_rgb: Picture | None = None
    mask: NDArray[Any] | None = None
    strength: float | None = None
    width_px: int | None = None
    height_px: int | None = None
    num_images: int = 1
    num_inference_steps: int | None = None
    guidance_scale: float | None = None
    seed: int = 0
    scheduler: str | None = None
    loras: tuple[LoraTag, ...] = ()

    @property
    def task(self) -> Task:
        if self.image_rgb is None:
            return "text2image"
        return "image2image" if self.mask is None else "inpainting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What was made.

    Attributes:
        pictures: uint8 (height, width, 3) each.
        seeds: Of each.
        facts: ``checkpoint``, ``task``, ``num_inference_steps``, ``guidance_scale``, ``scheduler``, ``loras`` (name,
            version, scale, keys without a place), ``prompt_chunks``, ``prompt_weights``, ...
    """

    pictures: tuple[Picture, ...]
    seeds: tuple[int, ...]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """Inputs of which everything is known to be usable, before any network is loaded."""

    prompt: Prompt
    negative: Prompt
    loras: tuple[WantedLora, ...]
    size: tuple[int, int]
    scheduler: str | None
    steps: int
    guidance_scale: float
    strength: float


def generate(
    inputs: GenerateInputs,
    *,
    checkpoint: Checkpoint,
    warm: WarmPipelines,
    loras: Loras,
    check_canceled: Callable[[], None],
    on_progress: Callable[[float], None] = lambda _: None,
) -> Generated:
    """The pictures. Whatever can be refused is refused before a network is loaded.

    Args:
        check_canceled: Called before every step; whatever it raises ends the run.
        on_progress: Told how much is done, 0 to 1.

    Raises:
        InvalidRequest: ``prompt_not_readable``, ``prompt_too_long``, ``scheduler_unknown``, ``picture_size``,
            ``invalid_request``.
        NotFound: ``lora_not_found``.
        ContentRejected: ``not_a_lora``, ``lora_wrong_base``.
        Unavailable: ``checkpoint_not_usable``, ``weights_missing``, ``engine_not_installed``, ``pipeline_busy``.
        EngineFailed: ``image_not_finite``: black or undefined pixels; no picture is returned then.
    """
    held = warm.is_held(checkpoint)
    checked = _checked(inputs, checkpoint, loras, read=not held)
    return _run(inputs, checked, warm.pipeline(checkpoint), check_canceled, on_progress)


def generate_warm(
    inputs: GenerateInputs,
    *,
    pipeline: WarmPipeline,
    loras: Loras,
    check_canceled: Callable[[], None],
    on_progress: Callable[[float], None] = lambda _: None,
) -> Generated:
    """As ``generate``, with a pipeline that is there already."""
    checked = _checked(inputs, pipeline.checkpoint, loras, read=False)
    return _run(inputs, checked, pipeline, check_canceled, on_progress)


def _checked(inputs: GenerateInputs, checkpoint: Checkpoint, loras: Loras, *, read: bool) -> _Checked:
    prompt = parse_prompt(inputs.prompt)
    negative = parse_prompt(checkpoint.negative_prompt if inputs.negative_prompt is None else inputs.negative_prompt)
    if negative.loras:
        raise InvalidRequest(
            "A LoRA stands in the negative prompt; name it in the prompt, with a negative weight if that is meant.",
            code="prompt_not_readable",
            param="negative_prompt",
        )
    steps = checkpoint.num_inference_steps if inputs.num_inference_steps is None else inputs.num_inference_steps
    strength = checkpoint.strength if inputs.strength is None else inputs.strength
    _check_numbers(inputs, steps, strength)
    wanted = tuple(
        WantedLora(stored=loras.find(tag.name), scale=tag.scale, text_scale=tag.text_scale)
        for tag in (*prompt.loras, *inputs.loras)
    )
    if read:  # a warm pipeline checks what it has not seen yet
        for one in wanted:
            check_fits(read_lora(one.stored.path), checkpoint, name=one.stored.label)
    guidance = checkpoint.guidance_scale if inputs.guidance_scale is None else inputs.guidance_scale
    return _Checked(
        prompt=prompt,
        negative=negative,
        loras=wanted,
        size=_size(inputs, checkpoint.family),
        scheduler=None if inputs.scheduler is None else plain_scheduler_name(inputs.scheduler, checkpoint.family),
        steps=steps,
        guidance_scale=guidance,
        strength=strength,
    )


def _check_numbers(inputs: GenerateInputs, steps: int, strength: float) -> None:
    if not 1 <= inputs.num_images <= MAX_IMAGES:
        raise InvalidRequest(f"num_images is 1 to {MAX_IMAGES}, not {inputs.num_images}.", param="num_images")
    if not 1 <= steps <= 150:
        raise InvalidRequest(f"num_inference_steps is 1 to 150, not {steps}.", param="num_inference_steps")
    if inputs.mask is not None and (inputs.image_rgb is None or inputs.mask.shape != inputs.image_rgb.shape[:2]):
        raise InvalidRequest("A mask needs a picture of the same size.", param="mask")
    if inputs.image_rgb is not None and (not 0 < strength <= 1 or int(steps * strength) < 1):
        raise InvalidRequest(
            f"With strength {strength:g} none of {steps} steps would be made; strength is above 0 and at most 1, and "
            f"at least {1 / steps:.3g} here.",
            param="strength",
        )


def _size(inputs: GenerateInputs, family: Family) -> tuple[int, int]:
    """Width and height to work at.

    Raises:
        InvalidRequest: ``picture_size``.
    """
    if inputs.image_rgb is not None:
        height, width = inputs.image_rgb.shape[:2]
        return size_for(family, width, height)
    width = inputs.width_px or family.side_px
    height = inputs.height_px or family.side_px
    largest = int(family.side_px * _LARGEST)
    for name, side in (("width_px", width), ("height_px", height)):
        if side % _MULTIPLE or not _SMALLEST_PX <= side <= largest:
            nearest = min(max(_SMALLEST_PX, round(side / _MULTIPLE) * _MULTIPLE), largest)
            raise InvalidRequest(
                f"{name} is {side}; {family} makes multiples of {_MULTIPLE} from {_SMALLEST_PX} to {largest}, the "
                f"nearest is {nearest}.",
                code="picture_size",
                param=name,
            )
    return width, height


def _run(
    inputs: GenerateInputs,
    checked: _Checked,
    pipeline: WarmPipeline,
    check_canceled: Callable[[], None],
    on_progress: Callable[[float], None],
) -> Generated:
    seeds = tuple(inputs.seed + index for index in range(inputs.num_images))
    with pipeline.holding(inputs.task, checked.loras, scheduler=checked.scheduler) as (generator, placed):
        states = prompt_states(generator.pipe, generator.checkpoint.family, checked.prompt, checked.negative)
        arguments = _arguments(inputs, checked, generator) | dict(states.arguments)
        pictures = []
        for index, seed in enumerate(seeds):
            made = generator.run(
                arguments,
                seed=seed,
                check_canceled=_counting(check_canceled, on_progress, index, len(seeds), checked),
            )
            pictures.append(_kept_outside(inputs, made))
        scheduler = checked.scheduler or type(generator.pipe.scheduler).__name__
    on_progress(1.0)
    facts = {
        "checkpoint": generator.checkpoint.name,
        "task": inputs.task,
        "num_inference_steps": checked.steps,
        "guidance_scale": checked.guidance_scale,
        "scheduler": scheduler,
        "loras": [
            {
                "name": one.stored.name,
                "version": one.stored.version,
                "scale": one.scale,
                "num_layers": len(lora.layers),
                "num_skipped": len(lora.skipped),
                "skipped": list(lora.skipped[:_MAX_SKIPPED_TOLD]),
            }
            for one, lora in zip(checked.loras, placed, strict=True)
        ],
        **states.facts,
    }
    if inputs.image_rgb is not None:
        facts["strength"] = checked.strength
    return Generated(pictures=tuple(pictures), seeds=seeds, facts=facts)


def _arguments(inputs: GenerateInputs, checked: _Checked, generator: Generator) -> dict[str, Any]:
    """What the pipeline is called with, besides its prompts."""
    width, height = checked.size
    arguments: dict[str, Any] = {
        "width": width,
        "height": height,
        "num_inference_steps": checked.steps,
        "guidance_scale": checked.guidance_scale,
    }
    if inputs.image_rgb is not None:
        import cv2
        from PIL import Image

        shrinks = inputs.image_rgb.shape[1] > width
        resized = cv2.resize(
            inputs.image_rgb, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
        )
        arguments |= {"image": Image.fromarray(resized), "strength": checked.strength}
    if inputs.mask is not None:
        # Any pixel that is partly to be made anew is: what the picture keeps is laid over it afterwards.
        mask = cv2.resize(_asked(inputs.mask).astype(np.float32), (width, height), interpolation=cv2.INTER_AREA) > 0
        arguments["mask_image"] = Image.fromarray(mask.astype(np.uint8) * 255)
    return arguments


def _kept_outside(inputs: GenerateInputs, made: Picture) -> Picture:
    """The picture as asked for: inpainted ones have their own size, and their own pixels outside the mask."""
    if inputs.image_rgb is None or inputs.mask is None:
        return made
    import cv2

    height, width = inputs.image_rgb.shape[:2]
    if made.shape[:2] != (height, width):
        made = np.asarray(cv2.resize(made, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
    return np.where(_asked(inputs.mask)[..., None], made, inputs.image_rgb)


def _asked(mask: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(mask, np.float32) > 0.5


def _counting(
    check_canceled: Callable[[], None],
    on_progress: Callable[[float], None],
    index: int,
    num_images: int,
    checked: _Checked,
) -> Callable[[], None]:
    """``check_canceled`` that also tells how far the run is: it is called once before the first step and after each."""
    calls = 0

    def check() -> None:
        nonlocal calls
        check_canceled()
        on_progress(min(1.0, (index + min(1.0, calls / checked.steps)) / num_images))
        calls += 1

    return check
