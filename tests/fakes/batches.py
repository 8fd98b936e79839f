"""Batches in a dict."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from services.domain.batch import Batch, BatchRow, BatchStep, RowState
from services.domain.errors import Conflict, InvalidRequest, NotFound
from services.domain.ids import check_id
from services.ports.clock import Clock
from services.ports.jobs import Page


@dataclass
class _Entry:
    batch: Batch
    due_at: datetime
    claimed: bool = False


class FakeBatchStore:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._turns: dict[str, int] = {}  # of tenants: when each was last claimed for
        self._rows: dict[str, dict[int, BatchRow]] = {}

    def add(self, batch: Batch) -> None:
        if batch.id in self._entries:
            raise Conflict(f"There is a batch {batch.id} already.", code="batch_exists")
        self._entries[batch.id] = _Entry(batch, batch.available_at)

    def get(self, batch_id: str) -> Batch:
        try:
            return self._entries[batch_id].batch
        except KeyError as error:
            raise NotFound(f"There is no batch {batch_id}.", code="batch_not_found") from error

    def save(self, batch: Batch) -> Batch:
        if self.get(batch.id).version != batch.version:
            raise Conflict(f"Batch {batch.id} was changed by someone else.", code="stale_batch", retryable=True)
        saved = replace(batch, version=batch.version + 1)
        self._entries[batch.id] = _Entry(saved, saved.available_at)
        return saved

    def delete(self, batch_id: str) -> None:
        self._entries.pop(batch_id, None)
        self._rows.pop(batch_id, None)

    def delete_rows(self, batch_id: str, *, limit: int) -> int:
        rows = self._rows.get(batch_id, {})
        removed = list(rows)[:limit]
        for number in removed:
            del rows[number]
        return len(removed)

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Batch]:
        batches = sorted((entry.batch for entry in self._entries.values()), key=lambda one: one.id, reverse=True)
        last_id = None if cursor is None else _last_id(cursor)
        found = [one for one in batches if one.tenant_id == tenant_id and (last_id is None or one.id < last_id)]
        more = base64.urlsafe_b64encode(found[limit - 1].id.encode()).decode() if len(found) > limit else None
        return Page(items=tuple(found[:limit]), cursor=more)

    def claim(self, *, limit: int, lease_s: float, due_for_s: float = 0.0) -> Sequence[Batch]:
        now = self._clock.now()
        due_by = now - timedelta(seconds=due_for_s)
        waiting = [
            one for one in self._entries.values() if one.batch.step is not BatchStep.NONE and one.due_at <= due_by
        ]
        claimed: list[_Entry] = []
        while waiting and len(claimed) < limit:
            entry = min(waiting, key=lambda one: (self._turns.get(one.batch.tenant_id, 0), one.due_at, one.batch.id))
            self._turns[entry.batch.tenant_id] = 1 + max(self._turns.values(), default=0)
            waiting.remove(entry)
            claimed.append(entry)
        for entry in claimed:
            if entry.claimed:
                entry.batch = replace(entry.batch, step_tries=entry.batch.step_tries + 1)
            entry.claimed, entry.due_at = True, now + timedelta(seconds=lease_s)
        return tuple(entry.batch for entry in claimed)

    def release(self, batch_id: str, *, delay_s: float) -> None:
        entry = self._entries.get(batch_id)
        if entry is not None and entry.claimed:
            entry.batch = replace(entry.batch, step_tries=entry.batch.step_tries + 1)
            entry.claimed, entry.due_at = False, self._clock.now() + timedelta(seconds=delay_s)

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Batch]:
        found = [
            (batch.finished_at, batch)
            for batch in (entry.batch for entry in self._entries.values())
            if batch.finished_at is not None and batch.finished_at < moment
        ]
        return tuple(batch for _, batch in sorted(found, key=lambda pair: pair[0])[:limit])

    def put_rows(self, rows: Sequence[BatchRow]) -> None:
        for row in rows:
            self._rows.setdefault(row.batch_id, {})[row.number] = row

    def rows(
        self, batch_id: str, *, state: RowState | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[BatchRow]:
        stored = self._rows.get(batch_id, {})
        found = [
            stored[number] for number in sorted(stored) if number > after and state in (None, stored[number].state)
        ]
        return tuple(found[:limit])

    def count_rows(self, batch_id: str) -> Mapping[RowState, int]:
        return Counter(row.state for row in self._rows.get(batch_id, {}).values())


def _last_id(cursor: str) -> str:
    try:
        return check_id(base64.urlsafe_b64decode(cursor).decode(), "batch")
    except (ValueError, InvalidRequest) as error:
        raise InvalidRequest(
            "The cursor is not one of this listing.", code="malformed_cursor", param="cursor"
        ) from error
