"""Batches by bucket: same order anywhere, whole epochs, equal ranks; and which pictures a dry run takes."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from services.domain.errors import InvalidRequest
from tests.training.data.drawn import dataset
from training.data.sampling import BucketSampler, balanced_weights, dry_run_indices

TWO_SIZES = {(64, 64): 11, (80, 48): 6}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return dataset(tmp_path_factory.mktemp("data") / "set", buckets=TWO_SIZES)


def test_every_batch_is_full_and_of_one_bucket_and_an_epoch_holds_every_picture(data):
    sampler = BucketSampler(data, 4, seed=3)
    epoch = list(islice(sampler, len(sampler)))
    assert len(epoch) == 3 + 2
    assert all(len(batch) == 4 and len({data.samples[i].bucket for i in batch}) == 1 for batch in epoch)
    assert {index for batch in epoch for index in batch} == set(range(17))


def test_epochs_differ_and_seeds_differ_and_the_same_seed_does_not(data):
    first = list(islice(BucketSampler(data, 4, seed=3), 10))
    assert first == list(islice(BucketSampler(data, 4, seed=3), 10))
    assert first[:5] != first[5:]
    assert first != list(islice(BucketSampler(data, 4, seed=4), 10))


@pytest.mark.parametrize("done", [0, 2, 5, 7])
def test_resumed_sampler_goes_on_with_the_batch_that_would_have_come(data, done):
    whole = list(islice(BucketSampler(data, 4, seed=3), 12))
    interrupted = BucketSampler(data, 4, seed=3)
    list(islice(interrupted, done + 3))  # fetched ahead of what was trained on
    resumed = BucketSampler(data, 4, seed=3)
    resumed.load_state_dict(interrupted.state_dict(step=done))
    assert list(islice(resumed, 12 - done)) == whole[done:]


def test_order_of_another_dataset_or_seed_is_not_gone_on_with(data):
    with pytest.raises(InvalidRequest, match="seed"):
        BucketSampler(data, 4, seed=1).load_state_dict(BucketSampler(data, 4, seed=2).state_dict())
    with pytest.raises(InvalidRequest, match="dataset") as told:
        BucketSampler(data, 4).load_state_dict(BucketSampler(data.subset(range(9)), 4).state_dict())
    assert told.value.code == "dataset_changed"


def test_ranks_have_equal_numbers_of_batches_of_one_bucket_and_share_the_epoch(data):
    ranks = [BucketSampler(data, 2, seed=5, rank=rank, num_ranks=3) for rank in range(3)]
    assert len({len(sampler) for sampler in ranks}) == 1
    steps = [[sampler.batch(step) for sampler in ranks] for step in range(len(ranks[0]))]
    for together in steps:
        assert all(len(batch) == 2 for batch in together)
        assert len({data.samples[index].bucket for batch in together for index in batch}) == 1
    assert {index for together in steps for batch in together for index in batch} == set(range(17))


def test_balanced_weights_draw_each_cluster_as_often_as_the_others(tmp_path):
    clusters = [0] * 16 + [1] * 3 + [2]
    data = dataset(tmp_path / "set", buckets={(64, 64): 20}, clusters=clusters)
    sampler = BucketSampler(data, 4, seed=1, weights=balanced_weights(data))
    drawn = Counter(clusters[index] for batch in islice(sampler, 30 * len(sampler)) for index in batch)
    # 600 draws over 3 clusters: 200 each; systematic draws err by less than one an epoch and cluster.
    assert all(170 <= drawn[cluster] <= 230 for cluster in range(3))
    plain = Counter(clusters[index] for batch in islice(BucketSampler(data, 4, seed=1), 150) for index in batch)
    assert plain[0] == 480


def test_weights_move_draws_from_bucket_to_bucket_and_zero_means_never(data):
    weights = [0.0 if data.samples[index].bucket == (80, 48) else 1.0 for index in range(17)]
    sampler = BucketSampler(data, 4, weights=weights)
    drawn = [index for batch in islice(sampler, 3 * len(sampler)) for index in batch]
    assert {data.samples[index].bucket for index in drawn} == {(64, 64)}


@pytest.mark.parametrize(
    ("batch_size", "more"),
    [(0, {}), (2, {"rank": 2, "num_ranks": 2}), (2, {"weights": [1.0]}), (2, {"weights": [float("nan")] * 17})],
)
def test_impossible_samplers_are_refused(data, batch_size, more):
    with pytest.raises(InvalidRequest) as told:
        BucketSampler(data, batch_size, **more)
    assert told.value.code == "out_of_range"


def test_dry_run_takes_one_hundredth_from_every_bucket_and_distinct_clusters(tmp_path):
    # 1,600 near-copies of one picture, 190 of another size of which 90 are alike, and 10 of a rare size.
    clusters = [0] * 1590 + list(range(1, 11)) + [20] * 90 + list(range(100, 200)) + list(range(300, 310))
    data = dataset(tmp_path / "set", buckets={(16, 16): 1600, (24, 16): 190, (16, 24): 10}, clusters=clusters)
    chosen = dry_run_indices(data)
    assert len(chosen) == len(set(chosen)) == 18
    by_bucket = Counter(data.samples[index].bucket for index in chosen)
    assert by_bucket[(16, 16)] in (15, 16)
    assert by_bucket[(16, 24)] == 1
    # Eleven clusters of the common size: each gives one before any gives its second.
    common = Counter(clusters[index] for index in chosen if data.samples[index].bucket == (16, 16))
    assert len(common) == 11
    assert chosen == dry_run_indices(data)
    assert chosen != dry_run_indices(data, seed=1)


def test_dry_run_of_a_small_dataset_fills_a_batch(data):
    assert len(dry_run_indices(data)) == 8
    assert len(dry_run_indices(data.subset(range(3)))) == 3
