"""The checker that judges generated pictures, on drawings that it has not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from training.base.attributes import ALL
from training.base.checker import load_checker
from training.base.drawings import draw_set


@pytest.fixture(scope="module")
def fresh():
    return draw_set(len(ALL), ALL, 20_261_130)


def test_fresh_drawings_of_all_combinations_are_told_right(fresh):
    right = load_checker().right(fresh.pictures, fresh.attributes)
    assert right.shape == (256, 4)
    assert right.all(1).mean() >= 0.99


def test_a_wrong_attribute_is_told_and_it_alone(fresh):
    wanted = [replace(one, colour="red" if one.colour != "red" else "blue") for one in fresh.attributes]
    right = load_checker().right(fresh.pictures, wanted)
    assert right[:, 0].mean() <= 0.01
    assert right[:, 1:].mean() >= 0.99


def test_it_has_about_a_hundred_thousand_parameters():
    assert 90_000 < sum(one.numel() for one in load_checker().parameters()) < 130_000


def test_a_file_of_another_network_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"something.weight": torch.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="no checker"):
        load_checker(tmp_path / "other.safetensors")
