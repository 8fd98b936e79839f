from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from services.domain.errors import InvalidRequest
from training.sifting.loader import SiftedDataLoader
from training.sifting.rules import Balanced, Everything, RelativeLosses, Rule, StaleLosses


class Numbers(Dataset[torch.Tensor]):
    """Item i is i."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(float(index))


RULES: dict[str, Callable[[], Rule]] = {
    "everything": Everything,
    "balanced": lambda: Balanced(groups=np.array([0] * 30 + list(range(1, 11)))),
    "stale": lambda: StaleLosses(num_bins=1),
    "relative": lambda: RelativeLosses(beta=1, delay=2, loss_history_length=50),
}


def _loader(rule: Rule | None, number: int = 40, **more: Any) -> SiftedDataLoader:
    return SiftedDataLoader(Numbers(number), batch_size=4, rule=rule, loss_of=lambda batch: batch, seed=7, **more)


def _go(loader: SiftedDataLoader, *, epochs: int = 1, at_most: int | None = None) -> list[list[float]]:
    """Train: each number is its own loss."""
    given: list[list[float]] = []
    for _ in range(epochs):
        for batch in loader:
            loader.record(batch)
            given.append(batch.tolist())
            if len(given) == at_most:
                return given
    return given


def test_it_is_a_dataloader_and_one_line_of_a_loop_changes() -> None:
    loader = SiftedDataLoader(Numbers(40), batch_size=4)

    assert isinstance(loader, DataLoader)
    assert [len(batch) for batch in loader] == [4] * 10 == [len(b) for b in DataLoader(Numbers(40), batch_size=4)]
    assert isinstance(loader.rule, StaleLosses)
    assert "Nothing is known" in loader.reason


def test_everything_gives_each_sample_once_an_epoch() -> None:
    given = _go(_loader(Everything()))

    assert sorted(chain.from_iterable(given)) == list(range(40))


def test_stale_losses_come_to_prefer_what_loses_most() -> None:
    loader = _loader(RULES["stale"]())
    _go(loader, epochs=10)

    later = np.concatenate(_go(loader, epochs=20))

    assert (later >= 20).mean() > 0.6


def test_sagemakers_rule_gives_full_batches_of_about_half_the_candidates() -> None:
    loader = _loader(RelativeLosses(beta=1, delay=0, loss_history_length=400), number=400)
    _go(loader)

    given = _go(loader, epochs=4)

    assert {len(batch) for batch in given} == {4}
    assert len(given) / 400 == pytest.approx(0.5, abs=0.06)
    assert np.mean(given) > 230  # of 0 to 399 kept with probability percentile: two thirds of the way up is 266


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("stop", [1, 7, 23])
def test_resumed_selection_equals_the_uninterrupted_one(name: str, stop: int) -> None:
    whole = _loader(RULES[name]())
    expected = _go(whole, epochs=6)
    stop = min(stop, len(expected) - 1)
    first, second = _loader(RULES[name]()), _loader(RULES[name]())

    given = _go(first, epochs=6, at_most=stop)
    second.load_state_dict(first.state_dict())
    while len(given) < len(expected):
        given += _go(second, at_most=len(expected) - len(given))

    assert given == expected


def test_resumed_selection_is_equal_with_workers_that_fetch_ahead() -> None:
    more: dict[str, Any] = {"num_workers": 1, "prefetch_factor": 2}
    expected = _go(_loader(RULES["stale"](), **more))
    first, second = _loader(RULES["stale"](), **more), _loader(RULES["stale"](), **more)

    given = _go(first, at_most=4)
    second.load_state_dict(first.state_dict())

    assert given + _go(second) == expected


@pytest.mark.parametrize("name", RULES)
def test_ranks_have_equal_numbers_of_batches_and_disjoint_parts(name: str) -> None:
    ranks, barrier, box = 2, Barrier(2, timeout=30), [None, None]
    given: list[list[list[float]]] = [[], []]

    def gather_as(rank: int) -> Callable[[Any], list[Any]]:
        def gather(value: Any) -> list[Any]:
            box[rank] = value
            barrier.wait()
            everyone = list(box)
            barrier.wait()
            return everyone

        return gather

    def train(rank: int) -> None:
        loader = _loader(RULES[name](), rank=rank, num_ranks=ranks, gather=gather_as(rank))
        given[rank] = _go(loader, epochs=3)

    threads = [Thread(target=train, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(given[0]) == len(given[1]) >= 3
    assert all(len(batch) == 4 for rank in given for batch in rank)
    if name in ("everything", "stale"):  # the other two give a picture twice an epoch, or in another step
        assert all(not set(left) & set(right) for left, right in zip(*given, strict=True))


@pytest.mark.parametrize("options", [{"shuffle": True}, {"drop_last": True}, {"sampler": [1, 2]}])
def test_options_that_select_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(options))) as told:
        SiftedDataLoader(Numbers(8), batch_size=2, **options)
    assert told.value.code == "bad_training_settings"


def test_sagemakers_rule_needs_the_losses_of_a_batch() -> None:
    with pytest.raises(InvalidRequest, match="loss_of"):
        SiftedDataLoader(Numbers(8), batch_size=2, rule=RelativeLosses())
