"""Whether a LoRA fits a base: told before anything is loaded, from its own shapes and the base's configuration."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_layers import LoraWeights
from services.domain.errors import ContentRejected, Unavailable

# Layers that see what families differ in: a UNet's cross-attention sees text states, a transformer's its own.
_SEEN: Final = {
    "unet": (".attn2.to_k", ".attn2.to_v"),
    "transformer": (".attn.to_q", ".attn.to_k", ".attn.to_v"),
    "text_encoder": (".self_attn.q_proj", ".self_attn.k_proj", ".SelfAttention.q"),
}
_WHOSE: Final = {
    ("unet", 768): "SD1.5",
    ("unet", 1024): "SD2",
    ("unet", 2048): "SDXL",
    ("unet", 384): "drawn-64",
    ("transformer", 3072): "FLUX",
    ("transformer", 1536): "SD3",
    ("transformer", 2432): "SD3.5 large",
}


def lora_width(weights: LoraWeights, component: str) -> int | None:
    """How wide the states are that the LoRA's layers of this component expect; None where no layer tells."""
    seen = _SEEN["text_encoder" if component.startswith("text_encoder") else component]
    widths = Counter(
        layer.num_inputs
        for name, layer in weights.layers.items()
        if name.startswith(f"{component}.") and name.endswith(seen)
    )
    return widths.most_common(1)[0][0] if widths else None


def base_width(checkpoint: Checkpoint, component: str) -> int | None:
    """The same of the checkpoint, from its ``config.json``; None for a component that it does not have.

    Where the checkpoint has not been fetched it is its family's.
    """
    try:
        folder = checkpoint.folder()
    except Unavailable:
        return checkpoint.family.width if component == checkpoint.family.component else None
    path = folder / component / "config.json"
    return _configured_width(path) if path.is_file() else None


def check_fits(weights: LoraWeights, base: Checkpoint | Family, *, name: str = "The LoRA") -> None:
    """Nothing, when the LoRA was trained for a base of this kind. Neither is loaded for it.

    Raises:
        ContentRejected: ``lora_wrong_base``, with both widths.
    """
    family = base.family if isinstance(base, Checkpoint) else base
    called = f"the checkpoint {base.name} ({family})" if isinstance(base, Checkpoint) else f"the family {family}"
    denoiser = family.component
    other = {"unet": "transformer", "transformer": "unet"}[denoiser]
    theirs = _width_of(base, denoiser)
    if other in weights.components and denoiser not in weights.components:
        raise ContentRejected(
            f"{name} is for a {_described(other, lora_width(weights, other))}; "
            f"{called} has a {_described(denoiser, theirs)}.",
            code="lora_wrong_base",
        )
    for component in sorted(weights.components):
        ours, theirs = lora_width(weights, component), _width_of(base, component)
        if ours is not None and theirs is not None and ours != theirs:
            raise ContentRejected(
                f"{name} is for a {_described(component, ours)}; {called} has a {_described(component, theirs)}.",
                code="lora_wrong_base",
            )


def _width_of(base: Checkpoint | Family, component: str) -> int | None:
    if isinstance(base, Checkpoint):
        return base_width(base, component)
    return base.width if component == base.component else None


def _configured_width(path: Path) -> int | None:
    config = json.loads(path.read_text(encoding="utf-8"))
    if "attention_head_dim" in config and "num_attention_heads" in config and "joint_attention_dim" in config:
        return int(config["num_attention_heads"]) * int(config["attention_head_dim"])
    width = config.get("cross_attention_dim", config.get("hidden_size", config.get("d_model")))
    return int(width[0] if isinstance(width, list) else width) if width else None


def _described(component: str, width: int | None) -> str:
    if width is None:
        return component
    whose = f" ({_WHOSE[component, width]})" if (component, width) in _WHOSE else ""
    states = "text states" if component == "unet" else "states"
    return f"{component.replace('_', ' ')} with {states} {width} wide{whose}"
