"""Japanese: number words in kana with their sound changes, and kanji to kana, which espeak-ng cannot read.

The only module that touches pykakasi, which is GPL-3.0 and comes with the extra ``speech``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import regex

from services.domain.errors import Unavailable

DIGITS: Final = ("ゼロ", "いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう")
_HUNDREDS: Final = {1: "ひゃく", 3: "さんびゃく", 6: "ろっぴゃく", 8: "はっぴゃく"}
_THOUSANDS: Final = {1: "せん", 3: "さんぜん", 8: "はっせん"}
_LARGE: Final = ("", "まん", "おく", "ちょう")

# Counter -> reading of the counter after most numbers, and whole readings where the sound changes.
_COUNTERS: Final[dict[str, tuple[str, dict[int, str]]]] = {
    "時": ("じ", {4: "よじ", 7: "しちじ", 9: "くじ", 14: "じゅうよじ", 17: "じゅうしちじ", 19: "じゅうくじ"}),
    "月": ("がつ", {4: "しがつ", 7: "しちがつ", 9: "くがつ"}),
    "人": ("にん", {1: "ひとり", 2: "ふたり", 4: "よにん", 7: "しちにん", 14: "じゅうよにん"}),
    "つ": (
        "つ",
        {
            1: "ひとつ", 2: "ふたつ", 3: "みっつ", 4: "よっつ", 5: "いつつ", 6: "むっつ", 7: "ななつ",
            8: "やっつ", 9: "ここのつ",
        },
    ),
    "円": ("えん", {4: "よえん", 14: "じゅうよえん"}),
    "年": ("ねん", {4: "よねん"}),
    "歳": ("さい", {1: "いっさい", 8: "はっさい", 10: "じゅっさい", 20: "はたち"}),
    "回": ("かい", {1: "いっかい", 6: "ろっかい", 8: "はっかい", 10: "じゅっかい"}),
    "個": ("こ", {1: "いっこ", 6: "ろっこ", 8: "はっこ", 10: "じゅっこ"}),
    "枚": ("まい", {}),
    "台": ("だい", {}),
    "番": ("ばん", {}),
    "倍": ("ばい", {}),
    "秒": ("びょう", {}),
    "度": ("ど", {}),
    "階": ("かい", {1: "いっかい", 3: "さんがい", 6: "ろっかい", 8: "はっかい", 10: "じゅっかい"}),
    "本": (
        "ほん",
        {1: "いっぽん", 3: "さんぼん", 6: "ろっぽん", 8: "はっぽん", 10: "じゅっぽん"},
    ),
    "分": ("ふん", {}),
    "日": ("にち", {}),
}  # fmt: skip
_MINUTES: Final = {1: "いっぷん", 3: "さんぷん", 4: "よんぷん", 6: "ろっぷん", 8: "はっぷん"}
_DAYS: Final = {
    1: "ついたち", 2: "ふつか", 3: "みっか", 4: "よっか", 5: "いつか", 6: "むいか", 7: "なのか",
    8: "ようか", 9: "ここのか", 10: "とおか", 14: "じゅうよっか", 20: "はつか", 24: "にじゅうよっか",
}  # fmt: skip
COUNTERS: Final = "|".join(_COUNTERS)


def cardinal(number: int) -> str:
    """``365`` -> さんびゃくろくじゅうご."""
    if number == 0:
        return DIGITS[0]
    words, index = "", 0
    while number:
        number, group = divmod(number, 10_000)
        if group:
            words = _below_ten_thousand(group, alone=index == 0) + _LARGE[index] + words
        index += 1
    return words


def counted(number: int, counter: str) -> str:
    """``number`` with one of ``COUNTERS``, sound changes included: ``(3, "本")`` -> さんぼん."""
    reading, changed = _COUNTERS[counter]
    if number in changed:
        return changed[number]
    if counter == "日":
        return _DAYS.get(number, cardinal(number) + reading)
    if counter == "分":
        if number and number % 10 == 0:
            return cardinal(number).removesuffix("じゅう") + "じゅっぷん"
        tail = _MINUTES.get(number % 10)
        return (cardinal(number - number % 10) if number > 10 else "") + tail if tail else cardinal(number) + reading
    return cardinal(number) + reading


def _below_ten_thousand(number: int, *, alone: bool) -> str:
    thousands, rest = divmod(number, 1000)
    hundreds, rest = divmod(rest, 100)
    tens, ones = divmod(rest, 10)
    words = ""
    if thousands:
        words += "いっせん" if thousands == 1 and not alone else _THOUSANDS.get(thousands, DIGITS[thousands] + "せん")
    if hundreds:
        words += _HUNDREDS.get(hundreds, DIGITS[hundreds] + "ひゃく")
    if tens:
        words += ("" if tens == 1 else DIGITS[tens]) + "じゅう"
    return words + (DIGITS[ones] if ones else "")


_VOWEL_OF: Final = {
    "あ": "あかがさざただなはばぱまやゃらわぁ",
    "い": "いきぎしじちぢにひびぴみりゐぃ",
    "う": "うくぐすずつづぬふぶぷむゆゅるぅゔ",
    "え": "えけげせぜてでねへべぺめれゑぇ",
    "お": "おこごそぞとどのほぼぽもよょろをぉ",
}
_PARTICLES: Final = {
    "は": "わ",
    "へ": "え",
    "を": "お",
    "には": "にわ",
    "では": "でわ",
    "とは": "とわ",
    "からは": "からわ",
}
_GREETINGS: Final = {
    "こんにちは": "こんにちわ",
    "こんばんは": "こんばんわ",
    "これは": "これわ",
    "それは": "それわ",
    "あれは": "あれわ",
}


@cache
def _kakasi() -> Any:
    try:
        import pykakasi
    except ImportError as error:
        raise Unavailable(
            "Japanese needs pykakasi, which is not installed; run `pip install 'spokesmodel[speech]'`.",
            code="voice_not_installed",
            retryable=False,
        ) from error
    return pykakasi.kakasi()  # type: ignore[no-untyped-call]


def readings(text: str) -> list[tuple[str, str]]:
    """Segments of ``text`` in order, each with its reading in hiragana as it is pronounced.

    What is no Japanese word stays as it is.
    """
    pairs: list[tuple[str, str]] = []
    for row in _kakasi().convert(text):
        original, kana = row["orig"], row["hira"]
        # "今日は" is nearly always "today", not the greeting, which is written in kana.
        if original == "今日は":
            pairs += [("今日", "きょう"), ("は", "わ")]
            continue
        kana = _GREETINGS.get(kana, kana) if original == kana else kana
        if original == kana and pairs:
            kana = _PARTICLES.get(kana, kana)
        pairs.append((original, _without_length_marks(kana).strip() or original))
    return pairs if "".join(original for original, _ in pairs) == text else [(text, text)]


def _without_length_marks(kana: str) -> str:
    """The mark ー as the vowel it lengthens, which is how espeak-ng's Japanese hears long vowels best."""
    out = ""
    for sign in regex.sub(r"[〜～]", "ー", kana):
        if sign == "ー" and out:
            out += next((vowel for vowel, row in _VOWEL_OF.items() if out[-1] in row), "")
        else:
            out += sign
    return out
