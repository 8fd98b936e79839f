"""``spokesmodel admin tenants``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spokesmodel.cli.admin.stores import Limit, StateDir, TenantId, confirm, first_of, moment, stores, values_of
from spokesmodel.cli.output import AsJson, print_json, print_table

app = typer.Typer(help="Customers.", no_args_is_help=True)


@app.command("list")
def list_tenants(limit: Limit = 1000, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show who there is."""
    with stores(state_dir, as_json=as_json) as services:
        found = first_of(services.tenants.list, limit)
        if as_json:
            print_json({"tenants": [_shown(tenant) for tenant in found]})
            return
        rows = [(one.id, one.name, moment(one.created_at), "deleting" if one.deleting_since else "") for one in found]
        print_table(("id", "name", "since", "state"), rows)


@app.command("show")
def show(tenant_id: TenantId, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show one, with its limits and how much work it has open."""
    with stores(state_dir, as_json=as_json) as services:
        tenant = services.tenants.get(tenant_id)
        num_open = services.jobs.count_open(tenant_id, at_most=services.settings.max_queued_jobs)
        values = {**_shown(tenant), "num_open_jobs": num_open, "num_keys": len(services.tenants.list_keys(tenant_id))}
        if as_json:
            print_json(values)
        else:
            print_table(("field", "value"), [(name, "" if it is None else str(it)) for name, it in values.items()])


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What to call the customer.")],
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a customer with a first key, which is shown once."""
    from services.usecases.manage_keys import create_tenant, issue_key

    with stores(state_dir, as_json=as_json) as services:
        kept: dict[str, Any] = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
        tenant = create_tenant(name, **kept)
        issued = issue_key(tenant.id, **kept)
        if as_json:
            print_json({**_shown(tenant), "api_key": issued.secret, "webhook_secret": tenant.webhook_secret})
        else:
            typer.echo(f"{tenant.id}\nAPI key, shown this once: {issued.secret}")


@app.command("set")
def set_limits(
    tenant_id: TenantId,
    max_outstanding: Annotated[int | None, typer.Option(min=1, help="Jobs an engine may hold at once.")] = None,
    requests_per_s: Annotated[float | None, typer.Option(min=0.01, help="Sustained.")] = None,
    request_burst: Annotated[int | None, typer.Option(min=1, help="At once.")] = None,
    max_queued_jobs: Annotated[int | None, typer.Option(min=1, help="Unfinished jobs.")] = None,
    monthly_output_s: Annotated[float | None, typer.Option(min=0.01, help="Seconds of video a month.")] = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Change limits; what is not given stays."""
    from dataclasses import replace

    from services.usecases.record_act import OPERATOR, record_act

    given = {
        "max_outstanding": max_outstanding,
        "requests_per_s": requests_per_s,
        "request_burst": request_burst,
        "max_queued_jobs": max_queued_jobs,
        "monthly_output_s": monthly_output_s,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    with stores(state_dir, as_json=as_json) as services:
        tenant = replace(services.tenants.get(tenant_id), **changes)  # type: ignore[arg-type]
        services.tenants.update(tenant)
        record_act(
            "tenant.changed",
            tenant_id,
            tenant_id=tenant_id,
            actor=OPERATOR,
            audit=services.audit,
            clock=services.clock,
            details={name: f"{value:g}" for name, value in changes.items()},
        )
        if as_json:
            print_json(_shown(tenant))


@app.command("delete")
def delete(
    tenant_id: TenantId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete a customer with everything it has: jobs, files, consents, keys, bill. It cannot be undone."""
    from services.usecases.delete_tenant import delete_tenant

    with stores(state_dir, as_json=as_json) as services:
        tenant = services.tenants.get(tenant_id)
        confirm(f"Delete {tenant.name!r} ({tenant_id}) and everything it has?", yes=yes)
        deleted = delete_tenant(tenant_id, stores=services)
        if as_json:
            print_json(values_of(deleted))
        else:
            typer.echo(f"Deleted {deleted.num_jobs} jobs and {deleted.num_objects} objects.")


def _shown(tenant: object) -> dict[str, object]:
    values = values_of(tenant)
    del values["webhook_secret"]
    return values
