"""``SiftedDataLoader``: a DataLoader whose batches a rule selects. One line of a training loop changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import torch.distributed
from torch.utils.data import DataLoader, Dataset, default_collate

from services.domain.errors import InvalidRequest
from training.sifting.auto import choose_for
from training.sifting.loss import LossHistory
from training.sifting.order import Gather, StaleOrder, order_by
from training.sifting.rules import RelativeLosses, Rule
from training.sifting.selection import kept


class SiftedDataLoader(DataLoader[Any]):
    """Batches of a dataset with a length and items by index, as ``DataLoader`` gives them, selected by a rule.

    An epoch has ``len(loader)`` batches, on every rank as many; by SageMaker's rule at most these. What remains of an
    epoch is gone on with by the next loop over it: after ``load_state_dict``, and after a loop that was left.

    Attributes:
        rule: What selects.
        reason: Why, as a sentence.
        indices: Those of the batch that was given last.

    Args:
        rule: None picks it by the dataset's ``clusters``, ``captions`` or ``labels`` (one a sample).
        loss_of: For SageMaker's rule: losses of a batch, one a sample, without gradients.
        buckets: Samples of unlike buckets never share a batch; by default those of a prepared dataset, else one.
        seed: Fixes every selection, with the losses recorded.
        rank: Place among the processes that train together; by default that of ``torch.distributed``, where begun.
        gather: Gives every rank's value in the order of ranks; by default over ``torch.distributed``.
        options: Of ``DataLoader``: ``num_workers``, ``collate_fn``, ``pin_memory`` ...

    Raises:
        InvalidRequest: ``bad_training_settings`` for SageMaker's rule without ``loss_of``, and for options that select
            (``shuffle``, ``sampler``, ``batch_sampler``, ``drop_last``); ``out_of_range``.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        batch_size: int = 1,
        *,
        rule: Rule | None = None,
        loss_of: Callable[[Any], Any] | None = None,
        buckets: Sequence[Hashable] | None = None,
        seed: int = 0,
        rank: int | None = None,
        num_ranks: int | None = None,
        gather: Gather | None = None,
        **options: Any,
    ) -> None:
        selecting = sorted({"shuffle", "sampler", "batch_sampler", "drop_last"} & set(options))
        if selecting or (isinstance(rule, RelativeLosses) and loss_of is None):
            raise InvalidRequest(
                f"The rule selects, so {', '.join(selecting)} cannot be given too."
                if selecting
                else "SageMaker's rule needs loss_of, the losses of a batch.",
                code="bad_training_settings",
            )
        begun = torch.distributed.is_available() and torch.distributed.is_initialized()
        if rank is None or num_ranks is None:
            rank = torch.distributed.get_rank() if begun else 0
            num_ranks = torch.distributed.get_world_size() if begun else 1
        self._gather: Gather = gather or (_gathered if num_ranks > 1 else lambda value: [value])
        if rule is None:
            choice = choose_for(dataset)
            self.rule, self.reason = choice.rule, choice.reason
        else:
            self.rule, self.reason = rule, f"The rule {type(rule).__name__} was asked for."
        self._samples = _listed(dataset, buckets)
        self._order = order_by(
            self.rule,
            self._samples,
            batch_size,
            seed=seed,
            rank=rank,
            num_ranks=num_ranks,
            gather=self._gather,
        )
        self.indices: list[int] = []
        self._step = 0
        self._drawn: deque[list[int]] = deque()
        self._seed, self._place, self._num_ranks, self._full = seed, rank, num_ranks, batch_size
        self._loss_of = loss_of
        relative = self.rule if isinstance(self.rule, RelativeLosses) else None
        self._history = LossHistory(relative.loss_history_length if relative else 1)
        self._waiting: dict[Any, list[int]] = {sample.bucket: [] for sample in self._samples.samples}
        self._items: dict[int, Any] = {}
        self._join = options.get("collate_fn") or default_collate
        if relative is not None:
            options["collate_fn"] = list
        super().__init__(dataset, batch_sampler=_Epoch(self), **options)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        return self._relative() if isinstance(self.rule, RelativeLosses) else self._plain()

    def record(self, losses: Any, timesteps: Any = None) -> None:
        """The losses of the batch that was given last, one a sample, and their timesteps. Only stale losses need it."""
        if isinstance(self._order, StaleOrder):
            self._order.record(self.indices, None if timesteps is None else _numbers(timesteps), _numbers(losses))

    def state_dict(self) -> dict[str, Any]:
        """What ``load_state_dict`` needs to go on after the batch that was given last, fetched ahead or not."""
        return {
            "order": self._order.state_dict(),
            "step": self._step,
            "drawn": [list(indices) for indices in self._drawn],
            "history": self._history.state_dict(),
            "waiting": [list(self._waiting[bucket]) for bucket in sorted(self._waiting)],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken, with the next loop over the loader.

        Raises:
            InvalidRequest: ``dataset_changed``.
        """
        self._order.load_state_dict(state["order"])
        self._step = int(state["step"])
        self._drawn = deque(list(indices) for indices in state["drawn"])
        self._history.load_state_dict(state["history"])
        self._waiting = {
            bucket: list(indices) for bucket, indices in zip(sorted(self._waiting), state["waiting"], strict=True)
        }
        self._items = {}

    def _plain(self) -> Iterator[Any]:
        for batch in super().__iter__():
            self.indices = self._drawn.popleft()
            self._step += 1
            yield batch

    def _relative(self) -> Iterator[Any]:
        """Score each batch of candidates, keep some, give full batches; what is left waits for the next epoch."""
        candidates = super().__iter__()
        while True:
            yield from self._complete()
            try:
                items = next(candidates)
            except StopIteration:
                return
            indices, step = self._drawn.popleft(), self._step
            self._step += 1
            self._keep(indices, items, step)

    def _keep(self, indices: list[int], items: list[Any], step: int) -> None:
        assert isinstance(self.rule, RelativeLosses)
        assert self._loss_of is not None  # refused when the loader was made
        with torch.no_grad():
            losses = _numbers(self._loss_of(self._join(items)))
        places = self._history.percentiles(losses)
        self._history.add(losses)
        key = [self._seed & (2**64 - 1), step * self._num_ranks + self._place]
        chosen = kept(places, self.rule.beta, np.random.Generator(np.random.Philox(key=key)))
        if step < self.rule.delay:
            chosen[:] = True
        for index, item, keep in zip(indices, items, chosen, strict=True):
            if keep:
                self._waiting[self._samples.samples[index].bucket].append(index)
                self._items[index] = item

    def _complete(self) -> Iterator[Any]:
        """Full batches, as many as every rank has: none runs ahead of the others."""
        buckets = sorted(self._waiting)
        counts = self._gather([len(self._waiting[bucket]) // self._full for bucket in buckets])
        for bucket, number in zip(buckets, np.min(counts, axis=0).tolist(), strict=True):
            for _ in range(number):
                self.indices = self._waiting[bucket][: self._full]
                del self._waiting[bucket][: self._full]
                yield self._join([self._item(index) for index in self.indices])

    def _item(self, index: int) -> Any:
        held = self._items.pop(index, None)
        return self.dataset[index] if held is None else held


class _Epoch:
    """The batch sampler of what remains of an epoch: first what was drawn and not given, then what the order draws."""

    def __init__(self, loader: SiftedDataLoader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[list[int]]:
        loader = self._loader
        end = (loader._step // len(loader) + 1) * len(loader)
        yield from list(loader._drawn)
        while (number := loader._step + len(loader._drawn)) < end:
            indices = loader._order.batch(number)
            loader._drawn.append(indices)
            yield indices


@dataclass(frozen=True, slots=True)
class _Sample:
    bucket: Any


@dataclass(frozen=True, slots=True)
class _Samples:
    """A dataset as an order sees it."""

    samples: tuple[_Sample, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.samples)


def _listed(dataset: Any, buckets: Sequence[Hashable] | None) -> _Samples:
    number = len(dataset)
    if buckets is None:
        stored = getattr(dataset, "samples", None)
        buckets = [getattr(sample, "bucket", 0) for sample in stored] if stored is not None else [0] * number
    if len(buckets) != number:
        raise InvalidRequest(f"There are {number} samples and {len(buckets)} buckets.", code="out_of_range")
    digest = getattr(dataset, "digest", None) or sha256(repr(list(buckets)).encode()).hexdigest()
    return _Samples(tuple(_Sample(bucket) for bucket in buckets), str(digest))


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]


def _gathered(value: Any) -> list[Any]:
    everyone: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(everyone, value)
    return everyone
