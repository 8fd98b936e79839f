"""What a batch must know of the kind of thing that its rows create.

The entry points make one ``Creation`` for each kind from the API's own bodies, so that a row and a request keep the
same rules (``lambdas/api/creations.py``); use cases see only this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Protocol

from services.domain.allowance import Allowance
from services.domain.batch import BatchEstimate, BatchKind, RowFault
from services.domain.cell import CellType, cell_value
from services.domain.job import Job
from services.usecases.batch_file import ID

Values = Mapping[str, Any]
_FILE_ENDING: Final = "file"
_MAX_HINTS: Final = 10  # of a header: looking for near names takes long, and a wrong delimiter makes all names wrong
_MAX_HINTED: Final = 100  # characters


class Submit(Protocol):
    def __call__(
        self, values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None
    ) -> Job:
        """The job of a row that was valid, if it fits into the tenant's month.

        Raises:
            SpokesmodelError: It cannot be accepted any more, or not now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A kind of creation.

    Attributes:
        columns: What each field takes, by its dotted name; fields that hold fields are not among them.
        choices: Of an object, by its dotted name: the sets of fields of which it has exactly one.
        output_names: Of the files that a job makes, in the order of a result table's columns.
        faults: What is wrong with a body, and whether it would be accepted: nothing is stored.
        estimate: What a body without faults will use and cost.
    """

    kind: BatchKind
    columns: Mapping[str, frozenset[CellType]]
    choices: Mapping[str, tuple[frozenset[str], ...]]
    output_names: tuple[str, ...]
    faults: Callable[[Values, str], tuple[RowFault, ...]]
    estimate: Callable[[Values, str], BatchEstimate | None]
    submit: Submit

    def header_faults(self, names: Sequence[str]) -> tuple[RowFault, ...]:
        """What is wrong with the column names of a table."""
        found: list[RowFault] = []
        seen: set[str] = set()
        num_unknown = 0
        for name in filter(None, names):
            shown = name if len(name) <= _MAX_HINTED else f"{name[:_MAX_HINTED]}…"
            if name in seen:
                detail = f"The column {shown!r} stands twice."
                found.append(RowFault(column=shown, code="duplicate_column", detail=detail))
            elif name != ID and self.types_of(name) is None:
                num_unknown += 1
                hint = self._hint(name) if num_unknown <= _MAX_HINTS and name == shown else ""
                detail = hint or f"There is no column {shown!r}."
                found.append(RowFault(column=shown, code="unknown_column", detail=detail))
            seen.add(name)
        if not any(names):
            found.append(RowFault(column=None, code="unnamed_column", detail="The header names no column."))
        return tuple(found)

    def types_of(self, column: str) -> frozenset[CellType] | None:
        """What the column takes; None when there is no such column. ``a.b.word`` is an entry of a mapping ``a.b``."""
        if column in self.columns:
            return self.columns[column]
        parent, _, word = column.rpartition(".")
        is_entry = word and CellType.MAPPING in self.columns.get(parent, ())
        return frozenset({CellType.TEXT}) if is_entry else None

    def body_of(self, cells: Mapping[str, str]) -> dict[str, Any]:
        """The body that a table's row spells; cells without text are not among ``cells``."""
        body: dict[str, Any] = {}
        for column, text in cells.items():
            types = self.types_of(column)
            *parents, name = self._path(column)
            place = body
            for parent in parents:
                place = place.setdefault(parent, {})
            place[name] = text if types is None else cell_value(text, types)
        return body

    def with_defaults(self, values: Values, defaults: Values, *, at: str = "") -> dict[str, Any]:
        """``values`` over ``defaults``, field by field, without those defaults that the row's own choice rules out."""
        merged = {name: value for name, value in defaults.items() if not self._is_ruled_out(name, values, at)}
        for name, value in values.items():
            under = merged.get(name)
            if isinstance(value, Mapping) and isinstance(under, Mapping):
                merged[name] = self.with_defaults(value, under, at=f"{at}.{name}".strip("."))
            else:
                merged[name] = value
        return merged

    def _is_ruled_out(self, name: str, values: Values, at: str) -> bool:
        choices = self.choices.get(at, ())
        named = [name for choice in choices for name in choice]
        telling = {name for name in named if named.count(name) == 1}  # those that belong to one choice only
        for choice in choices:
            if any(values.get(one) is not None for one in choice & telling):
                return name in named and name not in choice
        return False

    def _path(self, column: str) -> list[str]:
        if column in self.columns:
            return column.split(".")
        parent, _, word = column.rpartition(".")
        return [*parent.split("."), word]

    def _hint(self, name: str) -> str:
        """What is wrong with an unknown column, and what may have been meant; empty when that cannot be told."""
        inside = [column for column in self.columns if column.startswith(f"{name}.")]
        if inside:
            return f"{name!r} holds fields and is no column itself; name them, such as {inside[0]!r}."
        if name.endswith(_FILE_ENDING):
            upload = name.removesuffix(_FILE_ENDING) + "upload_id"
            if upload in self.columns:
                return f"{name!r} is for the command line, which sends files; over REST name an upload in {upload!r}."
        near = get_close_matches(name, [ID, *self.columns], n=3, cutoff=0.5)
        return f"There is no column {name!r}. Near ones: {', '.join(near)}." if near else ""
