"""``spokesmodel image``: tools used on a picture, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from services.domain.image_steps import CropShape, LightFrom
from spokesmodel.cli.backend import StateDir, backend, run_job
from spokesmodel.cli.choices import (
    ConsentOption,
    FaceOption,
    LabelOption,
    SyntheticOption,
    background_of,
    check_background,
    model_of,
)
from spokesmodel.cli.output import AsJson, told_errors
from spokesmodel.cli.picture_files import beside_picture, refuse_taken, save_beside, tell

if TYPE_CHECKING:
    from spokesmodel.client import Client

_STEPS_HELP: Final = (
    "What is done, in this order; repeatable. background:studio, background:blur, background:#rrggbb, "
    "background:FILE; relight, relight:left,strength=0.7,color=#ffe0c0; retouch, "
    "retouch:skin=0.6,blemishes=1,teeth=0.5,eyes=0.5; upscale:2, upscale:4; cutout; crop:4:5,1:1,head."
)
_TOOLS: Final = ("background", "relight", "retouch", "upscale", "cutout", "crop")


def image(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A picture, or a model of `spokesmodel models`.")],
    step: Annotated[list[str], typer.Option("--step", metavar="TOOL[:VALUES]", help=_STEPS_HELP)],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE.png", help="Where the picture goes; crops, mask and sheet go beside."
        ),
    ],
    label: LabelOption = True,
    consent: ConsentOption = None,
    synthetic: SyntheticOption = False,
    face: FaceOption = "largest",
    seed: Annotated[int, typer.Option(help="Fixes what is generated.")] = 0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Change a picture: background, light, skin, size, crops. Ctrl-C cancels it."""
    with told_errors(as_json):
        steps = [step_of(text) for text in step]
        plate = next((one["background"] for one in steps if one["tool"] == "background"), None)
        if plate is not None:
            check_background(plate, param="step")
        crops = [CropShape(shape).role for one in steps for shape in one.get("shapes", ())]
        targets = beside_picture(out, main="image", more=crops)
        refuse_taken(targets, {"file": file, "step": plate}, proof=("image", "sheet"))
        with backend(state_dir, engines=(EngineKind.IMAGE,)) as client:
            body: dict[str, Any] = {
                "image": model_of(client, file, None, consent=consent, synthetic=synthetic, face=face, param="file"),
                "steps": [_sent(client, one) for one in steps],
                "disclosure": {"visible_label": label},
                "seed": seed,
            }
            job = run_job(client, "/v1/images", body, as_json=as_json)
            files = save_beside(client, job, targets, main="image")
        tell(job, files, as_json=as_json)


def step_of(text: str) -> dict[str, Any]:
    """A step of the request; a background as it was written, under ``background``.

    Raises:
        InvalidRequest: ``unknown_step``, ``out_of_range``.
    """
    tool, _, values = text.partition(":")
    words = [word for word in values.split(",") if word]
    match tool:
        case "background":
            return {"tool": tool, "background": values or "studio"}
        case "relight":
            named = [word for word in words if "=" in word]
            generative = "generative" in words
            lights = [word for word in words if "=" not in word and word != "generative"]
            if len(lights) > 1 or any(light not in list(LightFrom) for light in lights):
                raise _odd(text, f"the light comes from one of {', '.join(LightFrom)}")
            found: dict[str, Any] = _numbers(text, named, ("strength", "retouch"), texts=("color",))
            if generative:
                found["generative"] = True
            return {"tool": tool, **({"light": lights[0]} if lights else {}), **found}
        case "retouch":
            return {"tool": tool, **_numbers(text, words, ("skin", "blemishes", "teeth", "eyes"))}
        case "upscale":
            if values not in ("", "2", "4"):
                raise _odd(text, "the factor is 2 or 4")
            return {"tool": tool, "factor": int(values or 2)}
        case "cutout" if not values:
            return {"tool": tool}
        case "crop":
            if not words or any(word not in list(CropShape) for word in words):
                raise _odd(text, f"shapes are {', '.join(CropShape)}")
            return {"tool": tool, "shapes": words}
    raise InvalidRequest(
        f"--step {text}: there is no such tool; tools are {', '.join(_TOOLS)}.", code="unknown_step", param="step"
    )


def _sent(client: Client, step: Mapping[str, Any]) -> dict[str, Any]:
    if step["tool"] != "background":
        return dict(step)
    return {"tool": "background", **background_of(client, step["background"])}


def _numbers(
    text: str, words: Sequence[str], names: Sequence[str], *, texts: Sequence[str] = ()
) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name in texts:
            found[name] = value
            continue
        try:
            found[name] = float(value)
        except ValueError as error:
            raise _odd(text, f"write NAME=NUMBER with {', '.join((*names, *texts))}") from error
        if name not in names:
            raise _odd(text, f"it takes {', '.join((*names, *texts))}")
    return found


def _odd(text: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"--step {text}: {why}.", code="out_of_range", param="step")
