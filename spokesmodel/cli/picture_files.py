"""Where pictures go, known before any work, so that none of them takes the place of an input or a stranger's file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from services.domain.errors import InvalidRequest
from spokesmodel.cli.film_files import refuse_inputs
from spokesmodel.cli.folders import made_folder, require_folder
from spokesmodel.cli.output import print_json

if TYPE_CHECKING:
    from spokesmodel.client import Client

_SIDE_ROLES: Final = {"mask": ".png", "sheet": ".jpg"}


def beside_picture(out: Path, *, main: str, more: Iterable[str] = ()) -> dict[str, Path]:
    """The paths by role of a picture at ``out``: ``me.png``, ``me-mask.png``, ``me-sheet.jpg``.

    Args:
        main: The role of the picture itself.
        more: Further roles, such as ``crop_4x5``.

    Raises:
        InvalidRequest: ``out_not_png``, ``out_not_writable``.
    """
    if out.is_dir():
        out = out / f"{main}.png"
    if out.suffix.lower() != ".png":
        raise InvalidRequest(
            f"--out is a .png file, which keeps every pixel; {out.name!r} is not.", code="out_not_png", param="out"
        )
    require_folder(out.parent)
    sides = {role: out.with_name(f"{out.stem}-{role}{ending}") for role, ending in _SIDE_ROLES.items()}
    others = {role: out.with_name(f"{out.stem}-{role}.png") for role in more}
    return {main: out, **sides, **others}


def refuse_taken(targets: Mapping[str, Path], inputs: Mapping[str, str | Path | None], *, proof: Iterable[str]) -> None:
    """Make sure that no target is an input, and that only what an earlier call made is replaced.

    Args:
        proof: Roles whose files are all there after an earlier call; with one of them missing, a file of our name is a
            stranger's.

    Raises:
        InvalidRequest: ``out_is_input``, ``out_exists``.
    """
    refuse_inputs(targets, inputs)
    if all(targets[role].exists() for role in proof):
        return
    for role, target in targets.items():
        if target.exists():
            raise InvalidRequest(
                f"{target} exists, and the {role} would replace it. Move it, or choose another name for --out.",
                code="out_exists",
                param="out",
            )


def save_pictures(client: Client, job: Mapping[str, Any], place: Callable[[str, str], Path]) -> dict[str, Path]:
    """Download what the job made, and tell on standard error what was replaced; paths by role.

    Args:
        place: Where a file goes, by its role and its name's ending; its folder is made.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    files: dict[str, Path] = {}
    replaced: list[str] = []
    for output in job["result"]["outputs"]:
        role = output["name"]
        path = place(role, PurePosixPath(output["url"].partition("?")[0]).suffix)
        if path.exists():
            replaced.append(str(path))
        made_folder(path.parent)
        client.download(output["url"], path)
        files[role] = path
    if replaced:
        sys.stderr.write(f"note: replaced {', '.join(replaced)}\n")
    return files


def save_beside(client: Client, job: Mapping[str, Any], targets: Mapping[str, Path], *, main: str) -> dict[str, Path]:
    """``save_pictures`` to ``targets``; what they do not name goes beside the ``main`` one, named for its role."""
    picture = targets[main]
    return save_pictures(
        client, job, lambda role, ending: targets.get(role) or picture.with_name(f"{picture.stem}-{role}{ending}")
    )


def tell(job: Mapping[str, Any], files: Mapping[str, Path], *, as_json: bool) -> None:
    """The files, one a line, and what is to be known about them; for programs one JSON document."""
    import typer

    facts = job["result"]["facts"]
    if as_json:
        paths = {role: str(path) for role, path in files.items()}
        print_json({"job_id": job["id"], "files": paths, "facts": facts})
        return
    for role, path in files.items():
        typer.echo(f"{path}: {role}")
    for warning in facts.get("warnings", ()):
        typer.echo(f"note: {warning}", err=True)
