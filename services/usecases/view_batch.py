"""A batch and its rows as clients see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.domain.batch import Batch, BatchRow, RowFault, RowState
from services.ports.objects import ObjectStore
from services.ports.webhooks import Delivery
from services.usecases.batch_objects import REPORT_CSV, REPORT_JSON, answer_key
from services.usecases.view_parts import rfc3339, view_deliveries, view_failure


def view_batch(
    batch: Batch, *, objects: ObjectStore, link_lifetime_s: int, deliveries: Sequence[Delivery] | None = None
) -> dict[str, Any]:
    """JSON values; the report with URLs that are valid for ``link_lifetime_s``.

    Args:
        deliveries: The log of the batch's webhook, shown when given.
    """
    view: dict[str, Any] = {
        "id": batch.id,
        "kind": str(batch.kind),
        "name": batch.name,
        "state": str(batch.state),
        "dry_run": batch.dry_run,
        "on_invalid": str(batch.on_invalid),
        "num_rows": sum(batch.counts.values()),
        "counts": {str(state): batch.counts.get(state, 0) for state in RowState},
        "estimate": _estimate(batch) if batch.has_report else None,
        "report": _report(batch, objects, link_lifetime_s) if batch.has_report else None,
        "created_at": rfc3339(batch.created_at),
        "finished_at": None if batch.finished_at is None else rfc3339(batch.finished_at),
        "failure": view_failure(batch.failure),
        "held_by": view_failure(batch.held_by),
        "callback_id": batch.callback_id,
    }
    if deliveries is not None:
        view["deliveries"] = view_deliveries(deliveries)
    return view


def view_row(row: BatchRow) -> dict[str, Any]:
    """JSON values of a row, without what it asked for."""
    return {
        "row": row.number,
        "id": row.external_id,
        "state": str(row.state),
        "job_id": row.job_id,
        "tries": row.tries,
        "faults": [view_fault(fault) for fault in row.faults],
        "failure": view_failure(row.failure),
    }


def view_fault(fault: RowFault) -> dict[str, Any]:
    """JSON values of one thing that is wrong with a row."""
    return {"column": fault.column, "code": fault.code, "reason": fault.detail}


def _estimate(batch: Batch) -> dict[str, Any] | None:
    if batch.estimate is None:
        return None
    cost = batch.estimate.cost
    return {
        "quantities": {unit: round(quantity, 2) for unit, quantity in batch.estimate.quantities.items()},
        "cost": {"amount": round(cost.amount, 6), "currency": cost.currency},
    }


def _report(batch: Batch, objects: ObjectStore, link_lifetime_s: int) -> dict[str, str]:
    return {
        name: objects.sign_download(
            answer_key(batch, key_name), file_name=f"{batch.id}-{key_name}", expires_in_s=link_lifetime_s
        )
        for name, key_name in (("csv_url", REPORT_CSV), ("json_url", REPORT_JSON))
    }
