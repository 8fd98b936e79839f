"""Small bases, datasets and runs for tests of the LoRA loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from diffusers import (
    FlowMatchEulerDiscreteScheduler,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
)
from transformers import CLIPTextModelWithProjection, T5Config, T5EncoderModel

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.drawn64.pipeline import random_drawn64
from tests.models.diffusion import tiny_checkpoints
from tests.training.data.drawn import picture
from training.bases import TrainableBase, load_base
from training.bases.loading import base_of
from training.data.prepared import PreparedDataset, open_prepared
from training.data.shards import PictureToStore, write_prepared
from training.lora.config import LoraTraining

DRAWN64 = Checkpoint(
    name="tiny-drawn64", family=Family.DRAWN64, source="folder:none", licence="random numbers", commercial_use=True
)


def drawn64(seed: int = 0) -> TrainableBase:
    return base_of(DRAWN64, random_drawn64(seed))


def of_family(family: Family, folder: Path) -> TrainableBase:
    """A base of random weights, of diffusers' own classes, loaded from its folder."""
    if family is Family.DRAWN64:
        return drawn64()
    make = {
        Family.SD15: tiny_checkpoints.sd15,
        Family.SDXL: tiny_checkpoints.sdxl,
        Family.FLUX: tiny_checkpoints.flux,
        Family.SD3: sd3,
    }
    return load_base(make[family](folder))


def sd3(folder: Path) -> Checkpoint:
    torch.manual_seed(0)
    wide = tiny_checkpoints.WIDTH
    clip = tiny_checkpoints._text_config()
    flux_like = tiny_checkpoints  # the same tokenizers as its FLUX
    StableDiffusion3Pipeline(
        vae=flux_like._vae(4, shift_factor=0.06, scaling_factor=1.5),
        text_encoder=CLIPTextModelWithProjection(clip),
        text_encoder_2=CLIPTextModelWithProjection(clip),
        text_encoder_3=T5EncoderModel(
            T5Config(vocab_size=300, d_model=4 * wide, d_kv=8, d_ff=37, num_layers=1, num_heads=4)
        ),
        tokenizer=flux_like._clip_tokenizer(),
        tokenizer_2=flux_like._clip_tokenizer(),
        tokenizer_3=t5_tokenizer(),
        transformer=SD3Transformer2DModel(
            sample_size=8, patch_size=2, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=8,
            num_attention_heads=4, joint_attention_dim=4 * wide, caption_projection_dim=32,
            pooled_projection_dim=2 * wide, pos_embed_max_size=16,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
    ).save_pretrained(folder)  # fmt: skip
    return tiny_checkpoints._row(folder, Family.SD3)


def t5_tokenizer():
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import T5TokenizerFast

    return T5TokenizerFast(
        vocab=[(piece, -1.0) for piece in ("<pad>", "</s>", "<unk>", *sorted(ByteLevel.alphabet()))], extra_ids=0
    )


def dataset(folder: Path, num: int = 8, *, side: int = 32, masks: bool = False, first: int = 0) -> PreparedDataset:
    """Blobs with captions, none like another; with masks, the left half counts."""
    mask = np.zeros((side, side), np.uint8)
    mask[:, : side // 2] = 255
    pictures = [
        PictureToStore(
            name=f"picture{first + index:03d}.png",
            pixels=picture(first + index, side, side),
            mask=mask if masks else None,
            caption=f"a drawing, number {index}",
            crop=(0, 0, side, side),
            original_size=(side, side),
            cluster=index,
            embedding=np.eye(4, dtype=np.float32)[index % 4],
        )
        for index in range(num)
    ]
    write_prepared(folder, pictures, trigger_word="blobs")
    return open_prepared(folder)


def run(**changes: object) -> LoraTraining:
    """A run of a few steps; ``changes`` as in ``LoraTraining``."""
    values = {
        "num_steps": 4,
        "batch_size": 2,
        "network": LoraTraining.Network(kind="locon", rank=2, alpha=4, targets=("to_q", "conv1")),
        "optimizer": LoraTraining.Optimizer(learning_rate=1e-2),
        "validation": LoraTraining.Validation(share=0.25, every_steps=2, num_timesteps=2),
        "samples": LoraTraining.Samples(),
        "checkpoints": LoraTraining.Checkpoints(every_steps=2),
        **changes,
    }
    return LoraTraining(**values)  # type: ignore[arg-type]
