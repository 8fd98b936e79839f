"""``train base`` as a whole, a few steps long: what it writes, what it learns from, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from models.diffusion.drawn64.pipeline import load_drawn64
from services.domain.errors import InvalidRequest
from training.base import base
from training.base.attributes import LEFT_OUT
from training.base.base import BasePlan, train_base

PLAN = BasePlan(
    seed=3,
    num_pictures=102,
    autoencoder_steps=2,
    denoiser_steps=2,
    checker_pictures=64,
    checker_steps=1,
    num_checked=4,
)


def quiet(_progress):
    pass


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run's folder, and what its networks were given to learn from."""
    out = tmp_path_factory.mktemp("run")
    given = {}
    with pytest.MonkeyPatch.context() as patch:

        def spied(name):
            real = getattr(base, name)

            def spy(*arguments, **options):
                given.setdefault(name, []).append(arguments)
                return real(*arguments, **options)

            patch.setattr(base, name, spy)

        for name in ("draw_set", "train_autoencoder", "latents_of", "CaptionStates"):
            spied(name)
        figures = train_base(out, PLAN, quiet)
    return out, figures, given


def test_combinations_left_out_are_in_nothing_that_the_generator_learns_from(run):
    _, _, given = run
    num_pictures, combinations, seed = given["draw_set"][0]
    assert not set(combinations) & set(LEFT_OUT)
    drawn = base.draw_set(num_pictures, combinations, seed)
    assert np.array_equal(given["train_autoencoder"][0][0], drawn.pictures)
    assert np.array_equal(given["latents_of"][0][1], drawn.pictures)
    assert given["CaptionStates"][0][0] == drawn.captions


def test_checkpoint_is_safetensors_in_half_precision_with_a_card(run):
    out, figures, _ = run
    files = {str(path.relative_to(out / "drawn64")) for path in (out / "drawn64").rglob("*") if path.is_file()}
    assert files == {
        "MODEL_CARD.md",
        "figures.json",
        "model_index.json",
        "scheduler/scheduler_config.json",
        "unet/config.json",
        "unet/diffusion_pytorch_model.safetensors",
        "vae/config.json",
        "vae/diffusion_pytorch_model.safetensors",
    }
    from safetensors.torch import load_file

    for part in ("unet", "vae"):
        tensors = load_file(out / "drawn64" / part / "diffusion_pytorch_model.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    card = (out / "drawn64" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "purpose: verification" in card
    assert "spokesmodel train base --seed 3" in card
    assert json.loads((out / "drawn64" / "figures.json").read_text())["left_out_right"] == figures.left_out_right


def test_checkpoint_loads_and_draws(run):
    pipe = load_drawn64(folder=run[0] / "drawn64")
    picture = pipe("a plain red dress, laid flat", num_inference_steps=2, output_type="np").images[0]
    assert picture.shape == (64, 64, 3)


def test_a_second_call_ends_with_the_same_weights(run, tmp_path):
    out, figures, _ = run
    files = [path for path in out.rglob("*.safetensors") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    again = train_base(out, PLAN, quiet)
    assert {path: path.read_bytes() for path in files} == before
    assert again.left_out_attributes == figures.left_out_attributes


def test_folder_of_another_run_is_refused(run):
    with pytest.raises(InvalidRequest) as caught:
        train_base(run[0], PLAN.shortened(steps=1), quiet)
    assert caught.value.code == "other_training_run"


def test_shortened_plan_keeps_its_proportions():
    half = BasePlan().shortened(minutes=10)
    assert half.denoiser_steps == BasePlan().denoiser_steps // 2
    assert half.autoencoder_steps == BasePlan().autoencoder_steps // 2
    few = BasePlan().shortened(steps=20)
    assert few.denoiser_steps == 20
    assert few.autoencoder_steps == BasePlan().autoencoder_steps * 20 // BasePlan().denoiser_steps


def test_longer_plan_draws_no_more_than_the_recipe():
    double = BasePlan().shortened(minutes=40)
    assert double.denoiser_steps == 2 * BasePlan().denoiser_steps
    assert double.num_pictures == BasePlan().num_pictures
