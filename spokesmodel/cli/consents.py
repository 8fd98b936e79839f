"""``spokesmodel consents``: what persons allowed, recorded before their face is used."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from services.domain.consent import Likeness
from spokesmodel.cli.backend import StateDir, backend, kept
from spokesmodel.cli.output import AsJson, print_json, print_table, told_errors
from spokesmodel.cli.texts import existing_file

app: Final = typer.Typer(
    name="consents",
    help="Record, list and revoke what persons allowed. Kept in a state folder: --state-dir.",
    no_args_is_help=True,
)


@app.command("add")
def add(
    subject: Annotated[str, typer.Option(help="Who, in your own words or numbers.")],
    purpose: Annotated[str, typer.Option(help="For what, as the person was told.")],
    evidence: Annotated[
        Path, typer.Option(metavar="FILE", help="A signed form (picture or PDF), a recording or a film; at most 25 MB.")
    ],
    likeness: Annotated[list[Likeness] | None, typer.Option(help="What may be used; repeatable. [face]")] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="First day (UTC) on which it no longer holds.")
    ] = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Record a consent; prints its id, for `spokesmodel video --consent`."""
    with told_errors(as_json):
        existing_file(evidence, param="evidence")
        with backend(kept(state_dir, "Consents"), with_engines=False) as client:
            body: dict[str, Any] = {
                "subject": subject,
                "purpose": purpose,
                "likenesses": [one.value for one in likeness or [Likeness.FACE]],
                "evidence_upload_id": client.upload(evidence, fallback_type="application/pdf"),
            }
            if until is not None:
                body["expires_at"] = until.replace(tzinfo=UTC).isoformat()
            made = client.post("/v1/consents", body)
        if as_json:
            print_json(made)
        else:
            typer.echo(made["id"])


@app.command("list")
def list_consents(
    subject: Annotated[str | None, typer.Option(help="Only this person's.")] = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """List the consents, newest first."""
    with told_errors(as_json), backend(kept(state_dir, "Consents"), with_engines=False) as client:
        found = list(client.items("/v1/consents", **({} if subject is None else {"subject": subject})))
        if as_json:
            print_json(found)
            return
        rows = [
            (one["id"], one["subject"], "+".join(one["likenesses"]), one["expires_at"] or "-", one["revoked_at"] or "-")
            for one in found
        ]
        print_table(("id", "subject", "covers", "expires", "revoked"), rows)


@app.command("revoke")
def revoke(
    consent_id: Annotated[str, typer.Argument(metavar="ID")], state_dir: StateDir = None, as_json: AsJson = False
) -> None:
    """Revoke a consent: it permits nothing from now on, and what waits or runs under it fails."""
    with told_errors(as_json), backend(kept(state_dir, "Consents"), with_engines=False) as client:
        revoked = client.post(f"/v1/consents/{consent_id}/revoke")
        if as_json:
            print_json(revoked)
        else:
            typer.echo(f"{revoked['id']} revoked at {revoked['revoked_at']}")
