"""What deleted rows leave behind on the disk of one machine."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from services.adapters.local import erasure as module
from services.adapters.local.erasure import SqliteErasure
from services.adapters.local.sqlite import Database
from services.domain.errors import Unavailable

SECRET = b"Quokka lives here"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """A row that was written, changed and deleted; nothing was moved out of the log."""
    made = Database(tmp_path / "things.sqlite", ("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)",))
    for number in range(50):
        made.execute("INSERT INTO things VALUES (?, ?)", (number, SECRET.decode() * (1 + 100 * (number % 5))))
    made.execute("UPDATE things SET text = 'short' WHERE id < 10")
    made.execute("DELETE FROM things")
    made.execute("INSERT INTO things VALUES (100, 'kept')")
    return made


def places(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if SECRET in path.read_bytes()}


def test_deleted_rows_are_nowhere_afterwards_and_others_stay(tmp_path: Path, database: Database) -> None:
    assert places(tmp_path) == {"things.sqlite-wal"}, "the log still tells"
    SqliteErasure(tmp_path).finish()
    assert places(tmp_path) == set()
    [row] = database.all("SELECT text FROM things")
    assert row["text"] == "kept"


def test_rows_that_had_reached_the_file_are_overwritten_there(tmp_path: Path) -> None:
    database = Database(tmp_path / "things.sqlite", ("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)",))
    for number in range(50):
        database.execute("INSERT INTO things VALUES (?, ?)", (number, SECRET.decode() * 500))
    erasure = SqliteErasure(tmp_path)
    erasure.finish()
    assert places(tmp_path) == {"things.sqlite"}
    database.execute("DELETE FROM things")
    erasure.finish()
    assert places(tmp_path) == set()


def test_log_that_somebody_reads_is_told_and_can_be_tried_again(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BUSY_TIMEOUT_S", 0.05)
    reader = sqlite3.connect(tmp_path / "things.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM things").fetchall()
    database.execute("INSERT INTO things VALUES (101, 'later')")
    with pytest.raises(Unavailable) as caught:
        SqliteErasure(tmp_path).finish()
    assert (caught.value.code, caught.value.retryable) == ("store_unavailable", True)
    reader.execute("COMMIT")
    SqliteErasure(tmp_path).finish()
    assert places(tmp_path) == set()
    reader.close()


def test_folder_without_databases_is_no_error(tmp_path: Path) -> None:
    SqliteErasure(tmp_path).finish()
