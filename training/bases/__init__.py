"""What a LoRA is trained on: one seam before SD1.5, SDXL, FLUX, SD3 and drawn-64.

A base knows how its family makes latents and text states, what its network predicts, and nothing about LoRAs. Each
module here serves one family on diffusers' own classes; the loop in ``training/train_lora.py`` sees ``TrainableBase``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from models.diffusion.checkpoints import Checkpoint, Family

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

Preset = Literal["style", "industry", "character"]


@dataclass(frozen=True, slots=True)
class TextStates:
    """What a family's text encoders make of captions: named tensors, each with the captions first."""

    tensors: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __len__(self) -> int:
        return int(next(iter(self.tensors.values())).shape[0])

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        return type(self)({name: value.to(device) for name, value in self.tensors.items()})

    def rows(self, indices: Sequence[int]) -> Self:
        """Those captions, in that order."""
        return type(self)({name: value[list(indices)] for name, value in self.tensors.items()})

    @classmethod
    def join(cls, several: Sequence[TextStates]) -> Self:
        """One batch of several."""
        import torch

        return cls({name: torch.cat([one[name] for one in several]) for name in several[0].tensors})


class TrainableBase(Protocol):
    """A frozen generator whose denoiser takes a LoRA.

    Shapes: B pictures, C channels, H and W in pixels for pictures and in latents for latents.

    Attributes:
        name: The checkpoint's.
        denoiser: The network that the LoRA goes into; frozen, in eval mode.
        side_px: The side of a square picture that the family was trained at.
        vae_factor: Pixels a latent, along one side; picture sides must be multiples of it.
    """

    name: str
    family: Family
    denoiser: nn.Module
    side_px: int
    vae_factor: int

    @property
    def device(self) -> torch.device: ...

    def encode_pictures(self, pixels_BCHW: Tensor, *, generator: torch.Generator) -> Tensor:
        """Scaled latents, float32, of pictures (B, 3, H, W) between -1 and 1; sampled where the VAE has a variance."""
        ...

    def encode_captions(self, captions: Sequence[str]) -> TextStates: ...

    def sample_timesteps(self, num: int, *, generator: torch.Generator) -> Tensor:
        """Timesteps as the family is trained on: (num,) long, or float between 0 and 1000 for flow matching."""
        ...

    def even_timesteps(self, num: int) -> Tensor:
        """The same by even steps through that distribution, for validation."""
        ...

    def noise_and_target(
        self,
        latents_BCHW: Tensor,
        noise_BCHW: Tensor,
        timesteps_B: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The noisy latents, and what the network is to predict of them: noise, v or flow."""
        ...

    def predict(self, noisy_BCHW: Tensor, timesteps_B: Tensor, text: TextStates, sizes_B6: Tensor) -> Tensor:
        """What the network says, (B, C, H, W).

        Args:
            sizes_B6: Original height and width, crop's top and left, target height and width, in pixels.
        """
        ...

    def signal_to_noise(self, timesteps_B: Tensor) -> Tensor | None:
        """For min-SNR; None for flow matching."""
        ...

    @property
    def prediction_type(self) -> Literal["epsilon", "v_prediction", "flow"]: ...

    def pipeline(self) -> Any:
        """A diffusers pipeline with the denoiser in place, for pictures."""
        ...

    def default_targets(self, preset: Preset) -> tuple[str, ...]:
        """Ends of the names of the modules that this preset trains."""
        ...


def load_base(checkpoint: Checkpoint, *, device: str = "cpu", dtype: str = "float32") -> TrainableBase:
    """The checkpoint as something a LoRA can be trained on.

    Raises:
        Unavailable: ``engine_not_installed``, ``weights_missing``, ``checkpoint_not_usable``.
    """
    from training.bases.loading import load

    return load(checkpoint, device=device, dtype=dtype)
