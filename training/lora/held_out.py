"""Pictures that a run does not train on, and their loss at the same noise and timesteps each time.

B pictures, C channels, H and W of the latents.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from services.domain.errors import ContentRejected
from training.bases import TrainableBase
from training.data.prepared import PreparedDataset
from training.lora.config import LoraTraining
from training.lora.encoded import EncodedPictures, seed_of
from training.lora.losses import loss_per_picture


def split(dataset: PreparedDataset, config: LoraTraining) -> tuple[PreparedDataset, PreparedDataset]:
    """Pictures to train on and pictures held out: whole clusters of near-duplicates, by seed and not by order.

    Raises:
        ContentRejected: ``dataset_empty``.
    """
    if not len(dataset):
        raise ContentRejected("The dataset has no picture to train on.", code="dataset_empty")
    clusters: dict[int, list[int]] = {}
    for index, sample in enumerate(dataset.samples):
        clusters.setdefault(sample.cluster, []).append(index)
    share = round(config.validation.share * len(dataset))
    wanted = min(config.validation.max_pictures, max(1, share) if config.validation.share else 0)

    def draw(members: list[int]) -> int:
        return seed_of(config.seed, "held out", min(dataset.samples[index].id for index in members))

    drawn = sorted(clusters.values(), key=draw)
    held: list[int] = []
    for members in drawn[:-1]:  # one cluster at least is trained on
        if len(held) + len(members) <= wanted:
            held += members
    kept = sorted(set(range(len(dataset))) - set(held))
    return dataset.subset(kept), dataset.subset(sorted(held))


def validation_loss(
    base: TrainableBase,
    pictures: EncodedPictures,
    config: LoraTraining,
    *,
    autocast: Callable[[], AbstractContextManager[Any]],
    look_up: Callable[[], None],
) -> float:
    """Mean loss over the pictures and evenly chosen timesteps; unweighted, so that runs compare.

    Args:
        look_up: Called before each batch; whatever it raises ends it.
    """
    losses: list[Tensor] = []
    with torch.no_grad():
        for batch in _batches(pictures.dataset, config.batch_size):
            latents_BCHW, text, sizes_B6 = pictures.latents(batch), pictures.text(batch), pictures.sizes(batch)
            for number, timestep in enumerate(base.even_timesteps(config.validation.num_timesteps)):
                look_up()
                ids = [pictures.dataset.samples[index].id for index in batch]
                noise_BCHW = torch.stack([_noise(latents_BCHW.shape[1:], config.seed, one, number) for one in ids]).to(
                    base.device
                )
                timesteps_B = timestep.expand(len(batch))
                noisy_BCHW, target_BCHW = base.noise_and_target(latents_BCHW, noise_BCHW, timesteps_B)
                with autocast():
                    predicted_BCHW = base.predict(noisy_BCHW, timesteps_B, text, sizes_B6)
                losses.append(loss_per_picture(predicted_BCHW, target_BCHW))
    return float(torch.cat(losses).double().mean())


def _noise(shape: torch.Size, seed: int, sample_id: str, number: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed_of(seed, "validation", sample_id, number))
    return torch.randn(shape, generator=generator)


def _batches(dataset: PreparedDataset, size: int) -> list[list[int]]:
    """All indices in batches of one picture size, none of them twice."""
    by_bucket: dict[tuple[int, int], list[int]] = {}
    for index, sample in enumerate(dataset.samples):
        by_bucket.setdefault(sample.bucket, []).append(index)
    return [members[at : at + size] for members in by_bucket.values() for at in range(0, len(members), size)]
