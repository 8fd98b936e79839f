"""A SQLite file that several threads and processes use at once, and that survives ``kill -9``."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from services.domain.errors import Unavailable

_BUSY_TIMEOUT_S: Final = 30.0


class _Connection(sqlite3.Connection):
    """A connection that a ``WeakSet`` can hold, so that those of ended threads vanish."""


class _SharedSync:
    """Puts the write-ahead log on the disk, once for all commits that wait for it (group commit).

    What ``synchronous=FULL`` does inside each commit, under the write lock, is done here after it: a commit counts
    as made when a sync that began after it has ended. Sixteen writers so share a few syncs and do not queue for theirs.
    Syncing through a second descriptor is safe: SQLite keeps its file locks on the database and its ``-shm``, never on
    the log, and the log exists while a connection is open.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._changed = threading.Condition()
        self._num_committed = 0
        self._num_synced = 0
        self._is_syncing = False

    def sync(self) -> None:
        """Return when everything committed before this call is on the disk.

        Raises:
            Unavailable: ``store_unavailable``.
        """
        with self._changed:
            self._num_committed += 1
            mine = self._num_committed
            while self._num_synced < mine:
                if self._is_syncing:
                    self._changed.wait()
                    continue
                covered, self._is_syncing = self._num_committed, True
                self._changed.release()
                try:
                    self._sync_log()
                finally:
                    self._changed.acquire()
                    self._is_syncing = False
                    self._changed.notify_all()
                self._num_synced = max(self._num_synced, covered)

    def _sync_log(self) -> None:
        try:
            descriptor = os.open(self._log, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Unavailable(
                f"The store {self._log.stem} is not usable: {error}.", code="store_unavailable"
            ) from error


class Database:
    """One SQLite file: a connection for each thread, WAL, every commit on the disk before it returns.

    Args:
        path: The file; its folder is made when absent.
        migrations: SQL scripts; number ``n`` brings a file from version ``n`` to ``n + 1``. Append only. The version
            is the file's ``user_version``, so each file belongs to one list.

    Raises:
        Unavailable: ``store_unavailable`` here and in every method, when the file cannot be used; ``store_too_new``
            when a newer version of the product wrote it.
    """

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: WeakSet[_Connection] = WeakSet()
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._log = _SharedSync(path.with_name(f"{path.name}-wal"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"Cannot make the folder {path.parent}: {error}.", code="store_unavailable") from error
        self._migrate(migrations)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, for single ``SELECT`` statements; rows are indexed by column name."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the file's one write lock: committed at the end, undone on any exception.

        ``sqlite3.IntegrityError`` passes through, for the caller to name what exists already.

        Args:
            durable: False returns before the commit is on the disk: it survives this process, not a power cut.
        """
        with self._writing(durable=durable) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _writing(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """This thread's connection for what writes, while no other thread's does."""
        try:
            # SQLite lets whoever waits for its lock sleep and look again; the threads here wake each other.
            with self._turn:
                yield self._connection()
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error
        if durable:
            self._log.sync()

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, if there is one."""
        with self.read() as connection:
            row: sqlite3.Row | None = connection.execute(sql, parameters).fetchone()
            return row

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Every row of a query."""
        with self.read() as connection:
            return connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, durable: bool = True) -> int:
        """One writing statement, which is a transaction by itself; the number of rows it changed."""
        with self._writing(durable=durable) as connection:
            return connection.execute(sql, parameters).rowcount

    def close(self) -> None:
        """Close the connections of all threads; a later use opens new ones."""
        with self._lock:
            for connection in list(self._connections):
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        # A connection must not cross a fork: the child's file locks are not the parent's.
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            return held[1]
        connection = sqlite3.connect(
            self.path,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,  # only close() reaches over threads
            factory=_Connection,
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")  # commits are synced by write(), several at once
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # deleted rows are overwritten in the file
        with self._lock:
            self._connections.add(connection)
        self._local.held = (os.getpid(), connection)
        return connection

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.read() as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version == len(migrations):
            return
        with self.write() as connection:
            version = int(
                connection.execute("PRAGMA user_version").fetchone()[0]
            )  # another process may have been first
            if version > len(migrations):
                raise Unavailable(
                    f"{self.path} has version {version}; this program knows {len(migrations)}.",
                    code="store_too_new",
                    retryable=False,
                )
            for script in migrations[version:]:
                for statement in _statements(script):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(migrations)}")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; ``executescript`` would commit the transaction it runs in."""
    *parts, rest = script.split(";")
    pending = ""
    for part in parts:
        pending += part + ";"
        if sqlite3.complete_statement(pending):  # not inside a string, comment or trigger
            yield pending
            pending = ""
    if (pending + rest).strip():
        yield pending + rest


def _unavailable(path: Path, error: sqlite3.Error) -> Unavailable:
    return Unavailable(f"The store {path.name} is not usable: {error}.", code="store_unavailable")
