"""The rules by name, with their settings and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.domain.errors import InvalidRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """Every sample once an epoch."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Balanced:
    """Every group is drawn as often as any other.

    A wrongly labelled picture that is alone in its group is drawn more often too: as often as any group.

    Attributes:
        groups: Number of each sample's group, shape (num_samples,).
    """

    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleLosses:
    """Drawn by where a sample's loss stood when it was last trained on; no extra forward pass.

    Attributes:
        exponent: Chance goes with percentile^exponent.
        exploration: Share of draws that is spread evenly.
        history_length: Losses that a loss is compared with, those of its bin of timesteps.
        num_timesteps: Timesteps lie in [0, num_timesteps).
        ceiling: No sample is drawn more than this many times as often as evenly.
    """

    exponent: float = 2.0
    exploration: float = 0.1
    history_length: int = 400
    num_bins: int = 10
    num_timesteps: float = 1000
    ceiling: float = 4.0

    def __post_init__(self) -> None:
        if self.exponent < 0 or not 0 < self.exploration <= 1 or self.ceiling <= 1:
            raise InvalidRequest(
                "Stale losses need an exponent of at least 0, exploration in (0, 1] and a ceiling above 1.",
                code="out_of_range",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeLosses:
    """SageMaker's rule: a forward pass over every sample, then a step on those kept by percentile^beta.

    Attributes:
        beta: Of evenly spread percentiles 1 / (1 + beta) is kept.
        loss_history_length: Losses that a loss is compared with.
        delay: Batches at first of which all is kept.
    """

    beta: float = 1.0
    loss_history_length: int = 500
    delay: int = 10

    def __post_init__(self) -> None:
        if self.beta < 0 or self.loss_history_length < 1 or self.delay < 0:
            raise InvalidRequest(
                "SageMaker's rule needs beta and delay of at least 0 and a history.", code="out_of_range"
            )

    def time_per_sample(self, *, backward_to_forward: float = 2.0) -> float:
        """Time for each sample looked at, plain training being 1: [F + (F + B) / (1 + beta)] / (F + B).

        Args:
            backward_to_forward: B / F; about 1 with a frozen base (LoRA), about 2 otherwise.
        """
        return 1 / (1 + backward_to_forward) + 1 / (1 + self.beta)


Rule = Everything | Balanced | StaleLosses | RelativeLosses
