"""Displacement fields on a coarse grid: built once as a basis, mixed and turned around for each frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]

_INVERSION_STEPS: Final = 4
_Sample = TypeVar("_Sample", np.uint8, np.float32)


def warped(image: NDArray[_Sample], places: Field, *, cubic: bool = False) -> NDArray[_Sample]:
    """``image`` seen at ``places`` (h, w, 2), x and y in its pixels; its border is carried outward."""
    method = cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR
    return cv2.remap(image, places, None, method, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Square cells of ``cell`` pixels (even) from pixel ``(left, top)`` (even), ``columns`` by ``rows`` of them."""

    left: int
    top: int
    cell: int
    columns: int
    rows: int
    identity: Field = field(init=False, repr=False, compare=False)
    _surrounded: Field = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        x, y = np.meshgrid(np.arange(-1, self.columns + 1), np.arange(-1, self.rows + 1))
        cells = np.dstack([x, y]).astype(np.float32)
        corner = np.array([self.left, self.top], np.float32) + np.float32((self.cell - 1) / 2)
        object.__setattr__(self, "identity", cells[1:-1, 1:-1])
        object.__setattr__(self, "_surrounded", cells * np.float32(self.cell) + corner)

    @property
    def width(self) -> int:
        return self.columns * self.cell

    @property
    def height(self) -> int:
        return self.rows * self.cell

    def centres(self) -> tuple[Field, Field]:
        """X and y of the cell centres, pixels of the frame, each (rows, columns)."""
        inner = self._surrounded[1:-1, 1:-1]
        return inner[..., 0], inner[..., 1]

    def to_cells(self, points: Field) -> Field:
        """Frame pixels (n, 2) in grid units, as ``sample`` wants them."""
        origin = np.array([self.left, self.top], np.float32) + np.float32((self.cell - 1) / 2)
        return ((points - origin) / np.float32(self.cell)).astype(np.float32)

    def sample(self, values: Field, points: Field) -> Field:
        """``values`` (rows, columns, channels) at frame pixels (n, 2): (n, channels), exact bilinear."""
        place = self.to_cells(points)
        place = np.clip(place, 0, [self.columns - 1.001, self.rows - 1.001]).astype(np.float32)
        corner = place.astype(np.int32)
        part = place - corner
        x, y = corner[:, 0], corner[:, 1]
        across, down = part[:, 0, None], part[:, 1, None]
        above = values[y, x] * (1 - across) + values[y, x + 1] * across
        below = values[y + 1, x] * (1 - across) + values[y + 1, x + 1] * across
        return np.asarray(above * (1 - down) + below * down, np.float32)

    def inverse(self, forward: Field) -> Field:
        """The field that leads back: for every target cell, source minus target, by fixed-point steps.

        ``forward`` (rows, columns, 2) says where each source cell goes, on this grid or a part of it. Its slope must
        stay under 1, which the bases see to; the steps then converge by that factor each.
        """
        identity = self.identity[: forward.shape[0], : forward.shape[1]]
        scaled = forward * np.float32(-1 / self.cell)
        back = scaled
        for _ in range(_INVERSION_STEPS):
            back = warped(scaled, identity + back)
        return back * np.float32(self.cell)

    def places(self, back: Field) -> Field:
        """Where each cell's centre is taken from, frame pixels, with one cell more on each side (untouched there)."""
        places = self._surrounded.copy()
        places[1:-1, 1:-1] += back
        return places

    def upsampled(self, places: Field, rows: slice, columns: slice, *, chroma: bool = False) -> Field:
        """``places`` for every pixel of these cells, (height, width, 2); for the chroma planes if so asked."""
        part = places[rows.start : rows.stop + 2, columns.start : columns.stop + 2]
        cell = self.cell
        if chroma:
            part, cell = (part - np.float32(0.5)) * np.float32(0.5), cell // 2
        size = (part.shape[1] * cell, part.shape[0] * cell)
        large = cv2.resize(part, size, interpolation=cv2.INTER_LINEAR)
        return large[cell:-cell, cell:-cell]  # type: ignore[return-value]

    def upsampled_box(self, places: Field, box: tuple[int, int, int, int]) -> Field:
        """``places`` for every pixel of ``box`` (x0, y0, x1, y1 in the frame, inside the grid)."""
        x0, y0, x1, y1 = box[0] - self.left, box[1] - self.top, box[2] - self.left, box[3] - self.top
        columns, rows = slice(x0 // self.cell, -(-x1 // self.cell)), slice(y0 // self.cell, -(-y1 // self.cell))
        cells = self.upsampled(places, rows, columns)
        x, y = x0 - columns.start * self.cell, y0 - rows.start * self.cell
        return cells[y : y + y1 - y0, x : x + x1 - x0]
