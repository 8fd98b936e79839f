"""``spokesmodel verify``: what a picture or video says of its origin, and whether it may be believed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.errors import InvalidRequest
from spokesmodel.cli.output import NOT_VERIFIED, AsJson, print_json, told_errors
from spokesmodel.cli.texts import existing_file

if TYPE_CHECKING:
    from models.provenance.inspection import CredentialReport, ProvenanceReport

_MAX_ANCHORS_BYTES: Final = 4 << 20
_STATES: Final = {
    "trusted": "intact; the signer is on your trust list",
    "untrusted": "intact; nobody on a trust list vouches for the signer",
    "tampered": "TAMPERED: bytes were changed, removed or appended after signing",
    "invalid": "INVALID: the signature or its certificate is no good, or cannot be read any more",
    "missing": "none",
}


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A picture or video, whoever made it.")],
    trust: Annotated[
        Path | None,
        typer.Option("--trust", metavar="FILE.pem", help="Certificates of authorities whose signers you believe."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell whether a file says that AI made it and is as its signer left it: then status 0, else 1.

    Status 2 says that there is no such file, 3 that it is no picture or video that can be read.
    """
    with told_errors(as_json):
        existing_file(file, param="file")
        from models.provenance.inspection import inspect_file

        report = inspect_file(file, trust_anchors=_anchors(trust))
        if as_json:
            print_json(_document(file, report))
        else:
            _print(file, report)
        if not report.is_verified:
            raise typer.Exit(NOT_VERIFIED)


def _anchors(trust: Path | None) -> str:
    if trust is None:
        return ""
    existing_file(trust, param="trust")
    pem = trust.read_bytes()[:_MAX_ANCHORS_BYTES]
    from cryptography import x509

    try:
        x509.load_pem_x509_certificates(pem)
        return pem.decode("ascii")
    except ValueError as error:
        raise InvalidRequest(
            f"{trust} holds no PEM certificates.", code="malformed_certificate", param="trust"
        ) from error


def _document(file: Path, report: ProvenanceReport) -> dict[str, Any]:
    from dataclasses import asdict

    from models.provenance.inspection import VISIBLE_LABEL_NOTE

    return {
        "file": str(file),
        "verified": report.is_verified,
        "marked_as_ai": report.is_marked,
        "media_type": report.media_type,
        "content_credentials": asdict(report.credentials),
        "metadata_label": asdict(report.label),
        "visible_label": VISIBLE_LABEL_NOTE,
    }


def _print(file: Path, report: ProvenanceReport) -> None:
    from models.provenance.inspection import VISIBLE_LABEL_NOTE

    verdict = "verified: marked as AI-made, and unchanged since it was signed"
    if not report.is_verified:
        verdict = "NOT verified: " + _why_not(report)
    typer.echo(f"{file}: {verdict}")
    typer.echo(f"  Content Credentials  {_STATES[report.credentials.state]}")
    _print_credentials(report.credentials)
    typer.echo(f"  digital source type  {_last_part(report.label.source_type)}")
    aigc = report.label.aigc
    told = "none" if aigc is None else f"Label {aigc.get('Label')}, producer {aigc.get('ContentProducer') or '-'}"
    if aigc is not None and aigc.get("ProduceID"):
        told += f", number {aigc['ProduceID']}"
    typer.echo(f"  AIGC label           {told}")
    typer.echo(f"  {VISIBLE_LABEL_NOTE}")


def _print_credentials(credentials: CredentialReport) -> None:
    for problem in credentials.problems:
        typer.echo(f"    broken: {problem.part} ({problem.code})")
    if credentials.generator:
        typer.echo(f"    made by {credentials.generator}, certificate of {credentials.issuer or 'nobody named'}")
    for source_type in credentials.source_types:
        typer.echo(f"    says: {_last_part(source_type)}")
    if credentials.created_at:
        typer.echo(f"    made at {credentials.created_at} by the maker's own clock")
    if credentials.timestamped_at:
        typer.echo(f"    signed at {credentials.timestamped_at} by a time authority")


def _why_not(report: ProvenanceReport) -> str:
    if report.credentials.state == "missing":
        return "no Content Credentials" + (", only labels that anybody can write" if report.is_marked else "")
    if not report.credentials.is_intact:
        return f"its Content Credentials are {report.credentials.state}"
    return "nothing in it says that AI made it"


def _last_part(source_type: str | None) -> str:
    return source_type.rsplit("/", 1)[-1] if source_type else "none"
