"""What a catalogue picture shows, in attributes; the combinations that training never sees; captions in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

COLOURS: Final = ("red", "yellow", "green", "blue", "purple", "pink", "black", "white")
CATEGORIES: Final = ("T-shirt", "dress", "trousers", "coat")
PATTERNS: Final = ("plain", "striped", "dotted", "checked")
PRESENTATIONS: Final = ("flat", "worn")
NAMES: Final = ("colour", "category", "pattern", "presentation")
CHOICES: Final = (COLOURS, CATEGORIES, PATTERNS, PRESENTATIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What a picture shows. ``flat``: the garment alone, laid out; ``worn``: on a person."""

    colour: str
    category: str
    pattern: str
    presentation: str

    def labels(self) -> tuple[int, int, int, int]:
        """Each attribute's place among its choices, in the order of ``NAMES``."""
        return (
            COLOURS.index(self.colour),
            CATEGORIES.index(self.category),
            PATTERNS.index(self.pattern),
            PRESENTATIONS.index(self.presentation),
        )


ALL: Final = tuple(
    Attributes(colour=colour, category=category, pattern=pattern, presentation=presentation)
    for colour, category, pattern, presentation in product(*CHOICES)
)


def _is_left_out(one: Attributes) -> bool:
    colour, category, pattern, _ = one.labels()
    return (colour + 2 * category + 3 * pattern) % 5 == 0


LEFT_OUT: Final = tuple(one for one in ALL if _is_left_out(one))
"""26 of the 128 combinations of colour, category and pattern, flat and worn: no network that generates sees a picture
of them, yet each pair of attributes."""
SEEN: Final = tuple(one for one in ALL if not _is_left_out(one))

_COLOUR_WORDS: Final = {
    "red": ("red", "scarlet"),
    "yellow": ("yellow", "golden yellow"),
    "green": ("green", "bright green"),
    "blue": ("blue", "royal blue"),
    "purple": ("purple", "violet"),
    "pink": ("pink", "light pink"),
    "black": ("black", "jet black"),
    "white": ("white", "snow white"),
}
_CATEGORY_WORDS: Final = {
    "T-shirt": ("T-shirt", "tee", "tee shirt"),
    "dress": ("dress", "gown"),
    "trousers": ("trousers", "pants"),
    "coat": ("coat", "overcoat"),
}
_BEFORE: Final = {
    "plain": ("plain", "solid"),
    "striped": ("striped", "stripy"),
    "dotted": ("dotted", "spotted"),
    "checked": ("checked", "checkered"),
}
_AFTER: Final = {
    "plain": ("without a pattern", "in one colour"),
    "striped": ("with stripes",),
    "dotted": ("with dots", "with spots"),
    "checked": ("with checks", "in a check"),
}
_SHOWN: Final = {
    "flat": ("laid flat", "as a flat lay", "on its own"),
    "worn": ("worn by a model", "on a person", "worn by somebody"),
}


def caption(one: Attributes, random: np.random.Generator | None = None) -> str:
    """A caption in natural words, within the 16 word pieces that the text encoder reads.

    Without ``random`` the plainest: ``a plain red dress, laid flat``.
    """

    def word(words: tuple[str, ...]) -> str:
        if random is None or random.random() < 0.5:
            return words[0]
        return words[int(random.integers(len(words)))]

    colour, category = word(_COLOUR_WORDS[one.colour]), word(_CATEGORY_WORDS[one.category])
    shown = word(_SHOWN[one.presentation])
    form = 0 if random is None else int(random.integers(4))
    if form == 1:
        return f"a {colour} {category} {word(_AFTER[one.pattern])}, {shown}"
    before = word(_BEFORE[one.pattern])
    if form == 2:
        return f"{colour} {before} {category} {shown}"
    if form == 3:
        return f"photo of a {before} {colour} {category} {shown}"
    return f"a {before} {colour} {category}, {shown}"
