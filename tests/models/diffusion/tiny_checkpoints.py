"""Checkpoints of the real architectures with tiny random weights, in diffusers' own layout on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
from safetensors.torch import save_file
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    CLIPVisionConfig,
    CLIPVisionModelWithProjection,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

from models.diffusion.checkpoints import Checkpoint, Family

WIDTH = 32


def sd15(folder: Path, *, in_channels: int = 4) -> Checkpoint:
    torch.manual_seed(0)
    StableDiffusionPipeline(
        vae=_vae(4),
        text_encoder=CLIPTextModel(_text_config()),
        tokenizer=_clip_tokenizer(),
        unet=_unet(in_channels, cross_attention_dim=WIDTH),
        scheduler=_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
    return _row(folder, Family.SD15)


def safety_checker(threshold: float) -> dict[str, Any]:
    """The parts by which SD1.5 withholds pictures; a cosine above the threshold is flagged, so -2 flags each."""
    torch.manual_seed(0)
    vision = CLIPVisionConfig(hidden_size=8, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8)
    checker = StableDiffusionSafetyChecker(CLIPConfig(vision_config=vision.to_dict(), projection_dim=8)).eval()
    with torch.no_grad():
        checker.concept_embeds_weights.fill_(threshold)
        checker.special_care_embeds_weights.fill_(2.0)
    return {"safety_checker": checker, "feature_extractor": CLIPImageProcessor()}


def sdxl(folder: Path) -> Checkpoint:
    torch.manual_seed(0)
    StableDiffusionXLPipeline(
        vae=_vae(4),
        text_encoder=CLIPTextModel(_text_config()),
        text_encoder_2=CLIPTextModelWithProjection(_text_config()),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_clip_tokenizer(),
        unet=_unet(
            4,
            cross_attention_dim=2 * WIDTH,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=WIDTH + 6 * 8,
        ),
        scheduler=_scheduler(),
    ).save_pretrained(folder)
    return _row(folder, Family.SDXL)


def flux(folder: Path) -> Checkpoint:
    torch.manual_seed(0)
    FluxPipeline(
        vae=_vae(4, shift_factor=0.1, scaling_factor=0.36),
        text_encoder=CLIPTextModel(_text_config()),
        text_encoder_2=_t5(),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_t5_tokenizer(),
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=WIDTH,
            pooled_projection_dim=WIDTH,
            axes_dims_rope=(4, 4, 8),
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    ).save_pretrained(folder)
    return _row(folder, Family.FLUX)


def sd3(folder: Path) -> Checkpoint:
    torch.manual_seed(0)
    StableDiffusion3Pipeline(
        vae=_vae(16, shift_factor=0.06, scaling_factor=1.5),
        text_encoder=CLIPTextModelWithProjection(_text_config()),
        text_encoder_2=CLIPTextModelWithProjection(_text_config()),
        text_encoder_3=_t5(),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_clip_tokenizer(),
        tokenizer_3=_t5_tokenizer(),
        transformer=SD3Transformer2DModel(
            sample_size=32, patch_size=1, in_channels=16, num_layers=2, attention_head_dim=8, num_attention_heads=4,
            joint_attention_dim=WIDTH, caption_projection_dim=32, pooled_projection_dim=2 * WIDTH, out_channels=16,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    ).save_pretrained(folder)  # fmt: skip
    return _row(folder, Family.SD3)


def lora(checkpoint: Checkpoint, name: str = "style.safetensors", *, size: float = 0.5) -> str:
    """A LoRA of rank 2 on every attention projection of the UNet, in diffusers' layout; its file name."""
    from peft import LoraConfig
    from peft.utils import get_peft_model_state_dict

    folder = checkpoint.folder()
    unet = UNet2DConditionModel.from_pretrained(folder / "unet")
    unet.add_adapter(LoraConfig(r=2, lora_alpha=2, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
    torch.manual_seed(1)
    layers = {key: torch.randn_like(value) * size for key, value in get_peft_model_state_dict(unet).items()}
    StableDiffusionPipeline.save_lora_weights(folder, unet_lora_layers=layers, weight_name=name)
    return name


def ip_adapter(checkpoint: Checkpoint, name: str = "ip_adapter.safetensors") -> tuple[str, str]:
    """An IP-Adapter for the UNet and an image encoder: the file, and the encoder's folder."""
    folder = checkpoint.folder()
    torch.manual_seed(2)
    CLIPVisionModelWithProjection(
        CLIPVisionConfig(
            hidden_size=WIDTH, intermediate_size=37, projection_dim=WIDTH, num_hidden_layers=1, num_attention_heads=4,
            image_size=32, patch_size=8,
        )
    ).save_pretrained(folder / "image_encoder")  # fmt: skip
    unet = UNet2DConditionModel.from_pretrained(folder / "unet")
    wide = unet.config.cross_attention_dim
    tensors = {
        "image_proj.proj.weight": torch.randn(4 * wide, WIDTH) * 0.1,
        "image_proj.proj.bias": torch.zeros(4 * wide),
        "image_proj.norm.weight": torch.ones(wide),
        "image_proj.norm.bias": torch.zeros(wide),
    }
    for index, processor in enumerate(unet.attn_processors):
        if processor.endswith("attn2.processor"):
            attention = unet.get_submodule(processor.removesuffix(".processor"))
            for part in ("to_k_ip", "to_v_ip"):
                tensors[f"ip_adapter.{index}.{part}.weight"] = torch.randn(attention.inner_dim, wide)
    save_file(tensors, folder / name)
    return name, "image_encoder"


def ic_light(checkpoint: Checkpoint, name: str, *, num_pictures: int = 1, size: float = 0.05) -> str:
    """Offsets to every parameter of the UNet, with a first convolution for as many pictures beside the latents."""
    folder = checkpoint.folder()
    unet = UNet2DConditionModel.from_pretrained(folder / "unet")
    torch.manual_seed(3)
    offsets = {key: torch.randn_like(value) * size for key, value in unet.state_dict().items()}
    out_channels, _, *kernel = unet.conv_in.weight.shape
    offsets["conv_in.weight"] = torch.randn(out_channels, 4 + 4 * num_pictures, *kernel) * size
    save_file(offsets, folder / name)
    return name


def _row(folder: Path, family: Family) -> Checkpoint:
    return Checkpoint(
        name=f"tiny-{family}",
        family=family,
        source=f"folder:{folder}",
        licence="random numbers",
        commercial_use=True,
        num_inference_steps=4,
        strength=0.6,
        max_change=1e9,
    )


def _vae(latent_channels: int, **options: float) -> AutoencoderKL:
    return AutoencoderKL(
        block_out_channels=(8, 8, 8, 8), down_block_types=("DownEncoderBlock2D",) * 4, latent_channels=latent_channels,
        up_block_types=("UpDecoderBlock2D",) * 4, norm_num_groups=4, sample_size=64, **options,
    )  # fmt: skip


def _unet(in_channels: int, **options: object) -> UNet2DConditionModel:
    return UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, in_channels=in_channels, norm_num_groups=4, sample_size=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4, **options,
    )  # fmt: skip


def _t5() -> T5EncoderModel:
    return T5EncoderModel(T5Config(vocab_size=300, d_model=WIDTH, d_kv=8, d_ff=37, num_layers=1, num_heads=4))


def _t5_tokenizer() -> T5TokenizerFast:
    return T5TokenizerFast(
        vocab=[(piece, -1.0) for piece in ("<pad>", "</s>", "<unk>", *sorted(ByteLevel.alphabet()))], extra_ids=0
    )


def _text_config() -> CLIPTextConfig:
    return CLIPTextConfig(
        vocab_size=514, hidden_size=WIDTH, intermediate_size=37, projection_dim=WIDTH, num_hidden_layers=2,
        num_attention_heads=4, bos_token_id=512, eos_token_id=513, pad_token_id=513,
    )  # fmt: skip


def _clip_tokenizer() -> CLIPTokenizer:
    letters = sorted(ByteLevel.alphabet())
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={piece: index for index, piece in enumerate(pieces)}, merges=[], model_max_length=77)


def write_index(folder: Path, pipeline_class: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_index.json").write_text(json.dumps({"_class_name": pipeline_class}), encoding="utf-8")


def _scheduler() -> DDIMScheduler:
    return DDIMScheduler(
        beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, clip_sample=False, steps_offset=1
    )
