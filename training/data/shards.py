"""Writes prepared pictures as WebDataset shards: tars of ``{id}.png``, ``{id}.txt`` and ``{id}.mask.png``."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from services.domain.errors import Conflict
from training.data.prepared import (
    EMBEDDINGS,
    FORMAT,
    MANIFEST,
    SAMPLES,
    Picture,
    PreparedSample,
    StoredPart,
    digest_of,
    line_of,
    pixel_digest,
)

MAX_SHARD_BYTES: Final = 256 * 2**20
_BLOCK: Final = tarfile.BLOCKSIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureToStore:
    """A picture ready for training, and where it came from; fields as in ``PreparedSample``.

    Attributes:
        pixels: uint8 (h, w, 3).
        mask: uint8 (h, w), or None.
        embedding: float32 (dimensions,), unit length.
    """

    name: str
    pixels: Picture
    mask: Picture | None = None
    caption: str
    crop: tuple[int, int, int, int]
    original_size: tuple[int, int]
    cluster: int
    embedding: NDArray[np.float32]


def write_prepared(
    folder: Path,
    pictures: Iterable[PictureToStore],
    *,
    trigger_word: str | None = None,
    about: Callable[[], Mapping[str, Any]] = dict,
    max_shard_bytes: int = MAX_SHARD_BYTES,
) -> None:
    """Store ``pictures`` in ``folder``, one in memory at a time.

    The manifest is written last and at once, so a folder with one is complete. Equal pictures in equal order give equal
    bytes.

    Args:
        about: More of the manifest, asked for at the end: licence, consent, rules, what was left out.

    Raises:
        Conflict: ``dataset_exists`` when the folder already holds one.
    """
    if (folder / MANIFEST).exists():
        raise Conflict(f"{folder} holds a prepared dataset already; choose another folder.", code="dataset_exists")
    folder.mkdir(parents=True, exist_ok=True)
    samples: list[PreparedSample] = []
    embeddings: list[NDArray[np.float32]] = []
    with _Shards(folder, max_shard_bytes) as shards, (folder / SAMPLES).open("w", encoding="utf-8") as lines:
        for one in pictures:
            sample = shards.add(one, row=len(samples))
            samples.append(sample)
            embeddings.append(one.embedding)
            lines.write(line_of(sample) + "\n")
    matrix = np.stack(embeddings).astype(np.float32) if embeddings else np.zeros((0, 0), np.float32)
    np.save(folder / EMBEDDINGS, matrix)
    sizes = [sample.bucket for sample in samples]
    manifest = {
        "format": FORMAT,
        "digest": digest_of(samples),
        "num_pictures": len(samples),
        "num_clusters": len({sample.cluster for sample in samples}),
        "buckets": [
            {"width": width, "height": height, "num_pictures": sizes.count((width, height))}
            for width, height in sorted(set(sizes))
        ],
        "trigger_word": trigger_word,
        "shards": shards.names,
        **about(),
    }
    unfinished = folder / f".{MANIFEST}"
    unfinished.write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(folder / MANIFEST)


def png(pixels: Picture) -> bytes:
    """A PNG of the pixels, without any metadata."""
    out = io.BytesIO()
    # Level 4 is half as large again as level 1 is and a third of the time of level 9, on photos.
    Image.fromarray(pixels).save(out, "PNG", compress_level=4)
    return out.getvalue()


class _Shards:
    """Tars that are filled one after the other. Members are found again by offset, so no index is read to open one."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._file: BinaryIO | None = None
        self.names: list[str] = []
        self._kept: set[str] = set()

    def __enter__(self) -> _Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def add(self, one: PictureToStore, *, row: int) -> PreparedSample:
        file = self._current()
        digest = pixel_digest(one.pixels)
        # One picture may be stored twice, with two captions: keys of a shard must still differ.
        key = digest if digest not in self._kept else f"{digest}-{row}"
        self._kept.add(digest)
        picture = self._member(file, f"{key}.png", png(one.pixels))
        self._member(file, f"{key}.txt", one.caption.encode())
        mask = None if one.mask is None else self._member(file, f"{key}.mask.png", png(one.mask))
        return PreparedSample(
            id=digest,
            name=one.name,
            shard=self.names[-1],
            picture=picture,
            mask=mask,
            caption=one.caption,
            bucket=(one.pixels.shape[1], one.pixels.shape[0]),
            crop=one.crop,
            original_size=one.original_size,
            cluster=one.cluster,
            row=row,
        )

    def _current(self) -> BinaryIO:
        if self._file is not None and self._file.tell() >= self._max_bytes:
            self._close()
        if self._file is None:
            self.names.append(f"shard-{len(self.names):05d}.tar")
            self._file = (self._folder / self.names[-1]).open("wb")
        return self._file

    def _member(self, file: BinaryIO, name: str, data: bytes) -> StoredPart:
        head = tarfile.TarInfo(name)  # no time, no owner: equal pictures give equal shards
        head.size = len(data)
        file.write(head.tobuf(tarfile.USTAR_FORMAT))
        part = StoredPart(offset=file.tell(), size_bytes=len(data))
        file.write(data + bytes(-len(data) % _BLOCK))
        return part

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.write(bytes(2 * _BLOCK))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
