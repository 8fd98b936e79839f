"""A batch's file and a row of it, as they stand there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from services.domain.batch import RowFault
from services.domain.errors import ContentRejected

CSV: Final = "text/csv"
JSONL: Final = "application/jsonl"
ID: Final = "id"  # the client's own name of a row
MAX_COLUMNS: Final = 1_000  # far more than any kind of creation has fields
MAX_RECORD: Final = 4 * 1024 * 1024  # characters of a row: beyond, it is not even taken apart


class UnusableFile(ContentRejected):
    """The file as a whole cannot be used; ``faults`` are of its header, when that is what is wrong."""

    def __init__(self, detail: str, *, code: str, faults: tuple[RowFault, ...] = ()) -> None:
        super().__init__(detail, code=code)
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """A row as it stands in the file: cells by column, or an object; or why it cannot be read."""

    number: int
    values: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[RowFault, ...] = ()
