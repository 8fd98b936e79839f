"""``spokesmodel admin usage``, ``consents`` and ``audit``: what is on record of a tenant."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from spokesmodel.cli.admin.stores import Limit, StateDir, TenantId, first_of, moment, stores, values_of
from spokesmodel.cli.output import AsJson, print_json, print_table

Since = Annotated[datetime | None, typer.Option(help="UTC; included. [default: 30 days before --until]")]
Until = Annotated[datetime | None, typer.Option(help="UTC; not included. [default: now]")]


def usage(
    tenant_id: TenantId,
    since: Since = None,
    until: Until = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a tenant used and what it costs, by kind of work."""
    from services.usecases.get_usage import get_usage

    with stores(state_dir, as_json=as_json) as services:
        services.tenants.get(tenant_id)
        summary = get_usage(tenant_id, since=_utc(since), until=_utc(until), usage=services.usage, clock=services.clock)
        if as_json:
            print_json(values_of(summary))
            return
        rows = [
            (
                one.kind,
                str(one.num_jobs),
                " ".join(f"{unit}={quantity:g}" for unit, quantity in one.quantities.items()),
                " ".join(f"{cost.amount:g} {cost.currency}" for cost in one.costs),
            )
            for one in summary.totals
        ]
        print_table(("kind", "jobs", "quantities", "cost"), rows)


def consents(tenant_id: TenantId, limit: Limit = 1000, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show a tenant's consents, newest first."""
    with stores(state_dir, as_json=as_json) as services:
        services.tenants.get(tenant_id)
        found = first_of(partial(services.consents.list, tenant_id), limit)
        if as_json:
            print_json({"consents": [values_of(one) for one in found]})
            return
        rows = [
            (one.id, one.subject, " ".join(sorted(one.likenesses)), moment(one.expires_at), moment(one.revoked_at))
            for one in found
        ]
        print_table(("id", "subject", "of", "expires", "revoked"), rows)


def audit(
    tenant_id: Annotated[str, typer.Argument(help="The tenant's id, or `operator`.")],
    limit: Limit = 100,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Show the audit log of a tenant, or the operator's own, newest first."""
    with stores(state_dir, as_json=as_json) as services:
        found = first_of(partial(services.audit.list, tenant_id), limit)
        if as_json:
            print_json({"entries": [values_of(one) for one in found]})
            return
        rows = [
            (
                moment(one.at),
                one.actor,
                one.action,
                one.target,
                " ".join(f"{name}={value}" for name, value in one.details.items()),
            )
            for one in found
        ]
        print_table(("at", "actor", "action", "target", "details"), rows)


def _utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=UTC)
