"""The loss of a LoRA run, a picture at a time, and the noise it is taken at.

B pictures, C channels, H and W of the latents.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from training.bases import TrainableBase


def noise_for(shape: torch.Size, *, offset: float, generator: torch.Generator, device: torch.device) -> Tensor:
    """Gaussian noise (B, C, H, W), with the same offset all over each channel where ``offset`` is not 0."""
    noise_BCHW = torch.randn(shape, generator=generator)
    if offset:
        noise_BCHW = noise_BCHW + offset * torch.randn(*shape[:2], 1, 1, generator=generator)
    return noise_BCHW.to(device)


def timestep_weights(base: TrainableBase, timesteps_B: Tensor, gamma: float | None) -> Tensor | None:
    """min-SNR (Hang et al. 2023, section 3.4): min(snr, gamma) over snr for noise, over snr + 1 for v.

    None, for no gamma and for flow matching, weighs all alike.
    """
    snr_B = None if gamma is None else base.signal_to_noise(timesteps_B)
    if snr_B is None or gamma is None:
        return None
    # At the last step of a schedule that ends in noise alone, snr is 0: its limit is 1 for noise, 0 for v.
    bounded_B = snr_B.clamp(max=gamma)
    if base.prediction_type == "v_prediction":
        return bounded_B / (snr_B + 1)
    return torch.where(snr_B > 0, bounded_B / snr_B.clamp_min(torch.finfo(snr_B.dtype).tiny), 1.0)


def loss_per_picture(
    predicted_BCHW: Tensor, target_BCHW: Tensor, *, weights_B: Tensor | None = None, mask_B1HW: Tensor | None = None
) -> Tensor:
    """Mean squared error of each picture, float32 (B,).

    Args:
        mask_B1HW: Weights of places; the mean is theirs, so that a small mask does not make a small loss.
    """
    if weights_B is None and mask_B1HW is None:
        error_BCHW = functional.mse_loss(predicted_BCHW.float(), target_BCHW.float(), reduction="none")
        return error_BCHW.mean(dim=(1, 2, 3))
    error_BCHW = (predicted_BCHW.float() - target_BCHW.float()) ** 2
    if mask_B1HW is None:
        loss_B = error_BCHW.mean(dim=(1, 2, 3))
    else:
        weight_B1HW = mask_B1HW.to(error_BCHW)
        loss_B = (error_BCHW * weight_B1HW).mean(dim=(1, 2, 3)) / weight_B1HW.mean(dim=(1, 2, 3)).clamp_min(1e-8)
    return loss_B if weights_B is None else loss_B * weights_B


def mask_weights(mask_B1HW: Tensor, size: tuple[int, int], *, outside: float) -> Tensor:
    """A pixel mask from 0 to 1 as weights of latents: ``outside`` where it is 0, 1 where it is 1."""
    small_B1HW = functional.interpolate(mask_B1HW.float(), size=size, mode="area")
    return outside + (1 - outside) * small_B1HW
