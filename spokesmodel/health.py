"""What is installed, which model files are here, which engines can be used and why not."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from models import weights
from services.domain.engine import EngineKind
from services.domain.errors import SpokesmodelError
from services.domain.video import VoiceSettings
from services.settings import Settings

_PACKAGES: Final = (
    "spokesmodel",
    "ai-edge-litert",
    "av",
    "aws-lambda-powertools",
    "c2pa-python",
    "numpy",
    "opencv-python-headless",
    "pydantic",
    "pymatting",
    "starlette",
    "uvicorn",
)
_EXTRAS: Final = ("espeakng-loader", "piper-tts", "pocketsphinx", "onnxruntime", "torch", "diffusers")
_PYTHONS: Final = ((3, 11), (3, 14))
_LOW_DISK_BYTES: Final = 2 * 1024**3


class Status(StrEnum):
    OK = "ok"
    OPTIONAL = "optional"  # not there, and only some things need it
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at. ``remedy`` says what to do about a problem."""

    part: str
    name: str
    status: Status
    detail: str
    remedy: str | None = None


def examine(*, state_dir: Path, deep: bool = False) -> list[Finding]:
    """Everything that decides whether this installation works; ``deep`` reads every model file's checksum."""
    return [*_machine(state_dir), *_packages(), *_weights(deep=deep), *_media(), *_voices(), *_engines()]


def _machine(state_dir: Path) -> list[Finding]:
    low, high = _PYTHONS
    findings = [
        _finding(
            "machine",
            "python",
            low <= sys.version_info[:2] < high,
            platform.python_version(),
            f"Use Python {low[0]}.{low[1]} to {high[0]}.{high[1] - 1}.",
        ),
        _finding("machine", "processors", True, str(os.cpu_count() or 1)),
    ]
    existing = next(folder for folder in (state_dir.absolute(), *state_dir.absolute().parents) if folder.exists())
    free_bytes = shutil.disk_usage(existing).free
    findings.append(
        _finding(
            "machine",
            "disk",
            free_bytes >= _LOW_DISK_BYTES,
            f"{free_bytes / 1024**3:.1f} GiB free at {existing}",
            "Free some space, or choose another folder by SPOKESMODEL_STATE_DIR.",
        )
    )
    writable = os.access(existing, os.W_OK)
    findings.append(
        _finding("machine", "state folder", writable, str(state_dir), f"Make {existing} writable, or choose another.")
    )
    return findings


def _packages() -> list[Finding]:
    found: list[Finding] = []
    for name in (*_PACKAGES, *_EXTRAS):
        try:
            found.append(_finding("packages", name, True, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            optional = name in _EXTRAS
            status = Status.OPTIONAL if optional else Status.PROBLEM
            remedy = None if optional else "Run `make setup`."
            found.append(Finding(part="packages", name=name, status=status, detail="not installed", remedy=remedy))
    return found


def _weights(*, deep: bool) -> list[Finding]:
    found: list[Finding] = []
    for file in weights.manifest().values():
        if "embedded" not in file.groups:
            continue
        present, detail = weights.is_present(file.name), f"{file.size_bytes} bytes, {file.licence}: {file.purpose}"
        if present and deep:
            with weights.path(file.name).open("rb") as opened:
                present = hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256
            detail = f"{detail}, checksum {'right' if present else 'WRONG'}"
        elif not present:
            detail = f"missing ({file.purpose})"
        remedy = "Remove the file if it is there, then run `python -m models.weights`."
        found.append(_finding("weights", file.name, present, detail, remedy))
    return found


def _media() -> list[Finding]:
    def check() -> str:
        import av

        for name in ("libx264", "aac"):
            av.codec.Codec(name, "w")
        return f"h264 (libx264) and aac, FFmpeg by PyAV {av.__version__}"

    return [_tried("media", "video encoder", check, "Reinstall the package av.")]


def _voices() -> list[Finding]:
    def speak(voice_id: str, text: str) -> Callable[[], str]:
        def check() -> str:
            from models.speech import synthesizer

            speech = synthesizer(voice_id).synthesize(text, VoiceSettings(voice_id=voice_id))
            return f"{voice_id} said {len(speech.timeline.words)} words in {speech.duration_s:.1f} s of sound"

        return check

    remedy = "Install the extra `speech` (GPL-3 engines) and run `python -m models.weights`."
    return [
        _tried("engines", "speech: espeak", speak("en-us", "Hello there."), remedy),
        _tried("engines", "speech: piper", speak("piper-joe", "Hello there."), remedy),
    ]


def _engines() -> list[Finding]:
    def load(kind: EngineKind) -> Callable[[], str]:
        def check() -> str:
            from models.serving.tasks import task_for

            task_for(kind, Settings()).load()
            return "usable"

        return check

    remedy = "See the missing parts above."
    return [_tried("engines", kind.value, load(kind), remedy) for kind in EngineKind]


def _tried(part: str, name: str, check: Callable[[], str], remedy: str) -> Finding:
    try:
        return _finding(part, name, True, check())
    except SpokesmodelError as error:
        return _finding(part, name, False, f"{error.detail} [{error.code}]", remedy)
    except Exception as error:  # a broken package may raise anything, and this is where it is told
        return _finding(part, name, False, f"{type(error).__name__}: {error}", remedy)


def _finding(part: str, name: str, good: bool, detail: str, remedy: str | None = None) -> Finding:
    return Finding(
        part=part,
        name=name,
        status=Status.OK if good else Status.PROBLEM,
        detail=detail,
        remedy=None if good else remedy,
    )
