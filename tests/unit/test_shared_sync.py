"""Group commit: what is acknowledged is on the disk, and writers at once share the syncs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services.adapters.local.sqlite import Database
from services.domain.errors import Unavailable

MIGRATIONS = ("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);",)


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "notes.sqlite", MIGRATIONS)
    yield made
    made.close()


def insert(database: Database, text: str = "x") -> None:
    database.execute("INSERT INTO notes (text) VALUES (?)", (text,))


def test_commit_is_acknowledged_only_after_the_log_was_synced(database, monkeypatch):
    synced = []
    real = os.fsync

    def spy(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink(), os.fstat(descriptor).st_size))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    for number in range(1, 4):
        insert(database)
        assert len(synced) == number
        path, size = synced[-1]
        assert path == database.path.with_name("notes.sqlite-wal")
        assert size == path.stat().st_size


def test_writers_at_once_share_syncs_and_none_returns_before_a_sync_that_began_after_its_commit(database, monkeypatch):
    began, lock = [], threading.Lock()
    first_is_inside, go_on = threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        with lock:
            began.append(database.one("SELECT count(*) AS n FROM notes")["n"])
        if len(began) == 1:
            first_is_inside.set()
            go_on.wait(10)

    monkeypatch.setattr(os, "fsync", slow)
    with ThreadPoolExecutor(9) as pool:
        calls = [pool.submit(insert, database)]
        assert first_is_inside.wait(10)
        calls += [pool.submit(insert, database) for _ in range(8)]
        while database.one("SELECT count(*) AS n FROM notes")["n"] < 9:
            pass
        assert not any(call.done() for call in calls)
        go_on.set()
        for call in calls:
            call.result()
    assert began[0] == 1
    assert 9 in began[1:]  # a sync that began after the last commit
    assert len(began) < 9  # and fewer syncs than commits


def test_sync_that_fails_is_told_to_everyone_who_waits_for_it(database, monkeypatch):
    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)

    def attempt(_: int) -> str:
        try:
            insert(database)
        except Unavailable as error:
            return error.code
        return "acknowledged"

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(attempt, range(8))) == {"store_unavailable"}
    monkeypatch.undo()
    insert(database)


def test_commit_that_need_not_be_durable_waits_for_no_sync(database, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "fsync", calls.append)
    database.execute("INSERT INTO notes (text) VALUES ('x')", durable=False)
    assert calls == []
    assert len(database.all("SELECT * FROM notes")) == 1


def test_transaction_that_is_undone_needs_no_sync(database, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "fsync", calls.append)

    def write_and_fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO notes (text) VALUES ('x')")
            raise ValueError

    with pytest.raises(ValueError):
        write_and_fail()
    assert calls == []
    assert database.all("SELECT * FROM notes") == []
