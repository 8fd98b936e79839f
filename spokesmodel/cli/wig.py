"""``spokesmodel wig``: a wig on a head, from several sides, in several colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from services.domain.product import ProductKind
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
from spokesmodel.cli.folders import require_folder
from spokesmodel.cli.output import AsJson, told_errors
from spokesmodel.cli.picture_files import refuse_taken, save_pictures, tell

_FIXED: Final = {"front": ".png", "front_mask": ".png", "turntable": ".mp4", "sheet": ".jpg"}


def wig(
    wig: Annotated[str, typer.Option("--wig", metavar="PHOTO", help="A photo of the wig, or a wig's id or SKU.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Where front.png, front_mask.png, sheet.jpg and the others go."
        ),
    ],
    portrait: Annotated[
        str | None, typer.Option("--portrait", metavar="PICTURE", help="A photo of a person, or a model or avatar.")
    ] = None,
    like: Likes = None,
    yaw: Annotated[
        list[str] | None,
        typer.Option(metavar="DEGREES", help="Views of the head turned so far; repeatable, or -20,0,20. [0]"),
    ] = None,
    colour: Annotated[
        list[str] | None,
        typer.Option(metavar="COLOUR", help="Other colours, by name (auburn) or as #rrggbb; repeatable."),
    ] = None,
    turntable: Annotated[bool, typer.Option("--turntable", help="Make the looping video, too.")] = False,
    pin: PinsOption = None,
    background: BackgroundOption = "original",
    label: LabelOption = True,
    consent: ConsentOption = None,
    synthetic: SyntheticOption = False,
    wig_consent: Annotated[
        str | None, typer.Option(metavar="ID", help="The consent of the person whose head the wig's photo shows.")
    ] = None,
    wig_synthetic: Annotated[
        bool, typer.Option("--wig-synthetic", help="Declare that the wig's photo shows no real person.")
    ] = False,
    face: FaceOption = "largest",
    refine: Annotated[bool, typer.Option("--refine", help="Repaint seams with the configured checkpoint.")] = False,
    seed: Annotated[int, typer.Option(help="Fixes the choice among models, and what is generated.")] = 0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Put a wig on a head. Ctrl-C cancels it."""
    with told_errors(as_json):
        check_background(background)
        require_folder(out)
        targets = {role: out / f"{role}{ending}" for role, ending in _FIXED.items()}
        inputs = {"portrait": portrait, "wig": wig, "background": background}
        refuse_taken({**targets, **_already(out)}, inputs, proof=("front", "front_mask", "sheet"))
        body: dict[str, Any] = {
            "yaw_deg": views_of(yaw),
            "colours": [name for one in colour or () for name in one.split(",")],
            "turntable": turntable,
            "disclosure": {"visible_label": label},
            "refine": refine,
            "seed": seed,
        }
        with backend(state_dir, engines=(EngineKind.WIG_PREVIEW,)) as client:
            body["model"] = model_of(
                client, portrait, like, consent=consent, synthetic=synthetic, face=face, param="portrait"
            )
            body["wig"] = product_of(
                client, wig, ProductKind.WIG, pins=pin, consent=wig_consent, synthetic=wig_synthetic
            )
            body["background"] = background_of(client, background)
            job = run_job(client, "/v1/wig-previews", body, as_json=as_json)
            files = save_pictures(client, job, lambda role, ending: out / f"{role}{ending}")
        tell(job, files, as_json=as_json)


def views_of(values: Sequence[str] | None) -> list[float]:
    """Degrees, from repeated and comma-separated values.

    Raises:
        InvalidRequest: ``out_of_range``.
    """
    found = []
    for value in (one for values_ in values or ("0",) for one in values_.split(",")):
        try:
            found.append(float(value))
        except ValueError:
            found.append(math.nan)
        if not math.isfinite(found[-1]):
            raise InvalidRequest(f"--yaw is a number of degrees; {value!r} is none.", code="out_of_range", param="yaw")
    return found


def _already(out: Path) -> dict[str, Path]:
    """What lies in the folder under names of views and colours."""
    return {path.stem: path for pattern in ("view_*.png", "colour_*.png") for path in out.glob(pattern)}
