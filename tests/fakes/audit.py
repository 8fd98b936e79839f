"""An audit log in a list."""

from __future__ import annotations

from services.ports.audit import AuditEntry
from services.ports.jobs import Page
from tests.fakes.pages import page_of


class FakeAuditLog:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def add(self, entry: AuditEntry) -> None:
        if entry.id not in {one.id for one in self.entries}:
            self.entries.append(entry)

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[AuditEntry]:
        mine = (one for one in self.entries if one.tenant_id == tenant_id)
        return page_of(mine, kind="audit", cursor=cursor, limit=limit)

    def forget(self, tenant_id: str) -> None:
        self.entries = [one for one in self.entries if one.tenant_id != tenant_id]
