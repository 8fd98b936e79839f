"""Lip targets of speech sounds, from the features of the IPA rather than from one language's list.

A symbol is read letter by letter: vowels by height, backness and rounding, consonants by place and manner, with the
diacritics that matter to the lips (labialised, palatalised, raised, lowered, rounded). Diphthongs and affricates give
two targets in a row. Tone and length marks, stress, nasality and phonation are invisible and skipped, as are the
spellings that espeak-ng leaves unconverted in some languages (``S`` for ʃ, ``t[`` for a dental t).

Widths and dominance follow Cohen and Massaro 1993, "Modeling coarticulation in synthetic visual speech".
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Viseme:
    """What the lips aim at during one sound, and how much they insist.

    Attributes:
        aperture, width, pucker, teeth, tongue: As in ``MouthTrack``.
        strength: Peak dominance over the neighbours.
        reach_s: Time in which dominance falls to 1/e outside the sound.
        power: Exponent of that fall; above 1 keeps its influence local.
        width_weight: Factor on the strength for width and pucker.
            closure: The lips must be seen closed.
        vowel: Opens wider when said louder.
        share: Part of the symbol's duration, relative to the symbol's other targets.
    """

    aperture: float
    width: float = 1.0
    pucker: float = 0.0
    teeth: float = 0.0
    tongue: float = 0.0
    strength: float = 1.0
    reach_s: float = 0.05
    power: float = 1.0
    width_weight: float = 1.0
    closure: bool = False
    vowel: bool = False
    share: float = 1.0


# Letter -> (height, backness, rounded); height 0 is close and 1 open, backness 0 is front and 1 back.
_VOWELS: Final[dict[str, tuple[float, float, bool]]] = {
    "i": (0.0, 0.0, False), "y": (0.0, 0.0, True), "ɨ": (0.0, 0.5, False), "ʉ": (0.0, 0.5, True),
    "ɯ": (0.0, 1.0, False), "u": (0.0, 1.0, True), "ɪ": (0.17, 0.2, False), "ʏ": (0.17, 0.2, True),
    "ʊ": (0.17, 0.8, True), "ᵻ": (0.17, 0.5, False), "ᵿ": (0.17, 0.5, True), "e": (0.33, 0.0, False),
    "ø": (0.33, 0.0, True), "ɘ": (0.33, 0.5, False), "ɵ": (0.33, 0.5, True), "ɤ": (0.33, 1.0, False),
    "o": (0.33, 1.0, True), "ə": (0.5, 0.5, False), "ɚ": (0.5, 0.5, False), "ɛ": (0.67, 0.0, False),
    "œ": (0.67, 0.0, True), "ɜ": (0.6, 0.5, False), "ɝ": (0.6, 0.5, False), "ɞ": (0.67, 0.5, True),
    "ʌ": (0.75, 0.8, False), "ɔ": (0.67, 1.0, True), "æ": (0.83, 0.0, False), "ɐ": (0.83, 0.5, False),
    "a": (1.0, 0.2, False), "ɶ": (1.0, 0.0, True), "ɑ": (1.0, 1.0, False), "ɒ": (1.0, 1.0, True),
    # Chinese and Scandinavian letters outside the chart: apical vowels keep the teeth together.
    "ɿ": (0.0, 0.3, False), "ʅ": (0.05, 0.5, False), "ʮ": (0.0, 0.3, True), "ʯ": (0.0, 0.5, True),
}  # fmt: skip

# Aperture in mouth widths by height. These are targets: neighbours and speed keep most vowels below them. With them
# the apertures planned for four talking clips of real people are distributed as the people's own (median .13,
# 90 % under .31, 97 % under .42).
_HEIGHTS: Final = (0.0, 0.17, 0.33, 0.5, 0.67, 0.83, 1.0)
_SPREAD_APERTURES: Final = (0.105, 0.15, 0.24, 0.26, 0.36, 0.475, 0.565)
_ROUND_APERTURES: Final = (0.09, 0.145, 0.27, 0.325, 0.415, 0.47, 0.505)

_BILABIAL: Final = Viseme(aperture=-0.03, strength=2.5, reach_s=0.045, power=1.3, width_weight=0.25, closure=True)
_LABIAL_VELAR_STOP: Final = replace(_BILABIAL, width=0.9, pucker=0.3, width_weight=0.5)
_BILABIAL_FRICATIVE: Final = Viseme(aperture=0.025, strength=4.0, power=1.3, width_weight=0.2)
_LABIODENTAL: Final = Viseme(aperture=0.02, teeth=1.0, strength=4.0, reach_s=0.035, power=1.3, width_weight=0.3)
_LABIODENTAL_APPROXIMANT: Final = replace(_LABIODENTAL, aperture=0.045, teeth=0.7, strength=3.0)
_ROUND_GLIDE: Final = Viseme(aperture=0.06, width=0.68, pucker=1.0, strength=3.0, reach_s=0.09, width_weight=1.5)
_INTERDENTAL: Final = Viseme(aperture=0.11, tongue=1.0, strength=0.8, width_weight=0.5)
_ALVEOLAR: Final = Viseme(aperture=0.11, tongue=0.75, strength=0.6, width_weight=0.5)
_LATERAL: Final = replace(_ALVEOLAR, aperture=0.13, tongue=0.9)
_HISSING: Final = Viseme(aperture=0.065, width=1.04, tongue=0.2, strength=1.2, width_weight=0.6)
_HUSHING: Final = Viseme(aperture=0.085, width=0.82, pucker=0.55, strength=2.0, reach_s=0.08, width_weight=1.5)
_RETROFLEX_HUSHING: Final = replace(_HUSHING, width=0.87, pucker=0.4)
_PALATAL_HUSHING: Final = replace(_HUSHING, width=0.97, pucker=0.15, strength=1.5, reach_s=0.06, width_weight=1.0)
_RHOTIC: Final = Viseme(aperture=0.11, width=0.88, pucker=0.35, strength=1.0, reach_s=0.06)
_RETROFLEX: Final = Viseme(aperture=0.12, tongue=0.4, strength=0.6, width_weight=0.5)
_PALATAL: Final = Viseme(aperture=0.115, width=1.08, strength=0.6, width_weight=0.8)
_PALATAL_GLIDE: Final = replace(_PALATAL, strength=0.9, reach_s=0.06)
_VELAR: Final = Viseme(aperture=0.15, strength=0.35, width_weight=0.5)
_BACK: Final = Viseme(aperture=0.17, strength=0.2, width_weight=0.4)
_GLOTTAL: Final = Viseme(aperture=0.17, strength=0.06, width_weight=0.3)

_CONSONANTS: Final[dict[str, Viseme]] = {
    letter: viseme
    for letters, viseme in (
        ("pbmɓʙʘƥ", _BILABIAL),
        ("ɸβΦ", _BILABIAL_FRICATIVE),
        ("fvɱ", _LABIODENTAL),
        ("ʋⱱ", _LABIODENTAL_APPROXIMANT),
        ("wʍɥ", _ROUND_GLIDE),
        ("θðǀ", _INTERDENTAL),
        ("tdnɾrɗƭǃ", _ALVEOLAR),
        ("lɫɬɮɺǁ", _LATERAL),
        ("sz", _HISSING),
        ("ʃʒɧ", _HUSHING),
        ("ʂʐ", _RETROFLEX_HUSHING),
        ("ɕʑ", _PALATAL_HUSHING),
        ("ɹ", _RHOTIC),
        ("ʈɖɳɽɭɻ", _RETROFLEX),
        ("cɟɲʎçʝʄǂȵȶȡ", _PALATAL),
        ("j", _PALATAL_GLIDE),
        ("kɡŋxɣɰʟɠƙ", _VELAR),
        ("qɢɴχʁʀʛħʕʜʢʡ", _BACK),
        ("hɦʔ", _GLOTTAL),
    )
    for letter in letters
}

# Letters that decompose or stand for others: ligatures, older IPA, and espeak-ng's unconverted ASCII phonemes.
_SPELLINGS: Final = str.maketrans(
    {
        "ʦ": "ts", "ʣ": "dz", "ʧ": "tʃ", "ʤ": "dʒ", "ʨ": "tɕ", "ʥ": "dʑ", "ɩ": "ɪ", "ɷ": "ʊ", "ε": "ɛ", "ʆ": "ɕ",
        "ʓ": "ʑ", "χ": "χ", "g": "ɡ", "ç": "ç", "?": "ʔ", "@": "ə", "A": "ɑ", "E": "ɛ", "I": "ɪ", "O": "ɔ", "U": "ʊ",
        "V": "ʌ", "S": "ʃ", "Z": "ʒ", "X": "χ", "N": "ŋ", "K": "x", "Q": "ɣ", "T": "θ", "D": "ð", "C": "ç", "J": "ɟ",
        "L": "ɫ", "R": "ʀ", "G": "ɢ", "B": "β", "P": "ɸ", "M": "ɯ", "Y": "ʏ", "W": "ʍ", "H": "ħ", "F": "f",
    }
)  # fmt: skip

_PRENASAL: Final = frozenset("ᵐⁿᵑᶮᶯ")
_TIES: Final = frozenset("͜͡‿")
_ROUNDING: Final = frozenset("ʷᶣ̹")
_COMPRESSED: Final = frozenset("ᵝ")  # Japanese ɯᵝ: lips drawn together without being pushed forward
_UNROUNDING: Final = frozenset("̜͑")
_PALATAL_MARKS: Final = frozenset("ʲᶨ^")
_LOWERED: Final = frozenset("̞˕")
_RAISED: Final = frozenset("̝˔")
_SHORT: Final = frozenset("̯̆")


@cache
def visemes_of(symbol: str) -> tuple[Viseme, ...]:
    """The targets of one phoneme in the order they are reached; empty for a pause or a bare tone mark."""
    letters = _letters(symbol)
    return tuple(_merged(letters))


@cache
def unknown_letters(symbol: str) -> str:
    """The letters of a phoneme that have no target here (marks do not count)."""
    text = _normal(symbol)
    return "".join(c for c in text if c.isalpha() and not _is_mark(c) and c not in _VOWELS and c not in _CONSONANTS)


def _normal(symbol: str) -> str:
    # ç decomposes to c + cedilla, which would lose its place; protect it and compose it again.
    return unicodedata.normalize("NFD", symbol.translate(_SPELLINGS)).replace("ç", "ç")


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Lm", "Mn", "Sk") or char in _PRENASAL


def _letters(symbol: str) -> list[tuple[str, Viseme]]:
    """Letters with their targets after diacritics."""
    found: list[tuple[str, Viseme]] = []
    for char in _normal(symbol):
        if char in _VOWELS:
            # espeak-ng writes the tone "3" of tonal languages as ɜ after the vowel; no language has a diphthong to ɜ.
            if char == "ɜ" and found and found[-1][1].vowel:
                continue
            found.append((char, _vowel(*_VOWELS[char], weak=char in "əɚᵊ")))
        elif char in _CONSONANTS:
            found.append((char, _CONSONANTS[char]))
        elif char in _PRENASAL:
            found.append((char, _BILABIAL if char == "ᵐ" else replace(_ALVEOLAR, share=0.5)))
        elif char == "ᵊ":
            found.append(("ə", replace(_vowel(*_VOWELS["ə"], weak=True), share=0.4)))
        elif found:
            found[-1] = (found[-1][0], _marked(found[-1][1], char))
        elif char in _COMPRESSED:  # a bare ᵝ opens a Japanese syllable: lips together for a moment
            found.append((char, _BILABIAL_FRICATIVE))
    return found


def _vowel(height: float, backness: float, rounded: bool, *, weak: bool) -> Viseme:
    aperture = _interpolated(height, _ROUND_APERTURES if rounded else _SPREAD_APERTURES)
    if rounded:
        return Viseme(
            aperture=aperture,
            width=0.68 + 0.24 * height,
            pucker=1.0 - 0.7 * height,
            strength=2.0 - height,
            reach_s=0.09 - 0.02 * height,
            width_weight=1.5,
            vowel=True,
        )
    return Viseme(
        aperture=aperture,
        width=1.12 - 0.11 * height - 0.08 * backness * (1 - 0.5 * height),
        strength=0.55 if weak else 1.0,
        reach_s=0.07,
        vowel=True,
    )


def _interpolated(height: float, apertures: tuple[float, ...]) -> float:
    for low, high, a, b in zip(_HEIGHTS, _HEIGHTS[1:], apertures, apertures[1:], strict=False):
        if height <= high:
            return a + (b - a) * (height - low) / (high - low)
    return apertures[-1]


def _marked(viseme: Viseme, mark: str) -> Viseme:
    if mark in _ROUNDING:
        return replace(
            viseme, width=min(viseme.width, 0.78), pucker=max(viseme.pucker, 0.7),
            strength=max(viseme.strength, 1.0), width_weight=1.5,
        )  # fmt: skip
    if mark in _COMPRESSED:
        return replace(viseme, width=min(viseme.width, 0.9), pucker=max(viseme.pucker, 0.25))
    if mark in _UNROUNDING:
        return replace(viseme, width=viseme.width + 0.1, pucker=viseme.pucker * 0.6)
    if mark in _PALATAL_MARKS and viseme.pucker < 0.3:
        return replace(viseme, width=max(viseme.width, 1.06), width_weight=max(viseme.width_weight, 0.5))
    if mark in _LOWERED and viseme.vowel:
        return replace(viseme, aperture=viseme.aperture + 0.025)
    if mark in _RAISED and viseme.vowel:
        return replace(viseme, aperture=max(viseme.aperture - 0.025, 0.08))
    if mark in _SHORT:
        return replace(viseme, share=0.6)
    return viseme


def _merged(letters: list[tuple[str, Viseme]]) -> list[Viseme]:
    """Doubled letters become one long target; a velar and a bilabial stop said at once are one closure."""
    merged: list[tuple[str, Viseme]] = []
    for letter, viseme in letters:
        previous = merged[-1][0] if merged else ""
        if previous == letter:
            merged[-1] = (letter, replace(viseme, share=merged[-1][1].share + viseme.share))
        elif previous + letter in ("kp", "ɡb", "ŋm"):
            merged[-1] = (letter, _LABIAL_VELAR_STOP)
        else:
            merged.append((letter, viseme))
    return [viseme for _, viseme in merged]
