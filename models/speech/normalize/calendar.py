"""Dates, times, ordinals."""

from __future__ import annotations

from typing import Final

import regex

from models.speech.normalize import japanese, korean
from models.speech.normalize.language import locale_of, plural
from models.speech.normalize.reader import END, START, Reader

_ISO: Final = rf"{START}(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){END}"
_NUMERIC: Final = rf"{START}(?P<a>\d{{1,2}})(?P<s>[./-])(?P<b>\d{{1,2}})(?P=s)(?P<y>\d{{4}}|\d{{2}}){END}"
_SHORT: Final = rf"{START}(?P<a>\d{{1,2}})\.(?P<b>\d{{1,2}})\.(?=\s|$|[,;)])"
_TIME: Final = (
    r"(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?"
    r"(?: ?(?P<half>[AaPp]\.?[Mm]\.?)(?![\p{L}]))?(?!\d)(?!:\d)"
)
_ENGLISH_HOUR: Final = rf"{START}(?P<h>1[0-2]|0?[1-9]) ?(?P<half>[AaPp]\.?[Mm]\.?)(?![\p{{L}}\p{{N}}])"
_FRENCH_HOUR: Final = rf"{START}(?P<h>[01]?\d|2[0-4]) ?[hH] ?(?P<m>[0-5]\d)?(?![\p{{L}}\p{{N}}])"
_CASES: Final = {  # ending of a Russian ordinal written after its digits -> gender, case, plural
    "й": ("m", "n", False), "ый": ("m", "n", False), "ой": ("m", "n", False), "я": ("f", "n", False),
    "ая": ("f", "n", False), "е": ("n", "n", False), "ое": ("n", "n", False), "го": ("m", "g", False),
    "ого": ("m", "g", False), "му": ("m", "d", False), "м": ("m", "p", False), "ом": ("m", "p", False),
    "ю": ("f", "a", False), "ую": ("f", "a", False), "х": ("m", "g", True), "ые": ("m", "n", True),
    "ых": ("m", "g", True),
}  # fmt: skip
_RUSSIAN_YEARS: Final = {"год": "n", "года": "g", "году": "p", "годом": "i"}


class Calendar:
    """The rules about days and hours of one language."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._rules = reader.rules
        self._months = self._month_numbers()
        names = "|".join(regex.escape(name) for name in sorted(self._months, key=len, reverse=True)) or "(?!)"
        own = r"(?: года| г\.)?" if self._rules.tag == "ru" else ""
        year = rf"(?:,? (?:de |del |года? )?(?P<y>(?:1[0-9]|20)\d\d)(?!\d|[.,:]\d){own})?"
        suffix = r"(?:st|nd|rd|th)" if self._rules.tag == "en" else r"(?:\.|er|º|°|-е|-го)"
        link = r"(?: of)?" if self._rules.tag == "en" else r"(?: de)?"
        self.day_month = rf"{START}(?P<d>[0-3]?\d){suffix}?{link} (?P<month>{names})\.?(?![\p{{L}}\p{{N}}]){year}"
        self.month_day = (
            rf"(?<![\p{{L}}\p{{N}}])(?P<month>{names})\.? (?P<d>[0-3]?\d)(?:{suffix})?"
            rf"(?![\p{{L}}\p{{N}}]|[.,:]\d){year}"
        )
        self.month_year = rf"(?<![\p{{L}}\p{{N}}])(?P<month>{names})\.?,?(?: de)? (?P<y>(?:1[0-9]|20)\d\d){END}"
        self.iso, self.numeric, self.short = _ISO, _NUMERIC, _SHORT if self._rules.tag in ("de", "ru") else "(?!)"
        suffixes = "|".join(regex.escape(word) for word in self._rules.clock.suffixes) or "(?!)"
        told = rf"(?: ?(?:{suffixes})(?![\p{{L}}]))?"
        self.time = START + _TIME + told
        until = regex.sub(r"<(h|m|s|half)>", r"<\g<1>2>", _TIME)
        self.time_range = rf"{START}{_TIME} ?[-–—] ?{until}{told}"
        # A dot between hours and minutes, where the word before makes it a time.
        dotted = {"it": "alle|ore|dalle|le|fino alle", "de": "um|bis|ab|von"}.get(self._rules.tag, "(?!)")
        self.dotted_time = rf"(?<=(?<!\p{{L}})(?:{dotted}) ){START}(?P<h>[01]?\d|2[0-4])\.(?P<m>[0-5]\d){END}{told}"
        self.hour = {"en": _ENGLISH_HOUR, "fr": _FRENCH_HOUR, "pt": _FRENCH_HOUR, "vi": _FRENCH_HOUR}.get(
            self._rules.tag, "(?!)"
        )
        endings = "|".join(sorted(_CASES, key=len, reverse=True))
        articles = "|".join(self._rules.ordinal_after) or "(?!)"
        self.ordinal = {
            "en": rf"{START}(?P<n>\d{{1,4}})(?:st|nd|rd|th)(?![\p{{L}}\p{{N}}])",
            "fr": rf"{START}(?P<n>\d{{1,4}})(?P<f>re|ère|er|ème|e|nde|nd)(?![\p{{L}}\p{{N}}])",
            "es": rf"{START}(?P<n>\d{{1,4}})\.?(?P<f>[ºª°]|er)(?![\p{{L}}\p{{N}}])(?! ?[CF])",
            "pt": rf"{START}(?P<n>\d{{1,4}})\.?(?P<f>[ºª])(?![\p{{L}}\p{{N}}])",
            "it": rf"{START}(?P<n>\d{{1,4}})\.?(?P<f>[ºª])(?![\p{{L}}\p{{N}}])",
            "ru": rf"{START}(?P<n>\d{{1,4}})-(?P<f>{endings})(?![\p{{L}}\p{{N}}])",
            "de": rf"(?<=(?<![\p{{L}}])(?i:{articles}) |^|[\n(]|[,;] ){START}(?P<n>\d{{1,3}})\.(?= \p{{Lu}})",
            "hi": rf"{START}(?P<n>\d{{1,4}})(?:वाँ|वां|वीं|वें)",
        }.get(self._rules.tag, "(?!)")
        self.russian_year = (
            rf"{START}(?P<y>(?:1[0-9]|20)\d\d) (?P<word>год(?:а|у|ом)?)(?![\p{{L}}])"
            if self._rules.tag == "ru"
            else "(?!)"
        )

    def date(self, reader: Reader, match: regex.Match[str]) -> str | None:
        groups = match.re.groupindex
        if "month" in groups:
            month = self._months[match["month"]]
            year = match["y"]
            if "d" not in groups:
                return self._month_and_year(month, int(year))
            return self._said(match, int(match["d"]), month, int(year) if year else None)
        if "d" in groups:
            return self._said(match, int(match["d"]), int(match["m"]), int(match["y"]))
        first, second = int(match["a"]), int(match["b"])
        day, month = (second, first) if self._rules.calendar.order == "mdy" else (first, second)
        if month > 12 >= day:
            day, month = month, day
        year = match["y"] if "y" in groups else None
        if year is None and (day > 31 or month > 12):
            return None
        return self._said(match, day, month, self._full_year(year) if year else None)

    def clock(self, reader: Reader, match: regex.Match[str]) -> str | None:
        groups = match.re.groupindex
        minute = match["m"] if "m" in groups else None
        half = match["half"] if "half" in groups else None
        words = self._time(int(match["h"]), int(minute or 0), half)
        if "h2" in groups:
            words = words.removesuffix(" o'clock")
            words = reader.numbers.joined(
                words, self._rules.to, self._time(int(match["h2"]), int(match["m2"]), match["half2"])
            )
        elif "s" in groups and match["s"]:
            words = reader.numbers.joined(words, reader.numbers.cardinal(int(match["s"])))
        return words

    def place(self, reader: Reader, match: regex.Match[str]) -> str | None:
        """An ordinal: 1st, 2ème, 3-й, am 3. Tag."""
        number = int(match["n"])
        ending = match["f"] if "f" in match.re.groupindex else ""
        match self._rules.tag:
            case "ru":
                gender, case, many = _CASES[ending]
                return reader.numbers.ordinal(number, gender=gender, case=case, plural=many)
            case "de":
                return self._german_ordinal(number, match)
        feminine = ending in ("ª", "re", "ère", "nde")
        words = reader.numbers.ordinal(number, gender="f" if feminine else "m")
        return regex.sub(r"(primer|tercer)o$", r"\1", words) if ending == "er" and self._rules.tag == "es" else words

    def year_of(self, reader: Reader, match: regex.Match[str]) -> str | None:
        """В 2025 году -> две тысячи двадцать пятом году."""
        case = _RUSSIAN_YEARS[match["word"]]
        return f"{reader.numbers.ordinal(int(match['y']), case=case)} {match['word']}"

    def _said(self, match: regex.Match[str], day: int, month: int, year: int | None) -> str | None:
        if not (1 <= day <= 31 and 1 <= month <= 12):
            return None
        calendar, numbers = self._rules.calendar, self._reader.numbers
        if self._rules.tag == "ja":
            parts = [japanese.counted(month, "月"), japanese.counted(day, "日")]
            return " ".join(([japanese.counted(year, "年")] if year else []) + parts)
        if calendar.day == "ordinal":
            day_words = {
                "de": lambda: self._german_ordinal(day, match),
                "ru": lambda: numbers.ordinal(
                    day, gender="n", case="n" if self._after(match, "сегодня", "завтра") else "g"
                ),
            }.get(self._rules.tag, lambda: numbers.ordinal(day))()
        elif calendar.day == "first" and day == 1:
            day_words = numbers.ordinal(1)
        else:
            day_words = numbers.cardinal(day)
        names = calendar.months or tuple(locale_of(self._reader.language).months["format"]["wide"].values())
        template = calendar.full if year else calendar.without_year
        if template.startswith("ngày") and self._after(match, "ngày"):
            template = template.removeprefix("ngày ")
        return template.format(day=day_words, month=names[month - 1], year=self._year(year) if year else "")

    def _after(self, match: regex.Match[str], *words: str) -> bool:
        before = regex.search(r"(\p{L}+)\s*$", match.string[: match.start()])
        return before is not None and before[1].lower() in words

    def _month_and_year(self, month: int, year: int) -> str:
        if self._rules.tag == "ja":
            return f"{japanese.counted(year, '年')} {japanese.counted(month, '月')}"
        calendar = self._rules.calendar
        names = calendar.months or tuple(locale_of(self._reader.language).months["stand-alone"]["wide"].values())
        return calendar.month_year.format(month=names[month - 1], year=self._year(year))

    def _year(self, year: int) -> str:
        if self._rules.tag == "ru":
            return self._reader.numbers.ordinal(year, case="g") + " года"
        return self._reader.numbers.year(year)

    def _full_year(self, written: str) -> int:
        return int(written) if len(written) == 4 else 2000 + int(written) if int(written) < 70 else 1900 + int(written)

    def _time(self, hour: int, minute: int, half: str | None) -> str:
        clock, numbers = self._rules.clock, self._reader.numbers
        if self._rules.tag == "ja":
            return japanese.counted(hour, "時") + (f" {japanese.counted(minute, '分')}" if minute else "")
        suffix = ""
        if half:
            suffix = clock.pm if half[0] in "pP" else clock.am
        elif clock.twelve_hours and (hour > 12 or hour == 0):
            suffix = clock.pm if hour else clock.am
        shown = hour
        if suffix and clock.twelve_hours:
            shown = hour % 12 or 12
        if self._rules.tag == "ko" and 1 <= shown <= 24:
            h = korean.native(shown).replace("스무", "스무") if shown <= 12 else numbers.cardinal(shown)
        elif self._rules.tag == "zh":
            h = "两" if shown == 2 else numbers.cardinal(shown)
        else:
            h = numbers.cardinal(shown, gender=clock.hour_gender, before_noun=True)
        m = numbers.cardinal(minute, gender=clock.minute_gender, before_noun=clock.minute_gender == "f")
        if 0 < minute < 10 and clock.minute_zero:
            m = numbers.joined(clock.minute_zero, m)
        if self._rules.tag == "en" and minute == 0 and suffix:
            return f"{h} {suffix}"
        words = (clock.full if minute else clock.whole).format(
            h=h,
            m=m,
            hw=plural(clock.hours, shown, self._reader.language),
            mw=plural(clock.minutes, minute, self._reader.language),
        )
        return numbers.joined(words, suffix)

    def _german_ordinal(self, number: int, match: regex.Match[str]) -> str:
        """With the ending that the word before asks for: der erste, am ersten, erster."""
        words = self._reader.numbers.ordinal(number)
        before = regex.search(r"(\p{L}+)\s*$", match.string[: match.start()])
        article = before[1].lower() if before else ""
        if article in ("am", "im", "vom", "zum", "zur", "beim", "dem", "den", "des", "ab", "bis", "jedem", "seit"):
            return words + "n"
        return words if article in ("der", "die", "das") else words + "r"

    def _month_numbers(self) -> dict[str, int]:
        if self._rules.tag in ("zh", "ja", "ko"):
            return {}
        numbers: dict[str, int] = {}
        months = locale_of(self._reader.language).months
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for month, name in months[form][width].items():
                    for written in {name, name.rstrip(".")}:
                        numbers[written] = month
                        numbers[written.lower()] = month
                        numbers[written.capitalize()] = month
        if self._rules.tag == "en":
            numbers["Sept"] = numbers["sept"] = 9
            for verb in ("may", "mar", "march"):
                numbers.pop(verb, None)
        return {name: month for name, month in numbers.items() if len(name) > 2}
