"""Pictures and small prepared datasets for tests, drawn from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.prepared import PreparedDataset, open_prepared
from training.data.shards import PictureToStore, write_prepared


def picture(seed: int, width: int = 64, height: int = 64) -> NDArray[np.uint8]:
    """Smooth coloured blobs, uint8 (height, width, 3): unlike for unlike seeds, and no noise that a codec would eat."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    out = np.zeros((height, width, 3)) + generator.uniform(40, 215, 3)
    for _ in range(6):
        x, y, size = generator.uniform(0, 1, 3)
        blob = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (0.02 + 0.05 * size))
        out += blob[..., None] * generator.uniform(-160, 160, 3)
    return np.clip(out, 0, 255).astype(np.uint8)


def dataset(
    folder: Path,
    *,
    buckets: dict[tuple[int, int], int] | None = None,
    clusters: list[int] | None = None,
    **more: object,
) -> PreparedDataset:
    """A prepared dataset with the given number of pictures in each bucket (width, height)."""
    sizes = [size for size, number in (buckets or {(64, 64): 10}).items() for _ in range(number)]
    pictures = [
        PictureToStore(
            name=f"picture{index:03d}.png",
            pixels=picture(index, *size),
            caption=f"picture number {index}",
            crop=(0, 0, *size),
            original_size=size,
            cluster=clusters[index] if clusters else index,
            embedding=np.eye(4, dtype=np.float32)[index % 4],
        )
        for index, size in enumerate(sizes)
    ]
    write_prepared(folder, pictures, **more)  # type: ignore[arg-type]
    return open_prepared(folder)
