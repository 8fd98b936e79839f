"""The weights that come with the package: what they are, and that they obey prompts that training never saw."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from models.diffusion.checkpoints import find_checkpoint
from models.diffusion.drawn64.pipeline import WEIGHTS, load_drawn64
from services.domain.errors import Unavailable
from training.base.attributes import LEFT_OUT, caption
from training.base.base import generated
from training.base.checker import load_checker
from training.base.drawings import draw_set
from training.base.train_autoencoder import peak_signal_to_noise_db, reconstructed


@pytest.fixture(scope="module")
def pipe():
    return load_drawn64()


def test_prompts_of_combinations_that_were_left_out_are_obeyed(pipe):
    wanted = LEFT_OUT[::5]
    right = load_checker().right(generated(pipe, wanted, 400), wanted)
    assert len(wanted) == 11
    assert right.all(1).sum() >= 10
    assert (right.mean(0) >= 0.9).all()


def test_words_other_than_the_plainest_are_obeyed(pipe):
    wanted = LEFT_OUT[2::9]
    random = np.random.default_rng(8)
    words = [caption(one, random) for one in wanted]
    assert set(words) != {caption(one) for one in wanted}
    right = load_checker().right(generated(pipe, wanted, 500, words=words), wanted)
    assert right.all(1).sum() >= len(wanted) - 1


def test_autoencoder_keeps_drawings_that_it_never_saw(pipe):
    fresh = draw_set(52, LEFT_OUT, 91)
    again = reconstructed(pipe.vae, fresh.pictures)
    assert peak_signal_to_noise_db(fresh.pictures, again) > 29
    assert load_checker().right(again, fresh.attributes).all(1).mean() >= 0.98


def test_latents_of_drawings_have_mean_zero_and_deviation_one(pipe):
    from training.base.train_denoiser import latents_of

    latents = latents_of(pipe.vae, draw_set(52, LEFT_OUT, 92).pictures)
    assert latents.mean((0, 2, 3)).abs().max() < 0.25
    assert (latents.std((0, 2, 3)) - 1).abs().max() < 0.25


def test_they_are_safetensors_in_half_precision_and_small():
    files = [path for path in WEIGHTS.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".safetensors", ".json", ".md"}
    assert sum(path.stat().st_size for path in files) < 13_000_000
    from safetensors.torch import load_file

    tensors = [one for path in files if path.suffix == ".safetensors" for one in load_file(path).values()]
    assert {one.dtype for one in tensors} == {torch.float16}
    assert all(bool(one.isfinite().all()) for one in tensors)


def test_they_are_for_verification_and_had_only_by_who_asks():
    assert json.loads((WEIGHTS / "model_index.json").read_text())["_purpose"] == "verification"
    assert "purpose: verification" in (WEIGHTS / "MODEL_CARD.md").read_text(encoding="utf-8")
    with pytest.raises(Unavailable) as caught:
        find_checkpoint("drawn-64", "")
    assert caught.value.code == "checkpoint_not_configured"
    assert find_checkpoint("drawn-64", "", allow_verification=True).folder() == WEIGHTS


def test_missing_weights_are_told_by_name(tmp_path):
    with pytest.raises(Unavailable) as caught:
        load_drawn64(folder=tmp_path)
    assert caught.value.code == "weights_missing"
