from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.training import tiny
from training.lora.events import Event
from training.sifting.order import sifted
from training.sifting.rules import StaleLosses
from training.train_lora import train_lora


def test_lora_run_by_stale_losses_that_broke_off_ends_with_the_same_weights(tmp_path: Path) -> None:
    dataset = tiny.dataset(tmp_path / "dataset", num=12)
    config = tiny.run(num_steps=8)

    def train(name: str, break_at: int | None = None) -> None:
        def on_event(event: Event) -> None:
            if "loss" in event and event["step"] == break_at:
                raise RuntimeError("power cut")

        train_lora(
            config,
            dataset=dataset,
            base=tiny.drawn64(),
            run_dir=tmp_path / name,
            order=sifted(2, rule=StaleLosses(history_length=20, num_bins=2, exploration=0.01)),
            on_event=on_event,
        )

    train("whole")
    with pytest.raises(RuntimeError, match="power cut"):
        train("broken", break_at=7)
    assert not (tmp_path / "broken/result/lora.safetensors").exists()
    train("broken")

    whole, broken = (load_file(tmp_path / name / "result/lora.safetensors") for name in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    assert all(bool((whole[key] == broken[key]).all()) for key in whole)
