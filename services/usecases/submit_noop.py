"""Accept a job that does nothing: for load and fault tests; no public route leads here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.domain.allowance import Allowance
from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from services.domain.job import Job
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.settings import Settings
from services.usecases.check_video import check_callback
from services.usecases.submit_video import add_job


def submit_noop(
    order: Mapping[str, Any],
    *,
    job_id: str,
    tenant_id: str,
    jobs: JobStore,
    clock: Clock,
    settings: Settings,
    callback_url: str | None = None,
    callback_id: str | None = None,
    batch_id: str | None = None,
    allowance: Allowance | None = None,
) -> Job:
    """The job, stored durably and queued; asked again with the same ``job_id``, the job there is.

    Args:
        order: ``{"duration_s": ...}``, and what else the no-op engine understands.

    Raises:
        InvalidRequest: ``out_of_range``.
        ContentRejected: ``callback_url_refused``.
        QuotaExceeded, ContentRejected: What ``Allowance.check`` says.
    """
    check_noop(order, settings, callback_url=callback_url, callback_id=callback_id)
    now = clock.now()
    job = Job(
        id=job_id,
        tenant_id=tenant_id,
        kind=EngineKind.NOOP,
        request=order,
        created_at=now,
        updated_at=now,
        available_at=now,
        callback_url=callback_url,
        callback_id=callback_id,
        batch_id=batch_id,
        held_s=None if allowance is None else order.get("duration_s", 0.0),
    )
    return add_job(job, jobs=jobs, allowance=allowance)


def check_noop(
    order: Mapping[str, Any], settings: Settings, *, callback_url: str | None = None, callback_id: str | None = None
) -> None:
    """Nothing, when ``submit_noop`` would accept it.

    Raises:
        InvalidRequest: ``out_of_range``.
        ContentRejected: ``callback_url_refused``.
    """
    duration_s = order.get("duration_s", 0.0)
    if not isinstance(duration_s, int | float) or not 0 <= duration_s <= settings.attempt_timeout_s:
        raise InvalidRequest(
            f"duration_s is {duration_s!r}; it is 0 to {settings.attempt_timeout_s:g}.",
            code="out_of_range",
            param="duration_s",
        )
    check_callback(callback_url, callback_id, settings)
