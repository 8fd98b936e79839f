"""Each base predicts what its own pipeline predicts, and its noise is its own scheduler's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler

from models.diffusion.checkpoints import Checkpoint, Family
from services.domain.errors import Unavailable
from tests.training import tiny
from tests.training.conftest import FAMILIES
from training.bases import TextStates, load_base

SIDE = 64


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return {family: tiny.of_family(family, tmp_path_factory.mktemp(str(family))) for family in Family}


@FAMILIES
def test_base_predicts_what_its_pipeline_predicts(bases, family):
    base = bases[family]
    pipe, calls = base.pipeline(), []

    def note(_module, args, options, output):
        calls.append((args, options, output[0] if isinstance(output, tuple) else output.sample))

    hook = base.denoiser.register_forward_hook(note, with_kwargs=True)
    try:
        pipe(
            "a red dress", num_inference_steps=1, guidance_scale=1.0, height=SIDE, width=SIDE, output_type="latent",
            generator=torch.Generator().manual_seed(0),
        )  # fmt: skip
        ((args, options, said),) = calls
        noisy = args[0] if args else options["hidden_states"]
        timestep = args[1] if len(args) > 1 else options["timestep"]
        if family is Family.FLUX:
            latents = pipe._unpack_latents(noisy, SIDE, SIDE, pipe.vae_scale_factor)
            said = pipe._unpack_latents(said, SIDE, SIDE, pipe.vae_scale_factor)
            timestep = timestep * 1000
        else:
            latents = noisy
        sizes = torch.tensor([[SIDE, SIDE, 0, 0, SIDE, SIDE]], dtype=torch.float32)
        with torch.no_grad():
            ours = base.predict(latents, timestep.reshape(1), base.encode_captions(["a red dress"]), sizes)
    finally:
        hook.remove()
    torch.testing.assert_close(ours, said, rtol=1e-5, atol=1e-6)


@FAMILIES
def test_latents_are_those_of_the_vae_scaled_as_its_config_says(bases, family):
    base = bases[family]
    pixels = torch.rand(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1)) * 2 - 1
    latents = base.encode_pictures(pixels, generator=torch.Generator().manual_seed(2))
    vae = base.pipeline().vae
    with torch.no_grad():
        if family is Family.DRAWN64:
            expected = vae.encode(pixels).latents
        else:
            sampled = vae.encode(pixels).latent_dist.sample(torch.Generator().manual_seed(2))
            expected = (sampled - (vae.config.shift_factor or 0)) * vae.config.scaling_factor
    torch.testing.assert_close(latents, expected)


@FAMILIES
def test_from_target_and_noisy_latents_the_scheduler_finds_the_picture(bases, family):
    base = bases[family]
    latents = torch.randn(3, 4, 4, 4, generator=torch.Generator().manual_seed(0))
    noise = torch.randn(3, 4, 4, 4, generator=torch.Generator().manual_seed(1))
    timesteps = base.sample_timesteps(3, generator=torch.Generator().manual_seed(2))
    noisy, target = base.noise_and_target(latents, noise, timesteps)
    for index, timestep in enumerate(timesteps):
        if base.prediction_type == "flow":
            found = noisy[index] - timestep / 1000 * target[index]  # Euler's step back to sigma 0
        else:
            scheduler = DDIMScheduler.from_config(base.pipeline().scheduler.config)
            scheduler.set_timesteps(1000)
            found = scheduler.step(target[index], int(timestep), noisy[index]).pred_original_sample
        torch.testing.assert_close(found, latents[index], rtol=1e-3, atol=1e-3)


@FAMILIES
def test_even_timesteps_cover_the_range_that_is_sampled(bases, family):
    base = bases[family]
    even = base.even_timesteps(200).float().sort().values
    drawn = base.sample_timesteps(20_000, generator=torch.Generator().manual_seed(0)).float()
    for share in (0.1, 0.5, 0.9):
        assert torch.quantile(even, share) == pytest.approx(float(torch.quantile(drawn, share)), abs=20)


@pytest.mark.parametrize("family", [Family.SD15, Family.SDXL, Family.DRAWN64], ids=str)
def test_signal_to_noise_falls_with_time(bases, family):
    ratios = bases[family].signal_to_noise(torch.tensor([0, 500, 999]))
    assert ratios[0] > ratios[1] > ratios[2]


def test_sd3_timesteps_are_shifted_as_its_scheduler_says(bases):
    drawn = bases[Family.SD3].sample_timesteps(20_000, generator=torch.Generator().manual_seed(0)) / 1000
    # The median of a logit-normal is 1/2, and shift 3 brings it to 3 * .5 / (1 + 2 * .5) = .75.
    assert float(drawn.median()) == pytest.approx(0.75, abs=0.01)


def test_text_states_are_joined_and_chosen_by_row():
    one, two = (TextStates({"states": torch.full((1, 2), value)}) for value in (1.0, 2.0))
    both = TextStates.join([one, two])
    assert len(both) == 2
    np.testing.assert_array_equal(both.rows([1, 1, 0])["states"][:, 0], [2, 2, 1])


def test_a_folder_of_another_kind_is_refused_by_name(tmp_path):
    nowhere = Checkpoint(
        name="gone", family=Family.SD15, source=f"folder:{tmp_path}", licence="none", commercial_use=False
    )
    with pytest.raises(Unavailable) as caught:
        load_base(nowhere)
    assert caught.value.code == "weights_missing"
