"""Cursors of listings by id, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from services.domain.errors import InvalidRequest
from services.domain.ids import check_id
from services.ports.jobs import Page


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Identified)


def last_id_of(cursor: str | None, kind: str) -> str:
    """The id behind which the listing goes on; without a cursor, what sorts after every id.

    Raises:
        InvalidRequest: ``malformed_cursor``.
    """
    if cursor is None:
        return "~"
    try:
        return check_id(cursor, kind)
    except InvalidRequest as error:
        raise InvalidRequest(
            "The cursor is not one that this list answered.", code="malformed_cursor", param="cursor"
        ) from error


def page_of(found: Sequence[T], limit: int) -> Page[T]:
    """The first ``limit`` of what a store found when it looked for one more."""
    return Page(items=tuple(found[:limit]), cursor=found[limit - 1].id if len(found) > limit else None)
