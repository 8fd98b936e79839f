"""How much and how often a tenant may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.domain.allowance import Allowance, Holdings, month_start, next_month
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


def check_job_quota(
    tenant: Tenant, *, jobs: JobStore, usage: UsageStore, clock: Clock, settings: Settings
) -> Allowance | None:
    """The tenant's month, into which one more job must fit (``JobStore.add``); None where it has no such quota.

    Raises:
        QuotaExceeded: ``too_many_jobs`` (unfinished ones), ``monthly_quota_used``: all seconds of video are made.
    """
    check_open_jobs(tenant, jobs=jobs, settings=settings)
    if tenant.monthly_output_s is None:
        return None
    now = clock.now()
    records = usage.list(tenant.id, since=month_start(now), until=next_month(now))
    used_s = sum(record.quantities.get("output_s", 0.0) for record in records)
    allowance = Allowance(output_s=tenant.monthly_output_s, used_s=used_s, at=now)
    allowance.check(Holdings(), 0.0)
    return allowance


def check_open_jobs(tenant: Tenant, *, jobs: JobStore, settings: Settings) -> None:
    """Nothing, when the tenant may have one more unfinished job: all that bounds pictures, which take no seconds.

    Raises:
        QuotaExceeded: ``too_many_jobs``.
    """
    most = tenant.max_queued_jobs or settings.max_queued_jobs
    if jobs.count_open(tenant.id, at_most=most) >= most:
        raise QuotaExceeded(
            f"There are {most} unfinished jobs; wait until some have ended, or cancel some.",
            code="too_many_jobs",
            retry_after_s=_JOBS_RETRY_S,
        )
