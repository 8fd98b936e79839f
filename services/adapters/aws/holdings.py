"""What tenants' jobs hold of their month, in DynamoDB: an item beside the jobs, written in one transaction with a job.

A condition cannot add, so a writer reads the item, works the sum out, and writes if nobody wrote meanwhile; else again.
Only jobs with ``held_s`` come here, so this is between the jobs of one tenant that has a quota.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.items import Item
from services.adapters.aws.job_items import job_of
from services.adapters.aws.table import ConditionFailed, Put, Table, TransactionFailed
from services.domain.allowance import Allowance, Holdings
from services.domain.errors import Unavailable
from services.domain.job import Job, JobState

_MAX_TRIES: Final = 60
_LONGEST_PAUSE_S: Final = 0.25


class HeldJobs:
    """Writes jobs that hold something.

    Args:
        name: That of the jobs' table: one stream, one backup, and no further right for whoever writes jobs. The items
            have no ``step``, so that the stream's filter leaves them out, and are in no index.
        item_of: The item of a job.
    """

    def __init__(self, clients: Clients, *, name: str, item_of: Callable[[Job], Item]) -> None:
        self._table = Table(clients, name)
        self._item_of = item_of

    def of(self, tenant_id: str) -> Holdings:
        """The tenant's; all zero for one of whom nothing is noted."""
        return self._read(tenant_id)[0]

    def forget(self, tenant_id: str) -> None:
        """Remove the tenant's item."""
        self._table.delete({"id": _key(tenant_id)})

    def add(self, job: Job, allowance: Allowance | None) -> None:
        """Store a new job.

        Raises:
            ConditionFailed: There is one with its id.
            QuotaExceeded, ContentRejected: It does not fit into ``allowance``.
        """

        def check(holdings: Holdings) -> None:
            if allowance is None or job.held_s is None:
                return
            try:
                allowance.check(holdings, job.held_s)
            except Exception:
                present = self._table.get({"id": job.id})
                if present is not None:  # asked again: it has its room already
                    raise ConditionFailed(present) from None
                raise

        put = Put(self._item_of(job), condition="attribute_not_exists(#id)")
        self._write(put, job.tenant_id, lambda holdings: holdings.after(None, job), check)

    def save(self, job: Job) -> None:
        """Store ``job`` in place of its version before.

        Raises:
            ConditionFailed: The stored version is another, or there is none.
        """
        put = Put(self._item_of(job), condition="#version = :version", values={"version": job.version - 1})
        if job.state is JobState.PROCESSING:  # comes from a state that held as much; progress is saved often
            self._table.put(put.item, condition=put.condition, values=put.values)
            return
        item = self._table.get({"id": job.id})
        if item is None or item["version"] != job.version - 1:
            raise ConditionFailed(item)
        before = job_of(item)
        self._write(put, job.tenant_id, lambda holdings: holdings.after(before, job))

    def _write(
        self,
        put: Put,
        tenant_id: str,
        change: Callable[[Holdings], Holdings],
        check: Callable[[Holdings], None] = lambda holdings: None,
    ) -> None:
        pause_s = 0.01
        for _ in range(_MAX_TRIES):
            present, revision = self._read(tenant_id)
            check(present)
            changed = change(present)
            if changed == present:
                self._table.put(put.item, condition=put.condition, values=put.values)
                return
            try:
                self._table.put_together([put, _put(tenant_id, changed, revision)])
                return
            except TransactionFailed as failure:
                if failure.failed[0]:
                    raise ConditionFailed(failure.items[0]) from failure
            time.sleep(random.uniform(0, pause_s))  # several writers that met go on apart
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        raise Unavailable(f"Too many jobs of {tenant_id} come and end at this moment.", code="aws_throttled")

    def _read(self, tenant_id: str) -> tuple[Holdings, int]:
        item = self._table.get({"id": _key(tenant_id)})
        if item is None:
            return Holdings(), 0
        holdings = Holdings(month=item["month"], made_ms=item["made_ms"], open_ms=item["open_ms"])
        return holdings, item["revision"]


def _put(tenant_id: str, holdings: Holdings, revision: int) -> Put:
    item: Item = {
        "id": _key(tenant_id),
        "month": holdings.month,
        "made_ms": holdings.made_ms,
        "open_ms": holdings.open_ms,
        "revision": revision + 1,
    }
    if revision == 0:
        return Put(item, condition="attribute_not_exists(#id)")
    return Put(item, condition="#revision = :revision", values={"revision": revision})


def _key(tenant_id: str) -> str:
    """No job's id: those begin with ``job_``."""
    return f"holdings#{tenant_id}"
