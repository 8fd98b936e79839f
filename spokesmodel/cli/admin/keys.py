"""``spokesmodel admin keys``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spokesmodel.cli.admin.stores import StateDir, TenantId, moment, stores, values_of
from spokesmodel.cli.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from services.bootstrap import Services
    from services.usecases.manage_keys import IssuedKey

app = typer.Typer(help="API keys of tenants.", no_args_is_help=True)

KeyId = Annotated[str, typer.Argument(help="The key's id.")]


@app.command("list")
def list_keys(tenant_id: TenantId, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Show a tenant's keys, those out of service too."""
    with stores(state_dir, as_json=as_json) as services:
        services.tenants.get(tenant_id)
        found = services.tenants.list_keys(tenant_id)
        if as_json:
            print_json({"keys": [_shown(key) for key in found]})
            return
        rows = [
            (
                one.id,
                one.name,
                " ".join(sorted(one.scopes)),
                moment(one.created_at),
                moment(one.expires_at),
                moment(one.revoked_at),
                moment(one.last_used_at),
            )
            for one in found
        ]
        print_table(("id", "name", "scopes", "issued", "expires", "revoked", "last used"), rows)


@app.command("issue")
def issue(
    tenant_id: TenantId,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    scopes: Annotated[str, typer.Option(help="Of read, create and manage, separated by commas.")] = "",
    days: Annotated[float | None, typer.Option(min=0.01, help="Until it expires. [default: never]")] = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key, which is shown once."""
    from services.domain.errors import InvalidRequest
    from services.domain.scope import ALL_SCOPES, Scope
    from services.usecases.manage_keys import issue_key

    with stores(state_dir, as_json=as_json) as services:
        try:
            chosen = frozenset(Scope(scope.strip()) for scope in scopes.split(",")) if scopes else ALL_SCOPES
        except ValueError as error:
            raise InvalidRequest(f"{error}; known: {', '.join(Scope)}.", code="out_of_range", param="scopes") from error
        expires_at = None if days is None else services.clock.now() + timedelta(days=days)
        _tell(issue_key(tenant_id, name=name, scopes=chosen, expires_at=expires_at, **_kept(services)), as_json)


@app.command("rotate")
def rotate(
    tenant_id: TenantId,
    key_id: KeyId,
    grace_h: Annotated[float, typer.Option(min=0.0, help="Hours that the old key still serves.")] = 24.0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key in place of another, which still serves for a while."""
    from services.usecases.manage_keys import rotate_key
    from services.usecases.record_act import OPERATOR

    with stores(state_dir, as_json=as_json) as services:
        issued = rotate_key(key_id, tenant_id=tenant_id, actor=OPERATOR, grace_s=grace_h * 3600, **_kept(services))
        _tell(issued, as_json)


@app.command("revoke")
def revoke(tenant_id: TenantId, key_id: KeyId, state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Refuse a key from now on."""
    from services.usecases.manage_keys import revoke_key
    from services.usecases.record_act import OPERATOR

    with stores(state_dir, as_json=as_json) as services:
        revoke_key(key_id, tenant_id=tenant_id, actor=OPERATOR, **_kept(services))
        if as_json:
            print_json(_shown(services.tenants.get_key(tenant_id, key_id)))


def _kept(services: Services) -> dict[str, Any]:
    return {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}


def _tell(issued: IssuedKey, as_json: bool) -> None:
    if as_json:
        print_json({**_shown(issued.key), "api_key": issued.secret})
    else:
        typer.echo(f"{issued.key.id}\nAPI key, shown this once: {issued.secret}")


def _shown(key: object) -> dict[str, object]:
    values = values_of(key)
    del values["sha256"]
    values["scopes"] = sorted(values["scopes"])
    return values
