"""Numbers in words, per language.

num2words where it is right, corrected where it is nearly so; own spelling for Chinese, Hindi, Vietnamese and Japanese.
"""

from __future__ import annotations

from typing import Final

import regex
from num2words import num2words

from models.speech.normalize import chinese, hindi, japanese, korean, vietnamese
from models.speech.normalize.language import LanguageRules

_LONGEST: Final = 15  # digits; longer numbers are read digit by digit

_OWN_CARDINAL: Final = {
    "zh": chinese.cardinal,
    "hi": hindi.cardinal,
    "vi": vietnamese.cardinal,
    "ja": japanese.cardinal,
}
_OWN_DIGITS: Final = {"zh": chinese.DIGITS, "ja": japanese.DIGITS, "ko": korean.DIGITS}

# What the last word becomes before a noun, by gender. From each language's grammar of numerals.
_BEFORE_NOUN: Final[dict[str, dict[str, tuple[tuple[str, str], ...]]]] = {
    "de": {"m": ((r"eins$", "ein"),), "n": ((r"eins$", "ein"),), "f": ((r"eins$", "eine"),)},
    "fr": {"f": ((r"\bun$", "une"),)},
    "es": {
        "m": ((r"veintiuno$", "veintiún"), (r"uno$", "un")),
        "f": ((r"uno$", "una"), (r"cientos\b", "cientas"), (r"quinientos\b", "quinientas")),
    },
    "pt": {"f": ((r"\bum$", "uma"), (r"\bdois$", "duas"), (r"entos\b", "entas"))},
    "it": {"m": ((r"^uno$", "un"),), "f": ((r"^uno$", "una"),)},
    "vi": {},
}


class Numbers:
    """Number words of one language."""

    def __init__(self, rules: LanguageRules, region: str | None) -> None:
        self._rules = rules
        self._tag = rules.tag
        self._american = self._tag == "en" and region in (None, "US")
        self._num2words = {"pt": "pt_BR" if region == "BR" else "pt"}.get(self._tag, self._tag)
        if self._tag == "fr" and region in ("BE", "CH"):
            self._num2words = f"fr_{region}"

    def cardinal(self, number: int, *, gender: str = "m", before_noun: bool = False) -> str:
        """``number`` in words; ``gender`` (m, f, n) is that of the counted noun."""
        if len(str(abs(number))) > _LONGEST:
            return self.digits(str(number))
        if number < 0:
            return f"{self._rules.minus} {self.cardinal(-number, gender=gender, before_noun=before_noun)}"
        if own := _OWN_CARDINAL.get(self._tag):
            return own(number)
        if self._tag == "ru":
            return str(num2words(number, lang="ru", gender=gender))
        words = str(num2words(number, lang=self._num2words))
        if self._tag == "en":
            words = words.replace(",", "")
            words = words.replace(" and ", " ") if self._american else words
        if self._num2words == "pt_BR":
            words = words.replace(",", "")
        if self._tag == "es":
            words = words.replace("veintiuno mil", "veintiún mil").replace("uno mil", "un mil")
        if before_noun:
            for pattern, replacement in _BEFORE_NOUN.get(self._tag, {}).get(gender, ()):
                words = regex.sub(pattern, replacement, words)
        return words

    def decimal(self, whole: int, fraction: str) -> str:
        """``whole`` and the digits after the mark, read as the language does."""
        head = self.cardinal(whole)
        # Romance languages and Vietnamese read two digits after the mark as one number, others digit by digit.
        if self._tag in ("fr", "es", "pt", "it") and len(fraction) <= 2 and not fraction.startswith("0"):
            tail = self.cardinal(int(fraction))
        else:
            tail = self.digits(fraction)
        if self._tag == "ru":
            return self._russian_decimal(whole, fraction)
        return self.joined(head, self._rules.point, tail)

    def digits(self, digits: str) -> str:
        """Digit by digit."""
        own = _OWN_DIGITS.get(self._tag)
        return self.joined(*(own[int(digit)] if own else self.cardinal(int(digit)) for digit in digits))

    def code(self, digits: str) -> str:
        """Digits in a room, flight, model or order number."""
        if self._tag == "en":
            return self._english_code(digits)
        if len(digits) <= 2 and not digits.startswith("0"):
            return self.cardinal(int(digits))
        return self.digits(digits)

    def ordinal(self, number: int, *, gender: str = "m", case: str = "n", plural: bool = False) -> str:
        """``number`` as an ordinal; ``case`` (n, g, d, a, i, p) and plural matter in Russian."""
        match self._tag:
            case "ru":
                return str(num2words(number, lang="ru", to="ordinal", gender=gender, case=case, plural=plural))
            case "zh":
                return "第" + self.cardinal(number)
            case "ja":
                return "第" + self.cardinal(number)
            case "ko":
                return korean.ordinal(number)
            case "vi":
                return vietnamese.ordinal(number)
            case "hi":
                return hindi.ordinal(number)
        if number > 9999 or number == 0:
            return self.cardinal(number)
        words = str(num2words(number, lang=self._num2words, to="ordinal")).replace(",", "")
        if self._american:
            words = words.replace(" and ", " ")
        if gender == "f":
            if self._tag in ("es", "pt", "it"):
                words = regex.sub(r"o\b", "a", words)
            if self._tag == "fr":
                words = regex.sub(r"premier$", "première", words)
        return words

    def year(self, year: int) -> str:
        """A year as people say it."""
        if self._tag in ("en", "de") and 1100 <= year <= 2099:
            if self._tag == "en" and 2010 <= year <= 2099:
                return f"twenty {self.cardinal(year % 100)}"
            words = str(num2words(year, lang=self._tag, to="year"))
            return words.replace(" and ", " ") if self._american else words
        if self._tag == "zh":
            return self.digits(str(year))
        return self.cardinal(year)

    def joined(self, *words: str) -> str:
        return (" " if self._rules.spaced else "").join(word for word in words if word)

    def _english_code(self, digits: str) -> str:
        def two(pair: str) -> str:
            if pair == "00":
                return "hundred"
            return f"oh {self.cardinal(int(pair[1]))}" if pair[0] == "0" else self.cardinal(int(pair))

        match len(digits):
            case 1 | 2 if not digits.startswith("0"):
                return self.cardinal(int(digits))
            case 3 if not digits.startswith("0"):
                if digits.endswith("00"):
                    return self.cardinal(int(digits))
                return f"{self.cardinal(int(digits[0]))} {two(digits[1:])}"
            case 4 if not digits.startswith("0"):
                if digits.endswith("000"):
                    return self.cardinal(int(digits))
                return f"{self.cardinal(int(digits[:2]))} {two(digits[2:])}"
        return self.digits(digits)

    def _russian_decimal(self, whole: int, fraction: str) -> str:
        if not 1 <= len(fraction) <= 3:
            return self.joined(self.cardinal(whole), "запятая", self.digits(fraction))
        part = int(fraction)
        one, many = {1: ("десятая", "десятых"), 2: ("сотая", "сотых"), 3: ("тысячная", "тысячных")}[len(fraction)]

        def is_one(number: int) -> bool:
            return number % 10 == 1 and number % 100 != 11

        return self.joined(
            self.cardinal(whole, gender="f"),
            "целая" if is_one(whole) else "целых",
            self.cardinal(part, gender="f"),
            one if is_one(part) else many,
        )
