"""Keeps latents and text states on disk by what they were computed from, so that no epoch computes them twice."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from training.data.prepared import PreparedSample

if TYPE_CHECKING:
    from torch import Tensor

_ENDING: Final = ".safetensors"


def latents_key(base: str, base_digest: str, sample: PreparedSample, *, mirrored: bool = False) -> str:
    """The key of a picture's latents: base with its weights' digest, pixels, bucket, crop, mirrored or not."""
    return _key("latents", base, base_digest, sample.id, sample.bucket, sample.crop, mirrored)


def text_key(base: str, base_digest: str, caption: str) -> str:
    """The key of a caption's text states."""
    return _key("text", base, base_digest, caption)


def _key(*parts: object) -> str:
    return sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


class TensorCache:
    """Named tensors by key, in safetensors files of a folder that several processes may share.

    A file appears whole or not at all. Above ``max_bytes`` the files that were read longest ago go. A file that is
    damaged counts as missing and is removed.

    Args:
        folder: Made when it is not there.
        max_bytes: What all files together may have.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        folder.mkdir(parents=True, exist_ok=True)
        self._bytes = sum(size for _, size, _ in self._files())

    def get(self, key: str) -> dict[str, Tensor] | None:
        """The tensors on the CPU, None when they are not kept."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = self._path(key)
        try:
            tensors: dict[str, Tensor] = load_file(path)
            os.utime(path)
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError, ValueError):
            path.unlink(missing_ok=True)
            return None
        return tensors

    def put(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        """Keep the tensors; a full disk keeps nothing and fails nothing, for a cache only saves time."""
        from safetensors.torch import save

        data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
        if len(data) > self._max_bytes:
            return
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(unfinished).replace(path)
        except OSError:
            Path(unfinished).unlink(missing_ok=True)
            return
        self._bytes += len(data)
        if self._bytes > self._max_bytes:
            self._make_room()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / (key + _ENDING)

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each file was last read, its size, where it is; the longest ago first."""
        found = []
        for path in self._folder.glob(f"*/*{_ENDING}"):
            try:
                status = path.stat()
            except FileNotFoundError:  # another process made room
                continue
            found.append((status.st_mtime, status.st_size, path))
        return sorted(found)

    def _make_room(self) -> None:
        files = self._files()
        self._bytes = sum(size for _, size, _ in files)
        # Down to nine tenths, so that not every further file lists the folder again.
        for _, size, path in files:
            if self._bytes <= self._max_bytes * 9 // 10:
                return
            path.unlink(missing_ok=True)
            self._bytes -= size
