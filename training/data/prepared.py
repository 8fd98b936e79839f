"""Reads a prepared dataset: a folder with ``manifest.json``, ``samples.jsonl``, shards and ``embeddings.npy``.

Neither torch nor cv2 is imported; a dataset may be given to worker processes, which open what they read themselves.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from services.domain.errors import ContentRejected, InvalidRequest

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
SAMPLES: Final = "samples.jsonl"
EMBEDDINGS: Final = "embeddings.npy"

Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """Where a file's bytes lie in a shard."""

    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSample:
    """One picture of a prepared dataset.

    Attributes:
        id: sha256 of the stored pixels, hex: the same picture has the same id in every dataset.
        name: What the picture was called in its source.
        shard: The shard's file name.
        picture, mask: Where the PNG of the pixels, and of what the loss counts, lie in the shard.
        caption: With the trigger word.
        bucket: Width and height of the stored pixels.
        crop: Left, top, width and height of what is shown, in pixels of the upright original.
        original_size: Width and height of the upright original.
        cluster: Number of the near-duplicates' cluster; a picture without any has one of its own.
        row: Its row of the embeddings.
    """

    id: str
    name: str
    shard: str
    picture: StoredPart
    mask: StoredPart | None
    caption: str
    bucket: tuple[int, int]
    crop: tuple[int, int, int, int]
    original_size: tuple[int, int]
    cluster: int
    row: int


class PreparedDataset:
    """Pictures with captions, by index.

    Attributes:
        folder: Where it lies.
        manifest: ``manifest.json``: digest, counts, buckets, trigger word, licence, rules, what was left out and why.
        samples: What is known of each picture without opening it.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], samples: Sequence[PreparedSample]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.samples = tuple(samples)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def digest(self) -> str:
        """sha256 over every sample's pixels, caption, bucket and mask: equal for equal datasets, wherever they lie."""
        return str(self.manifest["digest"])

    @property
    def trigger_word(self) -> str | None:
        word = self.manifest["trigger_word"]
        return None if word is None else str(word)

    @property
    def buckets(self) -> tuple[tuple[int, int], ...]:
        """Width and height of the buckets that hold pictures, sorted."""
        return tuple(sorted({sample.bucket for sample in self.samples}))

    @property
    def captions(self) -> tuple[str, ...]:
        return tuple(sample.caption for sample in self.samples)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each picture, shape (num_pictures,)."""
        return np.array([sample.cluster for sample in self.samples], np.int64)

    @cached_property
    def embeddings(self) -> NDArray[np.float32]:
        """float32 (num_pictures, dimensions), unit length: pictures alike have a large dot product."""
        stored = np.load(self.folder / EMBEDDINGS, allow_pickle=False)
        return np.asarray(stored[[sample.row for sample in self.samples]], np.float32)

    def caption(self, index: int) -> str:
        return self.samples[index].caption

    def picture(self, index: int) -> Picture:
        """uint8 (height, width, 3), sRGB, of the sample's bucket.

        Raises:
            ContentRejected: ``dataset_damaged``.
        """
        sample = self.samples[index]
        return self._decoded(sample, sample.picture, "RGB")

    def mask(self, index: int) -> Picture | None:
        """uint8 (height, width): 255 where the loss counts, 0 where not; None where all of it does.

        Raises:
            ContentRejected: ``dataset_damaged``.
        """
        sample = self.samples[index]
        return None if sample.mask is None else self._decoded(sample, sample.mask, "L")

    def subset(self, indices: Sequence[int]) -> PreparedDataset:
        """The pictures of ``indices``, in that order, as a dataset of its own with its own digest."""
        chosen = [self.samples[index] for index in indices]
        manifest = {**self.manifest, "digest": digest_of(chosen), "num_pictures": len(chosen)}
        return PreparedDataset(self.folder, manifest, chosen)

    def verify(self) -> None:
        """Read every picture and compare its pixels with its id.

        Raises:
            ContentRejected: ``dataset_damaged`` naming the first that differs.
        """
        for index, sample in enumerate(self.samples):
            if pixel_digest(self.picture(index)) != sample.id:
                raise _damaged(sample, "its pixels are not those that were prepared")

    def _decoded(self, sample: PreparedSample, part: StoredPart, mode: str) -> Picture:
        try:
            with (self.folder / sample.shard).open("rb") as file:
                file.seek(part.offset)
                data = file.read(part.size_bytes)
            with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
                pixels = np.asarray(image.convert(mode), np.uint8)
        except (OSError, ValueError, SyntaxError) as error:
            raise _damaged(sample, "it cannot be read") from error
        if (pixels.shape[1], pixels.shape[0]) != sample.bucket:
            raise _damaged(sample, "it has another size")
        return pixels


def open_prepared(folder: Path) -> PreparedDataset:
    """The dataset that ``spokesmodel dataset prepare`` wrote into ``folder``.

    Raises:
        InvalidRequest: ``dataset_not_prepared``, also for one of another version.
        ContentRejected: ``dataset_damaged``.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version = manifest["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            f"{folder} holds no prepared dataset; make one with `spokesmodel dataset prepare`.",
            code="dataset_not_prepared",
        ) from error
    if version != FORMAT:
        raise InvalidRequest(
            f"The dataset in {folder} has format {version}; this version reads {FORMAT}. Prepare it again.",
            code="dataset_not_prepared",
        )
    try:
        lines = (folder / SAMPLES).read_text(encoding="utf-8").splitlines()
        samples = [_sample(json.loads(line)) for line in lines]
        intact = digest_of(samples) == manifest["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ContentRejected(
            f"{SAMPLES} of the dataset in {folder} cannot be read; prepare it again.", code="dataset_damaged"
        ) from error
    if not intact:
        raise ContentRejected(
            f"{SAMPLES} of the dataset in {folder} was changed after it was prepared; prepare it again.",
            code="dataset_damaged",
        )
    return PreparedDataset(folder, manifest, samples)


def pixel_digest(pixels: Picture) -> str:
    """sha256 of a picture's or mask's size and pixels, hex."""
    from hashlib import sha256

    return sha256(f"{pixels.shape}".encode() + np.ascontiguousarray(pixels).tobytes()).hexdigest()


def digest_of(samples: Sequence[PreparedSample]) -> str:
    """sha256 over what training sees of the samples, hex; their order counts, where they are stored does not."""
    from hashlib import sha256

    digest = sha256()
    for sample in samples:
        seen = (sample.id, sample.caption, sample.bucket, sample.crop, sample.mask is not None, sample.cluster)
        digest.update(json.dumps(seen, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


def line_of(sample: PreparedSample) -> str:
    """The sample as a line of ``samples.jsonl``."""
    mask = sample.mask
    document = {
        "id": sample.id,
        "name": sample.name,
        "shard": sample.shard,
        "picture": [sample.picture.offset, sample.picture.size_bytes],
        "mask": None if mask is None else [mask.offset, mask.size_bytes],
        "caption": sample.caption,
        "bucket": list(sample.bucket),
        "crop": list(sample.crop),
        "original_size": list(sample.original_size),
        "cluster": sample.cluster,
        "row": sample.row,
    }
    return json.dumps(document, ensure_ascii=True)


def _sample(document: Mapping[str, Any]) -> PreparedSample:
    shard = str(document["shard"])
    if Path(shard).name != shard:
        raise ValueError(shard)  # a shard lies in the dataset's folder, whatever the file says
    bucket, crop, size, mask = (document[name] for name in ("bucket", "crop", "original_size", "mask"))
    return PreparedSample(
        id=str(document["id"]),
        name=str(document["name"]),
        shard=shard,
        picture=_part(document["picture"]),
        mask=None if mask is None else _part(mask),
        caption=str(document["caption"]),
        bucket=(int(bucket[0]), int(bucket[1])),
        crop=(int(crop[0]), int(crop[1]), int(crop[2]), int(crop[3])),
        original_size=(int(size[0]), int(size[1])),
        cluster=int(document["cluster"]),
        row=int(document["row"]),
    )


def _part(pair: Sequence[int]) -> StoredPart:
    offset, size_bytes = pair
    return StoredPart(offset=int(offset), size_bytes=int(size_bytes))


def _damaged(sample: PreparedSample, why: str) -> ContentRejected:
    return ContentRejected(
        f'Picture "{sample.name}" of the dataset ({sample.shard}): {why}. Prepare the dataset again.',
        code="dataset_damaged",
    )
