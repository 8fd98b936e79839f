"""The container as a queue's worker: it takes attempts when it can run them, and answers on the engine's queue.

A message is hidden while its attempt runs, by a heartbeat, and deleted only after its answer was sent. So an attempt is
run at least once; that it counts once is the completion's part. What cannot be read is put back, until the queue's own
rule moves it to the dead letters.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from models.serving.pool import WorkerPool
from services.adapters.aws.work_queue import SqsEngineNotices, SqsWorkQueue, WorkMessage
from services.domain.engine import EngineAnswer, EngineRequest
from services.domain.errors import InvalidRequest, SpokesmodelError, Unavailable
from services.domain.wire import decode

_log: Final = logging.getLogger("spokesmodel.engine")
_WAIT_S: Final = 10  # of a long poll; a stop waits for it, and has thirty seconds
_LOOK_S: Final = 0.2
_PAUSE_AFTER_ERROR_S: Final = 2.0
_UNREADABLE_DELAY_S: Final = 5
_UNSENT_DELAY_S: Final = 30
_ANSWER_TRIES: Final = 5
_ENDED_BY_STOP: Final = ("engine_stopping", "engine_lost")


class QueueWorker:
    """Threads that feed ``pool``, one a worker."""

    def __init__(
        self, queue: SqsWorkQueue, notices: SqsEngineNotices, pool: WorkerPool, *, wait_s: int = _WAIT_S
    ) -> None:
        self._queue = queue
        self._notices = notices
        self._pool = pool
        self._wait_s = wait_s
        self._stopping = threading.Event()
        self._held: dict[str, WorkMessage] = {}
        self._threads = [
            threading.Thread(target=self._loop, name=f"work-{number}", daemon=True)
            for number in range(pool.num_workers)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take no more; what runs may end."""
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        """Wait for what runs; what is not done by then is given back, for another worker to take at once."""
        give_up_at = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, give_up_at - time.monotonic()))
        for message in list(self._held.values()):
            self._give_back(message)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._serve():
                    self._stopping.wait(_LOOK_S)
            except Exception as error:
                code = error.code if isinstance(error, SpokesmodelError) else type(error).__name__
                _log.warning("taking work failed: %s", code)
                self._stopping.wait(_PAUSE_AFTER_ERROR_S)

    def _serve(self) -> bool:
        """One message or none; False when no worker is free."""
        try:
            self._pool.admit()
        except Unavailable:
            return False
        admitted = True
        try:
            message = self._queue.receive(wait_s=self._wait_s)
            if message is None:
                return True
            with self._holding(message):
                request = self._request(message)
                if request is not None:
                    admitted = False
                    self._run(message, request)
        finally:
            if admitted:
                self._pool.dismiss()
        return True

    def _request(self, message: WorkMessage) -> EngineRequest | None:
        """What to run; None when there is nothing that this worker may run, and the message is given back."""
        if self._stopping.is_set():
            self._give_back(message)
            return None
        try:
            return decode(EngineRequest, message.body)
        except InvalidRequest as error:
            _log.warning("message %s is no engine request: %s", message.id, error.param or error.code)
            self._give_back(message, delay_s=_UNREADABLE_DELAY_S)
            return None

    def _run(self, message: WorkMessage, request: EngineRequest) -> None:
        answer = self._pool.run(request)
        if self._stopping.is_set() and answer.failure is not None and answer.failure.code in _ENDED_BY_STOP:
            self._give_back(message)
        elif self._tell(answer):
            self._queue.finish(message)
        else:
            self._give_back(message, delay_s=_UNSENT_DELAY_S)

    def _tell(self, answer: EngineAnswer) -> bool:
        for number in range(_ANSWER_TRIES):
            try:
                self._notices.answer(answer)
                return True
            except Unavailable as error:
                _log.warning("answer of %s.%d not sent: %s", answer.job_id, answer.attempt, error.code)
                self._stopping.wait(min(5.0, 0.5 * 2**number))
        return False

    def _give_back(self, message: WorkMessage, *, delay_s: int = 0) -> None:
        self._held.pop(message.receipt, None)
        try:
            self._queue.give_back(message, delay_s=delay_s)
        except Unavailable as error:  # it comes back by itself, when it is hidden no more
            _log.warning("message %s not given back: %s", message.id, error.code)

    @contextmanager
    def _holding(self, message: WorkMessage) -> Iterator[None]:
        """Meanwhile, keep ``message`` hidden, until it is given back."""
        ended = threading.Event()
        self._held[message.receipt] = message

        def keep() -> None:
            while not ended.wait(self._queue.visibility_s / 3) and message.receipt in self._held:
                try:
                    self._queue.keep(message)
                except Unavailable as error:
                    _log.warning("message %s not kept: %s", message.id, error.code)

        threading.Thread(target=keep, name=f"keep-{message.id}", daemon=True).start()
        try:
            yield
        finally:
            ended.set()
            self._held.pop(message.receipt, None)
