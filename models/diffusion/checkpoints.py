"""Which diffusion checkpoints there are, by name: what they are for, where they come from, where they lie.

No ordinary package carries one for production. An operator lists them in a TOML file, named by the setting
``checkpoints_file``, and fetches them once with ``python -m models.diffusion.checkpoints FILE NAME``; nothing is
downloaded at request time. Built in is ``drawn-64`` alone, for verification: who does not ask for it gets none.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from models import weights
from services.domain.errors import InvalidRequest, Unavailable

_HUB_SOURCE: Final = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")
_FOLDER_SOURCE: Final = "folder:"
# Never a pickle from outside: .bin, .ckpt and .pt files are not fetched and not opened.
_FETCHED: Final = ("*.safetensors", "*.json", "*.txt", "*.model")


class Family(StrEnum):
    """What kind of network it is; the pipeline's class in ``model_index.json`` begins with one of the given words."""

    SD15 = "sd15"
    SDXL = "sdxl"
    FLUX = "flux"
    SD3 = "sd3"
    DRAWN64 = "drawn64"

    @property
    def pipelines(self) -> str:
        return {
            "sd15": "StableDiffusion",
            "sdxl": "StableDiffusionXL",
            "flux": "Flux",
            "sd3": "StableDiffusion3",
            "drawn64": "Drawn64",
        }[self.value]

    @property
    def side_px(self) -> int:
        """The picture size it was trained at."""
        return {"sd15": 512, "drawn64": 64}.get(self.value, 1024)

    @property
    def component(self) -> str:
        """What the pipeline calls its denoising network."""
        return "transformer" if self in (Family.FLUX, Family.SD3) else "unet"

    @property
    def width(self) -> int:
        """How wide its text states are where a UNet attends to them (a transformer's own states: its hidden width).

        It is what LoRAs of different families disagree about, and what ``lora_fit`` compares.
        """
        return {"sd15": 768, "sdxl": 2048, "flux": 3072, "sd3": 1536, "drawn64": 384}[self.value]


class Purpose(StrEnum):
    """What a checkpoint may be used for: a customer's pictures, or only to see that everything around it works."""

    PRODUCTION = "production"
    VERIFICATION = "verification"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraFile:
    """A LoRA in the checkpoint's folder; ``scale`` 0 is none of it, 1 all."""

    file: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IpAdapterFiles:
    """An IP-Adapter in the checkpoint's folder, and the folder of its image encoder."""

    file: str
    image_encoder: str
    scale: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One row of the operator's file.

    Attributes:
        purpose: ``verification`` is never used for a customer's request unless the operator allows it.
        source: ``hf:owner/name@REVISION`` (the commit's 40 hex digits) or ``folder:/where/it/lies``, in diffusers'
            layout (``model_index.json`` beside the parts' folders).
        relight: An IC-Light file (offsets to the UNet of an SD1.5 checkpoint) in the folder.
        strength: How much of the noise is put in and taken out again where a picture is repainted, 0 to 1.
        max_change: Mean LAB distance of the repainted area from what was there, above which the repaint is dropped.
    """

    name: str
    family: Family
    source: str
    licence: str
    commercial_use: bool
    purpose: Purpose = Purpose.PRODUCTION
    prompt: str = "a photo, natural light, fine detail"
    negative_prompt: str = "drawing, blur, deformed, text"
    num_inference_steps: int = 30
    guidance_scale: float = 5.0
    strength: float = 0.35
    max_change: float = 22.0
    loras: tuple[LoraFile, ...] = field(default=())
    ip_adapter: IpAdapterFiles | None = None
    relight: str | None = None

    def folder(self) -> Path:
        """Where its files are.

        Raises:
            Unavailable: ``weights_missing``: not fetched, or not of its family.
        """
        if self.source.startswith(_FOLDER_SOURCE):
            where = Path(self.source.removeprefix(_FOLDER_SOURCE))
        else:
            where = weights.directory() / "checkpoints" / self.name
        index = where / "model_index.json"
        if not index.is_file():
            raise Unavailable(
                f"The checkpoint {self.name} is not here; fetch it with `python -m models.diffusion.checkpoints`.",
                code="weights_missing",
                retryable=False,
            )
        found = str(json.loads(index.read_text(encoding="utf-8")).get("_class_name"))
        if family_of(found) is not self.family:
            raise Unavailable(
                f"The checkpoint {self.name} is listed as {self.family}, but its pipeline is {found}.",
                code="weights_missing",
                retryable=False,
            )
        return where

    def file(self, name: str) -> Path:
        """A file of its folder.

        Raises:
            Unavailable: ``weights_missing``: it is not there, is no safetensors file or lies outside.
        """
        folder = self.folder().resolve()
        where = (folder / name).resolve()
        if where.suffix != ".safetensors" or not where.is_relative_to(folder) or not where.is_file():
            raise Unavailable(
                f"The checkpoint {self.name} names {name}, which is no safetensors file in its folder.",
                code="weights_missing",
                retryable=False,
            )
        return where


BUILT_IN: Final = (
    Checkpoint(
        name="drawn-64",
        family=Family.DRAWN64,
        source=f"{_FOLDER_SOURCE}{Path(__file__).parent / 'drawn64' / 'weights'}",
        licence="Apache-2.0",
        commercial_use=True,
        purpose=Purpose.VERIFICATION,
        prompt="",
        negative_prompt="",
        num_inference_steps=20,
        guidance_scale=2.5,
        strength=0.8,
    ),
)


def family_of(pipeline_class: str) -> Family | None:
    """The family whose pipelines are called so; None for one that is not known."""
    matching = [family for family in Family if pipeline_class.startswith(family.pipelines)]
    return max(matching, key=lambda family: len(family.pipelines), default=None)


def read_checkpoints(path: Path) -> dict[str, Checkpoint]:
    """The rows of the file, by name.

    Raises:
        InvalidRequest: ``bad_checkpoints_file``: not TOML, a wrong or unknown field, a source without its revision, or
            a name twice.
    """
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
        unknown = set(rows) - {"checkpoint"}
        if unknown:
            raise ValueError(f"{sorted(unknown)[0]!r} is no part of it")
        for row in rows.get("checkpoint", []):
            _refuse_unknown(row)
        found = TypeAdapter(list[Checkpoint]).validate_python(rows.get("checkpoint", []))
        for one in found:
            if not (one.source.startswith(_FOLDER_SOURCE) or _HUB_SOURCE.fullmatch(one.source)):
                raise ValueError(f"{one.name}: source must be hf:OWNER/NAME@40-HEX-REVISION or folder:PATH")
        names = [one.name for one in (*BUILT_IN, *found)]
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            raise ValueError(f"{doubled!r} stands twice")
    except (OSError, ValueError, ValidationError) as error:
        detail = _first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise InvalidRequest(f"The file of checkpoints {path}: {detail}.", code="bad_checkpoints_file") from error
    return {one.name: one for one in found}


def known_checkpoints(checkpoints_file: str, *, allow_verification: bool = False) -> dict[str, Checkpoint]:
    """The operator's checkpoints by name, and where ``allow_verification`` those for verification, built in or listed.

    Raises:
        InvalidRequest: ``bad_checkpoints_file``.
    """
    listed = read_checkpoints(Path(checkpoints_file)).values() if checkpoints_file else ()
    return {
        one.name: one for one in (*BUILT_IN, *listed) if allow_verification or one.purpose is not Purpose.VERIFICATION
    }


def find_checkpoint(name: str, checkpoints_file: str, *, allow_verification: bool = False) -> Checkpoint:
    """The checkpoint called ``name`` in the operator's file, or built in.

    Args:
        allow_verification: Whether one whose purpose is verification may be had.

    Raises:
        Unavailable: ``checkpoint_not_configured``.
        InvalidRequest: ``bad_checkpoints_file``.
    """
    known = known_checkpoints(checkpoints_file, allow_verification=allow_verification)
    if name not in known:
        raise Unavailable(
            f"No checkpoint is called {name!r} here; known: {', '.join(sorted(known)) or 'none'}.",
            code="checkpoint_not_configured",
            retryable=False,
        )
    return known[name]


def fetch(checkpoint: Checkpoint) -> Path:
    """Bring a hub checkpoint's files here, at its revision; safetensors and settings only.

    Raises:
        Unavailable: ``weights_missing``: the hub has no such thing, or it is not of its family.
    """
    found = _HUB_SOURCE.fullmatch(checkpoint.source)
    if found:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            snapshot_download(
                found["repository"],
                revision=found["revision"],
                allow_patterns=list(_FETCHED),
                local_dir=weights.directory() / "checkpoints" / checkpoint.name,
            )
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
            raise Unavailable(
                f"The checkpoint {checkpoint.name} could not be fetched ({type(error).__name__}).",
                code="weights_missing",
            ) from error
    return checkpoint.folder()


def _refuse_unknown(row: dict[str, object]) -> None:
    unknown = set(row) - set(Checkpoint.__dataclass_fields__)
    if unknown:
        raise ValueError(f"{row.get('name', 'a checkpoint')}: {sorted(unknown)[0]!r} is no field of a checkpoint")


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def main(arguments: list[str]) -> int:
    """``FILE NAME...``: fetch these checkpoints of the file; all of them without a name."""
    if not arguments:
        sys.stderr.write("usage: python -m models.diffusion.checkpoints FILE [NAME ...]\n")
        return 2
    file, *names = arguments
    known = read_checkpoints(Path(file))
    for name in names or sorted(known):
        sys.stdout.write(f"{name}: {fetch(find_checkpoint(name, file, allow_verification=True))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
