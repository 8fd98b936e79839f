"""What bases share: a pipeline's frozen parts, and pictures through its VAE."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor, nn

from models.diffusion.checkpoints import Checkpoint
from training.bases import Preset

UNET_ATTENTION: Final = ("to_q", "to_k", "to_v", "to_out.0")
_UNET_TRANSFORMER: Final = (*UNET_ATTENTION, "ff.net.0.proj", "ff.net.2", "proj_in", "proj_out")
# As sd-scripts' LoCon has them: of residual blocks and of the steps between sizes.
_UNET_CONVOLUTIONS: Final = (
    "conv1", "conv2", "conv_shortcut", "time_emb_proj", "downsamplers.0.conv", "upsamplers.0.conv",
)  # fmt: skip


class PipelineBase:
    """A loaded pipeline, frozen; families add text, prediction and noise."""

    def __init__(self, checkpoint: Checkpoint, pipe: Any) -> None:
        self.name = checkpoint.name
        self.family = checkpoint.family
        self.side_px = checkpoint.family.side_px
        self._pipe = pipe
        self.denoiser: nn.Module = getattr(pipe, checkpoint.family.component)
        self.vae_factor = int(pipe.vae_scale_factor)
        for part in pipe.components.values():
            if isinstance(part, nn.Module):
                part.requires_grad_(False)
                part.eval()

    @property
    def device(self) -> torch.device:
        return next(self.denoiser.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.denoiser.parameters()).dtype

    def pipeline(self) -> Any:
        return self._pipe

    def encode_pictures(self, pixels_BCHW: Tensor, *, generator: torch.Generator) -> Tensor:
        """In float32 whatever the pipeline calculates in: some VAEs overflow in half precision."""
        vae = self._pipe.vae
        dtype = vae.dtype
        try:
            if dtype != torch.float32:
                vae.to(dtype=torch.float32)
            with torch.no_grad():
                spread = vae.encode(pixels_BCHW.to(self.device, torch.float32)).latent_dist
        finally:
            if dtype != torch.float32:
                vae.to(dtype=dtype)
        noise_BCHW = torch.randn(spread.mean.shape, generator=generator).to(self.device)
        latents_BCHW = spread.mean + spread.std * noise_BCHW
        shift = getattr(vae.config, "shift_factor", None) or 0.0
        scaled_BCHW: Tensor = (latents_BCHW - shift) * vae.config.scaling_factor
        return scaled_BCHW


def unet_targets(preset: Preset) -> tuple[str, ...]:
    """A style needs the convolutions that make textures; what a thing or a person looks like is asked of attention."""
    return (*_UNET_TRANSFORMER, *_UNET_CONVOLUTIONS) if preset == "style" else _UNET_TRANSFORMER
