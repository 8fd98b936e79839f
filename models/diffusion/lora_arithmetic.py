"""Sums, differences and smaller versions of LoRAs: merge with weights, extract from two checkpoints, resize.

Where a rank is cut the best approximation is taken (Eckart and Young: the largest singular values), and how much of
the offset's energy it keeps is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from models.diffusion.checkpoints import Checkpoint
from models.diffusion.lora_layers import FullLayer, Layer, LohaLayer, LoraLayer, LoraWeights
from models.diffusion.lora_names import with_text_model
from services.domain.errors import ContentRejected, InvalidRequest

if TYPE_CHECKING:
    from torch import Tensor

_EXACT_SIDE: Final = 1024  # smaller matrices are decomposed whole; larger ones by a randomised method
_OVERSAMPLED: Final = 16
_SAME: Final = 1e-7  # of the weight's norm: a layer that training has not touched, or that only rounding changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """A LoRA of smaller rank.

    Attributes:
        kept: How much of the squared norm of all offsets together it keeps, 0 to 1.
        layers_kept: The same of each layer.
    """

    weights: LoraWeights
    kept: float
    layers_kept: Mapping[str, float] = field(default_factory=dict)


def merge(loras: Sequence[tuple[LoraWeights, float]], *, rank: int | None = None) -> Reduced:
    """One LoRA that adds what these add together, each at its weight.

    Args:
        rank: None keeps all: ranks add up, nothing is lost. Otherwise the sum is cut to this rank.

    Raises:
        ContentRejected: ``lora_not_mergeable``: a layer has DoRA magnitudes, which do not add up, or is a LoKr or LoHa
            for a convolution's kernel.
        InvalidRequest: No LoRA, or a rank below 1.
    """
    if not loras:
        raise InvalidRequest("There is no LoRA to merge.", param="loras")
    terms: dict[str, list[tuple[LoraLayer, float]]] = {}
    for weights, scale in loras:
        for name, layer in weights.layers.items():
            terms.setdefault(name, []).append((_low_rank(name, layer), scale))
    merged = LoraWeights(layers={name: _sum(some) for name, some in terms.items()})
    if rank is not None:
        return resize(merged, rank=rank)
    return Reduced(weights=merged, kept=1.0, layers_kept=dict.fromkeys(merged.layers, 1.0))


def resize(weights: LoraWeights, *, rank: int | None = None, energy: float | None = None) -> Reduced:
    """The LoRA at a smaller rank.

    Args:
        rank: At most this rank for each layer; None is bounded by ``energy`` alone.
        energy: The smallest rank for each layer that keeps this share of its squared norm, above 0 and at most 1.

    Raises:
        ContentRejected: ``lora_not_mergeable``, as ``merge``.
        InvalidRequest: Neither is given, or one is out of range.
    """
    if rank is None and energy is None:
        raise InvalidRequest("Give the rank, or the energy to keep.", param="rank")
    _check_rank(rank)
    if energy is not None and not 0 < energy <= 1:
        raise InvalidRequest(f"energy is above 0 and at most 1, not {energy:g}.", param="energy")
    layers: dict[str, Layer] = {}
    kept: dict[str, tuple[float, float]] = {}
    for name, layer in weights.layers.items():
        low = _low_rank(name, layer)
        down, up = low.matrices()
        left, values, right = _product_svd(up, down * low.scale)
        layers[name], kept[name] = _cut(left, values, right, low, rank, energy)
    return _reduced(replace(weights, layers=layers), kept)


def extract(base: Mapping[str, Tensor], tuned: Mapping[str, Tensor], *, rank: int) -> Reduced:
    """The LoRA whose offsets come nearest to ``tuned`` minus ``base``.

    Args:
        base, tuned: Weights by layer name (``unet.mid_block.attentions.0.proj_in``), as ``layer_weights`` reads them.

    Raises:
        InvalidRequest: ``rank`` is below 1, or the two have no layer in common.
        ContentRejected: ``lora_wrong_base``: a layer has two sizes. ``lora_not_mergeable``: they do not differ.
    """
    _check_rank(rank)
    common = [name for name in base if name in tuned]
    if not common:
        raise InvalidRequest("The two checkpoints have no layer in common.", param="tuned")
    layers: dict[str, Layer] = {}
    kept: dict[str, tuple[float, float]] = {}
    for name in common:
        before, after = base[name].float(), tuned[name].float()
        if before.shape != after.shape:
            raise ContentRejected(
                f"{name} is {tuple(before.shape)} in the one checkpoint and {tuple(after.shape)} in the other.",
                code="lora_wrong_base",
            )
        difference = (after - before).flatten(1)
        if float(difference.norm()) <= _SAME * float(before.norm()):
            continue
        left, values, right = _svd(difference, rank)
        shape = LoraLayer(down=before[:1], up=before[:, :1], alpha=1.0)
        layers[name], (part, _) = _cut(left, values, right, shape, rank, None)
        kept[name] = part, float(difference.square().sum())
    if not layers:
        raise ContentRejected(
            "The two checkpoints do not differ; there is nothing to extract.", code="lora_not_mergeable"
        )
    return _reduced(LoraWeights(layers=layers), kept)


def layer_weights(checkpoint: Checkpoint, components: Sequence[str] | None = None) -> LayerWeights:
    """The weights of a checkpoint's linear and convolution layers, each read when it is asked for.

    Args:
        components: None takes the denoiser and every text encoder.
    """
    folder = checkpoint.folder()
    chosen = components or [
        path.name
        for path in sorted(folder.iterdir())
        if path.name == checkpoint.family.component or path.name.startswith("text_encoder")
    ]
    return LayerWeights([folder / component for component in chosen])


class LayerWeights(Mapping[str, "Tensor"]):
    """Weights of matrices and kernels in folders of safetensors files, by layer name; nothing is held."""

    def __init__(self, folders: Sequence[Path]) -> None:
        from safetensors import safe_open

        self._where: dict[str, tuple[Path, str]] = {}
        for folder in folders:
            for path in sorted(folder.glob("*.safetensors")):
                with safe_open(path, framework="pt") as file:
                    for key in file.keys():  # noqa: SIM118  not a mapping
                        is_layer = key.endswith(".weight") and len(file.get_slice(key).get_shape()) in (2, 4)
                        if is_layer and "embedding.weight" not in key and "shared.weight" not in key:
                            name = with_text_model(f"{folder.name}.{key.removesuffix('.weight')}")
                            self._where[name] = path, key

    def __getitem__(self, name: str) -> Tensor:
        from safetensors import safe_open

        path, key = self._where[name]
        with safe_open(path, framework="pt") as file:
            found: Tensor = file.get_tensor(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


def _check_rank(rank: int | None) -> None:
    if rank is not None and rank < 1:
        raise InvalidRequest(f"A rank is at least 1, not {rank}.", param="rank")


def _low_rank(name: str, layer: Layer) -> LoraLayer:
    """The layer as a low-rank product; others than LoRA and LoCon become one of their whole rank."""
    if layer.dora_scale is not None:
        raise _not_mergeable(name, "has DoRA magnitudes, which do not add up")
    if isinstance(layer, LoraLayer):
        return layer
    if isinstance(layer, FullLayer):
        shape = tuple(layer.diff.shape)
    elif isinstance(layer, LohaLayer) and layer.t1 is None:
        shape = (int(layer.w1_a.shape[0]), layer.num_inputs)
    else:
        shape = (layer.num_rows, layer.num_inputs) if not isinstance(layer, LohaLayer) else ()
    kernel = "conv" in name.rsplit(".", 1)[-1]
    if not shape or (kernel and not isinstance(layer, FullLayer)):
        raise _not_mergeable(name, f"is a {layer.kind} for a convolution, whose kernel its factors do not tell")
    offset = layer.offset(shape)
    left, values, right = _svd(offset.flatten(1), min(shape[0], math.prod(shape[1:])))
    down = (values[:, None] * right).reshape(len(values), *shape[1:])
    up = left.reshape(*left.shape, *[1] * (len(shape) - 2))
    return LoraLayer(down=down, up=up, alpha=float(len(values)))


def _sum(terms: Sequence[tuple[LoraLayer, float]]) -> LoraLayer:
    """Ranks one after the other; each factor above carries its own scale, so that alpha is the rank."""
    import torch

    first = terms[0][0]
    kernel = first.mid if first.mid is not None else first.down
    downs, ups = [], []
    for layer, scale in terms:
        down, up = layer.matrices()
        downs.append(down)
        ups.append(up * (layer.scale * scale))
    rank = sum(len(down) for down in downs)
    tail = kernel.shape[2:]
    return LoraLayer(
        down=torch.cat(downs).reshape(rank, -1, *tail),
        up=torch.cat(ups, dim=1).reshape(-1, rank, *[1] * len(tail)),
        alpha=float(rank),
    )


def _product_svd(up: Tensor, down: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition of ``up @ down`` without multiplying them out."""
    import torch

    left_basis, left_rest = torch.linalg.qr(up.double())
    right_basis, right_rest = torch.linalg.qr(down.double().T)
    left, values, right = torch.linalg.svd(left_rest @ right_rest.T, full_matrices=False)
    return left_basis @ left, values, right @ right_basis.T


def _svd(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    import torch

    if min(matrix.shape) <= _EXACT_SIDE:
        return tuple(torch.linalg.svd(matrix.double(), full_matrices=False))
    wide = min(rank + _OVERSAMPLED, *matrix.shape)
    with torch.random.fork_rng(devices=[]):  # the method draws a random start: the same for the same matrix
        torch.manual_seed(0)
        left, values, right = torch.svd_lowrank(matrix, q=wide, niter=4)
    return left.double(), values.double(), right.T.double()


def _cut(
    left: Tensor, values: Tensor, right: Tensor, like: LoraLayer, rank: int | None, energy: float | None
) -> tuple[LoraLayer, tuple[float, float]]:
    """The largest singular values as a layer of the shape and precision of ``like``, and squares kept and of all."""
    squares = values.square()
    total = float(squares.sum())
    chosen = len(values) if rank is None else min(rank, len(values))
    if energy is not None and total > 0:
        enough = int((squares.cumsum(0) < energy * total * (1 - 1e-12)).sum()) + 1
        chosen = min(chosen, enough)
    root = values[:chosen].sqrt()
    kernel = like.mid if like.mid is not None else like.down
    tail = kernel.shape[2:]
    down = (root[:, None] * right[:chosen]).reshape(chosen, -1, *tail).to(like.down.dtype)
    up = (left[:, :chosen] * root).reshape(-1, chosen, *[1] * len(tail)).to(like.up.dtype)
    layer = LoraLayer(down=down.contiguous(), up=up.contiguous(), alpha=float(chosen))
    return layer, (float(squares[:chosen].sum()), total)


def _reduced(weights: LoraWeights, kept: Mapping[str, tuple[float, float]]) -> Reduced:
    total = sum(whole for _, whole in kept.values())
    return Reduced(
        weights=weights,
        kept=sum(part for part, _ in kept.values()) / total if total else 1.0,
        layers_kept={name: part / whole if whole else 1.0 for name, (part, whole) in kept.items()},
    )


def _not_mergeable(name: str, why: str) -> ContentRejected:
    return ContentRejected(f"The layer {name} {why}.", code="lora_not_mergeable")
