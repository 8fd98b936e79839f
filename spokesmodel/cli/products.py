"""``spokesmodel wigs`` and ``spokesmodel garments``: the catalogue of what a shop sells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.engine import EngineKind
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.product import GarmentCategory, ProductKind, ProductView
from spokesmodel.cli.backend import StateDir, backend, kept, run_job
from spokesmodel.cli.choices import pins_of, product_id_of
from spokesmodel.cli.output import AsJson, print_json, print_table, told_errors
from spokesmodel.cli.texts import existing_file

if TYPE_CHECKING:
    from spokesmodel.client import Client

_NAME_WIDTH: Final = 40

ProductArgument = Annotated[str, typer.Argument(metavar="ID", help="The product's id, or its SKU.")]
Sku = Annotated[str, typer.Option(help="Your own name of it.")]
Name = Annotated[str, typer.Option(help="Its name for people.")]
Photo = Annotated[Path, typer.Option("--photo", metavar="FILE", help="A photo of it from the front.")]
Left = Annotated[Path | None, typer.Option("--left", metavar="FILE", help="A photo of the wearer's left side.")]
Right = Annotated[Path | None, typer.Option("--right", metavar="FILE", help="A photo of the wearer's right side.")]
Back = Annotated[Path | None, typer.Option("--back", metavar="FILE", help="A photo from the back.")]
Pins = Annotated[
    list[str] | None,
    typer.Option(
        "--pin",
        metavar="[VIEW.]NAME=X,Y",
        help="A point set by hand, as fractions of the photo's width and height; repeatable. Without a view: front.",
    ),
]
Consent = Annotated[str | None, typer.Option("--consent", metavar="ID", help="The consent of whoever the photos show.")]
Synthetic = Annotated[
    bool,
    typer.Option("--synthetic", help="Declare that the photos show no real person; kept in the audit log."),
]
Table = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.csv",
        help="Columns sku, name, photos.front.file (left, right, back), synthetic or consent_id; garments: category.",
    ),
]
Defaults = Annotated[
    Path | None, typer.Option(metavar="FILE.json", help="Part of a request that lies under every row.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only check every row.")]
OnlySku = Annotated[str | None, typer.Option("--sku", help="Only those of exactly this SKU.")]


def wigs_app() -> typer.Typer:
    """The commands of ``spokesmodel wigs``."""
    app = _app(ProductKind.WIG)

    @app.command("add")
    def add(
        sku: Sku,
        photo: Photo,
        name: Name = "",
        left: Left = None,
        right: Right = None,
        back: Back = None,
        pin: Pins = None,
        consent: Consent = None,
        synthetic: Synthetic = False,
        state_dir: StateDir = None,
        as_json: AsJson = False,
    ) -> None:
        """Take a wig into the catalogue; prints its id."""
        with told_errors(as_json):
            photos = dict(zip(ProductView, (photo, left, right, back), strict=True))
            body = _body(sku, name, consent=consent, synthetic=synthetic)
            _add(ProductKind.WIG, body, photos, pin, state_dir, as_json=as_json)

    return app


def garments_app() -> typer.Typer:
    """The commands of ``spokesmodel garments``."""
    app = _app(ProductKind.GARMENT)

    @app.command("add")
    def add(
        sku: Sku,
        photo: Photo,
        name: Name = "",
        category: Annotated[
            GarmentCategory | None, typer.Option(help="What it is. [default: recognised]", show_default=False)
        ] = None,
        left: Left = None,
        right: Right = None,
        back: Back = None,
        pin: Pins = None,
        consent: Consent = None,
        synthetic: Synthetic = False,
        state_dir: StateDir = None,
        as_json: AsJson = False,
    ) -> None:
        """Take a garment into the catalogue; prints its id."""
        with told_errors(as_json):
            photos = dict(zip(ProductView, (photo, left, right, back), strict=True))
            body = _body(sku, name, consent=consent, synthetic=synthetic)
            body["category"] = category.value if category else None
            _add(ProductKind.GARMENT, body, photos, pin, state_dir, as_json=as_json)

    return app


def _app(kind: ProductKind) -> typer.Typer:
    app = typer.Typer(
        name=f"{kind}s",
        help=f"The {kind}s of your catalogue. Kept in a state folder: --state-dir.",
        no_args_is_help=True,
    )
    commands: dict[str, Callable[..., None]] = {
        "list": _lister(kind),
        "show": _shower(kind),
        "remove": _remover(kind),
        "import": _importer(kind),
    }
    for name, command in commands.items():
        app.command(name)(command)
    return app


def _body(sku: str, name: str, *, consent: str | None, synthetic: bool) -> dict[str, Any]:
    return {"sku": sku, "name": name, "consent_id": consent, "synthetic": synthetic}


def _add(
    kind: ProductKind,
    body: dict[str, Any],
    photos: dict[ProductView, Path | None],
    pins: list[str] | None,
    state_dir: Path | None,
    *,
    as_json: bool,
) -> None:
    given = {view: existing_file(path, param=view) for view, path in photos.items() if path is not None}
    by_view = _pins_by_view(pins, given)
    with backend(kept(state_dir, "Catalogues"), engines=(EngineKind.PRODUCT,)) as client:
        body["photos"] = {
            view.value: {
                "upload_id": client.upload(path, fallback_type="image/jpeg"),
                "pins": pins_of(by_view.get(view)),
            }
            for view, path in given.items()
        }
        product = _taken_in(client, kind, body, as_json=as_json)
    if as_json:
        print_json(product)
        return
    typer.echo(product["id"])
    for reason in product["reasons"]:
        typer.echo(f"note: {_of_view(reason)}{reason['detail']} ({reason['code']})", err=True)


def _taken_in(client: Client, kind: ProductKind, body: dict[str, Any], *, as_json: bool) -> dict[str, Any]:
    """The product once it is ready.

    Raises:
        ContentRejected: Why it was rejected, with every reason.
    """
    made: list[str] = []

    def create(values: dict[str, Any]) -> dict[str, Any]:
        product = client.post(f"/v1/{kind}s", values)
        made.append(product["id"])
        return client.get(f"/v1/jobs/{product['job_id']}")

    try:
        run_job(client, create, body, as_json=as_json)
    except ContentRejected as error:
        reasons = [one for one in client.get(f"/v1/{kind}s/{made[0]}")["reasons"] if one["blocking"]] if made else []
        if len(reasons) < 2:
            raise
        detail = " ".join(f"{_of_view(one)}{one['detail']}" for one in reasons)
        raise ContentRejected(detail, code=error.code, param=error.param) from error
    return client.get(f"/v1/{kind}s/{made[0]}")


def _pins_by_view(pins: list[str] | None, given: dict[ProductView, Path]) -> dict[ProductView, list[str]]:
    found: dict[ProductView, list[str]] = {}
    for pin in pins or ():
        view, dot, rest = pin.partition("=")[0].partition(".")
        of = ProductView(view) if dot and view in list(ProductView) else ProductView.FRONT
        if of not in given:
            raise InvalidRequest(f"--pin {pin}: there is no {of} photo.", code="not_used", param="pin")
        found.setdefault(of, []).append(pin.partition(".")[2] if dot and rest and view == of else pin)
    return found


def _of_view(reason: dict[str, Any]) -> str:
    return f"{reason['view']}: " if reason["view"] else ""


def _lister(kind: ProductKind) -> Callable[..., None]:
    def list_products(sku: OnlySku = None, state_dir: StateDir = None, as_json: AsJson = False) -> None:
        with told_errors(as_json), backend(kept(state_dir, "Catalogues"), with_engines=False) as client:
            found = list(client.items(f"/v1/{kind}s", **({} if sku is None else {"sku": sku})))
            if as_json:
                print_json(found)
                return
            rows = [
                (one["id"], one["sku"], one["state"], one["category"] or "-", one["name"][:_NAME_WIDTH])
                for one in found
            ]
            print_table(("id", "sku", "state", "category", "name"), rows)

    list_products.__doc__ = f"List the {kind}s, newest first."
    return list_products


def _shower(kind: ProductKind) -> Callable[..., None]:
    def show(product: ProductArgument, state_dir: StateDir = None, as_json: AsJson = False) -> None:
        with told_errors(as_json), backend(kept(state_dir, "Catalogues"), with_engines=False) as client:
            found = client.get(f"/v1/{kind}s/{product_id_of(client, product, kind)}")
            if as_json:
                print_json(found)
                return
            typer.echo(f"{found['id']}  {found['sku']}  {found['name']}".rstrip())
            category = f", {found['category']}" if found["category"] else ""
            typer.echo(f"  {found['state']}{category}, {', '.join(one['view'] for one in found['photos'])}")
            for reason in found["reasons"]:
                weight = "rejected" if reason["blocking"] else "note"
                typer.echo(f"  {weight}: {_of_view(reason)}{reason['detail']} ({reason['code']})")

    show.__doc__ = f"Tell what is known of a {kind}, and why it was rejected."
    return show


def _remover(kind: ProductKind) -> Callable[..., None]:
    def remove(product: ProductArgument, state_dir: StateDir = None, as_json: AsJson = False) -> None:
        with told_errors(as_json), backend(kept(state_dir, "Catalogues"), with_engines=False) as client:
            product_id = product_id_of(client, product, kind)
            client.delete(f"/v1/{kind}s/{product_id}")
            if as_json:
                print_json({"removed": product_id})
            else:
                typer.echo(f"{product_id} removed")

    remove.__doc__ = f"Remove a {kind} with its photos."
    return remove


def _importer(kind: ProductKind) -> Callable[..., None]:
    def import_table(
        file: Table,
        defaults: Defaults = None,
        dry_run: DryRun = False,
        state_dir: StateDir = None,
        as_json: AsJson = False,
    ) -> None:
        from spokesmodel.cli.batch.commands import Kind, run

        with told_errors(as_json):
            kept(state_dir, "Catalogues")
        run(file, kind=Kind(kind), defaults=defaults, dry_run=dry_run, state_dir=state_dir, as_json=as_json)

    import_table.__doc__ = f"Take the {kind}s of a table into the catalogue; a batch, as of `spokesmodel batch run`."
    return import_table
