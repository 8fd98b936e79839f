"""What is wrong with one row of a batch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from services.domain.batch import RowFault
from services.domain.errors import SpokesmodelError
from services.settings import Settings
from services.usecases.batch_file import ID, RawRow
from services.usecases.check_text import check_characters
from services.usecases.creation import Creation, Values

_MAX_ID: Final = 200
_SHOWN: Final = 60
_TIME: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?( ?[AP]M)?$", re.IGNORECASE)


def faults_of(
    request: Values, tenant_id: str, *, creation: Creation, settings: Settings, cells: Mapping[str, str]
) -> list[RowFault]:
    """What is wrong with a row's request.

    Args:
        cells: Of a table's row, which are shown beside what is wrong with them.

    Raises:
        Unavailable: A store does not answer.
    """
    found = _size_faults(request, settings) or _faults(creation, request, tenant_id)
    return [_with_cell(fault, cells) for fault in found]


def external_id_of(raw: RawRow, number_by_id: dict[str, int]) -> tuple[str | None, list[RowFault]]:
    """The row's own name, and what is wrong with it."""
    value = raw.values.get(ID)
    if value is None:
        return None, []
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None, [RowFault(column=ID, code="invalid_request", detail="An id is a text.")]
    name = str(value).strip()
    if not 0 < len(name) <= _MAX_ID:
        detail = f"An id has 1 to {_MAX_ID} characters."
        return name[:_MAX_ID] or None, [RowFault(column=ID, code="out_of_range", detail=detail)]
    try:
        check_characters(name, param=ID)
    except SpokesmodelError as error:
        return None, [RowFault(column=ID, code=error.code, detail=error.detail)]
    first = number_by_id.setdefault(name, raw.number)
    if first != raw.number:
        detail = f"Row {first} has the id {name!r}, too."
        return name, [RowFault(column=ID, code="duplicate_id", detail=detail)]
    return name, []


def _size_faults(request: Values, settings: Settings) -> tuple[RowFault, ...]:
    """A row is no larger than a request may be, defaults included: stores have limits, too."""
    size_bytes = len(json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size_bytes <= settings.max_request_bytes:
        return ()
    detail = f"With its defaults the row has {size_bytes} bytes; the limit is {settings.max_request_bytes}."
    return (RowFault(column=None, code="row_too_large", detail=detail),)


def _faults(creation: Creation, request: Values, tenant_id: str) -> tuple[RowFault, ...]:
    """The row's faults; a row on which the check itself breaks is one fault, and the others go on."""
    try:
        return creation.faults(request, tenant_id)
    except SpokesmodelError:
        raise
    except Exception as error:  # a bug, met by one row of many
        detail = f"The row could not be checked ({type(error).__name__})."
        return (RowFault(column=None, code="row_not_checked", detail=detail),)


def _with_cell(fault: RowFault, cells: Mapping[str, str]) -> RowFault:
    """The fault with what the cell holds, where the rule speaks of a form that the cell has not."""
    text = cells.get(fault.column or "")
    if fault.code != "invalid_request" or text is None:
        return fault
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    hint = " (a time, as spreadsheets make of 9:16; format the column as text)" if _TIME.match(text.strip()) else ""
    return replace(fault, detail=f"{fault.detail}; the cell holds {shown!r}{hint}")
