"""The commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from spokesmodel.cli import (
    admin,
    batch,
    catalogue,
    consents,
    dataset,
    demo,
    doctor,
    image,
    products,
    script,
    serve,
    train,
    tryon,
    verify,
    video,
    wig,
    wig_live,
)
from spokesmodel.cli.output import EXIT_CODES_HELP

app = typer.Typer(
    name="spokesmodel",
    help="A marketing brief becomes a video in which a digital human speaks; a product's photo becomes a picture of it "
    f"worn by a model.\n\n{EXIT_CODES_HELP}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("video")(video.video)
app.command("wig")(wig.wig)
app.command("wig-live")(wig_live.wig_live)
app.command("tryon")(tryon.tryon)
app.command("image")(image.image)
app.add_typer(batch.app, name="batch")
app.add_typer(products.wigs_app())
app.add_typer(products.garments_app())
app.command("models")(catalogue.models)
app.command("script")(script.script)
app.command("voices")(catalogue.voices)
app.command("avatars")(catalogue.avatars)
app.add_typer(train.app, name="train")
app.command("serve")(serve.serve)
app.command("verify")(verify.verify)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.add_typer(consents.app, name="consents")
app.add_typer(dataset.app, name="dataset")
app.add_typer(admin.app, name="admin")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"spokesmodel {version('spokesmodel')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""
