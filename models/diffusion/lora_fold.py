"""LoRAs in a pipeline's own weights: put in, exchanged and taken out in place, the base kept aside to the bit.

A layer's weight becomes the base's plus every LoRA's offset, calculated anew from the base each time, so nothing adds
up over swaps. The networks stay as they are: no layer is wrapped, so pictures cost what the base's cost, all kinds of
LoRA mix, a compiled network is not compiled again, and text encoders swap like the denoiser. The price is a copy of the
weights that LoRAs touch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.diffusion.lora_layers import Layer, LoraLayer, LoraWeights, weight_with
from services.domain.errors import ContentRejected

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedLora:
    """A LoRA on a pipeline's device, each layer beside the weight that it belongs to.

    Attributes:
        layers: By the weight's name in the pipeline.
        skipped: Layers and keys of the file that this pipeline has no place for.
    """

    layers: Mapping[str, Layer]
    skipped: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        return sum(layer.size_bytes for layer in self.layers.values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoraUse:
    """A LoRA and how much of it: 0 none, 1 all; ``text_scale`` for text encoders where it differs."""

    lora: PlacedLora
    scale: float = 1.0
    text_scale: float | None = None

    def scale_of(self, name: str) -> float:
        text = self.text_scale is not None and name.startswith("text_encoder")
        return float(self.text_scale if text else self.scale)  # type: ignore[arg-type]


class FoldedLoras:
    """The LoRAs in one pipeline's weights. Not safe to share between threads: whoever runs the pipeline holds it."""

    def __init__(self, pipe: Any) -> None:
        self._weights = _weights_of(pipe)
        self._base: dict[str, Tensor] = {}
        self._inside: dict[str, list[tuple[Layer, float]]] = {}

    @property
    def base_bytes(self) -> int:
        """What the copies of the base's weights take."""
        return sum(one.numel() * one.element_size() for one in self._base.values())

    def place(self, weights: LoraWeights, *, name: str = "The LoRA") -> PlacedLora:
        """The LoRA's layers where they belong, ready to be used many times.

        Raises:
            ContentRejected: ``lora_wrong_base``: a layer is of another size than the pipeline's, or none has a place.
                ``not_a_lora``: a layer's numbers are undefined.
        """
        layers: dict[str, Layer] = {}
        skipped = list(weights.skipped)
        for key, layer in weights.layers.items():
            found = next((one for one in _spellings(key) if one in self._weights), None)
            if found is None:
                skipped.append(key)
                continue
            weight = self._weights[found]
            _check_size(layer, weight, name, key)
            numbers = [*layer.tensors().values(), *([] if layer.dora_scale is None else [layer.dora_scale])]
            if not (math.isfinite(layer.scale) and all(bool(one.isfinite().all()) for one in numbers)):
                raise ContentRejected(f"{name} has undefined numbers in its layer {key}.", code="not_a_lora")
            placed = layer.to(device=weight.device)
            layers[found] = placed.to(dtype=weight.dtype) if weight.dtype.itemsize == 4 else placed
        if not layers:
            raise ContentRejected(
                f"{name} has no layer that this base has; its first is {sorted(weights.layers)[0]}.",
                code="lora_wrong_base",
            )
        return PlacedLora(layers=layers, skipped=tuple(sorted(skipped)))

    def use(self, loras: Sequence[LoraUse]) -> None:
        """Exactly these LoRAs at these scales from now on; none gives the base to the bit."""
        import torch

        wanted: dict[str, list[tuple[Layer, float]]] = {}
        for one in loras:
            for name, layer in one.lora.layers.items():
                if (scale := one.scale_of(name)) != 0:
                    wanted.setdefault(name, []).append((layer, scale))
        with torch.no_grad():
            for name in [one for one in self._inside if one not in wanted]:
                self._weights[name].data.copy_(self._base[name])
                del self._inside[name]
            for name, added in wanted.items():
                before = self._inside.get(name)
                if before is not None and _same(before, added):
                    continue
                weight = self._weights[name].data
                if name not in self._base:
                    self._base[name] = weight.clone()
                # Until it is whole, a failure (memory) must not leave a weight that counts as something it is not.
                self._inside[name] = []
                _write(weight, self._base[name], added)
                self._inside[name] = added

    def clear(self) -> None:
        """The base to the bit, and its copies given up."""
        self.use(())
        self._base.clear()


def _weights_of(pipe: Any) -> dict[str, Any]:
    """The weights of linear and convolution layers by name, with the component's name before it."""
    import torch

    found = {}
    for component, module in pipe.components.items():
        if not isinstance(module, torch.nn.Module) or component == "vae":
            continue
        plain = getattr(module, "_orig_mod", module)  # what torch.compile wraps
        for name, layer in plain.named_modules():
            if isinstance(layer, (torch.nn.Linear, torch.nn.Conv2d)):
                found[f"{component}.{name}"] = layer.weight
    return found


def _spellings(name: str) -> tuple[str, ...]:
    """The names that a loaded module may have a file's layer under; see ``lora_names``."""
    return name, name.replace(".text_model.", ".", 1)


def _same(before: list[tuple[Layer, float]], after: list[tuple[Layer, float]]) -> bool:
    return len(before) == len(after) and all(
        old is new and scale == other for (old, scale), (new, other) in zip(before, after, strict=True)
    )


def _check_size(layer: Layer, weight: Tensor, name: str, key: str) -> None:
    if isinstance(layer, LoraLayer):
        kernel = layer.mid if layer.mid is not None else layer.down
        area = kernel.shape[2:].numel() if kernel.ndim > 2 else 1
        fits = layer.up.shape[0] == weight.shape[0] and layer.num_inputs * area == weight[0].numel()
    else:
        try:
            layer.product(tuple(weight.shape))
            fits = True
        except (RuntimeError, ValueError):
            fits = False
    if layer.dora_scale is not None:
        fits = fits and layer.dora_scale.numel() in weight.shape[:2]
    if not fits:
        raise ContentRejected(
            f"{name} is for another base: of its layer {key}, {layer.num_inputs} channels in, the base has a weight of "
            f"{' x '.join(str(size) for size in weight.shape)}.",
            code="lora_wrong_base",
        )


def _write(weight: Tensor, base: Tensor, added: list[tuple[Layer, float]]) -> None:
    """Make ``weight`` the base with these layers, in place."""
    import torch

    low = [
        (layer, scale * layer.scale)
        for layer, scale in added
        if isinstance(layer, LoraLayer) and layer.dora_scale is None and layer.mid is None
    ]
    if len(low) < len(added) or weight.dtype != torch.float32 or not weight.is_contiguous():
        weight.copy_(weight_with(base, added))
        return
    flat, source = weight.view(weight.shape[0], -1), base.view(weight.shape[0], -1)
    for layer, scale in low:
        # One pass over the weight for each LoRA; the first reads the base.
        torch.addmm(source, layer.up.flatten(1), layer.down.flatten(1), alpha=scale, out=flat)
        source = flat
