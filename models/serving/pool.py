"""The container's workers: engine processes that are loaded once, run attempts, and are started again when they die.

A crash, a hang or exhausted memory ends one process and the attempt that it ran; the next attempt finds another one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

from models.serving.engine import EngineState
from models.serving.worker import WorkerNotReached, WorkerState
from services.domain.engine import AnswerState, EngineAnswer, EngineRequest, Failure
from services.domain.errors import EngineFailed, SpokesmodelError, Unavailable
from services.ports.clock import Clock

_log: Final = logging.getLogger("spokesmodel.engine")
_LOOK_S: Final = 0.1
_PING_S: Final = 5.0  # between looks at a worker that is well and has nothing to do
_OVERTIME_S: Final = 5.0  # a worker ends an attempt at its deadline by itself; after this it is killed
_RESTART_S: Final = 120.0  # for a worker that was found dead when its turn came
_SILENCE_S: Final = 30.0
_PAUSE_AFTER_ERROR_S: Final = 1.0


class EngineProcess(Protocol):
    """``Worker``, as the pool sees it."""

    name: str
    problem: Unavailable | None

    @property
    def is_alive(self) -> bool: ...

    def state(self) -> WorkerState: ...

    def invoke(self, request: EngineRequest, *, timeout_s: float, silence_s: float = ...) -> EngineAnswer: ...

    def terminate(self) -> None: ...

    def close(self) -> None: ...


class AttemptScope(Protocol):
    """What surrounds an attempt on a worker."""

    def __call__(self, worker: str, request: EngineRequest) -> AbstractContextManager[None]: ...


class _Slot:
    """A worker with what is known of it; ``lock`` is held by whoever deals with the worker."""

    def __init__(self, worker: EngineProcess) -> None:
        self.worker = worker
        self.lock = threading.Lock()
        self.state = WorkerState.DEAD
        self.reserved = False
        self.look_at = 0.0

    @property
    def is_well(self) -> bool:
        return self.state is WorkerState.READY and self.worker.is_alive


class WorkerPool:
    """Runs as many attempts at once as it has workers."""

    def __init__(self, workers: Sequence[EngineProcess], *, scope: AttemptScope, clock: Clock) -> None:
        self._slots = [_Slot(worker) for worker in workers]
        self._scope = scope
        self._clock = clock
        self._stopping = threading.Event()
        self._admitted: list[_Slot] = []
        self._thread = threading.Thread(target=self._look_after, name="workers", daemon=True)

    @property
    def state(self) -> EngineState:
        if self._stopping.is_set():
            return EngineState.STOPPING
        if any(slot.is_well for slot in self._slots):
            return EngineState.READY
        unusable = all(slot.state is WorkerState.UNUSABLE for slot in self._slots)
        return EngineState.UNUSABLE if unusable else EngineState.LOADING

    @property
    def problem(self) -> Unavailable | None:
        return next((slot.worker.problem for slot in self._slots if slot.worker.problem), None)

    @property
    def num_workers(self) -> int:
        return len(self._slots)

    def load(self) -> None:
        """Start the workers and keep them alive from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more work; what runs may go on for the workers' grace period."""
        self._stopping.set()
        for slot in self._slots:
            slot.worker.terminate()

    def close(self) -> None:
        """Wait for the workers' end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        for slot in self._slots:
            slot.worker.close()

    def admit(self) -> None:
        """Reserve a worker for one ``run`` or ``dismiss``.

        Raises:
            Unavailable: ``engine_busy``, ``engine_loading``, ``engine_stopping``, or why it cannot be used.
        """
        if self._stopping.is_set():
            raise Unavailable("The engine is shutting down.", code="engine_stopping")
        for slot in self._slots:
            # Who looks after the workers holds a lock for a moment only; who runs an attempt has reserved it.
            if slot.reserved or not slot.lock.acquire(timeout=1.0):
                continue
            if slot.is_well:
                slot.reserved = True
                self._admitted.append(slot)
                return
            slot.lock.release()
        state = self.state
        if state is EngineState.READY:
            raise Unavailable("The engine is running as many attempts as it can.", code="engine_busy")
        if state is EngineState.UNUSABLE:
            raise self.problem or Unavailable("The engine cannot be used.", code="engine_not_usable")
        raise Unavailable("The engine is still loading.", code="engine_loading")

    def dismiss(self) -> None:
        """Give an admission back unused."""
        self._free(self._admitted.pop())

    def run(self, request: EngineRequest) -> EngineAnswer:
        """Run the attempt that was admitted, to its end; never raises for what the attempt or its worker does."""
        slot = self._admitted.pop()
        try:
            with self._scope(slot.worker.name, request):
                return self._run(slot, request)
        except SpokesmodelError as error:
            _log.warning("%s on %s: %s", request.inference_id, slot.worker.name, error.code)
            failure = Failure(code=error.code, detail=error.detail, retryable=error.retryable, param=error.param)
            return EngineAnswer(
                job_id=request.job_id, attempt=request.attempt, state=AnswerState.FAILED, failure=failure
            )
        finally:
            self._free(slot)

    def _run(self, slot: _Slot, request: EngineRequest) -> EngineAnswer:
        give_up_at = time.monotonic() + _RESTART_S
        while True:
            left_s = (request.deadline_at - self._clock.now()).total_seconds()
            try:
                return slot.worker.invoke(request, timeout_s=max(0.0, left_s) + _OVERTIME_S, silence_s=_SILENCE_S)
            except WorkerNotReached:
                self._restart(slot, give_up_at)

    def _restart(self, slot: _Slot, give_up_at: float) -> None:
        while not self._stopping.is_set() and time.monotonic() < give_up_at:
            slot.state = slot.worker.state()
            if slot.state is WorkerState.READY:
                return
            self._stopping.wait(_LOOK_S)
        raise EngineFailed("The engine process could not be reached.", code="engine_lost", retryable=True)

    def _free(self, slot: _Slot) -> None:
        slot.look_at = 0.0
        slot.reserved = False
        slot.lock.release()

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            for slot in self._slots:
                if slot.lock.acquire(blocking=False):
                    try:
                        self._look_at(slot)
                    except Exception as error:  # no process can be started just now: the next look may find better
                        slot.state = WorkerState.DEAD
                        _log.error("%s cannot be started: %s", slot.worker.name, type(error).__name__)
                        self._stopping.wait(_PAUSE_AFTER_ERROR_S)
                    finally:
                        slot.lock.release()

    def _look_at(self, slot: _Slot) -> None:
        if self._stopping.is_set() or (slot.is_well and time.monotonic() < slot.look_at):
            return
        before, slot.state = slot.state, slot.worker.state()
        slot.look_at = time.monotonic() + _PING_S
        if slot.state is not before:
            _log.info("%s is %s", slot.worker.name, slot.state)
