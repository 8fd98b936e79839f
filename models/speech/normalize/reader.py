"""What the reading rules of one language share: its data, its number words, and the pattern of a number in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import regex

from models.speech.normalize.language import LanguageRules
from models.speech.normalize.numbers import Numbers

# Letters of scripts that write spaces between words: a digit beside one belongs to a code. Han, kana and Hangul do
# not: 有3个.
LETTER: Final = r"[\p{Latin}\p{Cyrillic}\p{Greek}\p{Devanagari}]"
START: Final = rf"(?<!{LETTER})(?<!\d)(?<!\d[.,:])"
END: Final = rf"(?!\d)(?!{LETTER})(?![.,]\d)"


@dataclass(frozen=True)
class Reader:
    """One language as the rules see it.

    Attributes:
        language: BCP 47 tag of the voice.
        number: Regular expression of an unsigned number.
    """

    language: str
    rules: LanguageRules
    numbers: Numbers = field(init=False)
    number: str = field(init=False)

    def __post_init__(self) -> None:
        parts = self.language.split("-")
        region = next((part for part in parts[1:] if len(part) == 2 and part.isalpha()), None)
        groups = regex.escape(self.rules.groups.replace(" ", ""), literal_spaces=True)
        groups = f"[{groups}{' ' if ' ' in self.rules.groups else ''}]"
        indian = r"\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|" if "," in self.rules.groups else ""
        decimal = regex.escape(self.rules.decimal)
        number = rf"(?:{indian}\d{{1,3}}(?:{groups}\d{{3}})+(?![\d])(?:{decimal}\d+)?|\d+(?:[.,]\d+)?)"
        object.__setattr__(self, "numbers", Numbers(self.rules, region))
        object.__setattr__(self, "number", number)

    @property
    def space(self) -> str:
        return " " if self.rules.spaced else ""

    def parsed(self, written: str) -> tuple[int, str]:
        """Whole part and digits after the mark (maybe none) of what ``number`` matched."""
        size = "{2,3}" if "," in self.rules.groups else "{3}"  # Indian groups have two digits
        grouped = regex.fullmatch(
            rf"(\d{{1,3}}(?:[{regex.escape(self.rules.groups)}]\d{size})*[{regex.escape(self.rules.groups)}]\d{{3}})(?:{regex.escape(self.rules.decimal)}(\d+))?",
            written,
        )
        if grouped:
            return int(regex.sub(r"\D", "", grouped[1])), grouped[2] or ""
        whole, _, fraction = written.replace(",", ".").partition(".")
        return int(whole), fraction

    def spoken(self, written: str, *, gender: str = "m", before_noun: bool = False) -> str:
        """What ``number`` matched, in words."""
        plain = regex.sub(r"\D", "", written)
        if plain == written and written.startswith("0") and len(written) > 1:
            return self.numbers.digits(written)
        whole, fraction = self.parsed(written)
        if not fraction:
            return self.numbers.cardinal(whole, gender=gender, before_noun=before_noun)
        if self.rules.decimal == "," and "." in written and "," not in written:
            point = self.rules.dot if self.rules.tag == "de" else self.rules.point
            return self.numbers.joined(self.numbers.cardinal(whole), point, self.numbers.digits(fraction))
        return self.numbers.decimal(whole, fraction)

    def value(self, written: str) -> float:
        whole, fraction = self.parsed(written)
        return float(f"{whole}.{fraction or 0}")

    def spelled(self, letters: str) -> str:
        """Letters one by one."""
        return " ".join(letters)
