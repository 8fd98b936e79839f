"""drawn-64: a small UNet that attends to MiniLM's states; its autoencoder has no variance to sample from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.diffusion.checkpoints import Checkpoint
from training.bases import Preset, TextStates
from training.bases.noise import PredictedNoise
from training.bases.parts import PipelineBase, unet_targets


class Drawn64Base(PredictedNoise, PipelineBase):
    def __init__(self, checkpoint: Checkpoint, pipe: Any) -> None:
        PipelineBase.__init__(self, checkpoint, pipe)
        PredictedNoise.__init__(self, pipe.scheduler.config, self.device)
        self.vae_factor *= 2  # the UNet halves the latents once, and joins them again without a remainder only so

    def encode_pictures(self, pixels_BCHW: Tensor, *, generator: torch.Generator) -> Tensor:
        vae = self._pipe.vae
        with torch.no_grad():
            latents_BCHW: Tensor = vae.encode(pixels_BCHW.to(self.device, vae.dtype)).latents
        return latents_BCHW.float()

    def encode_captions(self, captions: Sequence[str]) -> TextStates:
        return TextStates({"states": self._pipe.encode_prompt(captions)})

    def predict(self, noisy_BCHW: Tensor, timesteps_B: Tensor, text: TextStates, _sizes_B6: Tensor) -> Tensor:
        predicted: Tensor = self.denoiser(
            noisy_BCHW.to(self.dtype), timesteps_B, encoder_hidden_states=text["states"], return_dict=False
        )[0]
        return predicted

    def default_targets(self, preset: Preset) -> tuple[str, ...]:
        # Its first and last convolutions turn 24 channels that carry colour and texture: a style is half there.
        return (*unet_targets(preset), "conv_in", "conv_out") if preset == "style" else unet_targets(preset)
