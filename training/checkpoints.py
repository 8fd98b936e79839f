"""Checkpoints that survive whatever ends a run: written beside, made durable, renamed; the last few and the best stay.

A checkpoint is a folder ``step-00000200`` with ``weights.safetensors`` (what is trained), ``state.safetensors`` and
``state.json`` (all else: optimiser, schedule, running mean, random numbers, data position) and ``checkpoint.json``
(step, validation loss, size and sha256 of each file). No pickle: a tree of plain values is JSON, its tensors are named.
``LATEST`` and ``BEST`` name folders; they help a reader, and are not needed to go on.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from services.domain.errors import EngineFailed

_WEIGHTS: Final = "weights.safetensors"
_TENSORS: Final = "state.safetensors"
_TREE: Final = "state.json"
_RECORD: Final = "checkpoint.json"
_UNFINISHED: Final = ".unfinished-"
_OUTDATED: Final = ".outdated-"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint on the disk.

    Attributes:
        step: Steps trained.
        validation_loss: Of its weights, if they were validated.
        complete: Whether all that is due at this step was done: validation and samples.
    """

    folder: Path
    step: int
    validation_loss: float | None
    complete: bool

    def weights(self) -> dict[str, Tensor]:
        """What is trained, by peft's names."""
        tensors: dict[str, Tensor] = load((self.folder / _WEIGHTS).read_bytes())
        return tensors

    def state(self) -> dict[str, Any]:
        """Everything else, as it was given to ``save``."""
        tensors = load((self.folder / _TENSORS).read_bytes())
        tree = json.loads((self.folder / _TREE).read_text(encoding="utf-8"))
        found: dict[str, Any] = _grown(tree, tensors)
        return found


class Checkpoints:
    """The checkpoints of one run; one process writes them.

    Args:
        keep_last: How many stay beside the best.
    """

    def __init__(self, folder: Path, *, keep_last: int) -> None:
        self._folder = folder
        self._keep_last = keep_last
        self.skipped: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        for left in [*folder.glob(f"{_UNFINISHED}*"), *folder.glob(f"{_OUTDATED}*")]:
            shutil.rmtree(left, ignore_errors=True)
        for left in folder.glob(".*.part"):
            left.unlink(missing_ok=True)
        self._known = {one.step: one for one in self._read()}
        with no_room_told(lambda: self.latest):  # what a killed process did not come to
            self._point()
        self._prune(keep_last=keep_last)

    @property
    def latest(self) -> Checkpoint | None:
        return self._known[max(self._known)] if self._known else None

    @property
    def best(self) -> Checkpoint | None:
        """The one of the lowest validation loss, the earlier of equals; None when none was validated."""
        validated = [one for one in self._known.values() if one.validation_loss is not None]
        return min(validated, key=lambda one: (one.validation_loss, one.step), default=None)

    def save(
        self,
        step: int,
        weights: Mapping[str, Tensor],
        state: Mapping[str, Any],
        *,
        validation_loss: float | None = None,
        complete: bool = True,
    ) -> Checkpoint:
        """Write one and make it the latest.

        When there is no room, older ones than the latest and the best go, and it is tried once more.

        Raises:
            EngineFailed: ``disk_full``: what was there before is as it was.
        """
        tensors: dict[str, Tensor] = {}
        tree = _felled(state, tensors, "")
        files = {
            _WEIGHTS: save({name: value.detach().cpu().contiguous() for name, value in weights.items()}),
            _TENSORS: save(tensors),
            _TREE: json.dumps(tree).encode(),
        }
        record = {"step": step, "validation_loss": validation_loss, "complete": complete}
        with no_room_told(lambda: self.latest, sum(map(len, files.values()))):
            try:
                folder = self._write(step, record, files)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._prune(keep_last=1)
                folder = self._write(step, record, files)
            saved = Checkpoint(folder=folder, step=step, validation_loss=validation_loss, complete=complete)
            before, self._known[step] = self._known.get(step), saved
            self._point()
            if before is not None and before.folder != folder:
                self._discard(before.folder)
        self._prune(keep_last=self._keep_last)
        return saved

    def _write(self, step: int, record: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
        target = self._folder / f"step-{step:08d}"
        if target.exists():  # the same step again, now complete: what is there stays until this is
            target = target.with_name(f"{target.name}.1")
        partial = self._folder / f"{_UNFINISHED}{target.name}"
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir()
            sizes = {name: [len(data), hashlib.sha256(data).hexdigest()] for name, data in files.items()}
            for name, data in files.items():
                _write_through(partial / name, data)
            _write_through(partial / _RECORD, json.dumps({**record, "files": sizes}).encode())
            _sync(partial)
            if target.exists():
                self._discard(target)
            partial.rename(target)
            _sync(self._folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return target

    def _point(self) -> None:
        for name, one in (("LATEST", self.latest), ("BEST", self.best)):
            path, text = self._folder / name, "" if one is None else f"{one.folder.name}\n"
            if text and not (path.is_file() and path.read_text(encoding="utf-8") == text):
                write_atomically(path, text.encode())

    def _prune(self, *, keep_last: int) -> None:
        best = self.best
        for step in sorted(self._known)[:-keep_last]:
            if best is None or step != best.step:
                self._discard(self._known.pop(step).folder)

    def _discard(self, folder: Path) -> None:
        """Out of sight at once, then deleted: one half deleted is never taken for one."""
        outdated = folder.with_name(f"{_OUTDATED}{folder.name}")
        shutil.rmtree(outdated, ignore_errors=True)
        folder.rename(outdated)
        shutil.rmtree(outdated, ignore_errors=True)

    def _read(self) -> Iterator[Checkpoint]:
        for folder in sorted(self._folder.glob("step-*")):
            found = read_checkpoint(folder)
            if found is None:
                self.skipped.append(folder.name)
            else:
                yield found


def read_checkpoints(folder: Path) -> list[Checkpoint]:
    """A run's whole checkpoints by step, for a reader: nothing in ``folder`` is touched, a run may go on there."""
    found = [one for one in map(read_checkpoint, sorted(folder.glob("step-*"))) if one is not None]
    return sorted(found, key=lambda one: one.step)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in ``folder``; None when a file is missing or is not what was written."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        for name, (size_bytes, digest) in record["files"].items():
            data = (folder / name).read_bytes()
            if len(data) != size_bytes or hashlib.sha256(data).hexdigest() != digest:
                return None
        return Checkpoint(
            folder=folder,
            step=int(record["step"]),
            validation_loss=record["validation_loss"],
            complete=bool(record["complete"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@contextmanager
def no_room_told(last_good: Callable[[], Checkpoint | None], needed_bytes: int = 0) -> Iterator[None]:
    """A full disk as an error of ours that says what is kept.

    Raises:
        EngineFailed: ``disk_full``.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        kept = kept_in_words(last_good())
        needed = f" for {needed_bytes / 1e6:.1f} MB" if needed_bytes else ""
        raise EngineFailed(
            f"The disk has no room{needed}; {kept}. Make room and start the run again: it goes on from there.",
            code="disk_full",
            retryable=True,
        ) from error


def kept_in_words(last_good: Checkpoint | None) -> str:
    """What an error says of what is not lost."""
    return "no checkpoint was written yet" if last_good is None else f"the checkpoint of step {last_good.step} is kept"


def write_atomically(path: Path, data: bytes) -> None:
    """The file whole or as it was before, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    try:
        _write_through(partial, data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def random_state() -> dict[str, Any]:
    """The state of every global random generator: torch's on each device, numpy's and Python's."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": (kind, torch.from_numpy(np.asarray(keys, np.int64)), int(position), int(has_gauss), float(gauss)),
        "python": random.getstate(),
    }


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Put ``random_state`` back."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    kind, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, gauss))
    random.setstate(state["python"])


def _felled(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Plain values as JSON has them; tensors go aside. What JSON lacks is an object of one key that begins with $."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Tensor():
            tensors[name] = value.detach().cpu().contiguous().clone()
            return {"$tensor": name}
        case np.generic():
            return value.item()
        case list():
            return [_felled(one, tensors, f"{name}/{index}") for index, one in enumerate(value)]
        case tuple():
            return {"$tuple": [_felled(one, tensors, f"{name}/{index}") for index, one in enumerate(value)]}
        case dict() if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _felled(one, tensors, f"{name}/{key}") for key, one in value.items()}
        case dict():  # an optimiser's state has numbers for keys
            items = enumerate(value.items())
            return {"$items": [[key, _felled(one, tensors, f"{name}/{index}")] for index, (key, one) in items]}
    raise TypeError(f"{name}: a {type(value).__name__} cannot be kept in a checkpoint")


def _grown(tree: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(tree, list):
        return [_grown(one, tensors) for one in tree]
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"$tensor": name}:
            return tensors[name]
        case {"$tuple": items}:
            return tuple(_grown(one, tensors) for one in items)
        case {"$items": items}:
            return {key: _grown(one, tensors) for key, one in items}
    return {key: _grown(one, tensors) for key, one in tree.items()}


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make renames in a folder durable; where the system cannot, they are as durable as it makes them."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
    finally:
        os.close(handle)
