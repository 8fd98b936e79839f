"""Slices of what a fake holds, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from services.domain.errors import InvalidRequest
from services.domain.ids import check_id
from services.ports.jobs import Page


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Identified)


def page_of(things: Iterable[T], *, kind: str, cursor: str | None, limit: int) -> Page[T]:
    """The slice behind ``cursor``, which is the last id of the slice before."""
    if cursor is not None:
        try:
            check_id(cursor, kind)
        except InvalidRequest as error:
            raise InvalidRequest("Not a cursor of this list.", code="malformed_cursor", param="cursor") from error
    behind: list[Any] = sorted(
        (one for one in things if cursor is None or one.id < cursor), key=lambda one: str(one.id), reverse=True
    )
    return Page(items=tuple(behind[:limit]), cursor=behind[limit - 1].id if len(behind) > limit else None)
