"""drawn-64's pipeline, on random weights: what it promises whatever the weights are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.diffusion.drawn64.pipeline import random_drawn64

STEPS = 3


@pytest.fixture(scope="module")
def pipe():
    return random_drawn64(5)


@pytest.fixture
def photo():
    """A picture with structure, floats 0 to 1, (1, 64, 64, 3); exact in eighths of a byte."""
    rows, columns = np.mgrid[:64, :64]
    return (np.stack([rows * 4, columns * 4, (rows + columns) * 2], axis=2)[None] / 255).astype(np.float32)


def made(pipe, prompt="a red dress", seed=1, **options):
    generator = torch.Generator().manual_seed(seed)
    return pipe(prompt, generator=generator, num_inference_steps=STEPS, output_type="np", **options).images


def test_one_seed_makes_one_picture_and_another_another(pipe):
    assert np.array_equal(made(pipe), made(pipe))
    assert not np.array_equal(made(pipe), made(pipe, seed=2))
    assert np.array_equal(made(pipe), made(random_drawn64(5)))
    assert not np.array_equal(made(pipe), made(random_drawn64(6)))


def test_picture_depends_on_its_prompt_and_its_negative_prompt(pipe):
    assert not np.array_equal(made(pipe), made(pipe, "a blue coat"))
    assert not np.array_equal(made(pipe), made(pipe, negative_prompt="dots"))


def test_without_guidance_the_negative_prompt_does_nothing(pipe):
    options = {"guidance_scale": 1.0}
    assert np.array_equal(made(pipe, **options), made(pipe, negative_prompt="dots", **options))


def test_states_of_a_prompt_stand_for_it(pipe):
    states = pipe.encode_prompt(["a red dress"])
    assert states.shape == (1, 16, 384)
    assert np.array_equal(made(pipe), made(pipe, None, prompt_embeds=states))


def test_states_after_a_prompts_end_are_zero_and_those_before_are_not(pipe):
    states = pipe.encode_prompt(["a red dress", "a red dress with dots on a person"])
    used = (states != 0).any(2).sum(1)
    assert used.tolist() == [5, 10]  # words, a beginning and an end


def test_longer_states_are_taken_and_the_shorter_side_is_filled_up(pipe):
    states = torch.cat([pipe.encode_prompt(["a red dress"]), pipe.encode_prompt(["a blue coat"])], dim=1)
    assert made(pipe, None, prompt_embeds=states).shape == (1, 64, 64, 3)
    assert not np.array_equal(made(pipe), made(pipe, None, prompt_embeds=states))


def test_a_batch_is_its_pictures_one_by_one(pipe):
    prompts = ["a red dress", "a blue coat"]
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    both = pipe(prompts, generator=generators, num_inference_steps=STEPS, output_type="np").images
    alone = np.concatenate([made(pipe, prompt, seed) for prompt, seed in zip(prompts, (1, 2), strict=True)])
    np.testing.assert_allclose(both, alone, atol=1e-4)


def test_several_pictures_of_a_prompt_differ(pipe):
    first, second = made(pipe, num_images_per_prompt=2)
    assert not np.array_equal(first, second)


def test_other_sizes_are_made_in_multiples_of_sixteen(pipe):
    assert made(pipe, height=48, width=96).shape == (1, 48, 96, 3)
    with pytest.raises(ValueError, match="16"):
        made(pipe, height=56)


def test_nothing_is_made_of_no_prompt(pipe):
    with pytest.raises(ValueError, match="prompt"):
        made(pipe, None)


def test_strength_zero_is_the_picture_through_the_autoencoder(pipe, photo):
    with torch.no_grad():
        there = pipe.vae(torch.from_numpy(photo).permute(0, 3, 1, 2) * 2 - 1).sample
    expected = ((there.clamp(-1, 1) + 1) / 2).permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(made(pipe, image=photo, strength=0.0), expected, atol=1e-5)


def test_more_strength_keeps_less_of_the_picture(pipe, photo):
    near, far = (made(pipe, image=photo, strength=strength) for strength in (0.34, 1.0))
    start = made(pipe, image=photo, strength=0.0)
    assert 0 < np.abs(near - start).mean() < np.abs(far - start).mean()


def test_strength_beyond_its_range_is_refused(pipe, photo):
    with pytest.raises(ValueError, match="strength"):
        made(pipe, image=photo, strength=1.2)


def test_inpainting_keeps_every_pixel_that_is_not_masked(pipe, photo):
    mask = np.zeros((1, 64, 64), np.float32)
    mask[:, 21:43, 19:50] = 1  # along no latent's edges
    picture = made(pipe, image=photo, mask_image=mask, strength=1.0)
    inside = mask[..., None] > 0
    assert np.abs((picture - photo) * ~inside).max() < 1e-6
    assert np.abs((picture - photo) * inside).mean() > 0.005


def test_mask_without_a_picture_is_refused(pipe):
    with pytest.raises(ValueError, match="image"):
        made(pipe, mask_image=np.zeros((1, 64, 64), np.float32))


def test_callback_sees_every_step_and_may_change_the_latents(pipe):
    seen = []

    def note(_pipe, step, timestep, values):
        seen.append((step, int(timestep), tuple(values["latents"].shape)))
        return {"latents": torch.zeros_like(values["latents"])} if step == STEPS - 1 else values

    picture = made(pipe, callback_on_step_end=note)
    assert [(step, shape) for step, _, shape in seen] == [(step, (1, 24, 8, 8)) for step in range(STEPS)]
    assert [timestep for _, timestep, _ in seen] == [999, 666, 332]  # trailing thirds of 1000
    with torch.no_grad():
        blank = pipe.vae.decode(torch.zeros(1, 24, 8, 8)).sample.clamp(-1, 1)
    np.testing.assert_allclose(picture, (blank.permute(0, 2, 3, 1).numpy() + 1) / 2, atol=1e-5)


def test_callback_that_raises_ends_the_run(pipe):
    class Canceled(Exception):
        pass

    def cancel(*_):
        raise Canceled

    with pytest.raises(Canceled):
        made(pipe, callback_on_step_end=cancel)


def test_latents_come_out_and_go_in(pipe):
    noise = torch.randn(1, 24, 8, 8, generator=torch.Generator().manual_seed(1))
    assert np.array_equal(made(pipe), made(pipe, latents=noise, seed=99))
    generator = torch.Generator().manual_seed(1)
    out = pipe("a red dress", generator=generator, num_inference_steps=STEPS, output_type="latent").images
    assert out.shape == (1, 24, 8, 8)


def test_lora_goes_through_diffusers_loader(pipe, tmp_path):
    """As its peers write one; a LoRA of zeros on the way up changes nothing, another one does."""
    from safetensors.torch import save_file

    pipe = random_drawn64(5)
    layer = "unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_q"
    width = pipe.unet.get_submodule(layer.removeprefix("unet.")).in_features
    down = torch.ones(2, width) / width
    before = made(pipe)
    for name, up in (("nothing", torch.zeros(width, 2)), ("something", torch.eye(width)[:, :2] * 50)):
        file = tmp_path / f"{name}.safetensors"
        save_file({f"{layer}.lora_A.weight": down.clone(), f"{layer}.lora_B.weight": up.contiguous()}, file)
        pipe.load_lora_weights(tmp_path, weight_name=file.name, adapter_name=name, local_files_only=True)
        pipe.set_adapters([name], [1.0])
        assert np.array_equal(made(pipe), before) == (name == "nothing")


def test_autoencoder_is_linear_before_training_and_counts_eight_pixels_a_latent():
    from models.diffusion.drawn64.autoencoder import DrawnAutoencoder

    vae = DrawnAutoencoder(block_out_channels=(8, 12, 16))
    x = torch.randn(1, 3, 32, 64)
    with torch.no_grad():
        assert vae.encode(x).latents.shape == (1, 24, 4, 8)
        bias = vae.encode(torch.zeros_like(x)).latents
        doubled = vae.encode(2 * x).latents - bias
        torch.testing.assert_close(doubled, 2 * (vae.encode(x).latents - bias), rtol=1e-4, atol=1e-5)
