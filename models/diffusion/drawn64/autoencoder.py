"""The autoencoder: 64 x 64 pixels to 8 x 8 latents of 24 channels and back.

B pictures, C channels, H and W as the tensor's own. Pixels are -1 to 1; latents as the denoiser sees them have mean 0
and standard deviation 1 in each channel over the drawings.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.autoencoders.autoencoder_tiny import AutoencoderTinyOutput
from diffusers.models.autoencoders.vae import DecoderOutput
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn
from torch.nn import functional

FACTOR: Final = 8  # pixels a latent, each way


class Residual(nn.Module):
    """Two 3 x 3 convolutions beside the identity. No normalisation; it begins as the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        return x_BCHW + self.second(functional.silu(self.first(functional.silu(x_BCHW))))


class DrawnAutoencoder(ModelMixin, ConfigMixin):
    """Encodes and decodes drawings; deterministic, without a sampled posterior.

    No convolution runs at full resolution: 2 x 2 pixels become channels first. A linear path over patches of 8 x 8
    pixels runs beside the network; training starts it from the principal components of drawings, so that the network
    only has to learn what those miss.
    """

    config_name = "config.json"
    _supports_gradient_checkpointing = False

    @register_to_config
    def __init__(
        self,
        latent_channels: int = 24,
        block_out_channels: tuple[int, ...] = (48, 64, 96),
        layers_per_block: int = 2,
        scaling_factor: float = 1.0,
    ) -> None:
        super().__init__()
        w0, w1, w2 = block_out_channels
        blocks = layers_per_block

        def residuals(width: int) -> list[nn.Module]:
            return [Residual(width) for _ in range(blocks)]

        self.encoder = nn.Sequential(
            nn.PixelUnshuffle(2),
            nn.Conv2d(12, w0, 3, padding=1),
            *residuals(w0),
            nn.Conv2d(w0, w1, 4, stride=2, padding=1),
            *residuals(w1),
            nn.Conv2d(w1, w2, 4, stride=2, padding=1),
            *residuals(w2),
            nn.SiLU(),
            nn.Conv2d(w2, latent_channels, 3, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(latent_channels, w2, 3, padding=1),
            *residuals(w2),
            nn.ConvTranspose2d(w2, w1, 4, stride=2, padding=1),
            *residuals(w1),
            nn.ConvTranspose2d(w1, w0, 4, stride=2, padding=1),
            *residuals(w0),
            nn.SiLU(),
            nn.Conv2d(w0, 12, 3, padding=1),
            nn.PixelShuffle(2),
        )
        self.patches_in = nn.Conv2d(3, latent_channels, FACTOR, stride=FACTOR)
        self.patches_out = nn.ConvTranspose2d(latent_channels, 3, FACTOR, stride=FACTOR)
        for network in (self.encoder[-1], self.decoder[-2]):  # the linear path alone, at first
            nn.init.zeros_(network.weight)
            nn.init.zeros_(network.bias)
        self.register_buffer("latents_mean", torch.zeros(latent_channels))
        self.register_buffer("latents_std", torch.ones(latent_channels))

    def raw_latents(self, pixels_BCHW: Tensor) -> Tensor:
        """Latents before they are brought to mean 0 and standard deviation 1."""
        latents_BCHW: Tensor = self.encoder(pixels_BCHW) + self.patches_in(pixels_BCHW)
        return latents_BCHW

    def pixels_of(self, raw_BCHW: Tensor) -> Tensor:
        """Pixels of ``raw_latents``."""
        pixels_BCHW: Tensor = self.decoder(raw_BCHW) + self.patches_out(raw_BCHW)
        return pixels_BCHW

    def encode(self, x: Tensor, return_dict: bool = True) -> Any:
        """Latents (B, 24, H/8, W/8) of pixels (B, 3, H, W) from -1 to 1, in diffusers' form (``.latents``)."""
        latents = (self.raw_latents(x) - _channels(self.latents_mean)) / _channels(self.latents_std)
        return AutoencoderTinyOutput(latents=latents) if return_dict else (latents,)

    def decode(self, z: Tensor, return_dict: bool = True, generator: torch.Generator | None = None) -> Any:
        """Pixels (B, 3, 8H, 8W) of latents, in diffusers' form (``.sample``); ``generator`` is not needed."""
        sample = self.pixels_of(z * _channels(self.latents_std) + _channels(self.latents_mean))
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    def forward(self, sample: Tensor, return_dict: bool = True) -> Any:
        """Encoded and decoded."""
        return self.decode(self.encode(sample).latents, return_dict=return_dict)


def _channels(values_C: Tensor) -> Tensor:
    return values_C.view(1, -1, 1, 1)
