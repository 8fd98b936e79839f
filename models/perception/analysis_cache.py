"""Remembers analyses by the content of the file, in memory and in a folder that processes share.

The folder holds people's pictures: only its owner may enter it. What is in it can always be computed again, so a
damaged or foreign file counts as absent, and the oldest files go when the folder outgrows its limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from models.perception.analysis_record import packed, unpacked
from models.perception.body import BodyAnalysis
from models.perception.portrait import PortraitAnalysis

VERSION: Final = 7
"""Of the analyses: to be raised whenever the same picture would be analysed differently."""

_NUM_IN_MEMORY: Final = 4
_STALE_S: Final = 3600.0  # a half-written file of a process that died

Analysis = TypeVar("Analysis", PortraitAnalysis, BodyAnalysis)


class AnalysisCache:
    """Analyses by content; safe between processes, not between threads.

    Args:
        folder: Where analyses are kept, made with mode 0700; None keeps them in memory alone.
        max_bytes: Of the folder's files together; the least lately used go first.
    """

    def __init__(self, folder: Path | None, *, max_bytes: int = 512 * 1024 * 1024) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._recent: OrderedDict[str, PortraitAnalysis | BodyAnalysis] = OrderedDict()

    def portrait(self, digest: str, key: str, analyse: Callable[[], PortraitAnalysis]) -> PortraitAnalysis:
        """The portrait analysis of the file whose SHA-256 is ``digest``; ``analyse`` computes it if unknown.

        Args:
            digest: ``digest_of`` the file.
            key: What else the result depends on, such as the face's index and the size limit.
            analyse: Called at most once; what it raises is passed on and not remembered.
        """
        return self._get(PortraitAnalysis, digest, key, analyse)

    def body(self, digest: str, key: str, analyse: Callable[[], BodyAnalysis]) -> BodyAnalysis:
        """``portrait`` for the analysis of a whole person."""
        return self._get(BodyAnalysis, digest, key, analyse)

    def _get(self, kind: type[Analysis], digest: str, key: str, analyse: Callable[[], Analysis]) -> Analysis:
        name = hashlib.sha256(f"{VERSION}\0{kind.__name__}\0{digest}\0{key}".encode()).hexdigest()
        known = self._recent.get(name)
        if not isinstance(known, kind):
            known = self._load(kind, name)
            if known is None:
                known = analyse()
                self._save(name, known)
        self._recent[name] = known
        self._recent.move_to_end(name)
        while len(self._recent) > _NUM_IN_MEMORY:
            self._recent.popitem(last=False)
        return known

    def _load(self, kind: type[Analysis], name: str) -> Analysis | None:
        if self._folder is None:
            return None
        path = self._folder / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                analysis = unpacked(kind, dict(arrays))
            os.utime(path)
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
            return None
        return analysis

    def _save(self, name: str, analysis: PortraitAnalysis | BodyAnalysis) -> None:
        """Keep it; a full or read-only disk only costs the time of the next analysis."""
        if self._folder is None:
            return
        part: Path | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            handle, part_name = tempfile.mkstemp(suffix=".part", dir=self._folder)
            part = Path(part_name)
            with os.fdopen(handle, "wb") as file:
                arrays: dict[str, Any] = dict(packed(analysis))
                np.savez_compressed(file, allow_pickle=False, **arrays)
            part.replace(self._folder / f"{name}.npz")
            self._tidy(self._folder)
        except OSError:
            if part is not None:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)

    def _tidy(self, folder: Path) -> None:
        files: list[tuple[float, int, Path]] = []
        for path in folder.iterdir():
            # Another process may have removed it since.
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if path.suffix == ".npz":
                    files.append((status.st_mtime, status.st_size, path))
                elif path.suffix == ".part" and time.time() - status.st_mtime > _STALE_S:
                    path.unlink(missing_ok=True)
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._max_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
