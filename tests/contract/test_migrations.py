"""State and messages of released versions are read by this one; what is newer than this one is refused by name."""

from __future__ import annotations

import importlib
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from services.adapters.local.clock import SystemClock
from services.adapters.local.jobs import SqliteJobStore
from services.adapters.local.sqlite import Database
from services.bootstrap import Services, bootstrap
from services.domain import engine, storyboard, wire
from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest, Unavailable
from services.domain.job import JobState, JobStep
from services.domain.video import SpokenText, VideoRequest
from services.settings import Settings

RELEASED = Path(__file__).parent / "released"
FIRST = RELEASED / "issue_01"
TENANT = "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ"
NOON = datetime(2026, 11, 1, 9, 0, 0, 123456, tzinfo=UTC)
STORES = sorted(path.stem for path in FIRST.glob("*.sql"))
STORE_FILES = [(path.parent.name, path.stem) for path in sorted(RELEASED.glob("*/*.sql"))]


def job_id(number: int) -> str:
    return f"job_01JZZZZZZZZZZZZZZZZZZZZZZ{number}"


def restore(release: Path, folder: Path) -> None:
    """The release's files, in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for script in release.glob("*.sql"):
        connection = sqlite3.connect(folder / f"{script.stem}.sqlite")
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.close()


def rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names}
    connection.close()
    return found


def module_of(store: str) -> ModuleType:
    return importlib.import_module(f"services.adapters.local.{store}")


@pytest.fixture
def services(tmp_path: Path) -> Services:
    """The container over what the first release left."""
    restore(FIRST, tmp_path)
    return bootstrap(Settings(state_dir=tmp_path, signing_secret="x" * 40))


@pytest.mark.parametrize(("release", "store"), STORE_FILES, ids="/".join)
def test_every_migration_keeps_every_row(release, store, tmp_path):
    restore(RELEASED / release, tmp_path)
    path = tmp_path / f"{store}.sqlite"
    before = rows_of(path)
    assert any(before.values()), "a fixture without rows proves nothing"
    migrations = module_of(store)._MIGRATIONS
    for version in range(_version(path), len(migrations) + 1):
        Database(path, migrations[:version]).close()
        after = rows_of(path)
        for table, rows in before.items():
            kept = [{name: row[name] for name in rows[0]} for row in after[table]] if rows else []
            assert kept == rows
    assert _version(path) == len(migrations)


@pytest.mark.parametrize("store", STORES)
def test_schema_of_the_first_release_is_still_where_new_files_begin(store, tmp_path):
    path = tmp_path / "new.sqlite"
    Database(path, module_of(store)._MIGRATIONS[:1]).close()
    restore(FIRST, tmp_path / "old")
    assert _schema(path) == _schema(tmp_path / "old" / f"{store}.sqlite"), "migrations are appended, never edited"


@pytest.mark.parametrize("store", STORES)
def test_file_of_a_newer_version_is_refused_by_name_and_left_alone(store, tmp_path):
    path = tmp_path / f"{store}.sqlite"
    migrations = module_of(store)._MIGRATIONS
    newer = (*migrations, "CREATE TABLE from_the_future (id TEXT)")
    Database(path, newer).close()
    with pytest.raises(Unavailable) as refused:
        Database(path, migrations)
    assert refused.value.code == "store_too_new"
    assert path.name in refused.value.detail
    assert _version(path) == len(newer)


def test_jobs_of_the_first_release_are_read_and_go_on(services):
    waiting, running, done, failed = (services.jobs.get(job_id(number)) for number in (1, 2, 3, 4))
    assert (waiting.state, waiting.step) == (JobState.QUEUED, JobStep.PREPARE)
    request = wire.from_values(VideoRequest, waiting.request)
    assert isinstance(request.speech, SpokenText)
    assert request.speech.text == "Grüße, 'quoted'; -- 图"
    assert (running.step, running.attempt, running.progress.fraction) == (JobStep.RUN, 1, 0.5)
    assert (done.result.usage["output_s"], done.result.cost) == (6.4, None)
    assert (failed.failure.code, failed.failure.retryable) == ("engine_failed", True)
    assert [job.id for job in services.jobs.claim(JobStep.PREPARE, limit=9, lease_s=30)] == [waiting.id]
    assert [job.id for job in services.jobs.overdue(NOON + timedelta(hours=2), limit=9)] == [running.id]
    assert services.jobs.save(waiting).version == 1


def test_ends_of_jobs_are_known_to_the_store_after_migrating(services):
    found = services.jobs.finished_before(NOON + timedelta(seconds=50), limit=9)
    assert [job.id for job in found] == [job_id(3)]


def test_other_rows_of_the_first_release_are_read(services):
    tenant = services.tenants.get(TENANT)
    assert (tenant.name, tenant.max_outstanding, tenant.created_at) == ("Acme", 4, NOON)
    good, revoked = (services.tenants.find_key(letter * 64) for letter in "ab")
    assert (good.tenant_id, good.revoked_at) == (TENANT, None)
    assert revoked.revoked_at == NOON + timedelta(days=1)
    upload = services.uploads.get(TENANT, "upload_01JZZZZZZZZZZZZZZZZZZZZZZ1")
    assert upload.file_name == "小明's photo.png"
    assert services.avatars.get(TENANT, "avatar_01JZZZZZZZZZZZZZZZZZZZZZZ1").name == "Vera"
    [record] = services.usage.list(TENANT, since=NOON, until=NOON + timedelta(days=1))
    assert (record.job_id, record.quantities["output_s"], record.cost) == (job_id(3), 6.4, None)
    assert [one.status for one in services.deliveries.list(job_id(4))] == [503]
    assert services.engine.capacity(EngineKind.VIDEO).max_outstanding > 0


@pytest.mark.parametrize("path", sorted(RELEASED.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_messages_between_parts_are_read_as_they_were_written(path):
    kind = getattr(engine, path.stem, None) or getattr(storyboard, path.stem)
    values = wire.to_values(wire.decode(kind, path.read_bytes()))
    written = json.loads(path.read_text(encoding="utf-8"))
    assert {name: values[name] for name in written} == written


def test_message_with_an_unknown_field_is_refused_and_not_half_understood():
    with pytest.raises(InvalidRequest):
        wire.decode(engine.EngineEvent, b'{"job_id":"j","attempt":1,"sequence":1,"stage":"s","fraction":0,"new":1}')


def test_job_row_of_a_newer_version_is_refused_and_not_half_understood(tmp_path):
    restore(FIRST, tmp_path)
    store = SqliteJobStore(tmp_path / "jobs.sqlite", clock=SystemClock())
    connection = sqlite3.connect(tmp_path / "jobs.sqlite")
    connection.execute("UPDATE jobs SET body = json_set(body, '$.from_the_future', 1)")
    connection.commit()
    with pytest.raises(InvalidRequest, match="from_the_future"):
        store.get(job_id(1))


def _version(path: Path) -> int:
    connection = sqlite3.connect(path)
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return version


def _schema(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {" ".join(row[0].split()) for row in found}
