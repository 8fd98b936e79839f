"""Plots as inline SVG, drawn here: they follow the page's colours in light and dark, and need no library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, Final

_WIDTH: Final = 480  # a phone shows the plot at four fifths of this: labels stay readable
_LABEL: Final = 'font-size="14" fill="var(--soft)"'


def histogram(counts: Sequence[Sequence[int]], of: str, in_: str) -> str:
    """Columns over whole numbers, ``counts`` being (value, count) in order; neighbours share a column when many."""
    if not counts:
        return ""
    first, last = counts[0][0], counts[-1][0]
    step = max(1, math.ceil((last - first + 1) / 40))
    columns = [0] * ((last - first) // step + 1)
    for value, count in counts:
        columns[(value - first) // step] += count
    most, height, floor = max(columns), 220, 176
    # Few columns stay slim and begin at the left: a single value must not fill the page.
    wide = min(56.0, (_WIDTH - 48) / len(columns))
    drawn = "".join(
        f'<rect x="{40 + index * wide + 1:.1f}" y="{floor - 150 * count / most:.1f}" width="{max(1.0, wide - 2):.1f}" '
        f'height="{150 * count / most:.1f}" rx="2" fill="var(--accent)"><title>{first + index * step}'
        f"{'' if step == 1 else f' to {first + index * step + step - 1}'} {of}: {count}</title></rect>"
        for index, count in enumerate(columns)
    )
    labelled = sorted({0, len(columns) // 2, len(columns) - 1})
    ticks = "".join(
        f'<text x="{40 + (index + 0.5) * wide:.1f}" y="{floor + 18}" text-anchor="middle" {_LABEL}>'
        f"{first + index * step}</text>"
        for index in labelled
    )
    axis = (
        f'<line x1="40" y1="{floor}" x2="{_WIDTH - 8}" y2="{floor}" stroke="var(--line)"/>'
        f'<text x="34" y="32" text-anchor="end" {_LABEL}>{most}</text>'
        f'<text x="40" y="{floor + 38}" {_LABEL}>{of}</text>'
    )
    return _svg(height, axis + drawn + ticks, f"{in_} by {of}")


def bars(counts: Sequence[Sequence[Any]]) -> str:
    """Lines of a name, a bar and a number; HTML, so that long names wrap on a phone."""
    if not counts:
        return ""
    most = max(count for _, count in counts)
    rows = "".join(
        f'<div class="bar"><span>{html.escape(str(name))}</span><i style="width:{100 * count / most:.1f}%"></i>'
        f"<b>{count}</b></div>"
        for name, count in counts
    )
    return f'<div class="bars">{rows}</div>'


def size_cloud(sizes: Sequence[Sequence[int]]) -> str:
    """A point a picture, width across and height up, both on a logarithmic scale with equal steps."""
    if not sizes:
        return ""
    low = math.floor(math.log2(max(1, min(min(size) for size in sizes))))
    high = max(low + 1, math.ceil(math.log2(max(max(size) for size in sizes))))
    left, floor, side = 52, 366, 336

    def at(value: float) -> float:
        return (math.log2(value) - low) / (high - low) * side

    lines = ""
    for power in range(low, high + 1):
        place = at(2**power)
        lines += (
            f'<line x1="{left + place:.1f}" y1="{floor}" x2="{left + place:.1f}" y2="{floor - side}" '
            f'stroke="var(--line)"/><line x1="{left}" y1="{floor - place:.1f}" x2="{left + side}" '
            f'y2="{floor - place:.1f}" stroke="var(--line)"/>'
            f'<text x="{left + place:.1f}" y="{floor + 18}" text-anchor="middle" {_LABEL}>{2**power}</text>'
            f'<text x="{left - 8}" y="{floor - place + 4:.1f}" text-anchor="end" {_LABEL}>{2**power}</text>'
        )
    square = f'<line x1="{left}" y1="{floor}" x2="{left + side}" y2="{floor - side}" stroke="var(--line)" '
    lines += square + 'stroke-dasharray="5 5"/>'
    counted: dict[tuple[int, int], int] = {}
    for width, tall in sizes:
        counted[width, tall] = counted.get((width, tall), 0) + 1
    points = "".join(
        f'<circle cx="{left + at(width):.1f}" cy="{floor - at(tall):.1f}" r="{min(14, 4 + 1.5 * count**0.5):.1f}" '
        f'fill="var(--accent)" fill-opacity=".55"><title>{width}x{tall}: {count}</title></circle>'
        for (width, tall), count in counted.items()
    )
    names = f'<text x="{left + side / 2}" y="{floor + 38}" text-anchor="middle" {_LABEL}>width, pixels</text>'
    names += f'<text x="{left - 44}" y="{floor - side - 14}" {_LABEL}>height, pixels</text>'
    return _svg(412, lines + points + names, "sizes of the originals")


def bucket_shapes(buckets: Sequence[Sequence[int]]) -> str:
    """Each bucket as a rectangle of its shape, the fuller the more pictures, with size and number."""
    if not buckets:
        return ""
    most = max(count for _, _, count in buckets)
    longest = max(max(width, height) for width, height, _ in buckets)
    cells = ""
    for width, height, count in buckets:
        wide, tall = 84 * width / longest, 84 * height / longest
        cells += (
            f'<div><svg viewBox="0 0 88 88" role="img" aria-label="{width}x{height}: {count} pictures">'
            f'<rect x="{44 - wide / 2:.1f}" y="{44 - tall / 2:.1f}" width="{wide:.1f}" height="{tall:.1f}" rx="3" '
            f'fill="var(--accent)" fill-opacity="{0.15 + 0.8 * count / most:.2f}" stroke="var(--accent)"/></svg>'
            f"<b>{count}</b><span>{width}x{height}</span></div>"
        )
    return f'<div class="shapes">{cells}</div>'


def _svg(height: int, body: str, label: str) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{html.escape(label)}" '
        f'font-family="inherit">{body}</svg>'
    )
