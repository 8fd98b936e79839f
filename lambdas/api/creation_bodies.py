"""What a body says of itself to a batch: its columns, its choices, and what is wrong with one that was sent."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError

from lambdas.api.request_parts import field_path
from lambdas.api.schemas.base import RequestBody
from services.domain.batch import RowFault
from services.domain.cell import CellType
from services.domain.errors import SpokesmodelError
from services.usecases.creation import Values

Body = TypeVar("Body", bound=RequestBody)

_PLAIN: Final[Mapping[Any, CellType]] = {
    str: CellType.TEXT,
    int: CellType.INTEGER,
    float: CellType.NUMBER,
    bool: CellType.YES_NO,
    list: CellType.LIST,
    dict: CellType.MAPPING,
}
_CODES: Final = {"missing": "missing", "extra_forbidden": "unknown_column"}
# Where the checker's own words name Python.
_DETAILS: Final = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "Input should be an object with fields"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "Input should be true or false"),
}
_MAX_FAULTS: Final = 20


def columns_of(model: type[BaseModel], at: str = "") -> dict[str, frozenset[CellType]]:
    """What each field of a body takes, by its dotted name."""
    found: dict[str, frozenset[CellType]] = {}
    for name, field in model.model_fields.items():
        members = list(_members(field.annotation))
        nested = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
        if nested:
            found |= columns_of(nested[0], f"{at}{name}.")
        else:
            found[f"{at}{name}"] = frozenset(_cell_type(member) for member in members)
    return found


def choices_of(model: type[BaseModel], at: str = "") -> dict[str, tuple[frozenset[str], ...]]:
    """The objects in a body of whose fields one set is needed, as its schema's ``oneOf`` tells."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    extra = model.model_config.get("json_schema_extra")
    if isinstance(extra, Mapping) and "oneOf" in extra:
        one_of = cast("list[dict[str, list[str]]]", extra["oneOf"])
        found[at] = tuple(frozenset(choice["required"]) for choice in one_of)
    for name, field in model.model_fields.items():
        for member in _members(field.annotation):
            if isinstance(member, type) and issubclass(member, BaseModel):
                found |= choices_of(member, f"{at}.{name}".strip("."))
    return found


def _members(annotation: Any) -> list[Any]:
    """The types that an annotation allows, None left out; literals by their values."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [member for one in get_args(annotation) for member in _members(one)]
    if origin is Literal:
        return list(get_args(annotation))
    return [] if annotation is type(None) else [annotation]


def _cell_type(member: Any) -> CellType:
    if not isinstance(member, type) and get_origin(member) is None:  # a literal's value
        return CellType.NAME if isinstance(member, str) else _PLAIN[type(member)]
    if get_origin(member) is list and _members(get_args(member)[0]) == [float]:
        return CellType.NUMBERS
    return _PLAIN[get_origin(member) or member]


def faults_of(model: type[Body], check: Callable[[Body, str], None]) -> Callable[[Values, str], tuple[RowFault, ...]]:
    """Checks a body as a request is checked: its form first, then what it refers to."""

    def faults(values: Values, tenant_id: str) -> tuple[RowFault, ...]:
        try:
            check(model.model_validate(values), tenant_id)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)[:_MAX_FAULTS]
            return tuple(
                RowFault(
                    column=field_path(one["loc"]),
                    code=_CODES.get(one["type"], "invalid_request"),
                    detail=_DETAILS.get(one["type"]) or one["msg"].removeprefix("Value error, "),
                )
                for one in found
            )
        except SpokesmodelError as error:
            if error.retryable:
                raise
            return (RowFault(column=error.param, code=error.code, detail=error.detail),)
        return ()

    return faults
