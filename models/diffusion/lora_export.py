"""A LoRA's tensors under the names, and with the metadata, that other programs' readers take."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, Literal

from models.diffusion.checkpoints import Family
from models.diffusion.lora_layers import Layer, LohaLayer, LokrLayer, LoraLayer, LoraWeights
from models.diffusion.lora_names import kohya_name, stack_of
from models.diffusion.lora_stacks import stacked
from services.domain.errors import ContentRejected

if TYPE_CHECKING:
    from torch import Tensor

Format = Literal["diffusers", "kohya"]

ADAPTER: Final = "lora_adapter_metadata"  # diffusers' key of peft's configuration, JSON
_KOHYA: Final = {"down": "lora_down.weight", "up": "lora_up.weight", "mid": "lora_mid.weight", "diff": "diff"}
_SDXL_WIDTH: Final = Family.SDXL.width


def family_of_layers(weights: LoraWeights) -> Family:
    """The family that the layers' names and widths speak for."""
    names = weights.layers.keys()
    if any("single_transformer_blocks" in name for name in names):
        return Family.FLUX
    for name, layer in weights.layers.items():
        if isinstance(layer, LoraLayer):
            width = layer.down.shape[1]
            if re.search(r"transformer\.transformer_blocks\.\d+\.attn\.(to|add)_[qkv]", name):
                return Family.FLUX if width == Family.FLUX.width else Family.SD3
            if name.endswith(("attn2.to_k", "attn2.to_v")) and width == _SDXL_WIDTH:
                return Family.SDXL
    is_xl = any(name.startswith(("text_encoder_2.", "unet.add_embedding")) for name in names)
    return Family.SDXL if is_xl else Family.SD15


def kohya_tensors(weights: LoraWeights, family: Family) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file for sd-scripts, A1111, ComfyUI. Each layer has its alpha, whole."""
    import torch

    whole: dict[str, Layer] = {}
    parts: dict[str, dict[str, Layer]] = defaultdict(dict)
    targets = {}
    for name, layer in weights.layers.items():
        stack = stack_of(name, family)
        if stack is None:
            whole[kohya_name(name, family)] = layer
        else:
            parts[stack.kohya][name] = layer
            targets[stack.kohya] = stack.target
    for key, some in parts.items():
        joined = stacked(some, targets[key])
        if joined is not None:
            whole[key] = joined
        else:  # what cannot be stacked goes by diffusers' own names, which OneTrainer writes and ComfyUI reads
            whole.update({kohya_name(name, family): layer for name, layer in some.items()})
    tensors: dict[str, Tensor] = {}
    for key, layer in whole.items():
        prefix = {LohaLayer: "hada_", LokrLayer: "lokr_"}.get(type(layer), "")
        for factor, value in layer.tensors().items():
            tensors[f"{key}.{prefix}{factor}" if prefix else f"{key}.{_KOHYA[factor]}"] = value
        if "diff" not in layer.tensors():
            alpha = torch.tensor(layer.alpha, dtype=torch.float32)
            tensors[f"{key}.alpha"] = alpha if alpha.item() == layer.alpha else alpha.double().fill_(layer.alpha)
        if layer.dora_scale is not None:
            tensors[f"{key}.dora_scale"] = layer.dora_scale
    most = Counter((layer.rank, layer.alpha) for layer in weights.layers.values()).most_common(1)[0][0]
    module = "lycoris.kohya" if any(not isinstance(one, LoraLayer) for one in whole.values()) else "networks.lora"
    return tensors, {"ss_network_module": module, "ss_network_dim": str(most[0]), "ss_network_alpha": f"{most[1]:.12g}"}


def diffusers_tensors(weights: LoraWeights) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors by peft's names and, in the metadata, the configuration without which diffusers would lose alpha.

    Raises:
        ContentRejected: ``lora_format_unsupported``.
    """
    tensors: dict[str, Tensor] = {}
    settings: dict[str, Any] = {}
    for component in sorted(weights.components):
        own = {
            name.removeprefix(f"{component}."): layer
            for name, layer in weights.layers.items()
            if name.startswith(f"{component}.")
        }
        for module, layer in own.items():
            tensors.update(_peft_tensors(f"{component}.{module}", layer))
        ranks = {module: layer.rank for module, layer in own.items()}
        alphas = {module: layer.alpha for module, layer in own.items()}
        with_dora = {layer.dora_scale is not None for layer in own.values()}
        if len(with_dora) > 1:
            raise _unsupported("layers with DoRA beside layers without")
        rank, alpha = (Counter(one.values()).most_common(1)[0][0] for one in (ranks, alphas))
        settings |= {
            f"{component}.r": rank,
            f"{component}.lora_alpha": alpha,
            f"{component}.rank_pattern": _exceptions(ranks, rank),
            f"{component}.alpha_pattern": _exceptions(alphas, alpha),
            f"{component}.target_modules": sorted(own),
            f"{component}.use_dora": True in with_dora,
        }
    return tensors, {ADAPTER: json.dumps(settings, indent=2, sort_keys=True)}


def _exceptions(values: dict[str, Any], usual: Any) -> dict[str, Any]:
    """Peft's pattern of what is not as usual: its keys are regular expressions, which must match whole names only."""
    return {f"^{re.escape(module)}": value for module, value in values.items() if value != usual}


def _peft_tensors(name: str, layer: Layer) -> dict[str, Tensor]:
    if not isinstance(layer, LoraLayer):
        raise _unsupported(f"a layer of the kind {layer.kind}")
    down = layer.down
    if layer.mid is not None:
        down = layer.matrices()[0].reshape(layer.rank, -1, *layer.mid.shape[2:]).to(layer.down.dtype)
    tensors = {f"{name}.lora_A.weight": down, f"{name}.lora_B.weight": layer.up}
    if layer.dora_scale is not None:
        if layer.dora_scale.numel() != layer.up.shape[0]:
            raise _unsupported("DoRA magnitudes of the weight's columns")
        flat = layer.dora_scale.reshape(-1)
        tensors[f"{name}.lora_magnitude_vector"] = flat if down.ndim == 2 else flat.reshape(1, -1, 1, 1)
    return tensors


def _unsupported(what: str) -> ContentRejected:
    return ContentRejected(
        f"The diffusers form of LoRA files has no room for {what}; write the kohya form.",
        code="lora_format_unsupported",
    )
