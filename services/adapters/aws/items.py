"""Items of DynamoDB: strings, whole numbers and truth values, as the wire wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from services.domain.errors import ContentRejected, InvalidRequest, Unavailable

Item: TypeAlias = Mapping[str, str | int | bool | None]

# Which form of the items this code writes: to be raised when older code would misread one. Older forms are read.
SCHEMA: Final = 1
SCHEMA_NAME: Final = "schema"
_MAX_ITEM_BYTES: Final = 400 * 1024
_MAX_KEY_BYTES: Final = 1024
_NUMBER_BYTES: Final = 21  # the most that a number takes


def can_exist(key: Item) -> bool:
    """Whether DynamoDB takes such a key at all: what a client calls an id may be any text."""
    texts = (value for value in key.values() if isinstance(value, str))
    try:
        return all(0 < len(text.encode()) <= _MAX_KEY_BYTES for text in texts)
    except UnicodeEncodeError:
        return False


def packed(item: Item) -> dict[str, dict[str, Any]]:
    """As the wire wants it; None is left out."""
    check_size(item)
    return {name: pack(value) for name, value in item.items() if value is not None}


def check_size(item: Item) -> None:
    """Nothing, when a table can take ``item``.

    Raises:
        ContentRejected: ``record_too_large``.
        InvalidRequest: ``not_utf8``.
    """
    size_bytes = 0
    for name, value in item.items():
        try:
            size_bytes += len(name) + (len(value.encode()) if isinstance(value, str) else _NUMBER_BYTES)
        except UnicodeEncodeError as error:
            raise InvalidRequest("A text holds half a character and is not UTF-8.", code="not_utf8") from error
    if size_bytes > _MAX_ITEM_BYTES:
        raise ContentRejected(
            f"A record of {size_bytes} bytes is over the {_MAX_ITEM_BYTES} that a table takes.", code="record_too_large"
        )


def pack(value: str | int | bool | None) -> dict[str, Any]:
    """One value with its kind."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    return {"S": value}


def unpacked(item: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the wire brought.

    Raises:
        Unavailable: ``store_too_new`` for an item that a newer version of the product wrote.
    """
    values = {name: _value(packed) for name, packed in item.items()}
    if int(values.get(SCHEMA_NAME, 1)) > SCHEMA:
        raise Unavailable(
            f"An item has schema {values[SCHEMA_NAME]}; this program knows {SCHEMA}.",
            code="store_too_new",
            retryable=False,
        )
    return values


def _value(packed: Mapping[str, Any]) -> str | int | bool:
    [(kind, value)] = packed.items()
    if kind == "N":
        return int(value)
    result: str | bool = value
    return result
