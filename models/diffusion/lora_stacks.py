"""Layers that files stack along the channels out: attention's projections in FLUX' and SD3's first authors' code.

Cutting and stacking keep each layer's offset to the bit: a stack of low-rank layers has their ranks one after the other
and zeros between them, as sd-scripts writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from models.diffusion.lora_layers import FullLayer, Layer, LohaLayer, LokrLayer, LoraLayer
from models.diffusion.lora_names import Target

if TYPE_CHECKING:
    from torch import Tensor


def placed(layer: Layer, target: Target) -> dict[str, Layer] | None:
    """A file's layer as ours, by name; None where it cannot be cut as the target asks."""
    if _is_swapped(layer, target):
        swapped = with_halves_swapped(layer)
        return None if swapped is None else {target.names[0]: swapped}
    if len(target.names) == 1:
        return {target.names[0]: layer}
    cut = _cut(layer, target.parts)
    return None if cut is None else dict(zip(target.names, cut, strict=True))


def stacked(layers: Mapping[str, Layer], target: Target) -> Layer | None:
    """Our layers as the one of a file; those of the target that are missing change nothing. None where they cannot be.

    Args:
        layers: Some of the target's, by name.
    """
    if len(target.names) == 1:
        layer = layers[target.names[0]]
        return with_halves_swapped(layer) if _is_swapped(layer, target) else layer
    given = [layers.get(name) for name in target.names]
    if all(isinstance(one, FullLayer) and one.dora_scale is None for one in given):
        import torch

        return FullLayer(diff=torch.cat([one.diff for one in given if isinstance(one, FullLayer)]), alpha=1.0)
    low = [one if isinstance(one, LoraLayer) and one.mid is None else None for one in given]
    if sum(one is not None for one in low) < len(layers):
        return None
    return _low_rank_stack(low, target.parts)


def with_halves_swapped(layer: Layer) -> Layer | None:
    """The layer with the two halves of its channels out exchanged; None where its form does not allow it."""
    import torch

    if layer.dora_scale is not None:
        return None

    def swap(rows: Tensor) -> Tensor:
        first, second = rows.chunk(2)
        return torch.cat([second, first])

    if isinstance(layer, LoraLayer):
        return replace(layer, up=swap(layer.up))
    if isinstance(layer, FullLayer):
        return replace(layer, diff=swap(layer.diff))
    if isinstance(layer, LohaLayer) and layer.t1 is None:
        return replace(layer, w1_a=swap(layer.w1_a), w2_a=swap(layer.w2_a))
    return None


def _is_swapped(layer: Layer, target: Target) -> bool:
    # SD3's last block has no text to give on: its modulation is a scale and a shift, in the other order.
    last = target.names[0].endswith("norm1_context.linear") and isinstance(layer, LoraLayer)
    return target.swapped or (last and isinstance(layer, LoraLayer) and layer.up.shape[0] == 2 * layer.down.shape[1])


def _cut(layer: Layer, parts: tuple[int, ...]) -> list[Layer] | None:
    by_column = layer.dora_scale is not None and layer.dora_scale.ndim > 1 and layer.dora_scale.shape[0] == 1
    rows = _rows(layer)
    if by_column or rows is None or rows % sum(parts):
        return None
    sizes = [rows // sum(parts) * part for part in parts]
    scales: list[Tensor | None] = (
        [None] * len(parts) if layer.dora_scale is None else list(layer.dora_scale.split(sizes))
    )
    cut: list[Layer]
    if isinstance(layer, LoraLayer):
        cut = list(_cut_low_rank(layer, sizes))
    elif isinstance(layer, LohaLayer):
        pairs = zip(layer.w1_a.split(sizes), layer.w2_a.split(sizes), strict=True)
        cut = [replace(layer, w1_a=first, w2_a=second) for first, second in pairs]
    else:
        offset = layer.diff if isinstance(layer, FullLayer) else _flat(layer)
        cut = [FullLayer(diff=part, alpha=1.0) for part in offset.split(sizes)]
    return [replace(one, dora_scale=scale) for one, scale in zip(cut, scales, strict=True)]


def _rows(layer: Layer) -> int | None:
    if isinstance(layer, LoraLayer):
        return int(layer.up.shape[0])
    if isinstance(layer, FullLayer):
        return int(layer.diff.shape[0])
    if isinstance(layer, LohaLayer):
        return None if layer.t1 is not None else int(layer.w1_a.shape[0])
    return int(_flat(layer).shape[0])


def _flat(layer: LokrLayer) -> Tensor:
    """A Kronecker product's offset, (O, I*K*K): its rows cannot be told apart in its factors."""
    return layer.offset((layer.num_rows, -1))


def _cut_low_rank(layer: LoraLayer, sizes: list[int]) -> list[LoraLayer]:
    ups = layer.up.split(sizes)
    each, remainder = divmod(layer.rank, len(sizes))
    if remainder or layer.mid is not None or not each:
        return [replace(layer, up=up) for up in ups]
    blocks = [slice(index * each, (index + 1) * each) for index in range(len(sizes))]
    elsewhere = (up[:, other] for index, up in enumerate(ups) for place, other in enumerate(blocks) if place != index)
    if any(bool(one.any()) for one in elsewhere):
        return [replace(layer, up=up) for up in ups]
    return [
        replace(layer, down=layer.down[block], up=up[:, block], alpha=layer.alpha / len(sizes))
        for up, block in zip(ups, blocks, strict=True)
    ]


def _low_rank_stack(layers: list[LoraLayer | None], parts: tuple[int, ...]) -> LoraLayer | None:
    import torch

    there = [one for one in layers if one is not None]
    magnitudes = [one.dora_scale for one in there if one.dora_scale is not None]
    if magnitudes and len(magnitudes) < len(layers):
        return None
    dora_scale = torch.cat([one.reshape(-1, 1) for one in magnitudes]) if magnitudes else None
    first = there[0]
    if len(there) == len(layers) and all(
        one.alpha == first.alpha and one.down.shape == first.down.shape and torch.equal(one.down, first.down)
        for one in there
    ):
        return LoraLayer(
            down=first.down, up=torch.cat([one.up for one in there]), alpha=first.alpha, dora_scale=dora_scale
        )
    rank, scale = max(one.rank for one in there), max((one.scale for one in there), key=abs)
    unit = next(one.up.shape[0] // part for one, part in zip(layers, parts, strict=True) if one is not None)
    down = first.down.new_zeros(len(layers) * rank, first.down.shape[1])
    up = first.up.new_zeros(unit * sum(parts), len(layers) * rank)
    row = 0
    for index, (one, part) in enumerate(zip(layers, parts, strict=True)):
        if one is not None:
            column = index * rank
            down[column : column + one.rank] = one.down.flatten(1)
            # One alpha serves the whole stack: a layer of another scale has the ratio in its factor.
            factor = one.up.flatten(1) if one.scale == scale else one.up.flatten(1) * (one.scale / scale)
            up[row : row + one.up.shape[0], column : column + one.rank] = factor
        row += unit * part
    return LoraLayer(down=down, up=up, alpha=scale * rank * len(layers), dora_scale=dora_scale)
