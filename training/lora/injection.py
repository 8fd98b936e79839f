"""A LoRA put into a denoiser by peft: which layers, of which rank, and with which scale."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import torch
from peft import LoKrConfig, LoraConfig, inject_adapter_in_model
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

from services.domain.errors import InvalidRequest
from training.bases import TrainableBase
from training.lora.config import LoraTraining

ADAPTER: Final = "trained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """What is trained: parameters by peft's name in the denoiser, and each layer's rank."""

    parameters: Mapping[str, nn.Parameter]
    ranks: Mapping[str, int]


def inject(base: TrainableBase, config: LoraTraining) -> Injected:
    """Put a new LoRA in, which changes nothing yet; its parameters are float32, all else stays frozen.

    What peft left there before, also the shells of deleted adapters, is taken out first.

    Random numbers are torch's global ones.

    Raises:
        InvalidRequest: ``lora_target_unknown``: a target or a block's pattern that fits no layer;
            ``bad_training_settings``: DoRA with Kronecker products.
    """
    network, denoiser = config.network, base.denoiser
    if network.dora and network.kind == "lokr":
        raise InvalidRequest("DoRA goes with lora and locon, not with lokr.", code="bad_training_settings")
    remove(base)
    targets = network.targets or base.default_targets(config.preset)
    layers = _targeted(denoiser, targets, convolutions=network.kind != "lora", every=bool(network.targets))
    ranks, alphas = _ranks(layers, network)
    inject_adapter_in_model(_peft_config(network, ranks, alphas), denoiser, ADAPTER)
    parameters = {}
    for name, parameter in denoiser.named_parameters():
        trained = f".{ADAPTER}" in name
        parameter.requires_grad_(trained)
        if trained:
            parameter.data = parameter.data.float()
            parameters[name] = parameter
    return Injected(parameters=parameters, ranks=ranks)


def remove(base: TrainableBase) -> None:
    """Take the LoRA out again: the denoiser is what it was, to the bit."""
    for name, layer in list(base.denoiser.named_modules()):
        if isinstance(layer, BaseTunerLayer):
            parent, _, child = name.rpartition(".")
            holder = base.denoiser.get_submodule(parent)
            setattr(holder, child, layer.get_base_layer())
    if hasattr(base.denoiser, "peft_config"):
        del base.denoiser.peft_config


@contextmanager
def at_scale(denoiser: nn.Module, scale: float) -> Iterator[None]:
    """The denoiser with its LoRA at this scale for as long as it lasts; 0 is the base to the bit, DoRA or not."""
    layers = [layer for layer in denoiser.modules() if isinstance(layer, BaseTunerLayer)]
    for layer in layers:
        if scale == 0:
            layer.enable_adapters(False)
        else:
            layer.set_scale(ADAPTER, scale)
    try:
        yield
    finally:
        for layer in layers:
            if scale == 0:
                layer.enable_adapters(True)
            else:
                layer.set_scale(ADAPTER, 1.0)


def _targeted(denoiser: nn.Module, targets: Sequence[str], *, convolutions: bool, every: bool) -> list[str]:
    """Names of the layers that end as a target does.

    Args:
        every: Whether each target must fit a layer; of a base's own list, those that this network lacks are left out.
    """
    possible = {name: module for name, module in denoiser.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)}
    found: dict[str, None] = {}
    for target in targets:
        fitting = [name for name in possible if name == target or name.endswith(f".{target}")]
        if not fitting and every:
            raise _unknown("target", target, sorted({name.rsplit(".", 1)[-1] for name in possible} | set(possible)))
        found |= dict.fromkeys(fitting)
    chosen = [name for name in possible if name in found and (convolutions or not _spatial(possible[name]))]
    if not chosen:
        raise _unknown("target", ", ".join(targets), sorted(possible))
    return chosen


def _spatial(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d) and module.kernel_size != (1, 1)


def _ranks(layers: Sequence[str], network: LoraTraining.Network) -> tuple[dict[str, int], dict[str, float]]:
    """Each layer's rank and alpha; layers of rank 0 are left out."""
    for block in network.blocks:
        if not any(fnmatchcase(name, block.modules) for name in layers):
            parts = {f"{'.'.join(name.split('.')[:depth])}.*" for name in layers for depth in (1, 2, 3)}
            raise _unknown("block", block.modules, sorted(parts))
    ratio = 1.0 if network.alpha is None else network.alpha / network.rank
    ranks, alphas = {}, {}
    for name in layers:
        own = next((block for block in network.blocks if fnmatchcase(name, block.modules)), None)
        rank = network.rank if own is None else own.rank
        if rank:
            alpha = None if own is None else own.alpha
            ranks[name] = rank
            alphas[name] = rank * ratio if alpha is None else alpha
    if not ranks:
        raise InvalidRequest("The blocks leave no layer to train.", code="lora_target_unknown", param="network.blocks")
    return ranks, alphas


def _peft_config(network: LoraTraining.Network, ranks: Mapping[str, int], alphas: Mapping[str, float]) -> Any:
    exact = {name: re.escape(name) for name in ranks}
    alpha = float(network.rank if network.alpha is None else network.alpha)
    patterns = {
        # A pattern, since peft takes names of a list for ends of names.
        "target_modules": "|".join(exact.values()),
        "rank_pattern": {exact[name]: rank for name, rank in ranks.items() if rank != network.rank},
        "alpha_pattern": {exact[name]: value for name, value in alphas.items() if value != alpha},
    }
    if network.kind == "lokr":
        return LoKrConfig(r=network.rank, alpha=alpha, rank_dropout=network.dropout, **patterns)
    return LoraConfig(r=network.rank, lora_alpha=alpha, lora_dropout=network.dropout, use_dora=network.dora, **patterns)


def _unknown(what: str, name: str, known: Sequence[str]) -> InvalidRequest:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    nearest = f"; nearest: {close[0]}" if close else f"; there is, for one, {known[0]}" if known else ""
    return InvalidRequest(
        f"The {what} {name!r} fits no layer of this base{nearest}.",
        code="lora_target_unknown",
        param=f"network.{what}s",
    )


def num_parameters(injected: Injected) -> int:
    """How many numbers are trained."""
    return sum(one.numel() for one in injected.parameters.values())


def load_weights(injected: Injected, weights: Mapping[str, torch.Tensor]) -> None:
    """Put a checkpoint's weights in.

    Raises:
        ValueError: They are of other layers.
    """
    if weights.keys() != injected.parameters.keys():
        raise ValueError("the weights belong to other layers")
    with torch.no_grad():
        for name, parameter in injected.parameters.items():
            parameter.copy_(weights[name])
