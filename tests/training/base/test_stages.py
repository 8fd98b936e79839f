"""A stage of training: a stop changes nothing, a seed decides all, the mean of the weights is what comes out."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from training.base.stages import Stage


class PowerCut(Exception):
    """Ends a run at once."""


def stage(*, seed=1, num_steps=260, cut_at=None):
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    calls = iter(range(num_steps + 1))

    def loss(generator, random):
        if next(calls) == cut_at:
            raise PowerCut
        x = torch.randn(8, 4, generator=generator) * float(random.uniform(0.5, 1.5))
        return (network(x) - x.sum(1, keepdim=True)).square().mean()

    return Stage(
        name="toy",
        number=7,
        network=network,
        loss=loss,
        num_steps=num_steps,
        seed=seed,
        learning_rate=1e-2,
        ema_decay=0.99,
    )


def weights(network):
    return torch.cat([one.detach().flatten() for one in network.parameters()])


def quiet(_progress):
    pass


def test_stopped_and_resumed_equals_uninterrupted_to_the_bit(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    whole = stage().run(tmp_path / "whole", quiet)
    with pytest.raises(PowerCut):
        stage(cut_at=233).run(tmp_path / "cut", quiet)
    steps = []
    resumed = stage().run(tmp_path / "cut", lambda progress: steps.append(progress.step))
    assert steps[0] == 250  # from 200 on, not from the beginning
    assert torch.equal(weights(whole), weights(resumed))


def test_finished_stage_is_not_trained_again(tmp_path):
    whole = stage().run(tmp_path, quiet)
    again = stage(cut_at=0).run(tmp_path, quiet)
    assert torch.equal(weights(whole), weights(again))


def test_seeds_differ(tmp_path):
    (tmp_path / "other").mkdir()
    one = stage(seed=1, num_steps=20).run(tmp_path, quiet)
    other = stage(seed=2, num_steps=20).run(tmp_path / "other", quiet)
    assert not torch.equal(weights(one), weights(other))


def test_it_learns(tmp_path):
    losses = []
    stage().run(tmp_path, lambda progress: losses.append(progress.loss))
    assert losses[-1] < 0.3 * losses[0]
