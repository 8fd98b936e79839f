"""Emptying the write-ahead logs of this machine's databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from services.domain.errors import Unavailable

_BUSY_TIMEOUT_S: Final = 30.0


class SqliteErasure:
    """``services.ports.erasure.Erasure`` for every database of a state folder.

    A deleted row is overwritten in its file (``secure_delete``), but the write-ahead log still tells what it said
    until the log is moved into the file and cut to nothing.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def finish(self) -> None:
        for path in sorted(self._state_dir.glob("*.sqlite")):
            try:
                with closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)) as connection:
                    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error as error:
                raise Unavailable(f"The store {path.name} is not usable: {error}.", code="store_unavailable") from error
            if is_busy:
                raise Unavailable(f"The store {path.name} is in use.", code="store_unavailable")
