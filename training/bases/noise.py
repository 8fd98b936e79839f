"""The two kinds of noise: predicted as noise or v by a UNet (DDPM), and matched as a flow by a transformer."""

from __future__ import annotations

from typing import Any, Final, Literal

import torch
from diffusers import DDPMScheduler
from diffusers.training_utils import compute_snr
from torch import Tensor

_STEPS: Final = 1000  # of every schedule that these families are trained with, and the unit of a flow's timesteps


class PredictedNoise:
    """Timesteps are steps of the checkpoint's own schedule; the target is noise or v, as its scheduler says."""

    def __init__(self, scheduler_config: Any, device: torch.device) -> None:
        self._scheduler = DDPMScheduler.from_config(scheduler_config)
        # Once: add_noise would else move them from the CPU at every step.
        self._scheduler.alphas_cumprod = self._scheduler.alphas_cumprod.to(device)
        self._device = device
        self._kind = str(self._scheduler.config.prediction_type)
        if self._kind not in ("epsilon", "v_prediction"):
            raise ValueError(f"its scheduler predicts {self._kind!r}, which is not trained here")

    @property
    def prediction_type(self) -> Literal["epsilon", "v_prediction", "flow"]:
        return "epsilon" if self._kind == "epsilon" else "v_prediction"

    def sample_timesteps(self, num: int, *, generator: torch.Generator) -> Tensor:
        last = self._scheduler.config.num_train_timesteps
        return torch.randint(0, last, (num,), generator=generator).to(self._device)

    def even_timesteps(self, num: int) -> Tensor:
        last = self._scheduler.config.num_train_timesteps
        return ((torch.arange(num) + 0.5) * last / num).long().to(self._device)

    def noise_and_target(self, latents_BCHW: Tensor, noise_BCHW: Tensor, timesteps_B: Tensor) -> tuple[Tensor, Tensor]:
        noisy = self._scheduler.add_noise(latents_BCHW, noise_BCHW, timesteps_B)
        if self._kind == "epsilon":
            return noisy, noise_BCHW
        return noisy, self._scheduler.get_velocity(latents_BCHW, noise_BCHW, timesteps_B)

    def signal_to_noise(self, timesteps_B: Tensor) -> Tensor | None:
        snr_B: Tensor = compute_snr(self._scheduler, timesteps_B)
        return snr_B


class MatchedFlow:
    """Rectified flow: noisy = (1 - s) latents + s noise, target = noise - latents, timestep = 1000 s.

    s is logit-normal (Esser et al. 2024, section 3.1), shifted as the checkpoint's scheduler where its shift is fixed.
    """

    prediction_type: Literal["epsilon", "v_prediction", "flow"] = "flow"

    def __init__(self, scheduler_config: Any, device: torch.device) -> None:
        self._device = device
        fixed = not scheduler_config.get("use_dynamic_shifting", False)
        self._shift = float(scheduler_config.get("shift", 1.0)) if fixed else 1.0

    def sample_timesteps(self, num: int, *, generator: torch.Generator) -> Tensor:
        return self._timesteps(torch.randn(num, generator=generator))

    def even_timesteps(self, num: int) -> Tensor:
        return self._timesteps(torch.special.ndtri((torch.arange(num) + 0.5) / num))

    def noise_and_target(self, latents_BCHW: Tensor, noise_BCHW: Tensor, timesteps_B: Tensor) -> tuple[Tensor, Tensor]:
        sigmas_B111 = (timesteps_B / _STEPS).reshape(-1, 1, 1, 1)
        return torch.lerp(latents_BCHW, noise_BCHW, sigmas_B111), noise_BCHW - latents_BCHW

    def signal_to_noise(self, _timesteps_B: Tensor) -> Tensor | None:
        return None

    def _timesteps(self, normal_B: Tensor) -> Tensor:
        sigmas_B = torch.sigmoid(normal_B)
        shifted_B = self._shift * sigmas_B / (1 + (self._shift - 1) * sigmas_B)
        return (shifted_B * _STEPS).to(self._device)
