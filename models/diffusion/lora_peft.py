"""A LoRA out of a network into which peft has put it, as the trainer does."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from models.diffusion.lora_layers import Layer, LohaLayer, LokrLayer, LoraLayer, LoraWeights
from models.diffusion.lora_names import with_text_model

if TYPE_CHECKING:
    from torch import Tensor, nn


def from_peft(module: nn.Module, component: str, adapter_name: str | None = None) -> LoraWeights:
    """The LoRA that peft has put into ``module``, as a copy.

    Args:
        component: What a pipeline calls the module: ``unet``, ``transformer``, ``text_encoder``, ...
        adapter_name: None takes the only one, or the first.

    Raises:
        ValueError: There is none of that name.
    """
    from peft.tuners.loha.layer import LoHaLayer
    from peft.tuners.lokr.layer import LoKrLayer
    from peft.tuners.lora.layer import LoraLayer as PeftLoraLayer

    layers: dict[str, Layer] = {}
    for name, found in module.named_modules():
        if not isinstance(found, (PeftLoraLayer, LoHaLayer, LoKrLayer)):
            continue
        adapter = adapter_name or next(iter(found.r), "")
        if adapter not in found.r:
            continue
        layers[with_text_model(f"{component}.{name.removeprefix('base_model.model.')}")] = (
            _low_rank_of_peft(found, adapter)
            if isinstance(found, PeftLoraLayer)
            else _lycoris_of_peft(found, adapter, LohaLayer if isinstance(found, LoHaLayer) else LokrLayer)
        )
    if not layers:
        raise ValueError(f"{type(module).__name__} has no LoRA called {adapter_name!r}")
    return LoraWeights(layers=layers)


def _low_rank_of_peft(found: Any, adapter: str) -> LoraLayer:
    rank, alpha = found.r[adapter], float(found.lora_alpha[adapter])
    if found.use_rslora.get(adapter, False):
        alpha *= math.sqrt(rank)
    magnitude = getattr(found, "lora_magnitude_vector", {})
    dora_scale = magnitude[adapter].weight if adapter in magnitude else None
    down, up = found.lora_A[adapter].weight, found.lora_B[adapter].weight
    return LoraLayer(
        down=_copy(down),
        up=_copy(up),
        alpha=alpha,
        dora_scale=None if dora_scale is None else _copy(dora_scale).reshape(-1, *[1] * (down.ndim - 1)),
    )


def _lycoris_of_peft(found: Any, adapter: str, kind: type[LohaLayer] | type[LokrLayer]) -> Layer:
    prefix = "hada" if kind is LohaLayer else "lokr"
    held = {name: getattr(found, f"{prefix}_{name}", {}) for name in kind.TENSORS}
    tensors = {name: _copy(one[adapter]) for name, one in held.items() if adapter in one}
    layer = kind(alpha=float(found.alpha[adapter]), **tensors)
    theirs = float(found.alpha[adapter]) / found.r[adapter]
    if not math.isclose(layer.scale, theirs):  # whole matrices: what reads LyCORIS files takes no alpha there
        layer = replace(layer, w2=tensors["w2"] * theirs)
    return layer


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True)
