"""Settings of a LoRA run: presets, and TOML that changes them or is refused by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from services.domain.errors import InvalidRequest
from training.lora.overrides import from_preset, read_settings, with_overrides, with_values
from training.lora.presets import PRESETS, character, industry, style


def test_toml_changes_what_it_names_and_nothing_else():
    changed = with_overrides(style(), "num_steps = 12\n[optimizer]\nlearning_rate = 1\n")
    assert changed.num_steps == 12
    assert changed.optimizer.learning_rate == 1.0
    assert changed.optimizer.schedule == style().optimizer.schedule
    assert changed.network == style().network


def test_toml_names_its_preset():
    assert read_settings('preset = "character"').network == character().network
    assert read_settings("").network == style().network


def test_blocks_are_read_as_a_list_of_tables():
    changed = read_settings('[[network.blocks]]\nmodules = "down_blocks.*"\nrank = 2\n')
    assert [(block.modules, block.rank, block.alpha) for block in changed.network.blocks] == [
        ("down_blocks.*", 2, None)
    ]


@pytest.mark.parametrize(
    ("text", "param", "says"),
    [
        ("lerning_rate = 1", "lerning_rate", "nearest: optimizer.learning_rate"),
        ("[optimizer]\nlearnign_rate = 1", "optimizer.learnign_rate", "nearest: optimizer.learning_rate"),
        ("[netwrok]\nrank = 1", "netwrok", "nearest: network"),
        ('[[network.blocks]]\nmodules = "x"\nrnak = 1', "network.blocks.rnak", "nearest: network.blocks.rank"),
        ("[network]\nrank = 0", "network.rank", "greater than or equal to 1"),
        ("[validation]\nshare = 0.9", "validation.share", "less than or equal to 0.5"),
        ('[network]\nkind = "hada"', "network.kind", "'lora', 'locon' or 'lokr'"),
        ("optimizer = 3", "optimizer", "must be a table"),
        ('preset = "portrait"', "preset", "style, industry, character"),
    ],
)
def test_what_is_no_setting_is_refused_with_the_way_out(text, param, says):
    with pytest.raises(InvalidRequest) as caught:
        read_settings(text)
    assert (caught.value.code, caught.value.param) == ("bad_training_settings", param)
    assert says in caught.value.detail


def test_text_that_is_no_toml_is_refused():
    with pytest.raises(InvalidRequest, match="no TOML"):
        read_settings("num_steps = = 3")


def test_an_unknown_preset_is_refused():
    with pytest.raises(InvalidRequest):
        from_preset("portrait")


def test_values_of_a_request_are_checked_alike():
    assert with_values(industry(), {"network": {"rank": 4}}).network.rank == 4
    with pytest.raises(InvalidRequest):
        with_values(industry(), {"network": {"ranks": 4}})


def test_every_preset_would_pass_its_own_check():
    for name, make in PRESETS.items():
        assert with_values(make(), {}) == make()
        assert make().preset == name == from_preset(name).preset


def test_settings_are_read_without_torch():
    done = subprocess.run(
        [sys.executable, "-c", "import training.lora.overrides, sys; sys.exit('torch' in sys.modules)"], check=False
    )
    assert done.returncode == 0
