"""One stage of training: steps that a seed decides, a state on the disk, a weighted mean of the weights.

What a step draws at random depends on the seed, the stage and the step's number alone, so that a stage that goes on
after a stop ends where an uninterrupted one does, to the bit, on one machine and thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

_SAVE_EVERY: Final = 200
_TELL_EVERY: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a stage is; ``loss`` is the mean since the last word (NaN: no step since), ``cpu_s`` what the
    stage has taken, before a stop, too.
    """

    stage: str
    step: int
    num_steps: int
    loss: float
    cpu_s: float


@dataclass(slots=True, kw_only=True)
class Stage:
    """A network in training.

    Attributes:
        loss: The loss of one step; the step's own random numbers are its arguments.
        ema_decay: Of the mean of the weights, which is what the stage ends with.
    """

    name: str
    number: int
    network: nn.Module
    loss: Callable[[torch.Generator, np.random.Generator], Tensor]
    num_steps: int
    seed: int
    learning_rate: float
    ema_decay: float
    weight_decay: float = 0.0
    warm_up: int = 100
    optimiser: torch.optim.AdamW = field(init=False)
    ema: list[Tensor] = field(init=False)
    step: int = field(default=0, init=False)
    cpu_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        weights = list(self.network.parameters())
        self.optimiser = torch.optim.AdamW(
            weights, lr=self.learning_rate, betas=(0.9, 0.99), weight_decay=self.weight_decay
        )
        self.ema = [weight.detach().clone() for weight in weights]

    def run(self, folder: Path, on_progress: Callable[[Progress], None]) -> nn.Module:
        """The network with the mean of its weights, in evaluation mode; begun where ``folder`` says that it stopped."""
        where = folder / f"{self.name}.pt"
        if where.is_file():
            self._load(torch.load(where, weights_only=True))
        self.network.train()
        begun, before = time.process_time(), self.cpu_s
        losses: list[float] = []
        if self.step == self.num_steps:
            on_progress(self._progress(losses))
        while self.step < self.num_steps:
            losses.append(self._one_step())
            self.cpu_s = before + time.process_time() - begun
            last = self.step == self.num_steps
            if self.step % _TELL_EVERY == 0 or last:
                on_progress(self._progress(losses))
                losses.clear()
            if self.step % _SAVE_EVERY == 0 or last:
                self._save(where)
        with torch.no_grad():
            for weight, mean in zip(self.network.parameters(), self.ema, strict=True):
                weight.copy_(mean)
        return self.network.eval()

    def _progress(self, losses: list[float]) -> Progress:
        mean = float(np.mean(losses)) if losses else math.nan
        return Progress(stage=self.name, step=self.step, num_steps=self.num_steps, loss=mean, cpu_s=self.cpu_s)

    def _one_step(self) -> float:
        generator = torch.Generator().manual_seed(hash((self.seed, self.number, self.step)) & 0x7FFFFFFF)
        random = np.random.default_rng([self.seed, self.number, self.step])
        for group in self.optimiser.param_groups:
            group["lr"] = self.learning_rate * self._schedule()
        loss = self.loss(generator, random)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        decay = min(self.ema_decay, self.step / (self.step + 10))  # or the first weights would stay in a short run
        torch._foreach_lerp_(self.ema, [weight.detach() for weight in self.network.parameters()], 1 - decay)
        return float(loss.detach())

    def _schedule(self) -> float:
        """Linear warm-up, then half a cosine to 2 %."""
        warm_up = min(self.warm_up, max(1, self.num_steps // 10))
        if self.step < warm_up:
            return (self.step + 1) / warm_up
        done = (self.step - warm_up) / max(1, self.num_steps - warm_up)
        return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))

    def _save(self, where: Path) -> None:
        state: dict[str, Any] = {
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "ema": self.ema,
            "step": self.step,
            "cpu_s": self.cpu_s,
        }
        part = where.with_suffix(".part")
        torch.save(state, part)
        part.replace(where)

    def _load(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.ema = list(state["ema"])
        self.step, self.cpu_s = int(state["step"]), float(state["cpu_s"])
