"""What an asynchronous endpoint does in the cloud: takes attempts, has an instance run them, keeps the answers.

One thread an instance. A claim on an attempt is kept alive while its worker runs it; if this process dies, the claim
runs out and the attempt is taken again.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from models.serving.worker import Worker, WorkerNotReached, WorkerState
from services.adapters.local.engine import ClaimedAttempt, SqliteEngine
from services.domain.engine import AnswerState, EngineAnswer, EngineRequest, Failure, Lane
from services.domain.errors import EngineFailed, SpokesmodelError
from services.ports.clock import Clock
from spokesmodel.bell import Bell
from spokesmodel.event_sources import Source

_log: Final = logging.getLogger("spokesmodel.runner")
_LOOK_S: Final = 0.05  # while a worker starts
_OVERTIME_S: Final = 5.0  # the worker ends an attempt at its deadline by itself; after this it is killed
_STOPPING: Final = "engine_stopping"


class Heartbeats:
    """Keeps the claims of running attempts alive."""

    def __init__(self, queue: SqliteEngine, *, lease_s: float) -> None:
        self._queue = queue
        self._lease_s = lease_s
        self._running: dict[str, ClaimedAttempt] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeats", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join(5.0)

    def add(self, claimed: ClaimedAttempt) -> None:
        """Keep this claim alive from now on."""
        with self._lock:
            self._running[claimed.request.inference_id] = claimed

    def remove(self, claimed: ClaimedAttempt) -> None:
        """Let it be."""
        with self._lock:
            self._running.pop(claimed.request.inference_id, None)

    def _loop(self) -> None:
        while not self._stopping.wait(self._lease_s / 3):
            with self._lock:
                running = list(self._running.values())
            for claimed in running:
                try:
                    self._queue.heartbeat(claimed, lease_s=self._lease_s)
                except SpokesmodelError as error:
                    _log.warning("heartbeat of %s failed: %s", claimed.request.inference_id, error.code)


class Endpoint(Source):
    """One worker and the thread that feeds it."""

    def __init__(
        self,
        worker: Worker,
        queue: SqliteEngine,
        heartbeats: Heartbeats,
        *,
        clock: Clock,
        lease_s: float,
        bell: Bell,
        lane: Lane | None = None,
    ) -> None:
        """``lane``: takes no other work."""
        super().__init__(worker.name, bell)
        self.worker = worker
        self._queue = queue
        self._heartbeats = heartbeats
        self._clock = clock
        self._lease_s = lease_s
        self._lane = lane
        self._state = WorkerState.DEAD
        self._settled = threading.Event()

    @property
    def state(self) -> WorkerState:
        return self._state

    def wait_until_settled(self, timeout_s: float) -> WorkerState:
        """How the worker is once it is known to be ready or unusable, or after ``timeout_s``."""
        self._settled.wait(timeout_s)
        return self._state

    def serve(self) -> bool:
        """Run one attempt, if the worker can and there is one."""
        if self._state is not WorkerState.READY or not self.worker.is_alive:
            self._look_at_worker()
            if self._state not in (WorkerState.READY, WorkerState.UNUSABLE):
                self._stopping.wait(_LOOK_S)
                return False
        claimed = self._queue.claim(lease_s=self._lease_s, lane=self._lane)
        if claimed is None:
            return False
        self._heartbeats.add(claimed)
        try:
            self._run(claimed)
        finally:
            self._heartbeats.remove(claimed)
        return True

    def tell_to_stop(self) -> None:
        """Take no more; a running attempt is put back."""
        super().tell_to_stop()
        self.worker.terminate()

    def join(self, timeout_s: float) -> None:
        """Wait for the end of thread and worker."""
        super().join(timeout_s)
        self.worker.close()

    def _look_at_worker(self) -> None:
        if self._stopping.is_set():
            return
        if not self.worker.is_alive:
            self._state = WorkerState.DEAD
        self._state = self.worker.state()
        if self._state in (WorkerState.READY, WorkerState.UNUSABLE):
            if self._state is WorkerState.UNUSABLE and self.worker.problem and not self._settled.is_set():
                _log.error("%s cannot be used: %s", self.worker.name, self.worker.problem.detail)
            self._settled.set()

    def _run(self, claimed: ClaimedAttempt) -> None:
        request = claimed.request
        if self._state is WorkerState.UNUSABLE and self.worker.problem is not None:
            self._queue.answer(_failed(request, self.worker.problem))
            return
        try:
            left_s = (request.deadline_at - self._clock.now()).total_seconds()
            answer = self.worker.invoke(request, timeout_s=max(0.0, left_s) + _OVERTIME_S, silence_s=self._lease_s)
        except WorkerNotReached:
            self._state = WorkerState.LOADING
            self._queue.give_back(claimed)
            return
        except EngineFailed as error:
            answer = _failed(request, error)
        if self._stopping.is_set() and _ended_by_our_stop(answer):
            self._queue.give_back(claimed)
            return
        self._queue.answer(answer)


def _ended_by_our_stop(answer: EngineAnswer) -> bool:
    return answer.failure is not None and answer.failure.code in (_STOPPING, "engine_lost")


def _failed(request: EngineRequest, error: SpokesmodelError) -> EngineAnswer:
    failure = Failure(code=error.code, detail=error.detail, retryable=error.retryable, param=error.param)
    return EngineAnswer(job_id=request.job_id, attempt=request.attempt, state=AnswerState.FAILED, failure=failure)
