"""Batches and their rows in DynamoDB: the batch's item is the outbox, a claim is a lease on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.items import Item
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import to_expiry, to_micros
from services.domain import wire
from services.domain.batch import Batch, BatchRow, BatchStep, RowState
from services.domain.errors import Conflict, NotFound
from services.ports.clock import Clock
from services.ports.jobs import Page

_DUE: Final = "due"  # batches that wait are few: one partition of the index holds them all
_MARGIN: Final = timedelta(days=30)  # no batch runs for so long, so its rows outlive it
_MANY_ROWS: Final = 1_000
_SPARE_CANDIDATES: Final = 10  # the index may name some that were claimed or saved a moment ago


class DynamoBatchStore:
    """``services.ports.batches.BatchStore``.

    ``due_at`` is when the step may next be claimed: the batch's ``available_at``, or the end of the running claim.
    ``due_step`` is there while a step waits, so that the index holds nothing else.

    A batch's rows share one partition, which takes some 500 rows a second with their index; 50,000 need two minutes.
    """

    def __init__(self, clients: Clients, *, table_prefix: str, clock: Clock, kept: timedelta) -> None:
        """``kept``: how long after its end DynamoDB removes a batch, and its rows after the last change of each."""
        self._batches = Table(clients, f"{table_prefix}batches")
        self._rows = Table(clients, f"{table_prefix}batch_rows")
        self._clock = clock
        self._kept = kept

    def add(self, batch: Batch) -> None:
        try:
            self._batches.put(self._item(batch), condition="attribute_not_exists(#id)")
        except ConditionFailed as error:
            raise Conflict(f"There is a batch {batch.id} already.", code="batch_exists") from error

    def get(self, batch_id: str) -> Batch:
        item = self._batches.get({"id": batch_id})
        if item is None:
            raise _not_found(batch_id)
        return _batch(item)

    def save(self, batch: Batch) -> Batch:
        saved = replace(batch, version=batch.version + 1)
        try:
            self._batches.put(self._item(saved), condition="#version = :version", values={"version": batch.version})
        except ConditionFailed as failure:
            if failure.item is None:
                raise _not_found(batch.id) from failure
            raise Conflict(
                f"Batch {batch.id} was changed by someone else.", code="stale_batch", retryable=True
            ) from failure
        return saved

    def delete(self, batch_id: str) -> None:
        # Rows first: cut off on the way, the batch is still there and the deletion can be repeated.
        while self.delete_rows(batch_id, limit=_MANY_ROWS):
            pass
        self._batches.delete({"id": batch_id})

    def delete_rows(self, batch_id: str, *, limit: int) -> int:
        keys = self._rows.query(
            "#batch_id = :batch", {"batch": batch_id}, consistent=True, limit=limit, attributes=("batch_id", "number")
        )
        self._rows.delete_all(keys)
        return len(keys)

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Batch]:
        items = self._batches.query(
            "#tenant_id = :tenant AND #id < :before",
            {"tenant": tenant_id, "before": last_id_of(cursor, "batch")},
            index="by_tenant",
            limit=limit + 1,
            descending=True,
        )
        return page_of([_batch(item) for item in items], limit)

    def claim(self, *, limit: int, lease_s: float, due_for_s: float = 0.0) -> Sequence[Batch]:
        now = self._clock.now()
        candidates = self._batches.query(
            "#due_step = :due AND #due_at <= :due_by",
            {"due": _DUE, "due_by": to_micros(now - timedelta(seconds=due_for_s))},
            index="by_due",
            limit=max(0, limit) + _SPARE_CANDIDATES,
        )
        claimed: list[Batch] = []
        for candidate in candidates:
            if len(claimed) >= limit:
                break
            try:
                item = self._batches.update(  # a claim that ran out is a failed try: its holder died or hangs
                    {"id": candidate["id"]},
                    "#due_at = :until, #step_tries = #step_tries + #claimed, #claimed = :one",
                    condition="#due_at = :seen AND attribute_exists(#due_step)",
                    values={
                        "until": to_micros(now + timedelta(seconds=lease_s)),
                        "seen": candidate["due_at"],
                        "one": 1,
                    },
                )
            except ConditionFailed:
                continue
            claimed.append(_batch(item))
        return tuple(claimed)

    def release(self, batch_id: str, *, delay_s: float) -> None:
        try:
            self._batches.update(
                {"id": batch_id},
                "#due_at = :due_at, #step_tries = #step_tries + :one, #claimed = :none",
                condition="#claimed = :one",
                values={"due_at": to_micros(self._clock.now() + timedelta(seconds=delay_s)), "one": 1, "none": 0},
            )
        except ConditionFailed:
            return

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Batch]:
        return ()  # the tables' TTL removes the rows, the bucket's lifecycle the objects

    def put_rows(self, rows: Sequence[BatchRow]) -> None:
        expires_at = to_expiry(self._clock.now() + self._kept + _MARGIN)
        latest = {(row.batch_id, row.number): row for row in rows}  # one request may not name an item twice
        self._rows.put_all(
            [
                {
                    "batch_id": row.batch_id,
                    "number": row.number,
                    "state_number": _state_number(row.state, row.number),
                    "expires_at": expires_at,
                    "body": wire.encode(row).decode(),
                }
                for row in latest.values()
            ]
        )

    def rows(
        self, batch_id: str, *, state: RowState | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[BatchRow]:
        if state is None:
            items = self._rows.query(
                "#batch_id = :batch AND #number > :after",
                {"batch": batch_id, "after": after},
                limit=limit,
                consistent=True,
            )
        else:
            items = self._rows.query(
                "#batch_id = :batch AND #state_number BETWEEN :first AND :last",
                {"batch": batch_id, "first": _state_number(state, after + 1), "last": f"{state}#~"},
                index="by_state",
                limit=limit,
                consistent=True,
            )
        return tuple(wire.decode(BatchRow, item["body"]) for item in items)

    def count_rows(self, batch_id: str) -> Mapping[RowState, int]:
        counts = {
            state: self._rows.count(
                "#batch_id = :batch AND begins_with(#state_number, :head)",
                {"batch": batch_id, "head": f"{state}#"},
                index="by_state",
                consistent=True,
            )
            for state in RowState
        }
        return {state: number for state, number in counts.items() if number}

    def _item(self, batch: Batch) -> Item:
        return {
            "id": batch.id,
            "tenant_id": batch.tenant_id,
            "state": batch.state,
            "step": batch.step,
            "step_tries": batch.step_tries,
            "available_at": to_micros(batch.available_at),
            "due_at": to_micros(batch.available_at),
            "due_step": None if batch.step is BatchStep.NONE else _DUE,
            "claimed": 0,
            "version": batch.version,
            "expires_at": None if batch.finished_at is None else to_expiry(batch.finished_at + self._kept),
            "body": wire.encode(batch).decode(),
        }


def _batch(item: Mapping[str, Any]) -> Batch:
    """The stored batch; what claims change lives in attributes only, and wins."""
    return replace(wire.decode(Batch, item["body"]), step_tries=item["step_tries"], version=item["version"])


def _state_number(state: RowState, number: int) -> str:
    return f"{state}#{number:08d}"


def _not_found(batch_id: str) -> NotFound:
    return NotFound(f"There is no batch {batch_id}.", code="batch_not_found")
