"""LoRAs with random factors, made by peft, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

import diffusers
import torch
from peft import LoraConfig, inject_adapter_in_model
from transformers import CLIPTextModel

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_files import LoraWeights, from_peft

ATTENTION = ["to_q", "to_k", "to_v", "to_out.0"]


def pipeline(checkpoint: Checkpoint) -> Any:
    pipe = diffusers.AutoPipelineForText2Image.from_pretrained(checkpoint.folder(), local_files_only=True)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def network(checkpoint: Checkpoint, component: str) -> Any:
    """One network of the checkpoint, without the rest of its pipeline."""
    kind: Any = {
        "unet": diffusers.UNet2DConditionModel,
        "text_encoder": CLIPTextModel,
        "transformer": {
            Family.FLUX: diffusers.FluxTransformer2DModel,
            Family.SD3: diffusers.SD3Transformer2DModel,
        }.get(checkpoint.family),
    }[component]
    return kind.from_pretrained(checkpoint.folder() / component, local_files_only=True).eval()


def filled(module: Any, config: Any, *, seed: int = 5, size: float = 0.2) -> Any:
    """The module with an adapter of peft's whose every factor is random."""
    inject_adapter_in_model(config, module, adapter_name="default")
    torch.manual_seed(seed)
    for name, value in module.named_parameters():
        if any(mark in name for mark in ("lora_", "lokr_", "hada_")):
            torch.nn.init.normal_(value.data, std=size)
            if "magnitude" in name:
                value.data.abs_().add_(0.5)
    return module


def deltas(module: Any) -> dict[str, torch.Tensor]:
    """What peft adds to each layer's weight, by peft's own arithmetic."""
    return {
        name: found.get_delta_weight("default").detach()
        for name, found in module.named_modules()
        if hasattr(found, "get_delta_weight")
    }


def random_lora(checkpoint: Checkpoint, *, seed: int = 5, component: str = "unet", **options: Any) -> LoraWeights:
    """A LoRA for one component of the checkpoint; on attention with rank 4, alpha 8, unless told otherwise."""
    config = LoraConfig(**({"r": 4, "lora_alpha": 8, "target_modules": ATTENTION} | options))
    return from_peft(filled(network(checkpoint, component), config, seed=seed), component)
