from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from services.domain.errors import InvalidRequest
from tests.training.data import drawn
from training.data.sampling import BucketSampler
from training.sifting.auto import choose, choose_for
from training.sifting.loss import LossHistory
from training.sifting.order import StaleOrder, sifted
from training.sifting.relevance import unevenness
from training.sifting.rules import Balanced, Everything, RelativeLosses, StaleLosses
from training.sifting.selection import chances, kept


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 3.0])
def test_sagemakers_rule_keeps_the_share_that_its_integral_gives(beta: float) -> None:
    places = (np.arange(20_000) + 0.5) / 20_000

    share = kept(places, beta, np.random.default_rng(0)).mean()

    assert share == pytest.approx(1 / (1 + beta), abs=0.012)


def test_sagemakers_rule_tells_that_beta_one_saves_nothing_with_a_frozen_base() -> None:
    assert RelativeLosses(beta=1).time_per_sample(backward_to_forward=1) == pytest.approx(1.0)
    assert RelativeLosses(beta=0.5).time_per_sample(backward_to_forward=1) == pytest.approx(1 / 2 + 2 / 3)


def test_loss_is_compared_within_its_bin_of_timesteps_only() -> None:
    history = LossHistory(400, num_bins=10)
    history.add([1.0, 2.0, 3.0, 4.0], [10, 20, 30, 40])
    history.add([0.01, 0.02, 0.03, 0.04], [900, 910, 920, 930])

    places = history.percentiles([0.5, 0.5, 3.0, 7.0], [50, 950, 50, 450])

    assert places.tolist() == [
        0.0,
        1.0,
        0.625,
        0.5,
    ]  # below all, above all, two and a half of four, a bin without losses


def test_history_forgets_the_oldest_and_what_is_not_finite() -> None:
    history = LossHistory(4)
    history.add([100.0, 1.0, 2.0, float("nan"), 3.0, 4.0])

    assert len(history) == 4
    assert history.percentiles([50.0]).tolist() == [1.0]


def test_chances_explore_and_keep_their_ceiling() -> None:
    places = np.zeros(1000)
    places[0] = 1.0

    drawn_ = chances(places, exponent=2, exploration=0.1, ceiling=4)

    assert drawn_.sum() == pytest.approx(1)
    assert drawn_.max() == pytest.approx(4 / 1000)
    assert drawn_.min() >= 0.1 / 1000


def test_balanced_order_draws_clusters_evenly(tmp_path: Path) -> None:
    clusters = [0] * 36 + [1, 2, 3, 4]
    dataset = drawn.dataset(tmp_path, buckets={(16, 16): 40}, clusters=clusters)
    reasons: list[str] = []

    order = sifted(4, tell=reasons.append)(dataset)

    counts = np.bincount([clusters[index] for step in range(100) for index in order.batch(step)], minlength=5)
    assert counts.sum() == 400
    assert np.abs(counts - 80).max() <= 4
    assert "5 near-duplicate clusters" in reasons[0]


def test_auto_takes_captions_where_clusters_are_even_and_everything_where_both_are() -> None:
    by_captions = choose(clusters=range(10), captions=["a"] * 8 + ["b", "c"])
    even = choose(clusters=range(10), captions=[str(number) for number in range(10)])
    by_labels = choose(labels=["a"] * 8 + ["b", "c"])
    unknown = choose()

    assert isinstance(by_captions.rule, Balanced)
    assert "3 captions" in by_captions.reason
    assert isinstance(even.rule, Everything)
    assert isinstance(by_labels.rule, Balanced)
    assert isinstance(unknown.rule, StaleLosses)
    assert all(choice.reason.endswith(".") for choice in (by_captions, even, by_labels, unknown))


def test_groups_of_one_size_are_even_whatever_their_number() -> None:
    assert unevenness(np.repeat([0, 1, 2], 5)) == pytest.approx(0)
    assert unevenness(np.array([0] * 9 + [1])) == pytest.approx(0.4)  # of 90 and 10 % to 50 each


def test_auto_on_a_prepared_dataset_without_near_duplicates_is_the_plain_order(tmp_path: Path) -> None:
    dataset = drawn.dataset(tmp_path, buckets={(16, 16): 12})

    assert isinstance(choose_for(dataset).rule, Everything)
    order, plain = sifted(3, seed=5)(dataset), BucketSampler(dataset, 3, seed=5)
    assert [order.batch(step) for step in range(8)] == [plain.batch(step) for step in range(8)]


def _losses(indices: list[int], timesteps: list[float], hard: set[int]) -> list[float]:
    """A loss as diffusion has it: mostly of the timestep, a little of the picture."""
    own = [1.0 if index in hard else 0.001 * index for index in indices]
    return [timestep / 100 + more for timestep, more in zip(timesteps, own, strict=True)]


def _counts(order: StaleOrder, steps: range, hard: set[int], number: int) -> np.ndarray:
    counts = np.zeros(number)
    for step in steps:
        batch = order.batch(step)
        timesteps = np.random.default_rng(step).uniform(0, 1000, len(batch)).tolist()
        order.record(batch, timesteps, _losses(batch, timesteps, hard))
        np.add.at(counts, batch, 1)
    return counts


def test_stale_losses_draw_hard_pictures_more_and_mislabelled_ones_not_beyond_the_ceiling(tmp_path: Path) -> None:
    number, mislabelled = 100, set(range(95, 100))  # their loss is the highest and never falls
    dataset = drawn.dataset(tmp_path, buckets={(16, 16): number})
    order = StaleOrder(dataset, 4, rule=StaleLosses(ceiling=3.0), seed=1)

    _counts(order, range(100), mislabelled, number)
    counts = _counts(order, range(100, 900), mislabelled, number)

    times_even = counts[sorted(mislabelled)].mean() / counts.mean()
    assert 1.3 < times_even < 3.2
    assert counts.min() > 0  # none is forgotten


def test_stale_order_resumed_equals_the_uninterrupted_one(tmp_path: Path) -> None:
    dataset = drawn.dataset(tmp_path, buckets={(16, 16): 20, (16, 32): 9})

    def go(order: StaleOrder, steps: range) -> list[list[int]]:
        batches = []
        for step in steps:
            batches.append(order.batch(step))
            order.record(batches[-1], [step * 37 % 1000] * 4, [float(index) for index in batches[-1]])
        return batches

    whole = StaleOrder(dataset, 4, rule=StaleLosses(), seed=3)
    go(whole, range(11))
    saved = whole.state_dict()
    expected = go(whole, range(11, 40))
    resumed = StaleOrder(dataset, 4, rule=StaleLosses(), seed=3)
    resumed.load_state_dict(saved)

    assert go(resumed, range(11, 40)) == expected
    assert len({tuple(batch) for batch in expected}) > 20
    buckets = [{dataset.samples[index].bucket for index in batch} for batch in expected]
    assert all(len(bucket) == 1 for bucket in buckets)
    with pytest.raises(InvalidRequest, match="seed") as told:
        StaleOrder(dataset, 4, rule=StaleLosses(), seed=4).load_state_dict(saved)
    assert told.value.code == "dataset_changed"


def test_sagemakers_rule_is_refused_where_no_batch_is_scored_before() -> None:
    with pytest.raises(InvalidRequest, match="SiftedDataLoader"):
        sifted(4, rule=RelativeLosses())
