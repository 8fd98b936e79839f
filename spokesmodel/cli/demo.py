"""``spokesmodel demo``: a built-in brief through the real job flow, and a page that shows what came out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spokesmodel.cli.backend import StateDir, backend, run_job
from spokesmodel.cli.output import AsJson, print_json, told_errors

if TYPE_CHECKING:
    from spokesmodel.client import Client

_BRIEF: Final = Path(__file__).parent.parent / "demo_brief.json"
_HEIGHT_PX: Final = 1280
_NAMES: Final = {
    "video": "demo.mp4",
    "poster": "demo.jpg",
    "subtitles_srt": "demo.srt",
    "subtitles_vtt": "demo.vtt",
    "script": "demo.txt",
    "sheet": "demo-wig.jpg",
}
_WIG_SHOWN_ON: Final = "avatar-ellen"  # her hair is the product: a picture whose licence lets everybody show it
_MODEL: Final = "vera"


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the files go.")] = Path("out"),
    presenter: Annotated[str, typer.Option(help="A built-in avatar.")] = "avatar-tom",
    voice: Annotated[str, typer.Option(help="A voice of `spokesmodel voices`.")] = "piper-joe",
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Make the demo: demo.mp4, demo.srt, demo.vtt, demo.jpg, demo.txt, demo-wig.jpg and index.html."""
    with told_errors(as_json):
        from importlib.metadata import version

        from spokesmodel.cli.film_files import refuse_inputs, save_outputs
        from spokesmodel.cli.folders import require_folder
        from spokesmodel.cli.video import presenter_of
        from spokesmodel.demo_page import page, render_speed

        started_s = time.monotonic()
        targets = {role: out / name for role, name in _NAMES.items()}
        index = out / "index.html"
        refuse_inputs({**targets, "page": index}, {"presenter": presenter})
        require_folder(out)
        brief: dict[str, Any] = json.loads(_BRIEF.read_text(encoding="utf-8"))
        with backend(state_dir) as client:
            body = {
                "presenter": presenter_of(client, presenter),
                "speech": {"brief": brief, "voice": {"voice_id": voice}},
                "frame": {"aspect": "9:16", "fps": 25, "height_px": _HEIGHT_PX},
                "subtitles": "file",
                "seed": 1,
            }
            preview = _wig_preview(client)  # made meanwhile, by an engine of its own
            job = run_job(client, "/v1/videos", body, as_json=as_json)
            preview = run_job(client, lambda _: preview, {}, as_json=as_json)
            files = {**save_outputs(client, job, targets), **save_outputs(client, preview, targets)}
        facts = job["result"]["facts"]
        index.write_text(
            page(
                brief=brief,
                facts=facts,
                preview_facts=preview["result"]["facts"],
                files=files,
                presenter=presenter,
                voice=voice,
                version=version("spokesmodel"),
            ),
            encoding="utf-8",
        )
        files["page"] = index
        wall_s = time.monotonic() - started_s
        if as_json:
            print_json({"files": {role: str(path) for role, path in files.items()}, "facts": facts, "wall_s": wall_s})
            return
        typer.echo(
            f"{facts['duration_s']:.1f} s of film in {wall_s:.1f} s; "
            f"{render_speed(facts):.0f} frames per CPU-second (speech, face, render, encode)"
        )
        for role, path in files.items():
            typer.echo(f"  {role:<14} {path}")


def _wig_preview(client: Client) -> dict[str, Any]:
    """The job that puts a wig on a built-in presenter."""
    from models import weights
    from spokesmodel.cli.choices import model_of

    photo = client.upload(weights.path(_WIG_SHOWN_ON), fallback_type="image/jpeg")
    model = model_of(client, _MODEL, None, consent=None, synthetic=False, face="largest", param="portrait")
    wig = {"upload_id": photo, "synthetic": True}
    return client.post("/v1/wig-previews", {"model": model, "wig": wig, "colours": ["auburn"]})
