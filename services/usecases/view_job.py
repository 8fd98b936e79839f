"""A job as clients see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.domain.job import Job
from services.domain.object_key import ObjectKey
from services.domain.pricing import Cost
from services.ports.objects import ObjectStore
from services.ports.webhooks import Delivery
from services.usecases.view_parts import rfc3339, view_deliveries, view_failure


def view_job(
    job: Job, *, objects: ObjectStore, link_lifetime_s: int, deliveries: Sequence[Delivery] | None = None
) -> dict[str, Any]:
    """JSON values; outputs with URLs that are valid for ``link_lifetime_s``.

    Args:
        deliveries: The log of the job's webhook, shown when given.
    """
    view: dict[str, Any] = {
        "id": job.id,
        "kind": str(job.kind),
        "state": str(job.state),
        "progress": {"stage": _stage(job), "fraction": _fraction(job)},
        "attempt": job.attempt,
        "created_at": rfc3339(job.created_at),
        "finished_at": None if job.finished_at is None else rfc3339(job.finished_at),
        "result": None if job.result is None else _result(job, objects, link_lifetime_s),
        "cost": None if job.result is None or job.result.cost is None else view_cost(job.result.cost),
        "failure": view_failure(job.failure),
        "callback_id": job.callback_id,
        "batch_id": job.batch_id,
    }
    if deliveries is not None:
        view["deliveries"] = view_deliveries(deliveries)
    return view


def view_cost(cost: Cost) -> dict[str, Any]:
    """A cost as clients see it."""
    return {"amount": cost.amount, "currency": cost.currency}


def _stage(job: Job) -> str:
    return str(job.state) if job.state.is_final else job.progress.stage


def _fraction(job: Job) -> float:
    return 1.0 if job.result is not None else job.progress.fraction


def _result(job: Job, objects: ObjectStore, link_lifetime_s: int) -> dict[str, Any]:
    if job.result is None:
        return {}
    outputs = []
    for output in job.result.outputs:
        key = ObjectKey.parse(output.key)
        url = objects.sign_download(key, file_name=f"{job.id}-{key.name}", expires_in_s=link_lifetime_s)
        outputs.append(
            {
                "name": output.name,
                "url": url,
                "media_type": output.media_type,
                "size_bytes": output.size_bytes,
                "sha256": output.sha256,
            }
        )
    return {"outputs": outputs, "facts": dict(job.result.facts)}
