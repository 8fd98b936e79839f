"""Every portrait with every hair reference as a wig, side by side, to be looked at and graded.

    python -m benchmarks.wig_sheet DATA OUT

``DATA`` holds ``portraits`` and ``hair`` (``ref_*``: photos that show hair on a head). ``OUT`` gets ``wigs.png``, one
row a portrait, and ``wigs.csv``: portrait, wig, refusal code or nothing, and the CPU seconds of the fit.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tryon.region import composite
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.ingest import ingest_wig
from models.tryon.wig.preview import Fitting, fitting_of
from models.tryon.wig.removable import require_removable
from models.tryon.wig.worn import wear
from services.domain.errors import SpokesmodelError

_CELL_PX: Final = 380
_LIMIT: Final = 100_000_000


def main(data: Path, out: Path) -> None:
    """Render the sheet of ``data`` into ``out``."""
    cv2.setNumThreads(1)
    out.mkdir(parents=True, exist_ok=True)
    wigs = {path.stem: _taken_in(path) for path in sorted((data / "hair").glob("ref_*"))}
    rows, lines = [], []
    for path in sorted((data / "portraits").iterdir()):
        cells = []
        try:
            fitting = fitting_of(path, None, max_pixels=_LIMIT)
        except SpokesmodelError as error:
            lines += [(path.stem, name, error.code, "") for name in wigs]
            continue
        cells.append(_cell(fitting, fitting.source.rgb, path.stem))
        for name, wig in wigs.items():
            started = time.process_time()
            picture, code = _dressed(fitting, wig)
            seconds = time.process_time() - started
            lines.append((path.stem, name, code, f"{seconds:.2f}"))
            cells.append(_cell(fitting, picture, f"{name} {code}"))
        rows.append(np.hstack(cells))
    cv2.imwrite(str(out / "wigs.png"), np.vstack(rows)[..., ::-1])
    with (out / "wigs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("portrait", "wig", "refusal", "cpu_s"), *lines])


def _taken_in(path: Path) -> WigAsset | SpokesmodelError:
    try:
        return ingest_wig(path)
    except SpokesmodelError as error:
        return error


def _dressed(fitting: Fitting, wig: WigAsset | SpokesmodelError) -> tuple[NDArray[np.uint8], str]:
    """The portrait with the wig, or as it is with the refusal's code."""
    try:
        if isinstance(wig, SpokesmodelError):
            raise wig
        worn = wear(fitting.sitter, wig.picture_rgba, wig.landmarks, wig.light)
        require_removable(fitting.seen, worn)
    except SpokesmodelError as error:
        return fitting.source.rgb, error.code
    left, top, right, bottom = fitting.window
    return composite(fitting.source.rgb, worn.overlay().resized(right - left, bottom - top), left=left, top=top), ""


def _cell(fitting: Fitting, picture: NDArray[np.uint8], title: str) -> NDArray[np.uint8]:
    """The head and shoulders, titled."""
    points = fitting.seen.points[:, :2]
    face_width = float(np.linalg.norm(points[454] - points[234]))
    x, y = points.mean(0)
    height, width = picture.shape[:2]
    left, right = max(0, int(x - 2 * face_width)), min(width, int(x + 2 * face_width))
    top, bottom = max(0, int(y - 1.8 * face_width)), min(height, int(y + 2.4 * face_width))
    part = picture[top:bottom, left:right]
    scale = _CELL_PX / max(part.shape[:2])
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    small = np.asarray(cv2.resize(part, None, fx=scale, fy=scale, interpolation=method), np.uint8)
    cell = np.full((_CELL_PX + 20, _CELL_PX, 3), 255, np.uint8)
    cell[: small.shape[0], : small.shape[1]] = small[:_CELL_PX, :_CELL_PX]
    cv2.putText(cell, title, (4, _CELL_PX + 15), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 0, 0), 1)
    return cell


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
