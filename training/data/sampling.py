"""Which pictures make which batch: one size a batch, the same order for the same seed, anywhere in it again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from services.domain.errors import InvalidRequest
from training.data.prepared import PreparedDataset

_DRY_RUN_SHARE: Final = 0.01
_MIN_DRY_RUN: Final = 8  # pictures: fewer would not fill a batch


class _InBucket(Protocol):
    @property
    def bucket(self) -> Any: ...


class Bucketed(Protocol):
    """What a sampler must know of a dataset; a prepared one is such."""

    @property
    def samples(self) -> Sequence[_InBucket]: ...
    @property
    def digest(self) -> str: ...
    def __len__(self) -> int: ...


class BucketSampler:
    """Batches of indices; a PyTorch ``batch_sampler``, endless: epoch follows epoch.

    Order depends on seed and epoch alone, never on what was drawn before, so ``batch(step)`` is the same in a resumed
    run, in a worker and on another machine. Without weights every
    epoch holds every picture at least once. In each step all ranks have
    a batch of the same bucket and of full size: no rank waits for one with larger pictures, none runs out. A bucket's
    last batch is filled up from its beginning.

    Args:
        seed: Fixes every order.
        num_ranks: Processes that train together; each sees its part of every step.
        weights: How often a picture is drawn, relative to the others, shape (num_pictures,); None draws each once an
            epoch. With weights an epoch is as many draws, systematic within each bucket.

    Raises:
        InvalidRequest: ``out_of_range`` for a batch size below 1, an empty dataset, a rank beyond their number, weights
            that are no weights.
    """

    def __init__(
        self,
        dataset: Bucketed,
        batch_size: int,
        *,
        seed: int = 0,
        rank: int = 0,
        num_ranks: int = 1,
        weights: Sequence[float] | NDArray[np.floating[Any]] | None = None,
    ) -> None:
        if batch_size < 1 or len(dataset) == 0 or not 0 <= rank < num_ranks:
            raise InvalidRequest(
                f"A sampler needs pictures, a batch of at least one and a rank below their number; there are "
                f"{len(dataset)} pictures, a batch of {batch_size}, rank {rank} of {num_ranks}.",
                code="out_of_range",
            )
        self.batch_size = batch_size
        self._seed, self._rank, self._num_ranks = seed, rank, num_ranks
        self._weights = None if weights is None else _checked(weights, len(dataset))
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index, sample in enumerate(dataset.samples):
            found[sample.bucket].append(index)
        self._buckets = [np.array(found[bucket], np.int64) for bucket in sorted(found)]
        self._draws = [self._num_draws(bucket) for bucket in self._buckets]
        self._identity = {"seed": seed, "batch_size": batch_size, "num_ranks": num_ranks, "dataset": dataset.digest}
        self._step = 0
        self._planned: tuple[int, list[NDArray[np.int64]]] | None = None

    def __len__(self) -> int:
        """Steps of an epoch, the same on every rank."""
        together = self.batch_size * self._num_ranks
        return sum(math.ceil(draws / together) for draws in self._draws)

    def __iter__(self) -> Iterator[list[int]]:
        """Batches from the present step on, without end.

        A loader that fetches ahead draws more than is trained on: save ``state_dict(step=...)`` of what was.
        """
        while True:
            batch = self.batch(self._step)
            self._step += 1
            yield batch

    def batch(self, step: int) -> list[int]:
        """This rank's indices in ``step``, counted from 0 over all epochs."""
        epoch, place = divmod(step, len(self))
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._plan(epoch))
        together = self._planned[1][place]
        return [int(index) for index in together[self._rank :: self._num_ranks]]

    def state_dict(self, *, step: int | None = None) -> dict[str, Any]:
        """What ``load_state_dict`` needs to go on with the batch ``step`` (by default the next one)."""
        return {**self._identity, "step": self._step if step is None else step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken.

        Raises:
            InvalidRequest: ``dataset_changed`` when it belongs to another dataset, seed, batch size or number of ranks.
        """
        require_same(self._identity, state, what="data order")
        self._step = int(state["step"])

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """What all ranks draw together in each step of the epoch."""
        generator = np.random.Generator(np.random.Philox(key=[self._seed & (2**64 - 1), epoch]))
        together = self.batch_size * self._num_ranks
        steps: list[NDArray[np.int64]] = []
        for bucket, draws in zip(self._buckets, self._draws, strict=True):
            if draws == 0:
                continue
            drawn = self._drawn(bucket, draws, generator)
            filled = np.resize(drawn, math.ceil(len(drawn) / together) * together)
            steps += list(filled.reshape(-1, together))
        return [steps[index] for index in generator.permutation(len(steps))]

    def _num_draws(self, bucket: NDArray[np.int64]) -> int:
        if self._weights is None:
            return len(bucket)
        share = float(self._weights[bucket].sum() / self._weights.sum())
        return max(1, round(share * len(self._weights))) if share > 0 else 0

    def _drawn(self, bucket: NDArray[np.int64], draws: int, generator: np.random.Generator) -> NDArray[np.int64]:
        if self._weights is None:
            return generator.permutation(bucket)
        weights = self._weights[bucket]
        # Systematic draws: a picture comes floor or ceil of its expected times, never zero times by bad luck alone.
        points = (np.arange(draws) + generator.random()) / draws
        # Shuffled first, so that which neighbours round up differs from epoch to epoch.
        order = generator.permutation(len(bucket))
        edges = np.cumsum(weights[order] / weights.sum())
        chosen = np.minimum(np.searchsorted(edges, points, side="right"), len(bucket) - 1)
        return generator.permutation(bucket[order[chosen]])


def balanced_weights(dataset: PreparedDataset) -> NDArray[np.float64]:
    """Weights by which every cluster of near-duplicates is drawn as often as any other, shape (num_pictures,)."""
    clusters = dataset.clusters
    _, inverse, counts = np.unique(clusters, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[inverse], np.float64)


def dry_run_indices(
    dataset: PreparedDataset, *, share: float = _DRY_RUN_SHARE, at_least: int = _MIN_DRY_RUN, seed: int = 0
) -> list[int]:
    """The pictures of a dry run, sorted: ``share`` of all, spread over buckets as all are, over clusters first.

    Every bucket gives one as long as the number allows, so that each size is tried; of near-duplicates a second comes
    only when every cluster of the bucket has given one.
    """
    wanted = min(len(dataset), max(at_least, math.ceil(share * len(dataset))))
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 0]))
    by_bucket: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index in generator.permutation(len(dataset)):
        by_bucket[dataset.samples[index].bucket].append(int(index))
    chosen: list[int] = []
    for bucket, number in _shared_out({bucket: len(found) for bucket, found in by_bucket.items()}, wanted).items():
        seen: dict[int, int] = defaultdict(int)
        turns: list[tuple[int, int, int]] = []
        for place, index in enumerate(by_bucket[bucket]):
            cluster = dataset.samples[index].cluster
            turns.append((seen[cluster], place, index))
            seen[cluster] += 1
        chosen += [index for _, _, index in sorted(turns)[:number]]
    return sorted(chosen)


def _shared_out(counts: Mapping[tuple[int, int], int], wanted: int) -> dict[tuple[int, int], int]:
    """``wanted`` over buckets by their counts: one each while there are enough, the rest by largest remainder."""
    largest_first = sorted(counts, key=lambda bucket: (-counts[bucket], bucket))
    given = dict.fromkeys(largest_first[:wanted], 1)
    total = sum(counts[bucket] for bucket in given)
    for _ in range(wanted - len(given)):
        open_buckets = [bucket for bucket in given if given[bucket] < counts[bucket]]
        given[max(open_buckets, key=lambda bucket: (counts[bucket] * wanted / total - given[bucket], bucket))] += 1
    return given


def _checked(weights: Sequence[float] | NDArray[np.floating[Any]], number: int) -> NDArray[np.float64]:
    values = np.asarray(weights, np.float64)
    if values.shape != (number,) or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise InvalidRequest(
            f"Weights are {number} finite numbers of at least 0, not all 0; given were {values.shape}.",
            code="out_of_range",
        )
    return values


def require_same(identity: Mapping[str, Any], state: Mapping[str, Any], *, what: str) -> None:
    """Nothing, when ``state`` was saved under this identity.

    Raises:
        InvalidRequest: ``dataset_changed``, naming what is another now.
    """
    other = [name for name, value in identity.items() if state.get(name) != value]
    if other:
        raise InvalidRequest(
            f"The saved {what} cannot be gone on with: {', '.join(other)} changed since.", code="dataset_changed"
        )
