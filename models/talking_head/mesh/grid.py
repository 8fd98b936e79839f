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

    def __post_init__(self) -> None:
        x, y = np.meshgrid(np.arange(self.columns), np.arange(self.rows))
        object.__setattr__(self, "identity", np.dstack([x, y]).astype(np.float32))

    @property
    def width(self) -> int:
        return self.columns * self.cell

    @property
    def height(self) -> int:
        return self.rows * self.cell

    def centres(self) -> tuple[Field, Field]:
        """X and y of the cell centres, pixels of the frame, each (rows, columns)."""
        offset = np.float32((self.cell - 1) / 2)
        places = self.identity * np.float32(self.cell)
        return places[..., 0] + (self.left + offset), places[..., 1] + (self.top + offset)

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

        ``forward`` (rows, columns, 2) says where each source cell goes. Its slope must stay under 1, which the
        bases see to; the steps then converge by that factor each.
        """
        scaled = forward * np.float32(1 / self.cell)
        back = -scaled
        for _ in range(_INVERSION_STEPS):
            places = self.identity + back
            back = -warped(scaled, places)
        return np.asarray(back * np.float32(self.cell), np.float32)

    def upsampled(self, values: Field, columns: slice, rows: slice, scale: int) -> Field:
        """``values`` of these cells at ``scale`` pixels a cell, (rows, columns, 2); smooth across cells."""
        first_x, first_y = max(columns.start - 1, 0), max(rows.start - 1, 0)
        last_x, last_y = min(columns.stop + 1, self.columns), min(rows.stop + 1, self.rows)
        part = values[first_y:last_y, first_x:last_x]
        size = ((last_x - first_x) * scale, (last_y - first_y) * scale)
        large = cv2.resize(part, size, interpolation=cv2.INTER_LINEAR)
        x, y = (columns.start - first_x) * scale, (rows.start - first_y) * scale
        return np.asarray(
            large[y : y + (rows.stop - rows.start) * scale, x : x + (columns.stop - columns.start) * scale], np.float32
        )
