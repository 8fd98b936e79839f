"""A checkpoint's pipeline, loaded to be trained on."""

from __future__ import annotations

from typing import Any

from models.diffusion.checkpoints import Checkpoint, Family
from services.domain.errors import Unavailable
from training.bases import TrainableBase


def load(checkpoint: Checkpoint, *, device: str, dtype: str) -> TrainableBase:
    """See ``training.bases.load_base``."""
    try:
        import torch
        from diffusers import DiffusionPipeline
    except ImportError as error:
        raise Unavailable(
            "Training needs the extra: pip install 'spokesmodel[training]'.",
            code="engine_not_installed",
            retryable=False,
        ) from error
    if checkpoint.family is Family.DRAWN64:
        from models.diffusion.drawn64.pipeline import load_drawn64

        return base_of(checkpoint, load_drawn64(device=device, dtype=dtype))
    try:
        pipe: Any = DiffusionPipeline.from_pretrained(
            checkpoint.folder(), dtype=getattr(torch, dtype), use_safetensors=True, local_files_only=True
        ).to(device)
        return base_of(checkpoint, pipe)
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"The checkpoint {checkpoint.name} cannot be loaded for training: {error}",
            code="checkpoint_not_usable",
            retryable=False,
        ) from error


def base_of(checkpoint: Checkpoint, pipe: Any) -> TrainableBase:
    """A loaded pipeline as something a LoRA can be trained on.

    Raises:
        Unavailable: ``checkpoint_not_usable``: its family is not trained here.
    """
    pipe.set_progress_bar_config(disable=True)
    match checkpoint.family:
        case Family.SD15:
            from training.bases.sd15 import Sd15Base

            return Sd15Base(checkpoint, pipe)
        case Family.SDXL:
            from training.bases.sdxl import SdxlBase

            return SdxlBase(checkpoint, pipe)
        case Family.FLUX:
            from training.bases.flux import FluxBase

            return FluxBase(checkpoint, pipe)
        case Family.SD3:
            from training.bases.sd3 import Sd3Base

            return Sd3Base(checkpoint, pipe)
        case Family.DRAWN64:
            from training.bases.drawn64 import Drawn64Base

            return Drawn64Base(checkpoint, pipe)
