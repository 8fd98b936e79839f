"""Sheet of garments on people, each cell at reading size, for grading cell by cell.

python -m benchmarks.garment_sheet --out DIR --people PHOTO[:face] ... --garments PHOTO[=category] ... [--height 700]

Writes a JPEG for each person and ``cells.csv`` with what was measured or refused in every cell.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.perception.analyst import shared_analyst
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.dress import dress
from models.tryon.garment.gate import quality_of, require_pose, require_quality
from models.tryon.garment.ingest import ingest_garment
from models.tryon.garment.wearer import Wearer, wearer_of
from models.video.picture import read_picture
from services.domain.errors import ContentRejected
from services.domain.product import GarmentCategory, ProductView

Picture = NDArray[np.uint8]
COLUMNS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One garment on one person: the picture, or the code with which it was refused."""

    garment: str
    picture: Picture | None
    code: str
    detail: str
    cpu_s: float


def read(path: Path) -> Picture:
    """Upright pixels; pictures are looked at at 1400 pixels at most."""
    source = read_picture(path, path.name, max_pixels=64_000_000)
    if source is None:
        raise SystemExit(f"{path} is no picture")
    scale = min(1.0, 1400 / max(source.size))
    size = (round(source.size[0] * scale), round(source.size[1] * scale))
    return np.asarray(cv2.resize(source.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def ingested(argument: str) -> tuple[str, GarmentAsset]:
    """A garment's name and asset; files named ``*_back*`` show the back."""
    path, _, category = argument.partition("=")
    view = ProductView.BACK if "_back" in Path(path).stem else ProductView.FRONT
    return Path(path).stem, ingest_garment(
        Path(path), category=GarmentCategory(category) if category else None, view=view
    )


def cells(rgb: Picture, face: int | None, garments: list[tuple[str, GarmentAsset]]) -> Iterator[Cell]:
    """Every garment on one person."""
    wearer: Wearer | None = None
    for name, asset in garments:
        started = time.process_time()
        try:
            if wearer is None:
                analysis = shared_analyst().body(rgb, face=face)
                wearer = wearer_of(analysis)
            require_pose(wearer.pose, asset.category, wearer.rgb.shape)
            dressed = dress(wearer, asset)
            quality = quality_of(dressed)
            require_quality(quality, asset.category)
        except ContentRejected as error:
            yield Cell(garment=name, picture=None, code=error.code, detail=str(error), cpu_s=0.0)
            continue
        detail = f"anisotropy {quality.anisotropy:.2f} covered {quality.covered:.2f} bared {quality.bared:.2f}"
        picture = dressed.canvas.picture()
        yield Cell(garment=name, picture=picture, code="", detail=detail, cpu_s=round(time.process_time() - started, 2))


def tile(picture: Picture | None, text: str, height: int, width: int) -> Picture:
    """A cell of the sheet with its name."""
    if picture is None:
        cell = np.full((height, width, 3), 40, np.uint8)
        for row in range(0, len(text), 34):
            cv2.putText(cell, text[row : row + 34], (6, 40 + row // 34 * 18), 0, 0.42, (255, 220, 120), 1)
        return cell
    cell = np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    cv2.putText(cell, text, (5, 16), 0, 0.45, (220, 0, 0), 1, cv2.LINE_AA)
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--people", nargs="+", required=True)
    parser.add_argument("--garments", nargs="+", required=True)
    parser.add_argument("--height", type=int, default=700)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    garments = [ingested(argument) for argument in arguments.garments]
    with (arguments.out / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "garment", "refused", "detail", "cpu_s"])
        for argument in arguments.people:
            path, _, face = argument.partition(":")
            rgb = read(Path(path))
            name = Path(path).stem + (f"_{face}" if face else "")
            width = round(rgb.shape[1] * arguments.height / rgb.shape[0])
            tiles = [tile(rgb, name, arguments.height, width)]
            for cell in cells(rgb, int(face) if face else None, garments):
                writer.writerow([name, cell.garment, cell.code, cell.detail, cell.cpu_s])
                text = cell.garment if cell.picture is not None else f"{cell.garment}: {cell.detail}"
                tiles.append(tile(cell.picture, text, arguments.height, width))
            tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % COLUMNS)
            rows = [np.hstack(tiles[i : i + COLUMNS]) for i in range(0, len(tiles), COLUMNS)]
            sheet = cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR)
            cv2.imwrite(str(arguments.out / f"{name}.jpg"), sheet, [cv2.IMWRITE_JPEG_QUALITY, 90])


if __name__ == "__main__":
    main()
