"""Moments as stores keep and sort them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """The moment that ``to_micros`` wrote."""
    return _EPOCH + timedelta(microseconds=micros)


def sortable(moment: datetime) -> str:
    """Text that sorts by time, for the head of a sort key."""
    return f"{to_micros(moment):017d}"


def to_expiry(moment: datetime) -> int:
    """Whole seconds since 1970, not before ``moment``, as DynamoDB's time to live wants it."""
    return -(-to_micros(moment) // 1_000_000)
