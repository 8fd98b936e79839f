"""SDXL: a UNet that attends to two CLIPs, and is told sizes and crop beside the pooled text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.diffusion.checkpoints import Checkpoint
from training.bases import Preset, TextStates
from training.bases.noise import PredictedNoise
from training.bases.parts import PipelineBase, unet_targets


class SdxlBase(PredictedNoise, PipelineBase):
    def __init__(self, checkpoint: Checkpoint, pipe: Any) -> None:
        PipelineBase.__init__(self, checkpoint, pipe)
        PredictedNoise.__init__(self, pipe.scheduler.config, self.device)

    def encode_captions(self, captions: Sequence[str]) -> TextStates:
        with torch.no_grad():
            states, _, pooled, _ = self._pipe.encode_prompt(
                list(captions), device=self.device, do_classifier_free_guidance=False
            )
        return TextStates({"states": states, "pooled": pooled})

    def predict(self, noisy_BCHW: Tensor, timesteps_B: Tensor, text: TextStates, sizes_B6: Tensor) -> Tensor:
        predicted: Tensor = self.denoiser(
            noisy_BCHW.to(self.dtype),
            timesteps_B,
            encoder_hidden_states=text["states"],
            added_cond_kwargs={"text_embeds": text["pooled"], "time_ids": sizes_B6.to(self.dtype)},
            return_dict=False,
        )[0]
        return predicted

    def default_targets(self, preset: Preset) -> tuple[str, ...]:
        return unet_targets(preset)
