"""The price list: a TOML file that the operator edits, the same for every profile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from services.domain.errors import InvalidRequest
from services.domain.pricing import PriceList, SizePrice

DEFAULT_PATH: Final = Path(__file__).with_name("prices.toml")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_TABLES: Final = {"currency", "output_second", "script", "picture", "turntable", "managed_character"}


def read_price_list(path: str = "") -> PriceList:
    """The prices in the file at ``path``; "" reads the one that comes along.

    Raises:
        InvalidRequest: ``malformed_price_list``, naming what is wrong.
    """
    file = Path(path) if path else DEFAULT_PATH
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        if unknown := set(values) - _TABLES:
            raise ValueError(f"{', '.join(sorted(unknown))} is no part of a price list")
        return _price_list(values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRequest(f"The price list {file} is not usable: {error}.", code="malformed_price_list") from error


def _price_list(values: Mapping[str, Any]) -> PriceList:
    currency = values["currency"]
    if not _CURRENCY.fullmatch(currency):
        raise ValueError(f"currency is {currency!r}; ISO 4217 has three capitals")
    sizes = tuple(
        SizePrice(up_to_px=int(row["up_to_px"]), per_output_s=_price(row["price"])) for row in values["output_second"]
    )
    bounds = [size.up_to_px for size in sizes]
    if not bounds or bounds != sorted(set(bounds)):
        raise ValueError("output_second needs rows by rising up_to_px")
    return PriceList(
        currency=currency,
        sizes=sizes,
        per_script=_price(values.get("script", "0")),
        per_picture=_price(values.get("picture", "0")),
        per_turntable=_price(values.get("turntable", "0")),
        per_managed_character={
            start: _price(price) for start, price in (values.get("managed_character") or {}).items()
        },
    )


def _price(text: object) -> Decimal:
    if not isinstance(text, str):
        raise TypeError(f'the price {text!r} is not written as text, such as "0.004"')
    try:
        price = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is no price") from error
    if not price.is_finite() or price < 0:
        raise ValueError(f"{text!r} is no price")
    return price
