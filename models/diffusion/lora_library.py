"""LoRAs by name and version in a folder: each version is written once, checked against its base, and never changed."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_files import read_lora
from models.diffusion.lora_fit import check_fits
from services.domain.errors import InvalidRequest, NotFound

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_FILE: Final = "lora.safetensors"
_MANIFEST: Final = "manifest.json"
_MAX_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLora:
    """One version of a LoRA.

    Attributes:
        path: Its safetensors file.
        digest: sha256 of the file, hex; what a warm worker tells versions apart by.
        family: Of the base that it was trained for.
        trigger_words: What a prompt has to say for it to show.
    """

    name: str
    version: int
    path: Path
    digest: str
    family: Family
    trigger_words: tuple[str, ...] = ()
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"


class Loras(Protocol):
    """Where a prompt's LoRAs are found."""

    def find(self, name: str) -> StoredLora:
        """The version ``name@3``, or the newest of ``name``.

        Raises:
            NotFound: ``lora_not_found``, naming those that there are.
        """
        ...


class LoraFiles:
    """LoRAs that were handed over as files, by the names that a prompt may use."""

    def __init__(self, stored: Mapping[str, StoredLora]) -> None:
        self._stored = dict(stored)

    def find(self, name: str) -> StoredLora:
        if name not in self._stored:
            raise _not_found(name, sorted(self._stored))
        return self._stored[name]


class LoraLibrary:
    """A folder with one folder a name and, in it, one a version. Several processes may add at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(
        self,
        path: Path,
        name: str,
        *,
        base: Checkpoint | Family,
        trigger_words: tuple[str, ...] = (),
        note: str = "",
    ) -> StoredLora:
        """Take a file in as the next version of ``name``; the newest version's own file again is that version.

        Raises:
            InvalidRequest: ``lora_name``: not of small letters, digits, ``-`` and ``_``, at most 64.
            ContentRejected: ``not_a_lora``, ``lora_wrong_base``.
        """
        if not _NAME.fullmatch(name):
            raise InvalidRequest(
                f"{name!r} is no name for a LoRA: small letters, digits, - and _, at most 64.",
                code="lora_name",
                param="name",
            )
        check_fits(read_lora(path), base, name=name)
        family = base.family if isinstance(base, Checkpoint) else base
        home = self._folder / name
        home.mkdir(parents=True, exist_ok=True)
        digest = _digest(path)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._folder) as made:
            content = Path(made) / "version"
            content.mkdir()
            shutil.copyfile(path, content / _FILE)
            for _ in range(_MAX_ATTEMPTS):
                newest = max(self.versions(name), key=lambda one: one.version, default=None)
                if newest is not None and newest.digest == digest:
                    return newest
                version = 1 if newest is None else newest.version + 1
                stored = StoredLora(
                    name=name,
                    version=version,
                    path=home / str(version) / _FILE,
                    digest=digest,
                    family=family,
                    trigger_words=trigger_words,
                    note=note,
                )
                described = {key: value for key, value in asdict(stored).items() if key != "path"}
                (content / _MANIFEST).write_text(json.dumps(described, indent=2), encoding="utf-8")
                try:
                    content.rename(home / str(version))  # refused when another has just written it
                except OSError:
                    continue
                return stored
        raise InvalidRequest(f"No version of {name} could be written.", code="lora_name", param="name")

    def versions(self, name: str) -> list[StoredLora]:
        """All versions of a name, the oldest first; none where it is not known."""
        found = [_read(path) for path in (self._folder / name).glob(f"*/{_MANIFEST}")] if _NAME.fullmatch(name) else []
        return sorted(found, key=lambda one: one.version)

    def newest(self) -> list[StoredLora]:
        """The newest version of each name, by name."""
        names = sorted(one.name for one in self._folder.iterdir()) if self._folder.is_dir() else []
        return [found[-1] for name in names if (found := self.versions(name))]

    def find(self, name: str) -> StoredLora:
        plain, _, version = name.partition("@")
        found = self.versions(plain)
        chosen = [one for one in found if not version or str(one.version) == version]
        if chosen:
            return chosen[-1]
        raise _not_found(name, [one.label for one in found] or [one.name for one in self.newest()])


def _read(path: Path) -> StoredLora:
    row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return StoredLora(
        **row
        | {
            "path": path.with_name(_FILE),
            "family": Family(row["family"]),
            "trigger_words": tuple(row["trigger_words"]),
        }
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_found(name: str, known: list[str]) -> NotFound:
    return NotFound(
        f"No LoRA is called {name!r}; there are {', '.join(known[:20]) or 'none'}.",
        code="lora_not_found",
        param="prompt",
    )
