"""Money, measures, percent, ranges, fractions, ordinals and plain numbers."""

from __future__ import annotations

from typing import Final

import regex
from babel.numbers import format_decimal, get_currency_name
from babel.units import format_unit

from models.speech.normalize import chinese, japanese, korean
from models.speech.normalize.language import locale_of, plural
from models.speech.normalize.reader import END, LETTER, START, Reader

_SIGNS: Final = {
    "US$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD", "NT$": "TWD", "S$": "SGD",
    "R$": "BRL", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY", "₹": "INR", "₩": "KRW",
    "￦": "KRW", "₽": "RUB", "₫": "VND", "₺": "TRY", "₴": "UAH", "₱": "PHP", "฿": "THB", "₪": "ILS", "₦": "NGN",
    "₸": "KZT", "zł": "PLN", "Kč": "CZK", "руб.": "RUB", "руб": "RUB", "р.": "RUB", "đ": "VND",
}  # fmt: skip
_CODES: Final = (  # noqa: SIM905
    "USD EUR GBP JPY CNY RMB INR KRW RUB BRL VND CHF CAD AUD NZD SEK NOK DKK PLN CZK TRY MXN ZAR SGD HKD TWD THB IDR "
    "PHP UAH ILS AED SAR EGP NGN KES ARS CLP COP PEN HUF RON BGN KZT"
).split()
_SIGN: Final = "|".join(regex.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
_CODE: Final = "|".join(_CODES)

_UNITS: Final = {
    "%": "concentr-percent", "‰": "concentr-permille", "°C": "temperature-celsius", "℃": "temperature-celsius",
    "°F": "temperature-fahrenheit", "℉": "temperature-fahrenheit", "°": "angle-degree",
    "km/h": "speed-kilometer-per-hour", "kmh": "speed-kilometer-per-hour", "mph": "speed-mile-per-hour",
    "m/s": "speed-meter-per-second", "km": "length-kilometer", "m": "length-meter", "cm": "length-centimeter",
    "mm": "length-millimeter", "mi": "length-mile", "ft": "length-foot", "yd": "length-yard",
    "µm": "length-micrometer", "nm": "length-nanometer", "km²": "area-square-kilometer",
    "m²": "area-square-meter", "m2": "area-square-meter", "cm²": "area-square-centimeter",
    "m³": "volume-cubic-meter", "m3": "volume-cubic-meter", "ha": "area-hectare", "kg": "mass-kilogram",
    "g": "mass-gram", "mg": "mass-milligram", "t": "mass-metric-ton", "lb": "mass-pound", "lbs": "mass-pound",
    "oz": "mass-ounce", "l": "volume-liter", "L": "volume-liter", "ml": "volume-milliliter",
    "mL": "volume-milliliter", "cl": "volume-centiliter", "kWh": "energy-kilowatt-hour", "W": "power-watt",
    "kW": "power-kilowatt", "MW": "power-megawatt", "V": "electric-volt", "kcal": "energy-kilocalorie",
    "cal": "energy-calorie", "kJ": "energy-kilojoule", "KB": "digital-kilobyte", "kB": "digital-kilobyte",
    "MB": "digital-megabyte", "GB": "digital-gigabyte", "TB": "digital-terabyte", "Mbps": "digital-megabit",
    "Hz": "frequency-hertz", "kHz": "frequency-kilohertz", "MHz": "frequency-megahertz",
    "GHz": "frequency-gigahertz", "h": "duration-hour", "hrs": "duration-hour", "hr": "duration-hour",
    "min": "duration-minute", "mins": "duration-minute", "s": "duration-second", "sec": "duration-second",
    "ms": "duration-millisecond", "px": "graphics-pixel", "MP": "graphics-megapixel",
    "dpi": "graphics-dot-per-inch",
}  # fmt: skip

_NO_NOUNS: Final = frozenset(
    "para como pero cada desde hasta entre menos más mais com sem dos das non per con sin por".split()  # noqa: SIM905
)
_DENOMINATORS: Final = frozenset((2, 3, 4, 5, 6, 8, 10, 12, 16, 100))
_BETWEEN: Final = r" ?[-–—~〜～] ?"


class Quantities:
    """The rules that need patterns of the language's own numbers."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._rules = reader.rules
        number = reader.number
        # Currency signs may follow a Latin letter (A$), numbers may not.
        magnitude = (
            "|".join(regex.escape(name) for name in sorted(self._rules.magnitudes, key=len, reverse=True)) or "(?!)"
        )
        magnitude = rf"(?: ?(?P<mag>{magnitude})(?!{LETTER}))?"
        rest = rf"(?P<a>{number})(?:{_BETWEEN}(?:{_SIGN})?(?P<b>{number}))?{magnitude}"
        units = {**_UNITS, **self._rules.units}
        unit = "|".join(regex.escape(name) for name in sorted(units, key=len, reverse=True))
        self._units = units
        ends = rf"(?!\d)(?![.,]\d)(?!{LETTER})"
        self.money_before = rf"(?P<minus>(?<![\w\d])-)?(?<!{LETTER}|\d)(?P<sign>{_SIGN}|{_CODE}) ?{rest}{ends}"
        self.money_after = rf"{START}{rest}[ \u00a0\u202f]?(?P<sign>{_SIGN}|(?:{_CODE})(?![\p{{L}}]))(?!\d)(?!{LETTER})"
        self.measure = (
            rf"(?:(?<![\p{{L}}\p{{N}}%°℃€$£¥])(?P<minus>-))?{START}(?P<a>{number})(?:{_BETWEEN}(?P<b>{number}))?"
            rf"[ \u00a0\u202f]?(?P<unit>{unit})(?:(?<=[%‰℃℉])(?!\d)|(?![\p{{L}}\p{{N}}]))"
        )
        if not self._rules.spaced or self._rules.tag in ("ja", "ko"):  # words follow units without a space
            self.measure = self.measure.replace(r"(?![\p{L}\p{N}]))", rf"(?!\d)(?!{LETTER}))")
        self.range = rf"{START}(?P<a>{number}){_BETWEEN}(?P<b>{number}){magnitude}{END}"
        self.product = (
            rf"{START}(?P<a>{number}) ?[x×] ?(?P<b>{number})(?: ?[x×] ?(?P<c>{number}))?"
            rf"(?:[ \u00a0\u202f]?(?P<unit>{unit})(?![\p{{L}}\p{{N}}])|{END})"
        )
        self.multiple = rf"{START}(?P<a>{number}) ?[x×](?![\p{{L}}\p{{N}}])"
        self.plain = rf"(?:(?<![\p{{L}}\p{{N}})])(?P<sign>[-+]))?{START}(?P<a>{number}){magnitude}{END}"
        self.fraction = (
            rf"{START}(?:(?P<whole>\d+) ?)?(?:(?P<sign>[½¼¾⅓⅔])|(?<!\d)(?P<n>\d{{1,2}})[/⁄](?P<d>\d{{1,3}})){END}(?!/)"
        )
        self.bare_fraction = rf"(?<![\p{{L}}\p{{N}}.]){regex.escape(self._rules.decimal)}(?P<f>\d+){END}"
        self.ratio = rf"{START}(?P<a>\d{{1,4}}):(?P<b>\d{{1,4}}){END}"
        self.decade = rf"{START}'?(?P<years>(?:1[1-9]|20)?\d0)'?s(?![\p{{L}}\p{{N}}])"

    def money(self, _: Reader, match: regex.Match[str]) -> str | None:
        sign = match.captures("sign")[0]
        code = _SIGNS.get(sign, sign)
        code = {"RMB": "CNY", "JPY": "CNY" if sign in "¥￥" and self._rules.tag == "zh" else "JPY"}.get(code, code)
        low, high = match["a"], match["b"]
        magnitude = self._magnitude(match["mag"], high or low)
        words = self._amount(high or low, code, magnitude)
        if high:
            words = self._reader.numbers.joined(self._reader.spoken(low), self._rules.to, words)
        negative = "minus" in match.re.groupindex and match["minus"]
        return self._reader.numbers.joined(self._rules.minus, words) if negative else words

    def measured(self, reader: Reader, match: regex.Match[str]) -> str | None:
        unit = match["unit"]
        if (
            unit in ("m", "t", "g", "s", "h", "l", "L", "V", "W", "mi", "г", "с", "т")
            and match["b"]
            and not match[0][-2].isspace()
        ):
            return None
        last = match["b"] or match["a"]
        words = self._with_unit(last, unit)
        if match["b"]:
            words = reader.numbers.joined(reader.spoken(match["a"]), self._rules.to, words)
        cold = reader.rules.tag == "zh" and self._units[unit].startswith("temperature")
        minus = "零下" if cold else self._rules.minus
        return reader.numbers.joined(minus, words) if match["minus"] else words

    def ranged(self, reader: Reader, match: regex.Match[str]) -> str | None:
        low, high = match["a"], match["b"]
        if max(len(low), len(high)) > 9 or (low.startswith("0") and len(low) > 1):
            return None
        years = all(regex.fullmatch(r"(?:1[1-9]|20)\d\d", part) for part in (low, high))
        words = [reader.numbers.year(int(part)) if years else reader.spoken(part) for part in (low, high)]
        magnitude = self._magnitude(match["mag"], high)
        return reader.numbers.joined(words[0], self._rules.to, words[1], magnitude)

    def fraction_alone(self, reader: Reader, match: regex.Match[str]) -> str | None:
        """.5"""
        if self._rules.decimal != ".":  # a comma before digits is a comma
            return None
        return reader.numbers.joined(self._rules.point, reader.numbers.digits(match["f"]))

    def compared(self, reader: Reader, match: regex.Match[str]) -> str | None:
        """16:9"""
        return reader.numbers.joined(
            reader.spoken(match["a"]), self._rules.ratio or self._rules.to, reader.spoken(match["b"])
        )

    def multiplied(self, reader: Reader, match: regex.Match[str]) -> str | None:
        parts = [match[name] for name in ("a", "b", "c") if match[name]]
        words = [reader.spoken(part) for part in parts[:-1]]
        words.append(self._with_unit(parts[-1], match["unit"]) if match["unit"] else reader.spoken(parts[-1]))
        return (reader.space + self._rules.by + reader.space).join(words)

    def times(self, reader: Reader, match: regex.Match[str]) -> str | None:
        return reader.numbers.joined(reader.spoken(match["a"]), self._rules.times)

    def fractional(self, reader: Reader, match: regex.Match[str]) -> str | None:
        rules = self._rules
        names = {
            (1, 2): rules.half, (1, 4): rules.quarter, (3, 4): rules.three_quarters, (1, 3): rules.third,
            (2, 3): rules.two_thirds,
        }  # fmt: skip
        signs = {"½": (1, 2), "¼": (1, 4), "¾": (3, 4), "⅓": (1, 3), "⅔": (2, 3)}
        part = signs[match["sign"]] if match["sign"] else (int(match["n"]), int(match["d"]))
        if match["sign"] is None and not (0 < part[0] < part[1] and part[1] in _DENOMINATORS):  # 24/7
            return reader.numbers.joined(reader.numbers.cardinal(part[0]), reader.numbers.cardinal(part[1]))
        n, d = (reader.numbers.cardinal(number) for number in part)
        words = names.get(part) or rules.fraction.format(n=n, d=d, slash=rules.slash)
        if match["whole"]:
            return rules.and_half.format(n=reader.numbers.cardinal(int(match["whole"])), half=words)
        return words

    def decades(self, reader: Reader, match: regex.Match[str]) -> str | None:
        """1990s, 90s (English)."""
        years = int(match["years"])
        words = reader.numbers.year(years) if years >= 1100 else reader.numbers.cardinal(years)
        return regex.sub(r"y$", "ies", words) if words.endswith("y") else f"{words}s"

    def number(self, reader: Reader, match: regex.Match[str]) -> str | None:
        written, words = match["a"], ""
        if match["sign"] is None and match["mag"] is None and self._is_year(written, match):
            words = reader.numbers.year(int(written))
        magnitude = self._magnitude(match["mag"], written)
        if magnitude:
            words = words or reader.spoken(written, before_noun=True)
        elif not words:
            gender = self._gender_after(match.string[match.end() :])
            words = reader.spoken(written, gender=gender or "m", before_noun=gender is not None)
        sign = {"-": self._rules.minus, "+": self._rules.plus}.get(match["sign"] or "", "")
        return reader.numbers.joined(sign, words, magnitude)

    def _is_year(self, written: str, match: regex.Match[str]) -> bool:
        if not self._rules.year_after or not regex.fullmatch(r"(?:1[1-9]|20)\d\d", written):
            return False
        before = regex.search(r"(\p{L}+)\W*$", match.string[: match.start()])
        if before and before[1].lower() in {word.lower() for word in self._rules.year_after}:
            return True
        # A bare 19xx or 20xx is a year unless it counts something: 2000 people, 1950 units.
        counts = regex.match(r" \p{Ll}+s\b| \p{Lu}\p{L}+en\b", match.string[match.end() :])
        return written[:2] in ("19", "20") and counts is None

    def _magnitude(self, written: str | None, number: str) -> str:
        forms = self._rules.magnitudes.get(written or "", "").split("|")
        return plural(tuple(forms), self._reader.value(number), self._reader.language)

    def _gender_after(self, rest: str) -> str | None:
        """Gender of the noun that a number stands before, by its ending; None if it stands before none."""
        following = regex.match(r" (\p{L}{3,})", rest)
        if following is None:
            return None
        noun = following[1]
        match self._rules.tag:
            case "de" if noun[0].isupper():
                return "f" if regex.search(r"(?:e|ung|heit|keit|schaft|ion|tät|ik|nacht|woche)$", noun) else "m"
            case "es" | "it" | "pt" if len(noun) >= 3 and noun.lower() not in _NO_NOUNS:
                return (
                    "f"
                    if regex.search(r"(?:as?|dad|ção|ções|ción|zione)$", noun) or noun in self._rules.feminine
                    else "m"
                )
            case "fr":
                return "f" if noun.rstrip("s") in {word.rstrip("s") for word in self._rules.feminine} else None
            case "ru":
                if regex.search(r"[ыи]$", noun):
                    return "f"
                return "f" if regex.search(r"[ая]$", noun) and regex.search(r"(?:^|[^1])1$", rest[:0] or "1") else None
        return None

    def _amount(self, written: str, code: str, magnitude: str) -> str:
        reader, currency = self._reader, self._rules.currency.get(code)
        whole, fraction = reader.parsed(written)
        number = reader.value(written)
        if currency is None:
            name = get_currency_name(code, count=number, locale=locale_of(reader.language))
            return reader.numbers.joined(reader.spoken(written), magnitude, name)
        if magnitude:
            link = (
                self._rules.million_link.strip()
                if regex.match(r"mil[lhi]|mi[lł]", magnitude) and magnitude not in ("mille", "mila")
                else ""
            )
            name = plural(currency.unit, 1_000_000, reader.language)
            return reader.numbers.joined(reader.spoken(written), magnitude, link, name)
        if fraction and (len(fraction) != 2 or not currency.minor):
            return reader.numbers.joined(reader.spoken(written), plural(currency.unit, number, reader.language))
        link = self._rules.million_link.strip() if whole and whole % 1_000_000 == 0 else ""
        words = reader.numbers.joined(
            reader.numbers.cardinal(whole, gender=currency.gender, before_noun=True),
            link,
            plural(currency.unit, whole, reader.language),
        )
        cents = int(fraction or 0)
        if not cents:
            return words
        minor = reader.numbers.cardinal(cents, gender=currency.minor_gender, before_noun=not currency.minor_unsaid)
        if not whole or not currency.minor_unsaid:
            minor = reader.numbers.joined(minor, plural(currency.minor, cents, reader.language))
        return words + self._rules.money_join + minor if whole else minor

    def _with_unit(self, written: str, unit: str) -> str:
        reader = self._reader
        if unit == "%" and self._rules.percent:
            return self._rules.percent.format(reader.spoken(written))
        number = reader.value(written)
        locale = locale_of(reader.language)
        value = int(number) if number.is_integer() else number
        name = format_unit(value, self._units[unit], "long", locale=locale)
        name = name.replace(format_decimal(value, locale=locale), "{0}", 1)
        if "{0}" not in name:
            return reader.numbers.joined(reader.spoken(written), name)
        noun = name.replace("{0}", "").replace("\u00a0", " ").strip()
        feminine = bool(self._rules.feminine) and noun.split(" ")[0].rstrip("s") in {
            word.rstrip("s") for word in self._rules.feminine
        }
        words = reader.spoken(written, gender="f" if feminine else "m", before_noun=True)
        return name.replace("\u00a0", " ").replace("{0}", words)


def counted(reader: Reader) -> tuple[str, ...]:
    """Patterns of numbers whose reading depends on the counter behind them (Chinese, Japanese, Korean)."""
    match reader.rules.tag:
        case "zh":
            return (
                rf"{START}(?<!第)(?P<year>\d{{4}}|\d{{2}})(?=年(?!级|前|后|多|来|内|间|里))",
                rf"{START}(?<!第)2(?=[个位名条件张台辆次种天本页周家米块千万亿点只双套部款支把间座杯瓶盒袋小分]|公里|公斤)",
            )
        case "ja":
            return (rf"{START}(?P<n>\d{{1,4}})(?P<counter>{japanese.COUNTERS})(?!{LETTER})",)
        case "ko":
            return (
                rf"{START}(?P<n>\d{{1,2}}) ?(?P<counter>{korean.NATIVE_COUNTERS})(?!{LETTER})",
                rf"{START}(?P<month>6|10)(?=월)",
            )
    return ()


def count(reader: Reader, match: regex.Match[str]) -> str | None:
    match reader.rules.tag:
        case "zh":
            return reader.numbers.digits(match["year"]) if "year" in match.re.groupindex else chinese.counted(2)
        case "ja":
            return japanese.counted(int(match["n"]), match["counter"])
        case "ko":
            if "month" in match.re.groupindex:
                return "유" if match["month"] == "6" else "시"
            number = int(match["n"])
            if (
                number == 0
                or (match["counter"] in ("분", "장", "권", "대") and number > 20)
                or (match["counter"] == "분" and number % 5 == 0)
            ):
                return None
            return f"{korean.native(number)} {match['counter']}"
    return None
