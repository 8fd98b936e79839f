"""Where to start from: how a brand draws, what an industry's things look like, one person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from training.bases import Preset
from training.lora.config import LoraTraining


def style() -> LoraTraining:
    """A way of drawing from some dozens of pictures: convolutions too, since they make lines and textures."""
    return LoraTraining(
        preset="style",
        num_steps=1000,
        network=LoraTraining.Network(kind="locon", rank=16, alpha=16),
        optimizer=LoraTraining.Optimizer(learning_rate=2e-4, schedule="cosine", num_warmup_steps=50),
        loss=LoraTraining.Loss(min_snr_gamma=5.0, caption_dropout=0.05),
        ema_decay=0.99,
    )


def industry() -> LoraTraining:
    """The things of a trade from hundreds to thousands of pictures: more room, slower, longer."""
    return LoraTraining(
        preset="industry",
        num_steps=4000,
        network=LoraTraining.Network(kind="lora", rank=32, alpha=32),
        optimizer=LoraTraining.Optimizer(learning_rate=1e-4, schedule="cosine", num_warmup_steps=200),
        loss=LoraTraining.Loss(min_snr_gamma=5.0, noise_offset=0.03, caption_dropout=0.1),
        validation=LoraTraining.Validation(share=0.05, every_steps=250),
        checkpoints=LoraTraining.Checkpoints(every_steps=250),
        ema_decay=0.999,
    )


def character() -> LoraTraining:
    """One person or mascot from a dozen pictures or two: little room, and what it stands before counts little.

    With class pictures (``prior``) the rest of its kind stays what it was.
    """
    return LoraTraining(
        preset="character",
        num_steps=800,
        batch_size=2,
        network=LoraTraining.Network(kind="lora", rank=8, alpha=8),
        optimizer=LoraTraining.Optimizer(learning_rate=1e-4, num_warmup_steps=40),
        loss=LoraTraining.Loss(min_snr_gamma=5.0, prior_weight=1.0, outside_mask=0.1),
        ema_decay=0.99,
    )


PRESETS: Final[Mapping[Preset, Callable[[], LoraTraining]]] = MappingProxyType(
    {"style": style, "industry": industry, "character": character}
)
