"""What every body shares."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.config import JsonDict, JsonValue

T = TypeVar("T")


def rfc3339(moment: datetime) -> str:
    """UTC with milliseconds, such as ``2026-11-30T09:15:00.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    Field(json_schema_extra={"format": "date-time"}, description="RFC 3339, UTC."),
]
LanguageTag = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", max_length=35, description="BCP 47.", examples=["en-US"]),
]


def exactly_one(*fields: str, beside: Mapping[str, tuple[str, ...]] | None = None) -> list[JsonValue]:
    """``oneOf`` of a body in which one of ``fields`` is given; null is as good as left out.

    Args:
        beside: Fields that one of them needs to be given with it.
    """
    choices: list[JsonValue] = []
    for field in fields:
        given: JsonDict = {field: {"not": {"type": "null"}}}
        absent: JsonDict = {other: {"type": "null"} for other in fields if other != field}
        choices.append({"required": [field, *(beside or {}).get(field, ())], "properties": {**given, **absent}})
    return choices


class RequestBody(BaseModel):
    """A request: nothing unknown, nothing converted."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, allow_inf_nan=False)  # a cold start waits

    def __repr__(self) -> str:
        """Only the name: Powertools writes its arguments into debug logs, and these are what a client wrote."""
        return f"<{type(self).__name__}>"


class AnswerBody(BaseModel):
    """An answer: every field is always there."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        frozen=True,
        ser_json_inf_nan="null",
        json_schema_serialization_defaults_required=True,
    )


class PageBody(AnswerBody, Generic[T]):
    """A slice of a list, newest first."""

    items: list[T]
    next_cursor: str | None = Field(description="Pass it as `cursor` to get the next slice; null at the end.")
