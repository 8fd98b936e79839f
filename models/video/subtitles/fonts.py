"""The fonts that subtitles are set in, and which of them has a given character."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

import regex
import uharfbuzz as hb

from models import weights

# Weight of the letters: semi-bold stays readable over a moving picture.
_WEIGHT = 600.0
# HarfBuzz counts positions in whole units: 64 to a pixel, as FreeType does.
UNITS = 64

_LATIN = "NotoSans[wght].ttf"
_SCRIPT_FONTS = {
    "Arabic": "NotoSansArabic[wght].ttf",
    "Armenian": "NotoSansArmenian[wght].ttf",
    "Bengali": "NotoSansBengali[wght].ttf",
    "Devanagari": "NotoSansDevanagari[wght].ttf",
    "Ethiopic": "NotoSansEthiopic[wght].ttf",
    "Georgian": "NotoSansGeorgian[wght].ttf",
    "Gujarati": "NotoSansGujarati[wght].ttf",
    "Gurmukhi": "NotoSansGurmukhi[wght].ttf",
    "Hebrew": "NotoSansHebrew[wght].ttf",
    "Kannada": "NotoSansKannada[wght].ttf",
    "Khmer": "NotoSansKhmer[wght].ttf",
    "Lao": "NotoSansLao[wght].ttf",
    "Malayalam": "NotoSansMalayalam[wght].ttf",
    "Myanmar": "NotoSansMyanmar[wght].ttf",
    "Oriya": "NotoSansOriya[wght].ttf",
    "Sinhala": "NotoSansSinhala[wght].ttf",
    "Tamil": "NotoSansTamil[wght].ttf",
    "Telugu": "NotoSansTelugu[wght].ttf",
    "Thai": "NotoSansThai[wght].ttf",
}
_CJK = "NotoSansCJK-VF.otf.ttc"
_CJK_SCRIPTS = ("Han", "Hiragana", "Katakana", "Hangul", "Bopomofo")
_SYMBOLS, _PLAIN_EMOJI = "NotoSansSymbols[wght].ttf", "NotoEmoji[wght].ttf"
COLOR_EMOJI = "color-emoji-font"

_SCRIPTS = ("Latin", "Greek", "Cyrillic", *_SCRIPT_FONTS, *_CJK_SCRIPTS)
_SCRIPT_PATTERN = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in _SCRIPTS))
# Shown as pictures unless the text asks for the plain form (U+FE0F and U+FE0E, UTS #51).
_EMOJI = regex.compile(r"\p{Emoji_Presentation}|\p{Emoji}\ufe0f|\p{Regional_Indicator}|[0-9#*]\ufe0f?\u20e3")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}\p{Cc}]")


class SetFont:
    """One font at one size."""

    def __init__(self, path: Path, *, index: int, size_px: float, is_color: bool = False) -> None:
        self.face = _face(path, index)
        self.font = hb.Font(self.face)
        units = round(size_px * UNITS)
        self.font.scale = (units, units)
        if any(axis.tag == "wght" for axis in self.face.axis_infos):
            self.font.set_variations({"wght": _WEIGHT})
        self.is_color = is_color
        self._has = _characters(path, index)

    def has(self, cluster: str) -> bool:
        """Whether every visible character of ``cluster`` is in this font."""
        return all(ord(char) in self._has for char in cluster if not _INVISIBLE.match(char))

    @property
    def ascent_px(self) -> float:
        return float(self.font.get_font_extents("ltr").ascender / UNITS)

    @property
    def descent_px(self) -> float:
        """Below the base line, positive."""
        return float(-self.font.get_font_extents("ltr").descender / UNITS)


class FontBook:
    """The fonts at one size, with fallback from one to the next.

    Args:
        size_px: Height of an em.
        language: BCP 47; chooses the Japanese, Korean or one of the Chinese forms of the characters they share.
    """

    def __init__(self, size_px: float, language: str | None) -> None:
        self._size_px = size_px
        self._cjk_index = _cjk_index(language)
        self._opened: dict[str, SetFont] = {}

    def font_for(self, cluster: str, script: str | None, current: SetFont | None) -> SetFont:
        """The font for one character with its marks.

        Args:
            cluster: The character.
            script: Its script; None for what all scripts share, which stays in the ``current`` font where it can.
            current: The font of the text before it.
        """
        if _EMOJI.match(cluster):
            return self._first(cluster, (COLOR_EMOJI, _PLAIN_EMOJI, _SYMBOLS, _CJK))
        if script is None and current is not None and not current.is_color and current.has(cluster):
            return current
        if script in _CJK_SCRIPTS:
            order: tuple[str, ...] = (_CJK, _LATIN)
        elif script in _SCRIPT_FONTS:
            order = (_SCRIPT_FONTS[script], _LATIN)
        else:
            order = (_LATIN,)
        return self._first(cluster, (*order, _CJK, _SYMBOLS, _PLAIN_EMOJI, COLOR_EMOJI, *_SCRIPT_FONTS.values()))

    def _first(self, cluster: str, names: tuple[str, ...]) -> SetFont:
        for name in names:
            font = self._font(name)
            if font is not None and font.has(cluster):
                return font
        # An unknown sequence (a new emoji family) is set by its first character's font, part by part.
        for name in names:
            font = self._font(name)
            if font is not None and font.has(cluster[0]):
                return font
        fallback = self._font(_LATIN)
        assert fallback is not None  # the package is a dependency
        return fallback

    def _font(self, name: str) -> SetFont | None:
        if name not in self._opened:
            path = _path(name)
            if path is None:
                return None
            self._opened[name] = SetFont(
                path,
                index=self._cjk_index if name == _CJK else 0,
                size_px=self._size_px,
                is_color=name == COLOR_EMOJI,
            )
        return self._opened[name]


@lru_cache(maxsize=8192)
def script_of(char: str) -> str | None:
    """The Unicode script of ``char``; None for marks, punctuation, digits and whatever several scripts share."""
    match = _SCRIPT_PATTERN.match(char)
    return match.lastgroup if match else None


def _cjk_index(language: str | None) -> int:
    """Which of the collection's faces: 0 Japanese, 1 Korean, 2 simplified, 3 Taiwan, 4 Hong Kong."""
    tag = (language or "").lower().replace("_", "-")
    if tag.startswith("ja"):
        return 0
    if tag.startswith("ko"):
        return 1
    if tag.startswith("yue") or tag.endswith("-hk") or "-hk-" in tag or "-mo" in tag:
        return 4
    return 3 if "hant" in tag or tag.endswith("-tw") else 2


@cache
def _path(name: str) -> Path | None:
    """Where the font lies; None for the colour emoji when set-up has not fetched them."""
    if name == COLOR_EMOJI:
        return weights.path(COLOR_EMOJI) if weights.is_present(COLOR_EMOJI) else None
    package = "manimgx_fonts_cjk" if name == _CJK else "manimgx_fonts"
    return Path(str(resources.files(package) / name))


@cache
def _face(path: Path, index: int) -> hb.Face:
    return hb.Face(hb.Blob.from_file_path(str(path)), index)  # mapped, not read


@cache
def _characters(path: Path, index: int) -> frozenset[int]:
    return frozenset(_face(path, index).unicodes)
