"""Trains drawn-64's autoencoder on drawings.

B pictures, C channels, H and W pixels or latents, D numbers of a patch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from models.diffusion.drawn64.autoencoder import FACTOR, DrawnAutoencoder
from training.base.checker import as_pixels
from training.base.stages import Progress, Stage

_BATCH: Final = 16
_NUM_FOR_COMPONENTS: Final = 2000
_NUM_FOR_STATISTICS: Final = 2000
# A denoiser's latents are never exact: a decoder that knew only exact ones would show the rest as speckles.
_LATENT_NOISE: Final = 0.28


def train_autoencoder(
    pictures: NDArray[np.uint8], num_steps: int, seed: int, folder: Path, on_progress: Callable[[Progress], None]
) -> DrawnAutoencoder:
    """An autoencoder whose latents have mean 0 and standard deviation 1 over ``pictures``, uint8 (N, 64, 64, 3)."""
    torch.manual_seed(seed)
    vae: DrawnAutoencoder = DrawnAutoencoder()
    _start_from_components(vae, as_pixels(pictures[:_NUM_FOR_COMPONENTS]))
    vae.to(memory_format=torch.channels_last)

    def loss(generator: torch.Generator, random: np.random.Generator) -> Tensor:
        chosen = np.sort(random.choice(len(pictures), _BATCH, replace=False))
        return _loss(vae, as_pixels(pictures[chosen]), generator)

    Stage(
        name="autoencoder",
        number=1,
        network=vae,
        loss=loss,
        num_steps=num_steps,
        seed=seed,
        learning_rate=1.5e-3,
        ema_decay=0.995,
    ).run(folder, on_progress)
    _take_statistics(vae, pictures[:_NUM_FOR_STATISTICS])
    return vae


def _loss(vae: DrawnAutoencoder, pixels_BCHW: Tensor, generator: torch.Generator) -> Tensor:
    """L1, squares, half the L1 of gradients, and a little of the latents' squares in place of a prior."""
    pixels_BCHW = pixels_BCHW.contiguous(memory_format=torch.channels_last)
    amount_B = _LATENT_NOISE * torch.rand((len(pixels_BCHW), 1, 1, 1), generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        raw_BCHW = vae.raw_latents(pixels_BCHW).float()
        spread_C = raw_BCHW.detach().std(dim=(0, 2, 3), keepdim=True)
        noise_BCHW = torch.randn(raw_BCHW.shape, generator=generator)
        made_BCHW = vae.pixels_of(raw_BCHW + amount_B * spread_C * noise_BCHW).float()
    difference = made_BCHW - pixels_BCHW
    down, right = difference.diff(dim=2).abs().mean(), difference.diff(dim=3).abs().mean()
    return difference.abs().mean() + difference.square().mean() + 0.5 * (down + right) + 1e-3 * raw_BCHW.square().mean()


@torch.no_grad()
def _start_from_components(vae: DrawnAutoencoder, pixels_BCHW: Tensor) -> None:
    """Set the linear path to the patches' principal components, each latent's variance 1."""
    channels = vae.patches_in.out_channels
    mean_C = pixels_BCHW.mean((0, 2, 3))
    centred = pixels_BCHW - mean_C.view(1, 3, 1, 1)
    patches_ND = functional.unfold(centred, FACTOR, stride=FACTOR).transpose(1, 2).reshape(-1, 3 * FACTOR**2)
    values_D, vectors_DD = torch.linalg.eigh(patches_ND.T @ patches_ND / len(patches_ND))
    spread_C = values_D[-channels:].clamp_min(1e-8).sqrt().flip(0)
    vectors_CD = vectors_DD[:, -channels:].flip(1).T
    into = (vectors_CD / spread_C[:, None]).view(channels, 3, FACTOR, FACTOR)
    vae.patches_in.weight.copy_(into)
    vae.patches_in.bias.copy_(-(into.sum((2, 3)) @ mean_C))
    vae.patches_out.weight.copy_((vectors_CD * spread_C[:, None]).view(channels, 3, FACTOR, FACTOR))
    vae.patches_out.bias.copy_(mean_C)


@torch.no_grad()
def _take_statistics(vae: DrawnAutoencoder, pictures: NDArray[np.uint8]) -> None:
    raw = [vae.raw_latents(as_pixels(pictures[begin : begin + 64])) for begin in range(0, len(pictures), 64)]
    raw_BCHW = torch.cat(raw)
    vae.latents_mean.copy_(raw_BCHW.mean((0, 2, 3)))
    vae.latents_std.copy_(raw_BCHW.std((0, 2, 3)))


@torch.no_grad()
def reconstructed(vae: DrawnAutoencoder, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The pictures, uint8 (N, 64, 64, 3), encoded and decoded."""
    made = []
    for begin in range(0, len(pictures), 64):
        pixels = vae.decode(vae.encode(as_pixels(pictures[begin : begin + 64])).latents).sample
        made.append(((pixels.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8).permute(0, 2, 3, 1))
    return np.asarray(torch.cat(made).numpy())


def peak_signal_to_noise_db(pictures: NDArray[np.uint8], others: NDArray[np.uint8]) -> float:
    """PSNR over all pictures together, in dB."""
    squares = (pictures.astype(np.float64) - others.astype(np.float64)) ** 2
    return float(10 * np.log10(255**2 / squares.mean()))
