"""The order of batches that a rule makes: what ``train_lora(order=...)`` and the loader ask."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from services.domain.errors import InvalidRequest
from training.data.prepared import PreparedDataset
from training.data.sampling import Bucketed, BucketSampler, require_same
from training.sifting.auto import choose_for
from training.sifting.loss import LossHistory
from training.sifting.relevance import StaleRelevance, even_weights
from training.sifting.rules import Balanced, Everything, Rule, StaleLosses
from training.sifting.selection import chances

Gather = Callable[[Any], list[Any]]
_REMEMBERED: Final = 256  # batches drawn that may be asked for again, as to name them in an error


class StaleOrder:
    """Batches drawn by stale losses; a step's batch follows from the seed, its number and what was recorded before.

    In each step all ranks draw from one bucket, disjoint parts of one draw without repeats; where the bucket holds
    fewer than all ranks need, it is filled up from its beginning.

    Args:
        gather: Gives every rank's value, in the order of ranks; each rank calls it once a ``record``.
    """

    def __init__(
        self,
        dataset: Bucketed,
        batch_size: int,
        *,
        rule: StaleLosses,
        seed: int = 0,
        rank: int = 0,
        num_ranks: int = 1,
        gather: Gather = lambda value: [value],
    ) -> None:
        if batch_size < 1 or len(dataset) == 0 or not 0 <= rank < num_ranks:
            raise InvalidRequest(
                f"An order needs samples, a batch of at least one and a rank below their number; there are "
                f"{len(dataset)} samples, a batch of {batch_size}, rank {rank} of {num_ranks}.",
                code="out_of_range",
            )
        self._rule, self._seed, self._rank, self._num_ranks = rule, seed, rank, num_ranks
        self._together, self._gather = batch_size * num_ranks, gather
        found: dict[Any, list[int]] = defaultdict(list)
        for index, sample in enumerate(dataset.samples):
            found[sample.bucket].append(index)
        self._buckets = [np.array(found[bucket], np.int64) for bucket in sorted(found)]
        self._identity = {"seed": seed, "batch_size": batch_size, "num_ranks": num_ranks, "dataset": dataset.digest}
        self._length = math.ceil(len(dataset) / self._together)
        self._history = LossHistory(rule.history_length, num_bins=rule.num_bins, num_timesteps=rule.num_timesteps)
        self._relevance = StaleRelevance(len(dataset))
        self._drawn: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return self._length

    def batch(self, step: int) -> list[int]:
        """This rank's indices of ``step``; asked again for one of the last steps, the same."""
        if step not in self._drawn:
            self._drawn[step] = self._draw(step)
            self._drawn.pop(step - _REMEMBERED, None)
        return self._drawn[step]

    def record(self, indices: Sequence[int], timesteps: Sequence[float] | None, losses: Sequence[float]) -> None:
        """What this rank's batch lost."""
        times = None if timesteps is None else [float(value) for value in timesteps]
        for seen, at, lost in self._gather(([int(i) for i in indices], times, [float(value) for value in losses])):
            self._relevance.see(seen, self._history.percentiles(lost, at))
            self._history.add(lost, at)

    def state_dict(self) -> dict[str, Any]:
        return {**self._identity, "history": self._history.state_dict(), "relevance": self._relevance.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken.

        Raises:
            InvalidRequest: ``dataset_changed`` when it belongs to another dataset, seed, batch size or number of ranks.
        """
        require_same(self._identity, state, what="selection")
        self._history.load_state_dict(state["history"])
        self._relevance.load_state_dict(state["relevance"])
        self._drawn.clear()

    def _draw(self, step: int) -> list[int]:
        generator = np.random.Generator(np.random.Philox(key=[self._seed & (2**64 - 1), step]))
        rule = self._rule
        chance = chances(
            self._relevance.places, exponent=rule.exponent, exploration=rule.exploration, ceiling=rule.ceiling
        )
        shares = np.array([chance[bucket].sum() for bucket in self._buckets])
        bucket = self._buckets[int(generator.choice(len(shares), p=shares / shares.sum()))]
        within = chance[bucket] / chance[bucket].sum()
        drawn = generator.choice(bucket, min(self._together, len(bucket)), replace=False, p=within)
        return [int(index) for index in np.resize(drawn, self._together)[self._rank :: self._num_ranks]]


def order_by(
    rule: Rule,
    dataset: Bucketed,
    batch_size: int,
    *,
    seed: int = 0,
    rank: int = 0,
    num_ranks: int = 1,
    gather: Gather = lambda value: [value],
) -> StaleOrder | BucketSampler:
    """The order of batches by ``rule``; for SageMaker's rule that of the candidates, of which the loader keeps some."""
    if isinstance(rule, StaleLosses):
        return StaleOrder(dataset, batch_size, rule=rule, seed=seed, rank=rank, num_ranks=num_ranks, gather=gather)
    weights = even_weights(rule.groups) if isinstance(rule, Balanced) else None
    return BucketSampler(dataset, batch_size, seed=seed, rank=rank, num_ranks=num_ranks, weights=weights)


def sifted(
    batch_size: int, *, rule: Rule | None = None, seed: int = 0, tell: Callable[[str], None] = lambda _reason: None
) -> Callable[[PreparedDataset], StaleOrder | BucketSampler]:
    """For ``train_lora(order=sifted(batch_size))``: by ``rule``, or by what the dataset has.

    Args:
        tell: Called with the reason, a sentence, when the rule was picked.

    Raises:
        InvalidRequest: ``bad_training_settings`` for SageMaker's rule, which needs the loader.
    """
    if rule is not None and not isinstance(rule, Everything | Balanced | StaleLosses):
        raise InvalidRequest(
            "SageMaker's rule scores batches before a step; use SiftedDataLoader.", code="bad_training_settings"
        )

    def made(dataset: PreparedDataset) -> StaleOrder | BucketSampler:
        if rule is not None:
            return order_by(rule, dataset, batch_size, seed=seed)
        choice = choose_for(dataset)
        tell(choice.reason)
        return order_by(choice.rule, dataset, batch_size, seed=seed)

    return made
