"""How much and how often a tenant may ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from services.domain.errors import QuotaExceeded
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.rates import RateLimiter
from services.ports.tenants import Tenant
from services.ports.usage import UsageStore
from services.settings import Settings

_JOBS_RETRY_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePolicy:
    """Requests of one tenant: ``burst`` at once, ``per_s`` sustained."""

    per_s: float
    burst: int


def rate_policy(tenant: Tenant, settings: Settings) -> RatePolicy:
    """The tenant's own limits where it has any, else the settings'."""
    return RatePolicy(
        per_s=tenant.requests_per_s or settings.requests_per_s, burst=tenant.request_burst or settings.request_burst
    )


def check_rate(tenant: Tenant, *, rates: RateLimiter, settings: Settings) -> None:
    """Take one request of the tenant's allowance. Rows of a batch are no requests.

    Raises:
        QuotaExceeded: ``too_many_requests``.
    """
    policy = rate_policy(tenant, settings)
    wait_s = rates.take(tenant.id, rate_per_s=policy.per_s, burst=policy.burst)
    if wait_s > 0:
        raise QuotaExceeded(
            f"More than {policy.burst} requests at once, or {policy.per_s:g} a second.",
            code="too_many_requests",
            retry_after_s=wait_s,
        )


def check_job_quota(tenant: Tenant, *, jobs: JobStore, usage: UsageStore, clock: Clock, settings: Settings) -> None:
    """Nothing, when the tenant may have one more job.

    Raises:
        QuotaExceeded: ``too_many_jobs`` (unfinished ones), ``monthly_quota_used`` (seconds of video).
    """
    most = tenant.max_queued_jobs or settings.max_queued_jobs
    if jobs.count_open(tenant.id, at_most=most) >= most:
        raise QuotaExceeded(
            f"There are {most} unfinished jobs; wait until some have ended, or cancel some.",
            code="too_many_jobs",
            retry_after_s=_JOBS_RETRY_S,
        )
    if tenant.monthly_output_s is None:
        return
    now = clock.now()
    since, until = _month_of(now)
    used_s = sum(record.quantities.get("output_s", 0.0) for record in usage.list(tenant.id, since=since, until=until))
    if used_s >= tenant.monthly_output_s:
        raise QuotaExceeded(
            f"{used_s:.0f} of this month's {tenant.monthly_output_s:g} seconds of video are made.",
            code="monthly_quota_used",
            retry_after_s=(until - now).total_seconds(),
        )


def _month_of(now: datetime) -> tuple[datetime, datetime]:
    """The calendar month's first moment (UTC), and the next month's."""
    since = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    year, month = (since.year + 1, 1) if since.month == 12 else (since.year, since.month + 1)
    return since, since.replace(year=year, month=month)
