"""An engine with a store in memory, and orders for it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.serving.engine import InferenceEngine
from models.serving.tasks import Task
from models.serving.tasks.noop import NoopOrder, NoopTask
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import NotFound
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from services.domain.wire import encode
from services.ports.objects import ObjectInfo
from tests.fakes.events import FakeEventSink

FAR = timedelta(minutes=5)


class MemoryObjects:
    """The part of the object store that an engine uses."""

    def __init__(self, folder: Path) -> None:
        self.stored: dict[str, bytes] = {}
        self.num_cancel_looks = 0
        self._folder = folder

    def put(self, key: ObjectKey, data: bytes, *, media_type: str) -> None:
        self.stored[str(key)] = data

    def put_file(self, key: ObjectKey, path: Path, *, media_type: str) -> ObjectInfo:
        data = path.read_bytes()
        self.stored[str(key)] = data
        return ObjectInfo(size_bytes=len(data), media_type=media_type, sha256=hashlib.sha256(data).hexdigest())

    def get(self, key: ObjectKey) -> bytes:
        if str(key) not in self.stored:
            raise NotFound(f"No object {key}.", code="object_not_found")
        return self.stored[str(key)]

    @contextmanager
    def local_copy(self, key: ObjectKey) -> Iterator[Path]:
        path = self._folder / hashlib.sha256(str(key).encode()).hexdigest()
        path.write_bytes(self.get(key))
        yield path

    def exists(self, key: ObjectKey) -> bool:
        self.num_cancel_looks += 1
        return str(key) in self.stored


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds)


@pytest.fixture
def store(tmp_path: Path) -> MemoryObjects:
    folder = tmp_path / "copies"
    folder.mkdir()
    return MemoryObjects(folder)


@pytest.fixture
def heard() -> FakeEventSink:
    return FakeEventSink()


@pytest.fixture
def make_engine(store: MemoryObjects, heard: FakeEventSink, tmp_path: Path):
    def make(task: Task | None = None, *, grace_s: float = 25.0) -> InferenceEngine:
        return InferenceEngine(
            store_for=lambda _: store,
            events=heard,
            tasks={EngineKind.NOOP: task or NoopTask()},
            clock=SystemClock(),
            scratch_dir=tmp_path / "scratch",
            grace_s=grace_s,
        )

    return make


@pytest.fixture
def order(store: MemoryObjects):
    """Stores a no-op order and answers the request that names it."""

    def make(
        order: NoopOrder | bytes | None = None,
        *,
        attempt: int = 1,
        time_left: timedelta = FAR,
        key_of_job: str | None = None,
    ) -> EngineRequest:
        tenant_id, job_id = new_id("tenant"), new_id("job")
        key = ObjectKey(
            retention=Retention.WORK,
            tenant_id=tenant_id,
            owner_id=key_of_job or job_id,
            attempt=0,
            name="storyboard.json",
        )
        data = order if isinstance(order, bytes) else encode(order or NoopOrder())
        store.put(key, data, media_type="application/json")
        return EngineRequest(
            kind=EngineKind.NOOP,
            tenant_id=tenant_id,
            job_id=job_id,
            attempt=attempt,
            storyboard_key=str(key),
            deadline_at=datetime.now(UTC) + time_left,
        )

    return make
