"""What a running task is given: its job's objects, a way to report, and the checks that may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from services.domain.engine import EngineEvent, EngineRequest, Output
from services.domain.errors import Canceled, EngineFailed, Forbidden, Unavailable
from services.domain.object_key import ObjectKey
from services.ports.clock import Clock
from services.ports.engine import EventSink
from services.ports.objects import ObjectStore

EVENT_INTERVAL_S: Final = 2.0
CANCEL_POLL_S: Final = 0.4  # the contract allows half a second

MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".mp4": "video/mp4",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".srt": "application/x-subrip",
    ".vtt": "text/vtt",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".wav": "audio/wav",
    ".zip": "application/zip",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a task made; ``facts`` and ``usage`` as in ``EngineAnswer``."""

    outputs: tuple[Output, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)


class JobObjects:
    """The object store as one attempt may use it: reads under its job, writes under its attempt."""

    def __init__(self, store: ObjectStore, request: EngineRequest) -> None:
        self._store = store
        self._request = request

    def read(self, key: str) -> bytes:
        """The object's bytes.

        Raises:
            Forbidden: ``key_not_owned``.
            NotFound: ``object_not_found``.
        """
        return self._store.get(self._own(key))

    @contextmanager
    def local_copy(self, key: str) -> Iterator[Path]:
        """A readable file with the object's bytes.

        Raises:
            Forbidden: ``key_not_owned``.
            NotFound: ``object_not_found``.
        """
        with self._store.local_copy(self._own(key)) as path:
            yield path

    def store(self, role: str, path: Path) -> Output:
        """Put the file at ``path`` under this attempt as the output ``role``.

        Raises:
            EngineFailed: ``empty_output``.
        """
        if path.stat().st_size == 0:
            raise EngineFailed(f"The engine wrote an empty {role}.", code="empty_output")
        key = self._request.output_key(path.name)
        media_type = MEDIA_TYPES.get(path.suffix.lower(), "application/octet-stream")
        info = self._store.put_file(key, path, media_type=media_type)
        return Output(
            name=role, key=str(key), media_type=media_type, size_bytes=info.size_bytes, sha256=info.sha256 or ""
        )

    def _own(self, text: str) -> ObjectKey:
        key = ObjectKey.parse(text)
        if not self._request.owns(key):
            raise Forbidden("The storyboard names an object of another job.", code="key_not_owned")
        return key


class Watch:
    """Says, between two frames or steps, whether an attempt must stop."""

    def __init__(
        self,
        request: EngineRequest,
        *,
        store: ObjectStore,
        clock: Clock,
        must_stop: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``must_stop`` says that the container is being shut down and its grace is over."""
        self._request = request
        self._store = store
        self._clock = clock
        self._must_stop = must_stop
        self._monotonic = monotonic
        self._next_poll = monotonic()

    def check(self) -> None:
        """Return at once, or end the attempt.

        Raises:
            Canceled: The cancel object is there.
            EngineFailed: ``deadline_exceeded``, or ``engine_stopping`` (retryable).
        """
        if self._must_stop():
            raise EngineFailed("The engine was shut down during this attempt.", code="engine_stopping", retryable=True)
        now = self._monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + CANCEL_POLL_S
        if self._clock.now() >= self._request.deadline_at:
            raise EngineFailed(
                "The attempt took longer than it was given. Shorten the video or lower its size.",
                code="deadline_exceeded",
            )
        if self._is_canceled():
            raise Canceled("The job was canceled.")

    def _is_canceled(self) -> bool:
        try:
            return self._store.exists(self._request.cancel_key())
        except Unavailable:
            # No reason to end an attempt. And where the store may not be listed, as in the cloud, S3 says "denied" of
            # what is not there.
            return False


class ProgressReporter:
    """Turns a task's frequent reports into events, at most one per two seconds."""

    def __init__(
        self, request: EngineRequest, sink: EventSink, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._request = request
        self._sink = sink
        self._monotonic = monotonic
        self._sequence = 0
        self._next_at = monotonic()

    def report(self, stage: str, fraction: float) -> None:
        """Tell how far the attempt is; ``fraction`` is of the whole, 0 to 1."""
        now = self._monotonic()
        if now < self._next_at:
            return
        self._next_at = now + EVENT_INTERVAL_S
        event = EngineEvent(
            job_id=self._request.job_id,
            attempt=self._request.attempt,
            sequence=self._sequence,
            stage=stage,
            fraction=round(min(1.0, max(0.0, fraction)), 4),
        )
        self._sequence += 1
        self._sink.emit(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """One attempt as a task sees it.

    Attributes:
        folder: An empty folder for files, removed afterwards.
        on_progress: Stage and fraction of the whole; call it as often as is easy.
        check_canceled: Call it between frames or steps; it raises to end the attempt.
    """

    request: EngineRequest
    objects: JobObjects
    folder: Path
    on_progress: Callable[[str, float], None]
    check_canceled: Callable[[], None]
