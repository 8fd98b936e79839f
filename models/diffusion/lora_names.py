"""Names of layers: diffusers' dotted ones, kohya's with underscores, and those of the networks' first authors.

The name that this project uses is diffusers', with its component: ``unet.mid_block.attentions.0.proj_in``. A text
encoder's begins with ``text_model.`` as in files, whether or not the loaded module has that level.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from models.diffusion.checkpoints import Family

# Parts of dotted names that have underscores of their own, and so cannot be told from two parts once dots are gone.
_WITH_UNDERSCORE: Final = frozenset((
    "down_blocks", "mid_block", "up_blocks", "transformer_blocks", "single_transformer_blocks", "to_q", "to_k",
    "to_v", "to_out", "to_add_out", "add_q_proj", "add_k_proj", "add_v_proj", "proj_in", "proj_out", "proj_mlp",
    "conv_in", "conv_out", "conv_shortcut", "time_emb_proj", "time_embedding", "add_embedding", "class_embedding",
    "linear_1", "linear_2", "time_text_embed", "timestep_embedder", "text_embedder", "guidance_embedder",
    "context_embedder", "x_embedder", "pos_embed", "norm1_context", "ff_context", "norm_out", "text_model",
    "self_attn", "q_proj", "k_proj", "v_proj", "out_proj", "text_projection", "token_embedding", "position_embedding",
    "wi_0", "wi_1", "encoder_hid_proj", "image_embedder", "final_layer_norm", "layer_norm1", "layer_norm2",
    "group_norm",
))  # fmt: skip
_LONGEST: Final = max(name.count("_") for name in _WITH_UNDERSCORE) + 1

_BARE: Final = (
    ("unet.", re.compile(r"(down_blocks|mid_block|up_blocks|conv_in|conv_out|time_embedding|add_embedding)\b")),
    (
        "transformer.",
        re.compile(
            r"(transformer_blocks|single_transformer_blocks|x_embedder|context_embedder|time_text_embed|norm_out|"
            r"proj_out|pos_embed)\b"
        ),
    ),
    ("text_encoder.", re.compile(r"(text_model|encoder\.layers)\b")),
)
_COMPONENTS: Final = ("unet.", "transformer.", "text_encoder.", "text_encoder_2.", "text_encoder_3.")
_KOHYA: Final = re.compile(r"lora_(unet|transformer|te\d?)_(.+)")
_SGM: Final = re.compile(r"(input_blocks|middle_block|output_blocks|time_embed|label_emb|out)_(\d.*)")
_ORIGINAL: Final = re.compile(r"(double_blocks|single_blocks|joint_blocks)[._]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a file's layer belongs.

    Attributes:
        names: One name, or several when the file's layer is those, stacked along the channels out.
        parts: How much of the channels out each of ``names`` has, relative to each other.
        swapped: Its channels out are in two halves that diffusers has the other way round.
    """

    names: tuple[str, ...]
    parts: tuple[int, ...] = (1,)
    swapped: bool = False


def target_of(module: str, *, flux: bool) -> Target | None:
    """Where the layer that a file calls ``module`` belongs; None when no rule knows.

    Args:
        flux: The file is for FLUX, which has one CLIP and a T5 encoder: what kohya calls ``te3`` is its second.
    """
    module = module.removeprefix("base_model.model.").replace(".processor.", ".")
    if module.startswith("diffusion_model.") or _ORIGINAL.match(module):
        rest = module.removeprefix("diffusion_model.")
        return (
            _unet_target(rest.replace(".", "_")) if not rest.startswith("transformer") else _one(f"transformer.{rest}")
        )
    if module.startswith("lycoris_"):
        module = f"lora_unet_{module.removeprefix('lycoris_')}"
    if found := _KOHYA.fullmatch(module):
        component, rest = found.groups()
        if component in ("unet", "transformer"):
            return _unet_target(rest)
        second = {"te3": "text_encoder_2" if flux else "text_encoder_3", "te2": "text_encoder_2"}
        return _one(f"{second.get(component, 'text_encoder')}.{dotted(rest)}")
    if module.startswith(_COMPONENTS):
        component, rest = module.split(".", 1)
        return _one(f"{component}.{rest}")
    return next((_one(prefix + module) for prefix, form in _BARE if form.match(module)), None)


def kohya_name(name: str, family: Family) -> str:
    """What kohya's files call this layer: SDXL's UNet by its first authors' blocks, others by diffusers' names."""
    component, rest = name.split(".", 1)
    flat = rest.replace(".", "_")
    if component == "unet":
        return f"lora_unet_{_to_sgm(flat) if family is Family.SDXL else flat}"
    if component == "text_encoder":
        return f"lora_{'te1' if family in (Family.SDXL, Family.FLUX, Family.SD3) else 'te'}_{flat}"
    second = "te3" if family is Family.FLUX else "te2"
    prefix = {"text_encoder_2": second, "text_encoder_3": "te3"}.get(component, component)
    return f"lora_{prefix}_{flat}"


@lru_cache(maxsize=8192)
def dotted(flat: str) -> str:
    """The dotted name whose dots became underscores: ``mid_block_attentions_0_proj_in`` to its four parts."""
    words, parts = flat.split("_"), []
    while words:
        length = next(
            (size for size in range(min(_LONGEST, len(words)), 1, -1) if "_".join(words[:size]) in _WITH_UNDERSCORE), 1
        )
        parts.append("_".join(words[:length]))
        words = words[length:]
    return ".".join(parts)


def with_text_model(name: str) -> str:
    """A CLIP text encoder's layer as files have it: transformers' module of today lacks the level ``text_model``."""
    component, rest = name.split(".", 1)
    bare = component.startswith("text_encoder") and rest.startswith("encoder.layers.")
    return f"{component}.text_model.{rest}" if bare else name


def _one(name: str) -> Target:
    return Target(names=(with_text_model(name),))


def _unet_target(flat: str) -> Target | None:
    """A denoiser's layer by its name with underscores."""
    if _ORIGINAL.match(flat) or flat in _ORIGINAL_SINGLE:
        return _original_target(flat)
    if found := _SGM.fullmatch(flat):
        inner = _from_sgm(*found.groups())
        return None if inner is None else _one(f"unet.{dotted(inner)}")
    name = dotted(flat)
    prefix = next((prefix for prefix, form in _BARE[:2] if form.match(name)), None)
    return None if prefix is None else _one(prefix + name)


# sgm: SDXL's first code, in which kohya trains it. Blocks are counted through, three layers to each resolution.
_SGM_RESNET: Final = {
    "in_layers_2": "conv1",
    "out_layers_3": "conv2",
    "emb_layers_1": "time_emb_proj",
    "skip_connection": "conv_shortcut",
}
_SGM_SINGLE: Final = {
    "time_embed_0": "time_embedding_linear_1",
    "time_embed_2": "time_embedding_linear_2",
    "label_emb_0_0": "add_embedding_linear_1",
    "label_emb_0_2": "add_embedding_linear_2",
    "input_blocks_0_0": "conv_in",
    "out_2": "conv_out",
}
_SGM_MIDDLE: Final = ("resnets_0", "attentions_0", "resnets_1")


def _from_sgm(block: str, rest: str) -> str | None:
    if (single := _SGM_SINGLE.get(f"{block}_{rest}")) is not None:
        return single
    if block == "middle_block":
        index, _, inner = rest.partition("_")
        if int(index) >= len(_SGM_MIDDLE):
            return None
        return f"mid_block_{_SGM_MIDDLE[int(index)]}_{_SGM_RESNET.get(inner, inner)}"
    found = re.fullmatch(r"(\d+)_(\d+)_(.+)", rest)
    if found is None or block not in ("input_blocks", "output_blocks"):
        return None
    number, part, inner = int(found[1]), int(found[2]), found[3]
    down = block == "input_blocks"
    level, layer = divmod(number - 1 if down else number, 3)
    where = f"{'down' if down else 'up'}_blocks_{level}"
    if inner == "op":
        return f"{where}_downsamplers_0_conv"
    if inner == "conv":
        return f"{where}_upsamplers_0_conv"
    if part == 0:
        return f"{where}_resnets_{layer}_{_SGM_RESNET.get(inner, inner)}"
    return f"{where}_attentions_{layer}_{inner}"


def _to_sgm(flat: str) -> str:
    singles = {there: here for here, there in _SGM_SINGLE.items()}
    if flat in singles:
        return singles[flat]
    resnet = {there: here for here, there in _SGM_RESNET.items()}
    if flat.startswith("mid_block_"):
        kind, index, inner = flat.removeprefix("mid_block_").split("_", 2)
        return f"middle_block_{_SGM_MIDDLE.index(f'{kind}_{index}')}_{resnet.get(inner, inner)}"
    found = re.fullmatch(r"(down|up)_blocks_(\d+)_(resnets|attentions|downsamplers|upsamplers)_(\d+)_(.+)", flat)
    if found is None:
        return flat
    down, level, kind, layer, inner = found[1] == "down", int(found[2]), found[3], int(found[4]), found[5]
    if kind == "downsamplers":
        return f"input_blocks_{3 * level + 3}_0_op"
    if kind == "upsamplers":
        return f"output_blocks_{3 * level + 2}_2_conv"
    number = 3 * level + layer + (1 if down else 0)
    where = f"{'input' if down else 'output'}_blocks_{number}"
    return f"{where}_0_{resnet.get(inner, inner)}" if kind == "resnets" else f"{where}_1_{inner}"


# FLUX and SD3 in their first authors' code: attention's three projections are one layer there.
_FLUX_DOUBLE: Final = {
    "img_attn_qkv": ("attn.to_q", "attn.to_k", "attn.to_v"),
    "img_attn_proj": ("attn.to_out.0",),
    "img_mlp_0": ("ff.net.0.proj",),
    "img_mlp_2": ("ff.net.2",),
    "img_mod_lin": ("norm1.linear",),
    "txt_attn_qkv": ("attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"),
    "txt_attn_proj": ("attn.to_add_out",),
    "txt_mlp_0": ("ff_context.net.0.proj",),
    "txt_mlp_2": ("ff_context.net.2",),
    "txt_mod_lin": ("norm1_context.linear",),
}
_FLUX_SINGLE: Final = {
    "linear1": ("attn.to_q", "attn.to_k", "attn.to_v", "proj_mlp"),
    "linear2": ("proj_out",),
    "modulation_lin": ("norm.linear",),
}
_SD3_JOINT: Final = {
    "x_block_attn_qkv": ("attn.to_q", "attn.to_k", "attn.to_v"),
    "x_block_attn_proj": ("attn.to_out.0",),
    "x_block_attn2_qkv": ("attn2.to_q", "attn2.to_k", "attn2.to_v"),
    "x_block_attn2_proj": ("attn2.to_out.0",),
    "x_block_mlp_fc1": ("ff.net.0.proj",),
    "x_block_mlp_fc2": ("ff.net.2",),
    "x_block_adaLN_modulation_1": ("norm1.linear",),
    "context_block_attn_qkv": ("attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"),
    "context_block_attn_proj": ("attn.to_add_out",),
    "context_block_mlp_fc1": ("ff_context.net.0.proj",),
    "context_block_mlp_fc2": ("ff_context.net.2",),
    "context_block_adaLN_modulation_1": ("norm1_context.linear",),
}
_ORIGINAL_SINGLE: Final = {
    "img_in": "x_embedder",
    "txt_in": "context_embedder",
    "time_in_in_layer": "time_text_embed.timestep_embedder.linear_1",
    "time_in_out_layer": "time_text_embed.timestep_embedder.linear_2",
    "vector_in_in_layer": "time_text_embed.text_embedder.linear_1",
    "vector_in_out_layer": "time_text_embed.text_embedder.linear_2",
    "guidance_in_in_layer": "time_text_embed.guidance_embedder.linear_1",
    "guidance_in_out_layer": "time_text_embed.guidance_embedder.linear_2",
    "t_embedder_mlp_0": "time_text_embed.timestep_embedder.linear_1",
    "t_embedder_mlp_2": "time_text_embed.timestep_embedder.linear_2",
    "y_embedder_mlp_0": "time_text_embed.text_embedder.linear_1",
    "y_embedder_mlp_2": "time_text_embed.text_embedder.linear_2",
    "x_embedder_proj": "pos_embed.proj",
    "context_embedder": "context_embedder",
    "final_layer_linear": "proj_out",
    "final_layer_adaLN_modulation_1": "norm_out.linear",
}
_XLABS: Final = {
    "double_blocks": {
        "qkv_lora1": _FLUX_DOUBLE["img_attn_qkv"],
        "qkv_lora2": _FLUX_DOUBLE["txt_attn_qkv"],
        "proj_lora1": _FLUX_DOUBLE["img_attn_proj"],
        "proj_lora2": _FLUX_DOUBLE["txt_attn_proj"],
    },
    "single_blocks": {"qkv_lora": _FLUX_DOUBLE["img_attn_qkv"], "proj_lora": ("proj_out",)},
}
_SWAPPED: Final = "final_layer_adaLN_modulation_1"  # shift before scale there, scale before shift in diffusers
_STACKS: Final = (
    ("double_blocks", "transformer_blocks", _FLUX_DOUBLE, Family.FLUX),
    ("single_blocks", "single_transformer_blocks", _FLUX_SINGLE, Family.FLUX),
    ("joint_blocks", "transformer_blocks", _SD3_JOINT, Family.SD3),
)
_ONLY_SD3: Final = ("t_embedder", "y_embedder", "x_embedder", "context_embedder")
_IN_BOTH: Final = "final_layer"


def _original_target(flat: str) -> Target | None:
    if flat in _ORIGINAL_SINGLE:
        return Target(names=(f"transformer.{_ORIGINAL_SINGLE[flat]}",), swapped=flat == _SWAPPED)
    for theirs, ours, own, _ in _STACKS:
        found = re.fullmatch(rf"{theirs}_(\d+)_(.+)", flat)
        table = own | _XLABS.get(theirs, {})
        if found and found[2] in table:
            inner = table[found[2]]
            parts = (1, 1, 1, 4)[: len(inner)]  # FLUX' feed-forward is four times as wide as its states
            return Target(names=tuple(f"transformer.{ours}.{found[1]}.{one}" for one in inner), parts=parts)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A layer of a kohya file for FLUX or SD3, and which of our layers it holds."""

    kohya: str
    target: Target


def stack_of(name: str, family: Family) -> Stack | None:
    """The kohya layer that holds this layer of a FLUX or SD3 transformer; None for others."""
    flat: str | None = None
    for theirs, ours, table, theirs_family in _STACKS:
        found = re.fullmatch(rf"transformer\.{ours}\.(\d+)\.(.+)", name)
        if found and family is theirs_family:
            flat = next((f"{theirs}_{found[1]}_{key}" for key, inner in table.items() if found[2] in inner), flat)
    for key, inner_name in _ORIGINAL_SINGLE.items():
        fits = key.startswith(_IN_BOTH) or key.startswith(_ONLY_SD3) == (family is Family.SD3)
        if fits and name == f"transformer.{inner_name}":
            flat = key
    target = None if flat is None else _original_target(flat)
    return None if target is None else Stack(kohya=f"lora_unet_{flat}", target=target)
