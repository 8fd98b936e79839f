"""Domain values to JSON and back: the one place where that happens.

Unknown keys are refused, so that a storyboard or notice of a newer version is never half understood.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from services.domain.errors import InvalidRequest

T = TypeVar("T")
_adapters: Final[dict[Any, TypeAdapter[Any]]] = {}


def _adapter(cls: Any) -> TypeAdapter[Any]:
    if cls not in _adapters:
        _forbid_extra(cls)
        _adapters[cls] = TypeAdapter(cls)
    return _adapters[cls]


def _forbid_extra(cls: Any) -> None:
    if "__pydantic_config__" not in cls.__dict__ and hasattr(cls, "__dataclass_fields__"):
        cls.__pydantic_config__ = ConfigDict(extra="forbid")


def encode(value: object) -> bytes:
    """UTF-8 JSON of a domain dataclass."""
    return _adapter(type(value)).dump_json(value)


def to_values(value: object) -> dict[str, Any]:
    """A domain dataclass as JSON-safe values."""
    values: dict[str, Any] = _adapter(type(value)).dump_python(value, mode="json")
    return values


def decode(cls: type[T], data: bytes | str) -> T:
    """The ``cls`` written as JSON in ``data``.

    Raises:
        InvalidRequest: ``malformed_payload`` naming the first field at fault.
    """
    try:
        value: T = _adapter(cls).validate_json(data)
    except ValidationError as error:
        raise _malformed(cls, error) from error
    return value


def from_values(cls: type[T], values: object) -> T:
    """The ``cls`` held by JSON values.

    Raises:
        InvalidRequest: ``malformed_payload`` naming the first field at fault.
    """
    try:
        value: T = _adapter(cls).validate_python(values)
    except ValidationError as error:
        raise _malformed(cls, error) from error
    return value


def _malformed(cls: type[Any], error: ValidationError) -> InvalidRequest:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return InvalidRequest(f"Not a {cls.__name__}: {where}: {first['msg']}.", code="malformed_payload", param=where)
