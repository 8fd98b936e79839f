"""Plots of a profile as inline SVG, in the page's colours; the phases have colours of their own."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Final

from training.profiling.figures import PHASES

_WIDTH, _HEIGHT, _LEFT, _TOP, _FLOOR = 480, 232, 58, 26, 190
_LABEL: Final = 'font-size="14" fill="var(--soft)"'
# Of the phases in their order: readable on light and on dark paper, and told apart by lightness too.
COLOURS: Final = ("#c8553d", "#3d7ea6", "#8fb8d0", "#e0a03b", "#6b9080", "#b8d4c2", "#7a5c8e", "#a79e93")


def stacked_steps(seconds: Mapping[str, Sequence[float]], steps_each: int) -> str:
    """A column a step, or a few, each phase a piece of it in milliseconds; with a legend."""
    count = len(next(iter(seconds.values()), ()))
    if not count:
        return ""
    sums = [sum(row[index] for row in seconds.values()) for index in range(count)]
    most = max(sums) or 1.0
    wide = min(40.0, (_WIDTH - _LEFT - 10) / count)
    drawn, floors = "", [float(_FLOOR)] * count
    for name, row in seconds.items():
        for index, value in enumerate(row):
            tall = (_FLOOR - _TOP) * value / most
            floors[index] -= tall
            if tall >= 0.05:
                drawn += (
                    f'<rect x="{_LEFT + index * wide:.1f}" y="{floors[index]:.1f}" width="{max(0.8, wide - 1):.1f}" '
                    f'height="{tall:.1f}" fill="{_colour(name)}"><title>{html.escape(_words(name))}: '
                    f"{value * 1000:.2f} ms</title></rect>"
                )
    axis = _axes(f"{most * 1000:.3g} ms", "0")
    axis += f'<text x="{_LEFT}" y="{_FLOOR + 20}" {_LABEL}>step 1</text>'
    if count > 4:
        axis += (
            f'<text x="{_LEFT + count * wide:.1f}" y="{_FLOOR + 20}" text-anchor="end" {_LABEL}>'
            f"{count * steps_each if steps_each == 1 else 'last'}</text>"
        )
    return _svg(drawn + axis, "time of each step by phase") + legend(list(seconds))


def legend(names: Sequence[str]) -> str:
    """Colour and name of each phase."""
    items = "".join(
        f'<span style="display:inline-flex;align-items:center;gap:.4rem"><svg width="12" height="12">'
        f'<rect width="12" height="12" rx="2" fill="{_colour(name)}"/></svg>{html.escape(_words(name))}</span>'
        for name in names
    )
    return (
        '<p style="display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;font-size:.86rem;color:var(--soft);max-width:32rem;'
        f'margin:.6rem 0 0">{items}</p>'
    )


def line(times_s: Sequence[float], values: Sequence[float], most: float, told: str, title: str) -> str:
    """One quantity over the time of the run; ``told`` is what the top of the axis is called."""
    if len(values) < 2:
        return ""
    first, lasted = times_s[0], max(times_s[-1] - times_s[0], 1e-9)
    points = " ".join(
        f"{_LEFT + (at - first) / lasted * (_WIDTH - _LEFT - 10):.1f},"
        f"{_FLOOR - min(1.0, value / (most or 1.0)) * (_FLOOR - _TOP):.1f}"
        for at, value in zip(times_s, values, strict=True)
    )
    body = f'<polyline points="{points}" fill="none" stroke="var(--accent)" stroke-width="2" stroke-linejoin="round"/>'
    body += _axes(told, "0") + (
        f'<text x="{_LEFT}" y="{_FLOOR + 20}" {_LABEL}>{first:.0f} s</text>'
        f'<text x="{_WIDTH - 10}" y="{_FLOOR + 20}" text-anchor="end" {_LABEL}>{times_s[-1]:.0f} s</text>'
    )
    return (
        '<figure style="max-width:32rem">'
        f'{_svg(body, title)}<figcaption style="font-size:.86rem">{html.escape(title)}</figcaption></figure>'
    )


def _axes(top: str, bottom: str) -> str:
    return (
        f'<line x1="{_LEFT}" y1="{_FLOOR}" x2="{_WIDTH - 8}" y2="{_FLOOR}" stroke="var(--line)"/>'
        f'<line x1="{_LEFT}" y1="{_TOP}" x2="{_WIDTH - 8}" y2="{_TOP}" stroke="var(--line)" stroke-dasharray="4 4"/>'
        f'<text x="4" y="{_TOP - 8}" {_LABEL}>{html.escape(top)}</text>'
        f'<text x="{_LEFT - 8}" y="{_FLOOR}" text-anchor="end" {_LABEL}>{bottom}</text>'
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _colour(name: str) -> str:
    return COLOURS[PHASES.index(name)] if name in PHASES else "#55585c"


def _svg(body: str, label: str) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(label)}" '
        f'font-family="inherit">{body}</svg>'
    )
