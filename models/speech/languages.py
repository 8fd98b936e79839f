"""espeak-ng's language names as BCP 47 tags, and which of its voices are offered."""

from __future__ import annotations

from typing import Final

# Where the name itself is no valid tag, or a wider one is what people ask for.
_TAGS: Final = {
    "cmn": "zh-CN", "cmn-latn-pinyin": "zh-Latn-pinyin", "yue": "yue-HK", "en": "en-GB", "en-gb": "en-GB",
    "en-gb-scotland": "en-GB-scotland", "en-us-nyc": "en-US-x-nyc", "fr": "fr-FR", "fr-fr": "fr-FR",
    "de": "de-DE", "es": "es-ES", "it": "it-IT", "pt": "pt-PT", "ja": "ja-JP", "ko": "ko-KR", "ru": "ru-RU",
    "vi": "vi-VN", "hi": "hi-IN", "ca-ba": "ca-x-balear", "ca-nw": "ca-x-nw", "ca-va": "ca-valencia",
    "ru-cl": "ru-x-classic", "no": "nb", "hyw": "hyw", "yue-latn-jyutping": "yue-Latn-jyutping",
}  # fmt: skip

# Voices that the library lists but that do not speak their language. The first ones need vowel marks that people
# do not write, or fall back to spelling; the others have no dictionary or no language tag.
NOT_OFFERED: Final = {
    "ar": "Arabic is written without the vowel marks that this voice needs",
    "he": "Hebrew is written without the vowel marks that this voice needs",
    "th": "reads letters, not Thai",
    "my": "drops the vowels of Burmese",
    "shn": "drops the vowels of Shan",
    "hak": "spells out Chinese characters",
    "chr-US-Qaaa-x-west": "does not load",
    "cv": "has no dictionary",
    "fo": "has no dictionary",
    "kaa": "has no dictionary",
    "sjn": "does not speak",
    "xex": "a test voice",
    "py": "Pyash has no language tag",
    "cmn-latn-pinyin": "reads pinyin, not Chinese",
    "yue-latn-jyutping": "reads jyutping, not Chinese",
    "fa-latn": "reads romanised Persian",
    "en-shaw": "reads the Shavian alphabet",
    "piqd": "reads the Klingon script",
}


def tag_of(name: str) -> str:
    """BCP 47 tag of an espeak-ng language name."""
    if name in _TAGS:
        return _TAGS[name]
    language, *rest = name.split("-")
    parts = [part.upper() if len(part) == 2 and "x" not in rest[:index] else part for index, part in enumerate(rest)]
    return "-".join([language, *parts])
