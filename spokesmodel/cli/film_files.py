"""Where a film and the files beside it go, known before any work, so that none of them takes the place of an input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.domain.errors import InvalidRequest
from spokesmodel.cli.folders import made_folder

if TYPE_CHECKING:
    from spokesmodel.client import Client


def beside(out: Path) -> dict[str, Path]:
    """The paths by role of a film at ``out``: ``me.mp4``, ``me-poster.jpg``, ``me.srt``, ``me.vtt``, ``me-script.txt``.

    Subtitles have the film's own name because players look for them there. A picture ``me.jpg`` and a text ``me.txt``
    are what people make ``me.mp4`` of, and so poster and script have other names.
    """
    return {
        "video": out,
        "poster": out.with_name(f"{out.stem}-poster.jpg"),
        "subtitles_srt": out.with_suffix(".srt"),
        "subtitles_vtt": out.with_suffix(".vtt"),
        "script": out.with_name(f"{out.stem}-script.txt"),
    }


def refuse_inputs(targets: Mapping[str, Path], inputs: Mapping[str, str | Path | None]) -> None:
    """Make sure that no target is a file that an option names, under whatever name.

    Args:
        inputs: Option values by option; those that name no file are texts, avatars and the like.

    Raises:
        InvalidRequest: ``out_is_input``.
    """
    for option, value in inputs.items():
        for role, target in targets.items():
            if value is not None and _is_same(Path(value), target):
                raise InvalidRequest(
                    f"{target} (the {role}) would replace {value}, the file that --{option} names. "
                    "Choose another name or folder for --out.",
                    code="out_is_input",
                    param="out",
                )


def refuse_foreign(targets: Mapping[str, Path], roles: Iterable[str]) -> None:
    """Make sure that a new film replaces no files; where a film is replaced, its side files are, too.

    ``--out`` names the film, as with other tools that write where they are told; the names of the rest are ours, and a
    file of that name without a film is not from an earlier call.

    Raises:
        InvalidRequest: ``out_exists``.
    """
    if targets["video"].exists():
        return
    for role in roles:
        if targets[role].exists():
            raise InvalidRequest(
                f"{targets[role]} exists, and the {role} would replace it. Move it, or choose another name for --out.",
                code="out_exists",
                param="out",
            )


def save_outputs(client: Client, job: dict[str, Any], targets: Mapping[str, Path]) -> dict[str, Path]:
    """Download what the job made, and tell on standard error what was replaced; paths by role.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    files: dict[str, Path] = {}
    replaced: list[Path] = []
    for output in job["result"]["outputs"]:
        path = targets.get(output["name"])
        if path is None:
            continue  # a newer server's; it stays there
        if path.exists():
            replaced.append(path)
        made_folder(path.parent)
        client.download(output["url"], path)
        files[output["name"]] = path
    if replaced:
        sys.stderr.write(f"note: replaced {', '.join(str(path) for path in replaced)}\n")
    return files


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is not there, or is a text
        return False
