"""Sheets to look at and grade: every portrait with every wig, every person with every garment.

    python -m benchmarks.sheets wigs|drawn|garments --data DIR --out DIR

``DIR`` of ``--data`` holds ``portraits`` and ``hair``, or ``persons`` and ``garments``. ``--out`` gets

* ``<kind>-products.png``: the products' photos;
* ``<kind>-01.png`` and so on: numbered cells of one model; a refused one shows its code;
* ``<kind>.csv``: one line a cell, with what a machine can say about it;
* ``cells/<cell>.png``: each result on its own, at the model's own pixels.

A run that was stopped goes on where it was; cells that other code made are made again. How cells are graded is in
``docs/eye/README.md``. Ends with 1 on an exception, an unexpected outcome, a torn picture, or a pixel changed outside
the mask.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.tryon_cells import OK, Bench, Cell, lines, read, summary
from models.perception.analysis_cache import AnalysisCache

Picture = NDArray[np.uint8]

_CAPTION_PX: Final = 30
_GAP_PX: Final = 6
_WHITE: Final = 255
_LEAST_WIDTH_PX: Final = 270


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Of the pages of one kind: size of a cell, cells across and down.

    Pages stay within 1568 pixels a side: larger ones are shrunk by what shows them to language models, and to people.
    """

    width: int
    height: int
    columns: int
    rows: int

    def around(self, picture: Picture) -> Layout:
        """The same with cells no larger than a picture of this shape fills, but for the title's width."""
        scale = min(self.width / picture.shape[1], self.height / picture.shape[0])
        width = max(_LEAST_WIDTH_PX, round(picture.shape[1] * scale))
        return replace(self, width=width, height=round(picture.shape[0] * scale))

    @property
    def a_page(self) -> int:
        """Results on one page; its first cell is the model."""
        return self.columns * self.rows - 1


LAYOUTS: Final = {
    "wigs": Layout(width=510, height=570, columns=3, rows=2),
    "drawn": Layout(width=510, height=570, columns=3, rows=2),
    "garments": Layout(width=386, height=690, columns=4, rows=2),
}

_PRODUCTS: Final = Layout(width=290, height=320, columns=4, rows=4)


def render(kind: str, data: Path, out: Path, *, only: tuple[Sequence[str], Sequence[str]] = ((), ())) -> list[Cell]:
    """Makes what is missing of a sheet and writes pages and index; returns all cells.

    Args:
        only: Parts of names of models and of products; empty means all.
    """
    out.mkdir(parents=True, exist_ok=True)
    line = lines(AnalysisCache(out / "analyses"))[kind]
    bench = Bench(line, data, out, only=only)
    cells = []
    for cell in bench.cells():
        cells.append(cell)
        print(f"{cell.cell} {cell.model} {cell.product}: {cell.outcome} {cell.cpu_s}", flush=True)
    pages = _write_pages(kind, bench, cells, out)
    with (out / f"{kind}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(field.name for field in fields(Cell)), "page"])
        writer.writerows([*asdict(cell).values(), pages[cell.cell]] for cell in cells)
    return cells


def _write_pages(kind: str, bench: Bench, cells: Sequence[Cell], out: Path) -> dict[str, str]:
    """Pages of one model each, beginning with the model as it was; which cell is on which page."""
    for old in out.glob(f"{kind}-*.png"):
        old.unlink()
    photos = [_tile(read(path), path.stem, _PRODUCTS) for path in bench.products]
    _save(out / f"{kind}-products.png", photos, _PRODUCTS)
    pages: dict[str, str] = {}
    num_pages = 0
    for model in bench.models:
        of_model = [cell for cell in cells if cell.model == model.stem]
        if not of_model:
            continue
        picture = bench.before(model)
        layout = LAYOUTS[kind].around(picture)
        before = _tile(picture, f"before: {model.stem}", layout)
        for start in range(0, len(of_model), layout.a_page):
            part = of_model[start : start + layout.a_page]
            num_pages += 1
            page = f"{kind}-{num_pages:02d}.png"
            _save(out / page, [before, *(_result(bench, cell, layout) for cell in part)], layout)
            pages.update((cell.cell, page) for cell in part)
    return pages


def _result(bench: Bench, cell: Cell, layout: Layout) -> Picture:
    title = f"{cell.cell} {cell.product}"
    if cell.outcome == OK:
        return _tile(read(bench.picture_of(cell.cell)), title, layout)
    return _tile(_refusal(cell, layout), title, layout)


def _refusal(cell: Cell, layout: Layout) -> Picture:
    """A grey cell with the code and what was said."""
    import cv2

    tile = np.full((layout.height, layout.width, 3), 225, np.uint8)
    red, black = (180, 0, 0), (40, 40, 40)
    cv2.putText(tile, cell.outcome, (12, 50), cv2.FONT_HERSHEY_SIMPLEX, 0.7, red, 2, cv2.LINE_AA)
    for index, text in enumerate(textwrap.wrap(cell.detail, layout.width // 9)[:12]):
        place = (12, 90 + 26 * index)
        cv2.putText(tile, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.52, black, 1, cv2.LINE_AA)
    return tile


def _tile(picture: Picture, title: str, layout: Layout) -> Picture:
    """A picture in its cell, whole, with its name above."""
    import cv2

    scale = min(layout.width / picture.shape[1], layout.height / picture.shape[0])
    size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    tile = np.full((layout.height + _CAPTION_PX + _GAP_PX, layout.width + _GAP_PX, 3), _WHITE, np.uint8)
    tile[_CAPTION_PX : _CAPTION_PX + size[1], : size[0]] = cv2.resize(picture, size, interpolation=method)
    cv2.putText(tile, title, (4, 21), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (0, 0, 0), 1, cv2.LINE_AA)
    return tile


def _save(path: Path, tiles: Sequence[Picture], layout: Layout) -> None:
    from PIL import Image

    filled = [*tiles, *[np.full_like(tiles[0], _WHITE)] * (-len(tiles) % layout.columns)]
    rows = [np.hstack(filled[start : start + layout.columns]) for start in range(0, len(filled), layout.columns)]
    Image.fromarray(np.vstack(rows)).save(path, compress_level=4)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    import cv2

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sheets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=sorted(LAYOUTS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=[], metavar="PART", help="only models with this in their names")
    parser.add_argument("--products", nargs="+", default=[], metavar="PART", help="only products, likewise")
    given = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    found = summary(render(given.kind, given.data, given.out, only=(given.models, given.products)))
    print(json.dumps(found))
    bad = found["exceptions"] or found["unexpected"] or found["torn"] or found["cells_changed_outside_mask"]
    return 1 if bad or not found["cells"] else 0


if __name__ == "__main__":
    sys.exit(main())
