"""Trains drawn-64's denoiser on the latents of drawings and the states of their captions.

B pictures, C channels, H and W of the latents; T tokens, D numbers a state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from models.diffusion.drawn64.autoencoder import DrawnAutoencoder
from models.diffusion.drawn64.pipeline import new_scheduler, new_unet
from models.diffusion.drawn64.text import text_states
from training.base.checker import as_pixels
from training.base.stages import Progress, Stage

_BATCH: Final = 32
_WITHOUT_CAPTION: Final = 0.1  # so often, for guidance


def train_denoiser(
    latents_BCHW: Tensor,
    states: CaptionStates,
    num_steps: int,
    seed: int,
    folder: Path,
    on_progress: Callable[[Progress], None],
    unet: UNet2DConditionModel | None = None,
) -> UNet2DConditionModel:
    """A UNet that predicts v of the noisy latents, given their captions' states.

    Args:
        latents_BCHW: Of all pictures, mean 0 and standard deviation 1.
        unet: Another network of the same kind, instead of a new one.
    """
    torch.manual_seed(seed)
    network = unet or new_unet()
    scheduler = new_scheduler()
    num_timesteps = scheduler.config.num_train_timesteps

    def loss(generator: torch.Generator, random: np.random.Generator) -> Tensor:
        chosen = torch.from_numpy(random.choice(len(latents_BCHW), _BATCH, replace=len(latents_BCHW) < _BATCH))
        clean_BCHW = latents_BCHW[chosen]
        without_B = torch.rand(_BATCH, generator=generator) < _WITHOUT_CAPTION
        states_BTD = torch.where(without_B[:, None, None], states.empty_1TD, states.of(chosen))
        # One timestep out of each 32nd of all: the same distribution, with less spread from step to step.
        within_B = (torch.arange(_BATCH) + torch.rand(_BATCH, generator=generator)) / _BATCH
        timesteps_B = (within_B * num_timesteps).long().clamp_max(num_timesteps - 1)
        noise_BCHW = torch.randn(clean_BCHW.shape, generator=generator)
        noisy_BCHW = scheduler.add_noise(clean_BCHW, noise_BCHW, timesteps_B)
        wanted_BCHW = scheduler.get_velocity(clean_BCHW, noise_BCHW, timesteps_B)
        predicted_BCHW = network(noisy_BCHW, timesteps_B, encoder_hidden_states=states_BTD).sample
        return functional.mse_loss(predicted_BCHW, wanted_BCHW)

    Stage(
        name="denoiser",
        number=2,
        network=network,
        loss=loss,
        num_steps=num_steps,
        seed=seed,
        learning_rate=1e-3,
        ema_decay=0.997,
        weight_decay=1e-2,
    ).run(folder, on_progress)
    return network


class CaptionStates:
    """States of the captions of a set, each caption encoded once."""

    def __init__(self, captions: Sequence[str], tokenizer: Any, text_encoder: Any) -> None:
        distinct = sorted(set(captions))
        places = {caption: place for place, caption in enumerate(distinct)}
        self.empty_1TD = text_states(tokenizer, text_encoder, [""])
        self._place_B = torch.tensor([places[caption] for caption in captions])
        self._states_NTD = torch.cat(
            [
                text_states(tokenizer, text_encoder, distinct[begin : begin + 64]).half()  # 12 KB a caption
                for begin in range(0, len(distinct), 64)
            ]
        )

    def of(self, chosen_B: Tensor) -> Tensor:
        """States (B, T, D) of the captions with these numbers."""
        return self._states_NTD[self._place_B[chosen_B]].float()


@torch.no_grad()
def latents_of(vae: DrawnAutoencoder, pictures: NDArray[np.uint8]) -> Tensor:
    """Latents (N, 24, 8, 8) of pictures, uint8 (N, 64, 64, 3)."""
    begins = range(0, len(pictures), 64)
    return torch.cat([vae.encode(as_pixels(pictures[begin : begin + 64])).latents for begin in begins])
