"""What the cells of a table mean: text becomes the value that the request field takes."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

_SEPARATOR = "|"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# As spreadsheets save them in English, German, French, Spanish, Italian and Portuguese.
_YES_NO = {
    **dict.fromkeys(("true", "wahr", "vrai", "verdadero", "vero", "verdadeiro"), True),
    **dict.fromkeys(("false", "falsch", "faux", "falso"), False),
}


class CellType(StrEnum):
    """What a request field takes; a field may take several."""

    TEXT = "text"
    NAME = "name"  # one of given words
    INTEGER = "integer"
    NUMBER = "number"
    YES_NO = "yes_no"
    LIST = "list"  # of texts
    NUMBERS = "numbers"  # a list of them
    MAPPING = "mapping"  # of texts by text


def cell_value(text: str, types: frozenset[CellType]) -> Any:
    """The value of a cell that is not empty; text that none of ``types`` reads stays text, for validation to refuse.

    Lists are JSON arrays, or texts or numbers between ``|``; mappings are JSON objects.
    """
    bare = text.strip()
    if CellType.INTEGER in types and (number := _integer(bare)) is not None:
        return number
    if CellType.NUMBER in types and (real := _number(bare)) is not None:
        return real
    if CellType.YES_NO in types and bare.lower() in _YES_NO:
        return _YES_NO[bare.lower()]
    if CellType.NUMBERS in types and not bare.startswith("["):
        parts = (part.strip() for part in bare.split(_SEPARATOR) if part.strip())
        return [part if (each := _number(part)) is None else each for part in parts]
    if CellType.LIST in types and not bare.startswith("["):
        return [part.strip() for part in bare.split(_SEPARATOR) if part.strip()]
    if types & {CellType.LIST, CellType.NUMBERS, CellType.MAPPING}:
        return _json(bare)
    return bare


def shown_cell(value: object) -> object:
    """``value`` for a table that a spreadsheet may open: text that it would take for a formula gets a ``'`` before it.

    What clients wrote comes back in reports and results, to somebody who did not write it.
    """
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and _number(value) is None:
        return f"'{value}"
    return "" if value is None else value


def _integer(text: str) -> int | None:
    number = _number(text)  # spreadsheets write 25 as 25.0, too
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**53 else None


def _number(text: str) -> float | None:
    if "_" in text:  # Python reads 1_000; no spreadsheet writes it
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
