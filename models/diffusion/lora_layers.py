"""What a LoRA adds to one layer: factors whose product, times alpha over rank, is the offset to the layer's weight.

Shapes in comments: O and I channels out and in, R rank, K a kernel's side; of a Kronecker product O = P*Q, I = M*N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from torch import Tensor


class LayerKind(StrEnum):
    """The algorithm that a layer was trained with, by the names of LyCORIS."""

    LORA = "lora"
    LOCON = "locon"
    LOHA = "loha"
    LOKR = "lokr"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Scaled:
    """What all kinds share.

    Attributes:
        alpha: As the file or the trainer has it; what multiplies the factors' product is ``alpha / rank``.
        dora_scale: The magnitude of each row of the weight, (O, 1[, 1, 1]) or (O,), or by the older convention of each
            column, (1, I[, 1, 1]); None without DoRA (Liu et al. 2024, section 4).
    """

    TENSORS: ClassVar[tuple[str, ...]] = ()

    alpha: float
    dora_scale: Tensor | None = None

    @property
    def rank(self) -> int:
        raise NotImplementedError

    @property
    def kind(self) -> LayerKind:
        raise NotImplementedError

    @property
    def num_inputs(self) -> int:
        """Channels in; of convolutions in forms that flatten them, times the kernel's area."""
        raise NotImplementedError

    @property
    def scale(self) -> float:
        return self.alpha / self.rank

    def tensors(self) -> dict[str, Tensor]:
        """The factors by their field's name; those that are there."""
        return {name: value for name in self.TENSORS if (value := getattr(self, name)) is not None}

    @property
    def size_bytes(self) -> int:
        own = [*self.tensors().values(), *([] if self.dora_scale is None else [self.dora_scale])]
        return sum(one.numel() * one.element_size() for one in own)

    def to(self, *args: Any, **options: Any) -> Self:
        """The layer with its tensors on another device or in another dtype, as ``torch.Tensor.to``."""
        names = [one.name for one in fields(self)]
        moved = {name: getattr(self, name).to(*args, **options) for name in names if hasattr(getattr(self, name), "to")}
        return replace(self, **moved)

    def product(self, shape: tuple[int, ...]) -> Tensor:
        """The factors' product, unscaled, float32, reshaped to the base weight's ``shape``.

        Raises:
            ValueError: It has another number of elements.
        """
        raise NotImplementedError

    def offset(self, shape: tuple[int, ...]) -> Tensor:
        """What is added to a weight of this ``shape`` at scale 1, float32. Without DoRA's magnitudes.

        Raises:
            ValueError: The product has another number of elements.
        """
        return self.product(shape).mul_(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoraLayer(_Scaled):
    """A low-rank product; for convolutions LoCon.

    Attributes:
        down: (R, I) or (R, I, K, K).
        up: (O, R) or (O, R, 1, 1).
        mid: (R, R, K, K) where the convolution's kernel is a third factor (LyCORIS' Tucker form); ``down`` is then
            (R, I, 1, 1).
    """

    TENSORS: ClassVar[tuple[str, ...]] = ("down", "up", "mid")

    down: Tensor
    up: Tensor
    mid: Tensor | None = None

    @property
    def num_inputs(self) -> int:
        return int(self.down.shape[1])

    @property
    def rank(self) -> int:
        return int(self.down.shape[0])

    @property
    def kind(self) -> LayerKind:
        return LayerKind.LOCON if self.down.ndim > 2 else LayerKind.LORA

    def matrices(self) -> tuple[Tensor, Tensor]:
        """Down (R, I*K*K) and up (O, R), float32, whose product is the weight's offset, flat and unscaled."""
        up = self.up.flatten(1).float()
        if self.mid is None:
            return self.down.flatten(1).float(), up
        import torch

        folded = torch.einsum("rskl,si->rikl", self.mid.float(), self.down.flatten(1).float())
        return folded.flatten(1), up

    def product(self, shape: tuple[int, ...]) -> Tensor:
        down, up = self.matrices()
        return (up @ down).reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LohaLayer(_Scaled):
    """The elementwise product of two low-rank products (FedPara, Hyeon-Woo et al. 2022)."""

    TENSORS: ClassVar[tuple[str, ...]] = ("w1_a", "w1_b", "w2_a", "w2_b", "t1", "t2")

    w1_a: Tensor
    w1_b: Tensor
    w2_a: Tensor
    w2_b: Tensor
    t1: Tensor | None = None
    t2: Tensor | None = None

    @property
    def num_inputs(self) -> int:
        return int(self.w1_b.shape[1])

    @property
    def rank(self) -> int:
        return int(self.w1_b.shape[0])

    @property
    def kind(self) -> LayerKind:
        return LayerKind.LOHA

    def product(self, shape: tuple[int, ...]) -> Tensor:
        first, second = _joined(self.w1_a, self.w1_b, self.t1), _joined(self.w2_a, self.w2_b, self.t2)
        return (first * second).reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LokrLayer(_Scaled):
    """A Kronecker product; each side is a matrix or itself of low rank (``_a`` times ``_b``).

    Where both are whole matrices there is no rank, and the scale is 1 whatever alpha says (as LyCORIS has it).
    """

    TENSORS: ClassVar[tuple[str, ...]] = ("w1", "w1_a", "w1_b", "w2", "w2_a", "w2_b", "t2")

    w1: Tensor | None = None
    w1_a: Tensor | None = None
    w1_b: Tensor | None = None
    w2: Tensor | None = None
    w2_a: Tensor | None = None
    w2_b: Tensor | None = None
    t2: Tensor | None = None

    @property
    def num_inputs(self) -> int:
        sides = (_side(self.w1, self.w1_a, self.w1_b, None), _side(self.w2, self.w2_a, self.w2_b, self.t2))
        return int(sides[0].shape[1] * sides[1].shape[1])

    @property
    def rank(self) -> int:
        narrow = self.w2_b if self.w2_b is not None else self.w1_b
        return int(narrow.shape[0]) if narrow is not None else 1

    @property
    def scale(self) -> float:
        return 1.0 if self.w1 is not None and self.w2 is not None else self.alpha / self.rank

    @property
    def kind(self) -> LayerKind:
        return LayerKind.LOKR

    @property
    def num_rows(self) -> int:
        """Channels out."""
        sides = (_side(self.w1, self.w1_a, self.w1_b, None), _side(self.w2, self.w2_a, self.w2_b, self.t2))
        return int(sides[0].shape[0] * sides[1].shape[0])

    def product(self, shape: tuple[int, ...]) -> Tensor:
        import torch

        left = _side(self.w1, self.w1_a, self.w1_b, None).flatten(1)  # (P, M)
        right = _side(self.w2, self.w2_a, self.w2_b, self.t2).flatten(1)  # (Q, N*K*K)
        return torch.kron(left, right).reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FullLayer(_Scaled):
    """The offset itself, (O, I[, K, K]); its alpha is its rank."""

    TENSORS: ClassVar[tuple[str, ...]] = ("diff",)

    diff: Tensor

    @property
    def num_inputs(self) -> int:
        return int(self.diff.shape[1])

    @property
    def rank(self) -> int:
        return int(min(self.diff.shape[0], math.prod(self.diff.shape[1:])))

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def kind(self) -> LayerKind:
        return LayerKind.FULL

    def product(self, shape: tuple[int, ...]) -> Tensor:
        return self.diff.float().reshape(shape).clone()


Layer = LoraLayer | LohaLayer | LokrLayer | FullLayer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoraWeights:
    """A LoRA's layers.

    Attributes:
        layers: By diffusers' name with its component, ``unet.mid_block.attentions.0.proj_in``.
        metadata: The file's own (``ss_…``), without what only says how its tensors are to be read.
        skipped: Keys of the file that belong to no layer that is known here.
    """

    layers: Mapping[str, Layer]
    metadata: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def components(self) -> frozenset[str]:
        return frozenset(name.split(".", 1)[0] for name in self.layers)

    @property
    def size_bytes(self) -> int:
        return sum(layer.size_bytes for layer in self.layers.values())

    @property
    def max_rank(self) -> int:
        return max((layer.rank for layer in self.layers.values()), default=0)


def weight_with(weight: Tensor, added: Iterable[tuple[Layer, float]]) -> Tensor:
    """The base ``weight`` with each layer's offset at its scale; float32, a new tensor.

    With DoRA, a layer's weight is the sum's direction at the trained magnitude; a scale between 0 and 1 lies on the
    straight line from the base to it, so that 0 is the base exactly.
    """
    base = weight.float()
    whole = base.clone()
    for layer, scale in added:
        if scale == 0:
            continue
        offset = layer.offset(tuple(base.shape))
        if layer.dora_scale is not None:
            offset = _at_magnitude(base + offset, layer.dora_scale.float()) - base
        whole.add_(offset, alpha=scale)
    return whole


def _at_magnitude(weight: Tensor, magnitude: Tensor) -> Tensor:
    """The weight with its rows, or by the older convention its columns, at these norms."""
    import torch

    by_column = magnitude.ndim > 1 and magnitude.shape[0] == 1 and magnitude.shape[1] == weight.shape[1] > 1
    kept = 1 if by_column else 0
    norms = torch.linalg.vector_norm(
        weight, dim=tuple(axis for axis in range(weight.ndim) if axis != kept), keepdim=True
    )
    return weight * (magnitude.reshape(norms.shape) / norms.clamp_min(torch.finfo(norms.dtype).tiny))


def _joined(first: Tensor, second: Tensor, core: Tensor | None) -> Tensor:
    """``first @ second``, or the Tucker product with a kernel's core."""
    import torch

    if core is None:
        return first.float() @ second.float()
    return torch.einsum("ijkl,ip,jr->prkl", core.float(), first.float(), second.float())


def _side(whole: Tensor | None, first: Tensor | None, second: Tensor | None, core: Tensor | None) -> Tensor:
    if whole is not None:
        return whole.float()
    if first is None or second is None:
        raise ValueError("a side of the Kronecker product is missing")
    return _joined(first, second, core)
