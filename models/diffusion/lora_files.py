"""LoRA files in and out: kohya's and A1111's, diffusers' of three generations, peft's; alpha exact in each direction.

diffusers writes alpha as the rank when it converts to kohya's form, drops it without its own metadata, and drops DoRA's
magnitudes; so files are read and written here, and only tensors are handed on.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from models.diffusion.checkpoints import Family
from models.diffusion.lora_export import ADAPTER, Format, diffusers_tensors, family_of_layers, kohya_tensors
from models.diffusion.lora_foreign import what_file_is, what_tensors_are
from models.diffusion.lora_layers import FullLayer, Layer, LohaLayer, LokrLayer, LoraLayer, LoraWeights
from models.diffusion.lora_names import target_of
from models.diffusion.lora_peft import from_peft
from models.diffusion.lora_stacks import placed
from services.domain.errors import ContentRejected

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Format", "LoraWeights", "from_peft", "read_lora", "write_lora"]

_END: Final = r"(?:\.\w+)?(?:\.weight)?$"  # peft names the adapter within the key
_ROLES: Final = (
    (re.compile(rf"\.lora_(?:down|A){_END}|(?:\.lora|_lora|\.lora_linear_layer)\.down\.weight$"), "down"),
    (
        re.compile(r"\.lora_(?:up|B)(?:\.(?!bias)\w+)?\.weight$|(?:\.lora|_lora|\.lora_linear_layer)\.up\.weight$"),
        "up",
    ),
    (re.compile(r"\.lora_mid\.weight$"), "mid"),
    (re.compile(r"(?:\.lora|_lora)?\.alpha$"), "alpha"),
    (re.compile(rf"\.dora_scale{_END}"), "dora_scale"),
    (re.compile(rf"\.lora_magnitude_vector{_END}"), "magnitude"),
    (re.compile(rf"\.(hada_(?:w[12]_[ab]|t[12])){_END}"), None),
    (re.compile(rf"\.(lokr_(?:w[12](?:_[ab])?|t2)){_END}"), None),
    (re.compile(r"\.(diff)$"), None),
)
_XLABS: Final = re.compile(r"\.processor\.(qkv|proj)_lora([12]?)\.(down|up)\.weight$")  # for FLUX
_REPEATS: Final = re.compile(r"[^\\][*+?{]")
_MAX_REPEATS: Final = 2
_MAX_PATTERN: Final = 400
_OLD_TEXT: Final = {"to_q": "q_proj", "to_k": "k_proj", "to_v": "v_proj", "to_out": "out_proj"}


def read_lora(path: Path) -> LoraWeights:
    """The layers of a file. Tensors keep the file's precision and lie on the CPU.

    Raises:
        ContentRejected: ``not_a_lora``, saying what the file is instead: a whole checkpoint, a VAE, a pickle, ...
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = dict(file.metadata() or {})
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  not a mapping
    except (SafetensorError, OSError) as error:
        raise _refused(path, what_file_is(path)) from error
    settings = _adapter_settings(path, metadata)
    layers, skipped = _layers_of(tensors, settings)
    if not layers:
        raise _refused(path, what_tensors_are({key: tuple(value.shape) for key, value in tensors.items()}))
    kept = {key: value for key, value in metadata.items() if key not in (ADAPTER, "format")}
    return LoraWeights(layers=layers, metadata=kept, skipped=tuple(sorted(skipped)))


def write_lora(weights: LoraWeights, path: Path, format: Format = "diffusers", *, family: Family | None = None) -> None:  # noqa: A002
    """Write a file that diffusers' or kohya's readers (sd-scripts, A1111, ComfyUI) take, at the same scaling.

    Args:
        family: Kohya's form has SDXL's and FLUX' layers by other names than diffusers; None infers it from the layers.

    Raises:
        ContentRejected: ``lora_format_unsupported``: diffusers' form has no LoHa, LoKr or whole offsets.
    """
    from safetensors.torch import save_file

    if format == "kohya":
        tensors, described = kohya_tensors(weights, family or family_of_layers(weights))
    else:
        tensors, described = diffusers_tensors(weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    save_file(
        {key: value.detach().to("cpu").contiguous().clone() for key, value in tensors.items()},
        partial,
        metadata={**weights.metadata, **described, "format": "pt"},
    )
    partial.replace(path)


def _refused(path: Path, what: str) -> ContentRejected:
    return ContentRejected(f"{path.name} is no LoRA file: {what}.", code="not_a_lora")


# --- reading


def _adapter_settings(path: Path, metadata: Mapping[str, str]) -> Mapping[str, Any]:
    """Peft's configuration of the file: in its metadata (diffusers) or beside it (peft); empty where there is none."""
    raw = metadata.get(ADAPTER)
    beside = path.with_name("adapter_config.json")
    if raw is None and path.name == "adapter_model.safetensors" and beside.is_file():
        raw = beside.read_text(encoding="utf-8")
    try:
        found = json.loads(raw) if raw else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _layers_of(tensors: Mapping[str, Tensor], settings: Mapping[str, Any]) -> tuple[dict[str, Layer], list[str]]:
    """The file's layers by our names, and the keys of none."""
    grouped: dict[str, dict[str, Tensor]] = defaultdict(dict)
    keys: dict[str, list[str]] = defaultdict(list)
    skipped = []
    for key, value in tensors.items():
        module, role = _split(key)
        if role is None:
            skipped.append(key)
        else:
            grouped[module][role] = value
            keys[module].append(key)
    flux = any(re.search(r"double_blocks|single_(transformer_)?blocks", module) for module in grouped)
    layers: dict[str, Layer] = {}
    for module, parts in grouped.items():
        if (magnitude := parts.pop("magnitude", None)) is not None:  # peft's are always the rows'
            parts["dora_scale"] = magnitude.reshape(-1, 1)
        target = target_of(module, flux=flux)
        try:
            layer = None if target is None else _layer_of(parts, _alpha_of(target.names[0], parts, settings))
            ours = None if target is None or layer is None else placed(layer, target)
        except (
            ValueError,
            RuntimeError,
            IndexError,
            re.error,
        ):  # tensors or settings that are not what their names say
            ours = None
        if ours is None:
            skipped.extend(keys[module])
        else:
            layers.update(ours)
    return layers, skipped


def _split(key: str) -> tuple[str, str | None]:
    """The layer and what of it the tensor is; None for the latter where it is no part of a LoRA."""
    if found := _XLABS.search(key):
        return f"{key[: found.start()]}.{found[1]}_lora{found[2]}", found[3]
    for form, role in _ROLES:
        if found := form.search(key):
            module = key[: found.start()]
            tail = found.group(0)
            if tail.startswith("_lora."):  # the oldest of diffusers' forms
                module = _from_old(module)
            return module, role or next(one for one in found.groups() if one)
    return key, None


def _from_old(module: str) -> str:
    """``….attn1.processor.to_out_lora`` and, in text encoders, ``….self_attn.to_q_lora`` by today's names."""
    head, _, last = module.rpartition(".")
    if module.startswith("text_encoder") or ".self_attn." in module:
        return f"{head}.{_OLD_TEXT.get(last, last)}"
    return f"{module}.0" if last == "to_out" else module


def _alpha_of(name: str, parts: Mapping[str, Tensor], settings: Mapping[str, Any]) -> float | None:
    """The layer's alpha; None where the file says nothing, which means its rank.

    Raises:
        ValueError: What the file says is no number.
    """
    if "alpha" in parts:
        if parts["alpha"].numel() != 1:
            raise ValueError("alpha is not one number")
        return float(parts["alpha"].reshape(()).item())
    if "down" not in parts:
        return None
    component, module = name.split(".", 1)
    own = {
        key.removeprefix(f"{component}."): value for key, value in settings.items() if key.startswith(f"{component}.")
    }
    own = own or dict(settings)
    alpha = _pattern(own.get("alpha_pattern"), module, own.get("lora_alpha"))
    rank = parts["down"].shape[0]
    if alpha is None:
        return None
    if not isinstance(alpha, (int, float)):
        raise ValueError(f"alpha is {alpha!r}")
    return float(alpha) * (math.sqrt(rank) if own.get("use_rslora") else 1.0)


def _pattern(patterns: object, module: str, default: Any) -> Any:
    """What peft takes for this module of its ``alpha_pattern``, whose keys are regular expressions.

    Raises:
        ValueError: An expression is none, or one that a stranger's file could keep a worker busy with.
    """
    for key, value in patterns.items() if isinstance(patterns, dict) else ():
        repeats = _REPEATS.findall(key)
        # A repeated group can take time without end, a few repeated signs on a short name cannot.
        if len(repeats) > _MAX_REPEATS or any(one[0] == ")" for one in repeats) or len(key + module) > _MAX_PATTERN:
            raise ValueError(f"{key[:40]!r} is not read as a pattern")
        if re.match(rf"(.*\.)?({key})$", module):
            return value
    return default


_FORMS: Final[tuple[tuple[type[Layer], str, frozenset[str], frozenset[str]], ...]] = (
    (LoraLayer, "", frozenset({"down", "up"}), frozenset({"mid"})),
    (LohaLayer, "hada_", frozenset({"w1_a", "w1_b", "w2_a", "w2_b"}), frozenset({"t1", "t2"})),
    (FullLayer, "", frozenset({"diff"}), frozenset()),
    (LokrLayer, "lokr_", frozenset({"w1", "w2"}), frozenset()),
    (LokrLayer, "lokr_", frozenset({"w1_a", "w1_b", "w2"}), frozenset()),
    (LokrLayer, "lokr_", frozenset({"w1", "w2_a", "w2_b"}), frozenset({"t2"})),
    (LokrLayer, "lokr_", frozenset({"w1_a", "w1_b", "w2_a", "w2_b"}), frozenset({"t2"})),
)


def _layer_of(parts: Mapping[str, Tensor], alpha: float | None) -> Layer | None:
    """The layer of these tensors; None where some are missing or do not belong together."""
    factors = {key: value for key, value in parts.items() if key not in ("alpha", "dora_scale")}
    for kind, prefix, needed, optional in _FORMS:
        names = {key.removeprefix(prefix) for key in factors if key.startswith(prefix)}
        if len(names) == len(factors) and needed <= names <= needed | optional:
            named = {key.removeprefix(prefix): value for key, value in factors.items()}
            if any(one.ndim < 2 or not one.numel() for one in named.values()):
                return None
            layer = kind(alpha=1.0, dora_scale=parts.get("dora_scale"), **named)
            if isinstance(layer, LoraLayer) and layer.up.shape[1] != layer.rank:
                return None
            if layer.num_inputs < 1:
                return None
            return replace(layer, alpha=float(layer.rank) if alpha is None else alpha)
    return None
