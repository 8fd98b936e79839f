"""``result/``: the LoRA's file with the metadata that the field reads, and a manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from models.diffusion.checkpoints import Family
from models.diffusion.lora_files import write_lora
from models.diffusion.lora_peft import from_peft
from training.bases import TrainableBase
from training.checkpoints import Checkpoint, write_atomically
from training.data.prepared import PreparedDataset
from training.lora.config import LoraTraining
from training.lora.injection import ADAPTER, Injected, num_parameters

_BASE_VERSION: Final = {  # what kohya's readers call the families
    Family.SD15: "sd_v1",
    Family.SDXL: "sdxl_base_v1-0",
    Family.FLUX: "flux1",
    Family.SD3: "sd3m",
    Family.DRAWN64: "drawn64",
}
_NETWORK: Final = {"lora": "networks.lora", "locon": "lycoris.kohya", "lokr": "lycoris.kohya"}


def write_result(
    run_dir: Path,
    *,
    config: LoraTraining,
    base: TrainableBase,
    dataset: PreparedDataset,
    injected: Injected,
    chosen: Checkpoint,
    state: str,
    base_validation_loss: float | None,
) -> Path:
    """The LoRA that is in the denoiser, as a file: diffusers' form, or kohya's for Kronecker products.

    Raises:
        OSError: No room on the disk.
    """
    metadata = metadata_of(config, base=base, dataset=dataset, step=chosen.step)
    weights = replace(from_peft(base.denoiser, base.family.component, ADAPTER), metadata=metadata)
    path = run_dir / "result" / "lora.safetensors"
    _written(weights, path, kohya=config.network.kind == "lokr", family=base.family)
    data = path.read_bytes()
    manifest: dict[str, Any] = {
        "state": state,
        "lora": {
            "file": path.name,
            "sha256": hashlib.sha256(data).hexdigest(),
            "size_bytes": len(data),
            "kind": config.network.kind,
            "dora": config.network.dora,
            "rank": max(injected.ranks.values()),
            "num_parameters": num_parameters(injected),
        },
        "checkpoint": chosen.folder.name,
        "step": chosen.step,
        "validation_loss": chosen.validation_loss,
        "base_validation_loss": base_validation_loss,
        "base": {"name": base.name, "family": str(base.family)},
        "dataset": dataset.digest,
        "trigger_word": dataset.trigger_word,
        "seed": config.seed,
    }
    write_atomically(path.with_name("manifest.json"), json.dumps(manifest, indent=1).encode())
    return path


def metadata_of(config: LoraTraining, *, base: TrainableBase, dataset: PreparedDataset, step: int) -> dict[str, str]:
    """``ss_*`` as sd-scripts writes it and A1111, ComfyUI and model sites read it."""
    network, tags = config.network, Counter[str]()
    for caption in dataset.captions:
        tags.update(tag for tag in map(str.strip, caption.split(",")) if tag)
    buckets = Counter(sample.bucket for sample in dataset.samples)
    shown = {
        str(number): {"resolution": list(bucket), "count": count}
        for number, (bucket, count) in enumerate(sorted(buckets.items()))
    }
    values: dict[str, Any] = {
        "ss_network_module": _NETWORK[network.kind],
        "ss_network_dim": network.rank,
        "ss_network_alpha": float(network.rank if network.alpha is None else network.alpha),
        "ss_network_args": json.dumps({"algo": network.kind, "dora_wd": network.dora}),
        "ss_base_model_version": _BASE_VERSION[base.family],
        "ss_sd_model_name": base.name,
        "ss_v2": False,
        "ss_steps": step,
        "ss_max_train_steps": config.num_steps,
        "ss_seed": config.seed,
        "ss_learning_rate": config.optimizer.learning_rate,
        "ss_lr_scheduler": config.optimizer.schedule,
        "ss_optimizer": config.optimizer.name,
        "ss_batch_size_per_device": config.batch_size,
        "ss_gradient_accumulation_steps": config.accumulation_steps,
        "ss_mixed_precision": "bf16" if config.precision == "bfloat16" else "no",
        "ss_min_snr_gamma": config.loss.min_snr_gamma,
        "ss_noise_offset": config.loss.noise_offset,
        "ss_caption_dropout_rate": config.loss.caption_dropout,
        "ss_num_train_images": len(dataset),
        "ss_tag_frequency": json.dumps({"dataset": dict(tags)}),
        "ss_bucket_info": json.dumps({"buckets": shown}),
        "ss_output_name": dataset.trigger_word or base.name,
    }
    return {name: str(value) for name, value in values.items()}


def _written(weights: Any, path: Path, *, kohya: bool, family: Family) -> None:
    from safetensors import SafetensorError

    try:
        write_lora(weights, path, "kohya" if kohya else "diffusers", family=family)
    except SafetensorError as error:
        if "os error 28" not in str(error) and "No space" not in str(error):
            raise
        import errno

        raise OSError(errno.ENOSPC, "no room for the LoRA's file") from error
    write_atomically(path, _in_order(path.read_bytes()))


def _in_order(data: bytes) -> bytes:
    """The same safetensors file with its metadata sorted: the library writes them in an order of the moment."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header.get("__metadata__", {}).items()))
    ordered = json.dumps(header, separators=(",", ":")).encode()
    ordered += b" " * (-len(ordered) % 8)  # tensors begin at a multiple of 8
    return len(ordered).to_bytes(8, "little") + ordered + data[8 + length :]
