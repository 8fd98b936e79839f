"""Where to start from: how a brand draws, what an industry's things look like, one person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from models.diffusion.checkpoints import Family
from training.bases import Preset
from training.lora.config import LoraTraining


def style(family: Family | None = None) -> LoraTraining:
    """A way of drawing from some dozens of pictures: convolutions too, since they make lines and textures."""
    if family is Family.DRAWN64:
        return _drawn64_style()
    return LoraTraining(
        preset="style",
        num_steps=1000,
        network=LoraTraining.Network(kind="locon", rank=16, alpha=16),
        optimizer=LoraTraining.Optimizer(learning_rate=2e-4, schedule="cosine", num_warmup_steps=50),
        loss=LoraTraining.Loss(min_snr_gamma=5.0, caption_dropout=0.05),
        ema_decay=0.99,
    )


def industry(_family: Family | None = None) -> LoraTraining:
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


def character(_family: Family | None = None) -> LoraTraining:
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


def _drawn64_style() -> LoraTraining:
    """The same on 4.7 million parameters and one processor: a minute.

    Weighing a timestep by what is left of the picture (min-SNR with a gamma that hardly bounds it) leaves composition
    to the base, whose captions then still hold; layers that read captions are left alone for the same reason.
    """
    return LoraTraining(
        preset="style",
        num_steps=260,
        batch_size=16,
        ema_decay=0.97,
        network=LoraTraining.Network(
            kind="locon",
            rank=8,
            alpha=8,
            blocks=(
                LoraTraining.Block(modules="*.attn2.*", rank=0),
                LoraTraining.Block(modules="conv_in", rank=24),
                LoraTraining.Block(modules="conv_out", rank=24),
            ),
        ),
        optimizer=LoraTraining.Optimizer(
            learning_rate=3.5e-3, weight_decay=1.5, schedule="cosine", num_warmup_steps=10
        ),
        loss=LoraTraining.Loss(min_snr_gamma=100.0, caption_dropout=0.1),
        samples=LoraTraining.Samples(guidance_scale=2.0, every_steps=0),
        checkpoints=LoraTraining.Checkpoints(every_steps=50),
    )


PRESETS: Final[Mapping[Preset, Callable[..., LoraTraining]]] = MappingProxyType(
    {"style": style, "industry": industry, "character": character}
)
