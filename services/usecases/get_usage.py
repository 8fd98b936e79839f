"""What a tenant used in a period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.domain.errors import InvalidRequest
from services.domain.pricing import Cost
from services.ports.clock import Clock
from services.ports.usage import UsageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """Jobs that succeeded, their quantities by unit and their cost by currency, of one kind of work."""

    kind: str
    num_jobs: int
    quantities: Mapping[str, float]
    costs: tuple[Cost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """``since`` is included, ``until`` is not."""

    since: datetime
    until: datetime
    totals: tuple[UsageTotal, ...]


def get_usage(
    tenant_id: str, *, since: datetime | None, until: datetime | None, usage: UsageStore, clock: Clock
) -> UsageSummary:
    """Totals by kind; without bounds, of the last 30 days.

    Raises:
        InvalidRequest: ``invalid_period``, when ``since`` is not before ``until``.
    """
    until = until or clock.now()
    try:
        since = since or until - timedelta(days=30)
    except OverflowError as error:
        raise InvalidRequest("`until` is too long ago.", code="invalid_period", param="until") from error
    if since >= until:
        raise InvalidRequest("`since` is before `until`.", code="invalid_period", param="since")
    num_jobs: dict[str, int] = defaultdict(int)
    quantities: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    amounts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for record in usage.list(tenant_id, since=since, until=until):
        num_jobs[record.kind] += 1
        if record.cost is not None:
            amounts[record.kind][record.cost.currency] += record.cost.amount
        for unit, quantity in record.quantities.items():
            quantities[record.kind][unit] += quantity
    totals = tuple(
        UsageTotal(
            kind=kind,
            num_jobs=num_jobs[kind],
            quantities={unit: round(sum_, 6) for unit, sum_ in sorted(quantities[kind].items())},
            costs=tuple(Cost(amount=round(sum_, 6), currency=name) for name, sum_ in sorted(amounts[kind].items())),
        )
        for kind in sorted(num_jobs)
    )
    return UsageSummary(since=since, until=until, totals=totals)
