"""SD3 and SD3.5: a transformer over patches, two CLIPs and T5, matched as a flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from models.diffusion.checkpoints import Checkpoint
from training.bases import Preset, TextStates
from training.bases.noise import MatchedFlow
from training.bases.parts import PipelineBase

_ATTENTION: Final = (
    "attn.to_q", "attn.to_k", "attn.to_v", "attn.to_out.0",
    "attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj", "attn.to_add_out",
)  # fmt: skip
_FEED_FORWARD: Final = ("ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2")


class Sd3Base(MatchedFlow, PipelineBase):
    def __init__(self, checkpoint: Checkpoint, pipe: Any) -> None:
        PipelineBase.__init__(self, checkpoint, pipe)
        MatchedFlow.__init__(self, pipe.scheduler.config, self.device)
        self.vae_factor *= int(self.denoiser.config.patch_size)

    def encode_captions(self, captions: Sequence[str]) -> TextStates:
        with torch.no_grad():
            states, _, pooled, _ = self._pipe.encode_prompt(
                list(captions), None, None, device=self.device, do_classifier_free_guidance=False
            )
        return TextStates({"states": states, "pooled": pooled})

    def predict(self, noisy_BCHW: Tensor, timesteps_B: Tensor, text: TextStates, _sizes_B6: Tensor) -> Tensor:
        predicted: Tensor = self.denoiser(
            hidden_states=noisy_BCHW.to(self.dtype),
            timestep=timesteps_B,
            encoder_hidden_states=text["states"],
            pooled_projections=text["pooled"],
            return_dict=False,
        )[0]
        return predicted

    def default_targets(self, preset: Preset) -> tuple[str, ...]:
        return _ATTENTION if preset == "character" else (*_ATTENTION, *_FEED_FORWARD)
