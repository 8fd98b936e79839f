"""FLUX: a transformer over packed latents, CLIP's pooled and T5's states, matched as a flow."""

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
_FEED_FORWARD: Final = ("ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2", "proj_mlp")
_GUIDANCE: Final = 1.0  # what the guidance-distilled checkpoint is trained on further; diffusers' own default


class FluxBase(MatchedFlow, PipelineBase):
    def __init__(self, checkpoint: Checkpoint, pipe: Any) -> None:
        PipelineBase.__init__(self, checkpoint, pipe)
        MatchedFlow.__init__(self, pipe.scheduler.config, self.device)
        self.vae_factor *= 2  # packed two by two

    def encode_captions(self, captions: Sequence[str]) -> TextStates:
        with torch.no_grad():
            states, pooled, _ = self._pipe.encode_prompt(list(captions), None, device=self.device)
        return TextStates({"states": states, "pooled": pooled})

    def predict(self, noisy_BCHW: Tensor, timesteps_B: Tensor, text: TextStates, _sizes_B6: Tensor) -> Tensor:
        pipe, (batch, channels, height, width) = self._pipe, noisy_BCHW.shape
        packed = pipe._pack_latents(noisy_BCHW.to(self.dtype), batch, channels, height, width)
        picture_ids = pipe._prepare_latent_image_ids(batch, height // 2, width // 2, self.device, self.dtype)
        guided = getattr(self.denoiser.config, "guidance_embeds", False)
        predicted = self.denoiser(
            hidden_states=packed,
            timestep=timesteps_B / 1000,
            guidance=torch.full((batch,), _GUIDANCE, device=self.device) if guided else None,
            pooled_projections=text["pooled"],
            encoder_hidden_states=text["states"],
            txt_ids=torch.zeros(text["states"].shape[1], 3, device=self.device, dtype=self.dtype),
            img_ids=picture_ids,
            return_dict=False,
        )[0]
        side = pipe.vae_scale_factor
        unpacked: Tensor = pipe._unpack_latents(predicted, height * side, width * side, side)
        return unpacked

    def default_targets(self, preset: Preset) -> tuple[str, ...]:
        return _ATTENTION if preset == "character" else (*_ATTENTION, *_FEED_FORWARD)
