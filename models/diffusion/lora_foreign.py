"""Says what a file is that is no LoRA: by its first bytes, or by the names and shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_STARTS: Final = (
    (b"version https://git-lfs", "a Git LFS pointer; the file itself was never fetched"),
    (b"PK", "a zip archive or a pickle of torch (.ckpt, .pt), which is not opened; convert it to safetensors"),
    (b"\x80", "a pickle (.ckpt, .pt, .bin), which is not opened; convert it to safetensors"),
    (b"GGUF", "a GGUF file of a language model or a quantised network"),
    (b"<", "a web page"),
    (b"{", "JSON"),
)

# The first that any key contains says what the file is; the order matters where several could.
_PARTS: Final = (
    (("emb_params", "string_to_param", "clip_g", "clip_l"), "a textual-inversion embedding"),
    (("image_proj.", "ip_adapter."), "an IP-Adapter"),
    (("control_model.", "controlnet_cond_embedding", "controlnet_down_blocks", "zero_convs."), "a ControlNet"),
    (("motion_modules.",), "a motion module (AnimateDiff)"),
    (("first_stage_model.", "conditioner.embedders.", "cond_stage_model."), "a whole checkpoint{width}"),
    (("model.diffusion_model.",), "a whole checkpoint or its network{width}"),
    (("double_blocks.", "single_transformer_blocks."), "a whole FLUX network"),
    (("joint_blocks.",), "a whole SD3 network"),
    (("down_blocks.", "input_blocks."), "a whole UNet{width}"),
    (("encoder.down", "decoder.up"), "a VAE"),
    (("text_model.encoder.", "encoder.layers.", "encoder.block."), "a text encoder"),
    (("model.layers.", "lm_head"), "a language model"),
)
_WIDTHS: Final = {768: "SD1.5", 1024: "SD2", 2048: "SDXL"}
_LORA_MARKS: Final = ("lora", "lokr_", "hada_")


def what_file_is(path: Path) -> str:
    """What a file is that safetensors cannot read."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if not start:
        return "it is empty"
    if path.suffix == ".safetensors" and start[8:9] == b"{":
        return "it is a safetensors file that was cut off or damaged"
    known = next((what for mark, what in _STARTS if start.lstrip().startswith(mark)), "no safetensors file")
    return f"it is {known}"


def what_tensors_are(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """What a safetensors file is that has no layer of a LoRA."""
    if not shapes:
        return "it has no tensors"
    marked = [key for key in shapes if any(mark in key for mark in _LORA_MARKS)]
    if marked:
        return f"its {len(marked)} LoRA keys belong to no network that is known here, the first to {sorted(marked)[0]}"
    for parts, what in _PARTS:
        if any(part in key for key in shapes for part in parts):
            return f"it is {what.format(width=_width_of(shapes))}"
    first = sorted(shapes)[0]
    return f"none of its {len(shapes)} keys is a LoRA's, the first is {first}"


def _width_of(shapes: Mapping[str, tuple[int, ...]]) -> str:
    widths = {shape[1] for key, shape in shapes.items() if key.endswith("attn2.to_k.weight") and len(shape) == 2}
    if len(widths) != 1:
        return ""
    width = widths.pop()
    return f" of {_WIDTHS.get(width, 'a UNet')} (text states {width} wide)"
