"""The loss by hand, by the papers' formulas, and by diffusers' example."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tests.training import tiny
from training.lora.losses import loss_per_picture, mask_weights, noise_for, timestep_weights


class Base:
    """One whose signal to noise ratios are told."""

    def __init__(self, prediction_type, ratios):
        self.prediction_type, self.ratios = prediction_type, ratios

    def signal_to_noise(self, _timesteps):
        return None if self.ratios is None else torch.tensor(self.ratios)


def test_min_snr_weighs_noise_as_the_paper_does():
    weights = timestep_weights(Base("epsilon", [0.0, 0.5, 5.0, 20.0]), torch.zeros(4), 5.0)
    torch.testing.assert_close(weights, torch.tensor([1.0, 1.0, 1.0, 0.25]))


def test_min_snr_weighs_v_as_the_paper_does():
    weights = timestep_weights(Base("v_prediction", [0.0, 1.0, 19.0]), torch.zeros(3), 5.0)
    torch.testing.assert_close(weights, torch.tensor([0.0, 0.5, 0.25]))


def test_min_snr_agrees_with_diffusers_example():
    """`train_text_to_image_lora.py`: min(snr, gamma) / snr over compute_snr."""
    from diffusers.training_utils import compute_snr

    base = tiny.drawn64()
    timesteps = torch.tensor([3, 200, 800])
    snr = compute_snr(base._scheduler, timesteps)
    expected = torch.stack([snr, 5.0 * torch.ones(3)], dim=1).min(dim=1)[0] / (snr + 1)
    torch.testing.assert_close(timestep_weights(base, timesteps, 5.0), expected)


@pytest.mark.parametrize(("gamma", "ratios"), [(None, [1.0]), (5.0, None)])
def test_without_gamma_or_for_a_flow_all_timesteps_weigh_alike(gamma, ratios):
    assert timestep_weights(Base("epsilon", ratios), torch.zeros(1), gamma) is None


def test_a_picture_s_loss_is_its_mean_squared_error():
    predicted, target = torch.randn(3, 4, 2, 2), torch.randn(3, 4, 2, 2)
    expected = torch.stack([functional.mse_loss(predicted[index], target[index]) for index in range(3)])
    torch.testing.assert_close(loss_per_picture(predicted, target), expected)
    halved = loss_per_picture(predicted, target, weights_B=torch.tensor([0.5, 1.0, 2.0]))
    torch.testing.assert_close(halved, expected * torch.tensor([0.5, 1.0, 2.0]))


def test_what_a_mask_leaves_out_does_not_count_and_a_small_mask_counts_in_full():
    predicted, target = torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 1, 4)
    target[..., 0], target[..., 1:] = 2.0, 100.0
    mask = torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]])
    torch.testing.assert_close(loss_per_picture(predicted, target, mask_B1HW=mask), torch.tensor([4.0]))


def test_mask_of_pixels_becomes_shares_of_latents():
    mask = torch.zeros(1, 1, 4, 4)
    mask[..., :2] = 1  # the left half
    mask[..., 0, 2] = 1  # and a quarter of the upper right
    weights = mask_weights(mask, (2, 2), outside=0.2)
    torch.testing.assert_close(weights[0, 0], torch.tensor([[1.0, 0.2 + 0.8 / 4], [1.0, 0.2]]))


def test_noise_offset_shifts_whole_channels():
    shape = torch.Size((64, 4, 16, 16))
    device = torch.device("cpu")

    def spread(offset):
        noise = noise_for(shape, offset=offset, generator=torch.Generator().manual_seed(0), device=device)
        return noise.mean(dim=(2, 3)).std()

    # Means of 256 standard normal numbers have deviation 1/16; with the offset .5 more in quadrature.
    assert float(spread(0.0)) == pytest.approx(1 / 16, rel=0.15)
    assert float(spread(0.5)) == pytest.approx((1 / 16**2 + 0.25) ** 0.5, rel=0.15)
