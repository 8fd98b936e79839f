"""espeak-ng's language names as BCP 47 tags, and which of its voices are offered."""

from __future__ import annotations

from typing import Final

# Where the name itself is no valid tag, or a wider one is what people ask for.
_TAGS: Final = {
    "cmn": "zh", "cmn-latn-pinyin": "zh-Latn-pinyin", "yue": "yue", "yue-latn-jyutping": "yue-Latn-jyutping",
    "en": "en-GB", "en-gb-scotland": "en-GB-scotland", "en-us-nyc": "en-US-x-nyc", "fr-fr": "fr", "pt": "pt-PT",
    "ca-ba": "ca-x-balear", "ca-nw": "ca-x-nw", "ca-va": "ca-valencia", "ru-cl": "ru-x-classic", "no": "nb",
}  # fmt: skip

# Voices that the library lists and that are not offered, by file. The first eight may have sane phonemes by every
# measure and still do not speak; the others fail ``voices.failure_of``, which a test compares with this list.
NOT_OFFERED: Final = {
    "ar": "needs the vowel marks that written Arabic leaves out",
    "he": "needs the vowel marks that written Hebrew leaves out",
    "th": "reads Thai letter by letter",
    "cv": "has no Chuvash dictionary",
    "cmn-latn-pinyin": "is for pinyin, not for Chinese text",
    "yue-latn-jyutping": "is for jyutping, not for Cantonese text",
    "fa-latn": "is for romanised Persian",
    "en-shaw": "is for the Shavian alphabet",
    "as": "spells Assamese words out",
    "kok": "spells Konkani words out",
    "shn": "spells Shan words out",
    "gn": "reads Guarani words as English",
    "chr": "does not load",
    "fo": "is silent, its dictionary is missing",
    "kaa": "is silent, its dictionary is missing",
    "kl": "breaks on Greenlandic text",
    "my": "breaks on Burmese text",
    "bpy": "has no text to be checked with",
    "grc": "has no text to be checked with",
    "hak": "has no text to be checked with",
    "ht": "has no text to be checked with",
    "io": "has no text to be checked with",
    "jbo": "has no text to be checked with",
    "lfn": "has no text to be checked with",
    "ltg": "has no text to be checked with",
    "mto": "has no text to be checked with",
    "nci": "has no text to be checked with",
    "nog": "has no text to be checked with",
    "piqd": "has no text to be checked with",
    "py": "has no text to be checked with",
    "qdb": "has no text to be checked with",
    "quc": "has no text to be checked with",
    "qya": "has no text to be checked with",
    "sjn": "has no text to be checked with",
    "smj": "has no text to be checked with",
    "xex": "has no text to be checked with",
}


def tag_of(name: str) -> str:
    """BCP 47 tag of an espeak-ng language name."""
    if name in _TAGS:
        return _TAGS[name]
    language, *rest = name.split("-")
    parts = [part.upper() if len(part) == 2 and "x" not in rest[:index] else part for index, part in enumerate(rest)]
    return "-".join([language, *parts])
