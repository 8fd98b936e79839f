"""``spokesmodel tryon``: a garment on a body."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from services.domain.engine import EngineKind
from services.domain.product import GarmentCategory, ProductKind
from spokesmodel.cli.backend import StateDir, backend, run_job
from spokesmodel.cli.choices import (
    BackgroundOption,
    ConsentOption,
    FaceOption,
    LabelOption,
    Likes,
    PinsOption,
    SyntheticOption,
    background_of,
    check_background,
    model_of,
    product_of,
)
from spokesmodel.cli.output import AsJson, told_errors
from spokesmodel.cli.picture_files import beside_picture, refuse_taken, save_beside, tell


def tryon(
    garment: Annotated[
        str, typer.Option("--garment", metavar="PHOTO", help="A photo of the garment, or a garment's id or SKU.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.png",
            help="Where the picture goes; FILE-mask.png and FILE-sheet.jpg go beside.",
        ),
    ],
    person: Annotated[
        str | None, typer.Option("--person", metavar="PICTURE", help="A photo of a person, or a model.")
    ] = None,
    like: Likes = None,
    category: Annotated[
        GarmentCategory | None, typer.Option(help="What the photo shows. [default: recognised]", show_default=False)
    ] = None,
    pin: PinsOption = None,
    background: BackgroundOption = "original",
    label: LabelOption = True,
    consent: ConsentOption = None,
    synthetic: SyntheticOption = False,
    garment_consent: Annotated[
        str | None, typer.Option(metavar="ID", help="The consent of whoever the garment's photo shows.")
    ] = None,
    garment_synthetic: Annotated[
        bool,
        typer.Option("--garment-synthetic", help="Declare that the garment's photo shows no real person."),
    ] = False,
    face: FaceOption = "largest",
    refine: Annotated[bool, typer.Option("--refine", help="Repaint seams with the configured checkpoint.")] = False,
    seed: Annotated[int, typer.Option(help="Fixes the choice among models, and what is generated.")] = 0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Put a garment on a body. Ctrl-C cancels it."""
    with told_errors(as_json):
        check_background(background)
        targets = beside_picture(out, main="picture")
        inputs = {"person": person, "garment": garment, "background": background}
        refuse_taken(targets, inputs, proof=("picture", "mask", "sheet"))
        body: dict[str, Any] = {
            "category": category.value if category else None,
            "disclosure": {"visible_label": label},
            "refine": refine,
            "seed": seed,
        }
        with backend(state_dir, engines=(EngineKind.GARMENT_PREVIEW,)) as client:
            body["model"] = model_of(
                client, person, like, consent=consent, synthetic=synthetic, face=face, param="person"
            )
            body["garment"] = product_of(
                client, garment, ProductKind.GARMENT, pins=pin, consent=garment_consent, synthetic=garment_synthetic
            )
            body["background"] = background_of(client, background)
            job = run_job(client, "/v1/garment-previews", body, as_json=as_json)
            files = save_beside(client, job, targets, main="picture")
        tell(job, files, as_json=as_json)
