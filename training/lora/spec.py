"""``spec.json``: what a run is, so that only the same run goes on in its folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from services.domain.errors import Conflict
from training.bases import TrainableBase
from training.checkpoints import no_room_told, write_atomically
from training.data.prepared import PreparedDataset
from training.lora.config import LoraTraining

_VERSIONS: Final = ("torch", "diffusers", "peft", "spokesmodel")


def write_or_compare(
    run_dir: Path,
    config: LoraTraining,
    *,
    base: TrainableBase,
    dataset: PreparedDataset,
    prior: PreparedDataset | None,
) -> None:
    """Write ``spec.json`` into a new run's folder; compare it with what stands there in one begun before.

    Raises:
        Conflict: ``run_differs``, naming the first value that does.
        EngineFailed: ``disk_full``.
    """
    values = {
        "config": asdict(config),
        "base": {"name": base.name, "family": str(base.family)},
        "dataset": dataset.digest,
        "prior": None if prior is None else prior.digest,
    }
    spec = json.loads(json.dumps(values))  # tuples as lists, as the file has them
    path = run_dir / "spec.json"
    if not path.is_file():
        with no_room_told(lambda: None):
            write_atomically(path, json.dumps({**spec, "versions": _versions()}, indent=1).encode())
        return
    there = json.loads(path.read_text(encoding="utf-8"))
    differs = _first_difference({name: there.get(name) for name in spec}, spec)
    if differs:
        raise Conflict(
            f"{run_dir} holds a run whose {differs} differs; choose another folder, or the same settings.",
            code="run_differs",
            param=differs,
        )


def _first_difference(there: Any, wanted: Any, name: str = "") -> str:
    """Dotted name of the first value that differs; "" when none does."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        for key in sorted(there.keys() | wanted.keys()):
            found = _first_difference(there.get(key), wanted.get(key), f"{name}.{key}".lstrip("."))
            if found:
                return found
        return ""
    return "" if there == wanted else name


def _versions() -> dict[str, str]:
    found = {}
    for package in _VERSIONS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
