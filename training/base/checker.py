"""An independent judge: a small network that tells a picture's attributes, trained on drawings of its own.

It sees all combinations, other drawings than the generator's, and nothing that was generated; what it says of a
generated picture is the figure that ``drawn-64`` is held to. B pictures, C channels, H and W pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.base.attributes import CHOICES, Attributes
from training.base.drawings import DrawnSet
from training.base.stages import Progress, Stage

CHECKER_FILE: Final = Path(__file__).with_name("checker.safetensors")
_BATCH: Final = 48
_WIDTHS: Final = (24, 48, 72, 104)


class Checker(nn.Module):
    """Four convolutions, each halving the picture, and one linear answer for each attribute; 118,000 parameters."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for width in _WIDTHS:
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.features = nn.Sequential(*layers)
        self.answer = nn.Linear(2 * before, sum(map(len, CHOICES)))

    def forward(self, pixels_BCHW: Tensor) -> tuple[Tensor, ...]:
        """For each attribute logits (B, choices), of pixels from -1 to 1."""
        features = self.features(pixels_BCHW)
        both = torch.cat([features.mean((2, 3)), features.amax((2, 3))], dim=1)
        return tuple(self.answer(both).split([len(one) for one in CHOICES], dim=1))

    @torch.no_grad()
    def labels(self, pictures: NDArray[np.uint8]) -> NDArray[np.int64]:
        """(N, 4): what each picture, uint8 (N, 64, 64, 3), shows, as ``Attributes.labels`` counts."""
        told = []
        for begin in range(0, len(pictures), 64):
            logits = self(as_pixels(pictures[begin : begin + 64]))
            told.append(torch.stack([one.argmax(1) for one in logits], dim=1))
        return np.asarray(torch.cat(told).numpy())

    def right(self, pictures: NDArray[np.uint8], wanted: Sequence[Attributes]) -> NDArray[np.bool_]:
        """(N, 4): which attributes of which picture are as wanted."""
        return np.asarray(self.labels(pictures) == np.array([one.labels() for one in wanted]))


def as_pixels(pictures: NDArray[np.uint8]) -> Tensor:
    """Float pixels (B, 3, H, W) from -1 to 1 of uint8 pictures (B, H, W, 3)."""
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1


def train_checker(
    drawn: DrawnSet, num_steps: int, seed: int, folder: Path, on_progress: Callable[[Progress], None]
) -> Checker:
    """A checker trained on drawings of all combinations, which must not be those that the generator learns from."""
    labels = torch.from_numpy(drawn.labels())
    torch.manual_seed(seed)
    checker = Checker()

    def loss(generator: torch.Generator, random: np.random.Generator) -> Tensor:
        chosen = random.integers(len(labels), size=_BATCH)
        logits = checker(_disturbed(as_pixels(drawn.pictures[chosen]), generator))
        wanted = labels[torch.from_numpy(chosen)].unbind(1)
        losses = [functional.cross_entropy(one, of) for one, of in zip(logits, wanted, strict=True)]
        return torch.stack(losses).sum()

    Stage(
        name="checker",
        number=0,
        network=checker,
        loss=loss,
        num_steps=num_steps,
        seed=seed,
        learning_rate=3e-3,
        ema_decay=0.98,
        weight_decay=1e-2,
    ).run(folder, on_progress)
    _measure_norms(checker, drawn)
    return checker


def _disturbed(pixels_BCHW: Tensor, generator: torch.Generator) -> Tensor:
    """Noise, light and softness such as generated pictures have: the judge must not judge those."""
    amount = 0.12 * torch.rand((len(pixels_BCHW), 1, 1, 1), generator=generator)
    light = 1 + 0.1 * (torch.rand((len(pixels_BCHW), 1, 1, 1), generator=generator) - 0.5)
    soft = functional.avg_pool2d(functional.pad(pixels_BCHW, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    share = 0.7 * torch.rand((len(pixels_BCHW), 1, 1, 1), generator=generator)
    noise = torch.randn(pixels_BCHW.shape, generator=generator)
    return light * (pixels_BCHW + share * (soft - pixels_BCHW)) + amount * noise


@torch.no_grad()
def _measure_norms(checker: Checker, drawn: DrawnSet) -> None:
    """Means and variances of the normalisations belong to the last weights, not to their mean: measured anew."""
    norms = [one for one in checker.modules() if isinstance(one, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain mean over batches
    checker.train()
    generator = torch.Generator().manual_seed(0)
    for begin in range(0, min(len(drawn.pictures), 20 * _BATCH), _BATCH):
        checker(_disturbed(as_pixels(drawn.pictures[begin : begin + _BATCH]), generator))
    checker.eval()


def save_checker(checker: Checker, file: Path) -> None:
    """Write it in half precision."""
    from safetensors.torch import save_file

    state = {name: value.half() for name, value in checker.state_dict().items() if value.is_floating_point()}
    save_file(state, file, metadata={"purpose": "verification"})  # of several keys the order differs from run to run


def load_checker(file: Path = CHECKER_FILE) -> Checker:
    """The checker that comes with this package, or another that ``train base`` made."""
    from safetensors.torch import load_file

    checker = Checker()
    missing, unexpected = checker.load_state_dict(load_file(file), strict=False)
    if unexpected or any(not name.endswith("num_batches_tracked") for name in missing):
        raise ValueError(f"{file.name} is no checker of drawings")
    checker.float().eval()
    return checker
