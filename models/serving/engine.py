"""Runs one attempt at a time and turns whatever happens into an ``EngineAnswer``."""

from __future__ import annotations

import errno
import logging
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from models.serving import log
from models.serving.context import JobObjects, ProgressReporter, TaskContext, TaskResult, Watch
from models.serving.cpu_time import cpu_seconds
from models.serving.tasks import Task
from services.adapters import tracing
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest, Failure
from services.domain.errors import Canceled, EngineFailed, SpokesmodelError, Unavailable
from services.ports.clock import Clock
from services.ports.engine import EventSink
from services.ports.objects import ObjectStore

_log: Final = logging.getLogger("spokesmodel.engine")
_CV_NO_MEMORY: Final = -4  # cv2.error.code of Error::StsNoMem


class EngineState(StrEnum):
    LOADING = "loading"
    READY = "ready"
    UNUSABLE = "unusable"  # something is missing that waiting does not bring
    STOPPING = "stopping"


class InferenceEngine:
    """The container's inside, without HTTP."""

    def __init__(
        self,
        *,
        store_for: Callable[[EngineRequest], ObjectStore],
        events: EventSink,
        tasks: Mapping[EngineKind, Task],
        clock: Clock,
        scratch_dir: Path,
        grace_s: float = 25.0,
    ) -> None:
        """``store_for``: the object store as one attempt may use it.

        Args:
            grace_s: How long a running attempt may go on once the container is told to stop.
        """
        self._store_for = store_for
        self._events = events
        self._tasks = tasks
        self._clock = clock
        self._scratch_dir = scratch_dir
        self._grace_s = grace_s
        self._busy = threading.Lock()
        self._stop_at: float | None = None
        self._state = EngineState.LOADING
        self.problem: Unavailable | None = None

    @property
    def state(self) -> EngineState:
        return self._state

    def load(self) -> None:
        """Load every task; ``state`` is ready or unusable afterwards and ``problem`` says why."""
        try:
            for task in self._tasks.values():
                task.load()
        except Unavailable as error:
            self.problem = error
        except Exception as error:  # a broken package must not look like a slow start
            _log.error("an engine cannot be loaded: %s\n%s", type(error).__name__, _frames(error))
            self.problem = Unavailable(
                f"An engine cannot be loaded ({type(error).__name__}).", code="engine_not_usable", retryable=False
            )
        if self._state is EngineState.LOADING:
            self._state = EngineState.UNUSABLE if self.problem else EngineState.READY

    def stop(self) -> None:
        """Take no more work; what runs may go on for the grace period."""
        self._state = EngineState.STOPPING
        self._stop_at = time.monotonic() + self._grace_s

    def admit(self) -> None:
        """Reserve the engine for one ``run``.

        Raises:
            Unavailable: ``engine_busy``, ``engine_loading``, ``engine_stopping``, or why it cannot be used.
        """
        self._refuse_if_not_ready()
        if not self._busy.acquire(blocking=False):
            raise Unavailable("The engine is running another attempt.", code="engine_busy")

    def run(self, request: EngineRequest) -> EngineAnswer:
        """Run the attempt that was admitted, to its end; never raises for what the attempt does."""
        keys: dict[str, str | int] = {"job_id": request.job_id, "attempt": request.attempt, "kind": request.kind}
        try:
            with log.serving(request), tracing.span("attempt", parent=request.traceparent, **keys):
                answer = self._answer(request)
                failure = None if answer.failure is None else answer.failure.code
                tracing.note(state=answer.state, failure=failure)
                told = {"state": answer.state, "failure": failure, **answer.usage}
                _log.info("attempt ended", extra={"values": told})
            tracing.flush()
            return answer
        finally:
            self._busy.release()

    def _refuse_if_not_ready(self) -> None:
        match self._state:
            case EngineState.LOADING:
                raise Unavailable("The engine is still loading.", code="engine_loading")
            case EngineState.STOPPING:
                raise Unavailable("The engine is shutting down.", code="engine_stopping")
            case EngineState.UNUSABLE:
                raise self.problem or Unavailable("The engine cannot be used.", code="engine_not_usable")
            case EngineState.READY:
                return

    def _answer(self, request: EngineRequest) -> EngineAnswer:
        started_cpu_s = cpu_seconds()
        failure: Failure | None = None
        result = TaskResult()
        try:
            result = self._run(request)
            state = AnswerState.SUCCEEDED
        except Canceled:
            state = AnswerState.CANCELED
        except (Exception, SystemExit) as error:
            state, failure = AnswerState.FAILED, _failure(error, request)
        cpu_s = round(max(0.0, cpu_seconds() - started_cpu_s), 3)
        return EngineAnswer(
            job_id=request.job_id,
            attempt=request.attempt,
            state=state,
            outputs=result.outputs,
            facts={**result.facts, "engine_cpu_s": cpu_s} if state is AnswerState.SUCCEEDED else {},
            usage={**result.usage, "engine_cpu_s": cpu_s},
            failure=failure,
        )

    def _run(self, request: EngineRequest) -> TaskResult:
        task = self._tasks.get(request.kind)
        if task is None:
            raise EngineFailed(f"This engine does not do {request.kind}.", code="engine_kind_not_served")
        store = self._store_for(request)
        watch = Watch(request, store=store, clock=self._clock, must_stop=self._grace_is_over)
        watch.check()
        reporter = ProgressReporter(request, self._events)
        self._scratch_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._scratch_dir, prefix="attempt-") as folder:
            return task.run(
                TaskContext(
                    request=request,
                    objects=JobObjects(store, request),
                    folder=Path(folder),
                    on_progress=reporter.report,
                    check_canceled=watch.check,
                )
            )

    def _grace_is_over(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at


def _failure(error: BaseException, request: EngineRequest) -> Failure:
    if isinstance(error, SpokesmodelError):
        return Failure(code=error.code, detail=error.detail, retryable=error.retryable, param=error.param)
    if _is_out_of_memory(error):
        return Failure(
            code="memory_exceeded",
            detail="The attempt needed more memory than an engine is given. Use a smaller or shorter source.",
        )
    # The message of a foreign exception may quote the customer's text: the log gets its class and place only.
    _log.error("%s broke: %s\n%s", request.inference_id, type(error).__name__, _frames(error))
    return Failure(
        code="engine_failed",
        detail="The engine broke on this job. Nothing was charged; its inputs are kept.",
        retryable=isinstance(error, OSError),
    )


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or getattr(error, "code", None) == _CV_NO_MEMORY


def _frames(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()
