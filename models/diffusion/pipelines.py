"""Loads a checkpoint's pipeline and runs it so that what comes out is a picture or an error by name.

Sizes in comments: B pictures, C channels, H and W of the latents.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from models.diffusion.checkpoints import Checkpoint, Family
from services.domain.errors import ContentRejected, EngineFailed, Unavailable

Picture = NDArray[np.uint8]
Task = Literal["inpainting", "image2image", "text2image"]

_BLACK: Final = 2  # no photo is darker than this everywhere (of 255); an overflowing VAE's is


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A checkpoint with its pipeline, ready to run. Not safe to share between threads.

    Attributes:
        pipe: A diffusers pipeline.
        device, dtype: Where it runs and in what its networks calculate (torch's own names).
    """

    checkpoint: Checkpoint
    pipe: Any
    device: str
    dtype: str

    def run(self, arguments: Mapping[str, Any], *, seed: int, check_canceled: Callable[[], None]) -> Picture:
        """One picture, uint8 (height, width, 3). Arguments that this pipeline does not know are left out.

        A VAE in half precision that overflows makes black or undefined pixels; its decoding is then done again in
        float32 (diffusers#4325).

        Args:
            check_canceled: Called before every step; whatever it raises ends the run.

        Raises:
            ContentRejected: ``content_flagged``: the checkpoint's own safety checker withheld the picture.
            EngineFailed: ``image_not_finite``: no picture came out in float32 either.
        """
        picture = self._attempt(arguments, seed=seed, check_canceled=check_canceled)
        if picture is None and self.dtype != "float32":
            with self._exact_vae():
                picture = self._attempt(arguments, seed=seed, check_canceled=check_canceled)
        if picture is None:
            raise EngineFailed(
                f"The checkpoint {self.checkpoint.name} made a black or undefined picture; try another seed.",
                code="image_not_finite",
            )
        return picture

    def _attempt(
        self, arguments: Mapping[str, Any], *, seed: int, check_canceled: Callable[[], None]
    ) -> Picture | None:
        import torch

        known = inspect.signature(self.pipe.__call__).parameters

        def on_step(_pipe: Any, _step: int, _timestep: Any, values: dict[str, Any]) -> dict[str, Any]:
            check_canceled()
            return values

        check_canceled()
        with torch.inference_mode():
            made = self.pipe(
                **{name: value for name, value in arguments.items() if name in known and value is not None},
                generator=torch.Generator("cpu").manual_seed(seed),
                output_type="np",
                callback_on_step_end=on_step,
            )
        if any(getattr(made, "nsfw_content_detected", None) or ()):  # its pixels are black then
            raise ContentRejected(
                f"The safety checker of the checkpoint {self.checkpoint.name} flagged the picture; "
                "change the prompt, the picture or the seed.",
                code="content_flagged",
            )
        return _as_picture(np.asarray(made.images[0]))

    def _exact_vae(self) -> AbstractContextManager[None]:
        vae = getattr(self.pipe, "vae", None)
        return nullcontext() if vae is None else _ExactDecoding(vae)


class _ExactDecoding(AbstractContextManager[None]):
    """A VAE that decodes in float32 for as long as it lasts; what it encodes stays in its own precision."""

    def __init__(self, vae: Any) -> None:
        self._vae = vae

    def __enter__(self) -> None:
        import torch

        vae, dtype, plain = self._vae, self._vae.dtype, self._vae.decode
        self._plain = plain

        def decode(latents_BCHW: Any, *args: Any, **options: Any) -> Any:  # noqa: N803  shapes in names
            vae.to(dtype=torch.float32)
            try:
                return plain(latents_BCHW.float(), *args, **options)
            finally:
                vae.to(dtype=dtype)

        vae.decode = decode

    def __exit__(self, *_: object) -> None:
        self._vae.decode = self._plain


@lru_cache(maxsize=1)  # one fills a GPU
def load_generator(
    checkpoint: Checkpoint, task: Task, device: str | None = None, dtype: str | None = None
) -> Generator:
    """``open_generator``'s, kept until another is asked for."""
    return open_generator(checkpoint, task, device, dtype)


def open_generator(
    checkpoint: Checkpoint, task: Task, device: str | None = None, dtype: str | None = None
) -> Generator:
    """The checkpoint's pipeline for the task, with its LoRAs and its IP-Adapter.

    Args:
        device: ``cuda`` or ``cpu``; None takes a GPU where there is one.
        dtype: None takes bfloat16 on a GPU (float16's range is too small for some VAEs) and float32 on a CPU.

    Raises:
        Unavailable: ``engine_not_installed``, ``weights_missing``, ``lora_not_usable``, ``checkpoint_not_usable``.
    """
    try:
        import torch
    except ImportError as error:
        raise Unavailable(
            "Diffusion needs the extra: pip install 'spokesmodel[diffusion]'.",
            code="engine_not_installed",
            retryable=False,
        ) from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = dtype or ("bfloat16" if device == "cuda" else "float32")
    pipe = _open_pipeline(checkpoint, task, device, dtype)
    pipe.set_progress_bar_config(disable=True)
    pipe.to(device)
    _add_loras(pipe, checkpoint)
    if checkpoint.ip_adapter is not None:
        _add_ip_adapter(pipe, checkpoint)
    return Generator(checkpoint=checkpoint, pipe=pipe, device=device, dtype=dtype)


def _open_pipeline(checkpoint: Checkpoint, task: Task, device: str, dtype: str) -> Any:
    import diffusers
    import torch

    folder = checkpoint.folder()
    if checkpoint.family is Family.DRAWN64:
        from models.diffusion.drawn64.pipeline import load_drawn64

        return load_drawn64(device, dtype, folder=folder)
    automatic = {
        "inpainting": diffusers.AutoPipelineForInpainting,
        "image2image": diffusers.AutoPipelineForImage2Image,
        "text2image": diffusers.AutoPipelineForText2Image,
    }[task]
    try:
        return automatic.from_pretrained(
            folder, dtype=getattr(torch, dtype), use_safetensors=True, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        raise Unavailable(
            f"The checkpoint {checkpoint.name} cannot be loaded for {task}: {error}",
            code="checkpoint_not_usable",
            retryable=False,
        ) from error


def for_task(generator: Generator, task: Task) -> Generator:
    """The same networks as a pipeline for another task; nothing is loaded or copied.

    Raises:
        Unavailable: ``checkpoint_not_usable``: the checkpoint was not made for the task.
    """
    import diffusers

    checkpoint, pipe = generator.checkpoint, generator.pipe
    if checkpoint.family is Family.DRAWN64:
        return generator  # one pipeline does everything
    automatic = {
        "inpainting": diffusers.AutoPipelineForInpainting,
        "image2image": diffusers.AutoPipelineForImage2Image,
        "text2image": diffusers.AutoPipelineForText2Image,
    }[task]
    wide = checkpoint.family.component == "unet" and pipe.unet.config.in_channels > pipe.unet.config.out_channels
    if wide and task != "inpainting":
        raise Unavailable(
            f"The checkpoint {checkpoint.name} was made for inpainting alone.",
            code="checkpoint_not_usable",
            retryable=False,
        )
    try:
        other = automatic.from_pipe(pipe)
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            f"The checkpoint {checkpoint.name} cannot be used for {task}: {error}",
            code="checkpoint_not_usable",
            retryable=False,
        ) from error
    other.set_progress_bar_config(disable=True)
    return replace(generator, pipe=other)


def _add_loras(pipe: Any, checkpoint: Checkpoint) -> None:
    """The LoRAs of the checkpoint's own folder, in its weights."""
    if not checkpoint.loras:
        return
    from models.diffusion.lora_files import read_lora
    from models.diffusion.lora_fold import FoldedLoras, LoraUse

    folded = FoldedLoras(pipe)
    uses = []
    for one in checkpoint.loras:
        try:
            uses.append(
                LoraUse(lora=folded.place(read_lora(checkpoint.file(one.file)), name=one.file), scale=one.scale)
            )
        except ContentRejected as error:
            raise Unavailable(
                f"The LoRA {one.file} cannot be used with the checkpoint {checkpoint.name} ({checkpoint.family}): "
                f"{error.detail}",
                code="lora_not_usable",
                retryable=False,
            ) from error
    folded.use(uses)


def _add_ip_adapter(pipe: Any, checkpoint: Checkpoint) -> None:
    files = checkpoint.ip_adapter
    assert files is not None
    checkpoint.file(files.file)
    folder = Path(files.file)
    try:
        pipe.load_ip_adapter(
            checkpoint.folder(),
            subfolder=str(folder.parent),
            weight_name=folder.name,
            image_encoder_folder=f"./{files.image_encoder}",  # a slash: from the checkpoint's folder, not the file's
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise Unavailable(
            f"The IP-Adapter {files.file} cannot be used with the checkpoint {checkpoint.name}: {error}",
            code="checkpoint_not_usable",
            retryable=False,
        ) from error
    pipe.set_ip_adapter_scale(files.scale)


def size_for(family: Family, width: int, height: int) -> tuple[int, int]:
    """A size of the same shape with about as many pixels as the family was trained on, in multiples of 16."""
    scale = family.side_px / (width * height) ** 0.5
    return max(16, round(width * scale / 16) * 16), max(16, round(height * scale / 16) * 16)


def _as_picture(values: NDArray[Any]) -> Picture | None:
    """uint8 (h, w, 3) of 0 to 1 floats; None when they are undefined or all black."""
    if not np.isfinite(values).all():
        return None
    picture = np.asarray(np.rint(np.clip(values, 0, 1) * 255), np.uint8)
    return picture if picture.max(initial=0) > _BLACK else None
