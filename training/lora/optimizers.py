"""The optimiser that a run names, where it is installed, and the schedule of its learning rate."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from diffusers.optimization import get_scheduler

from services.domain.errors import Unavailable
from training.lora.config import LoraTraining
from training.lora.injection import Injected

_PACKAGES = {"adamw8bit": "bitsandbytes", "prodigy": "prodigyopt"}


def new_optimizer(injected: Injected, settings: LoraTraining.Optimizer) -> Any:
    """A torch optimiser over the LoRA's parameters; ``up`` has a group of its own where it learns faster.

    Raises:
        Unavailable: ``optimizer_not_installed``.
    """
    rate = settings.learning_rate
    groups: list[dict[str, Any]] = [{"params": list(injected.parameters.values()), "lr": rate}]
    if settings.up_factor != 1:
        up = [one for name, one in injected.parameters.items() if ".lora_B." in name]
        rest = [one for name, one in injected.parameters.items() if ".lora_B." not in name]
        groups = [{"params": rest, "lr": rate}, {"params": up, "lr": rate * settings.up_factor}]
    options = {"betas": (settings.beta1, settings.beta2), "weight_decay": settings.weight_decay}
    if settings.name == "adamw":
        on_gpu = next(iter(injected.parameters.values())).is_cuda
        return torch.optim.AdamW(groups, lr=rate, foreach=None if on_gpu else True, **options)
    package = _PACKAGES[settings.name]
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise Unavailable(
            f"The optimiser {settings.name} needs the package {package}: pip install {package}.",
            code="optimizer_not_installed",
            param="optimizer.name",
            retryable=False,
        ) from error
    if settings.name == "adamw8bit":
        return module.optim.AdamW8bit(groups, lr=rate, **options)
    return module.Prodigy(groups, lr=rate, safeguard_warmup=settings.num_warmup_steps > 0, **options)


def new_schedule(optimizer: Any, config: LoraTraining) -> Any:
    """The learning rate over the run's steps, as diffusers' examples have it."""
    return get_scheduler(
        config.optimizer.schedule,
        optimizer=optimizer,
        num_warmup_steps=config.optimizer.num_warmup_steps,
        num_training_steps=config.num_steps,
    )
