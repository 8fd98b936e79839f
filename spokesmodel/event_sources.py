"""What SQS event sources and schedules do in the cloud: hand due work to the functions that ``template.yaml`` binds.

A step's queue is the jobs table itself: rows are claimed by step, and a record that the function reports as failed is
released with a delay. Functions see the same events and are called the same way as on Lambda.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from services.adapters.local.engine import SqliteEngine
from services.bootstrap import Services
from services.domain.engine import EngineEvent
from services.domain.errors import SpokesmodelError
from services.domain.job import Job, JobStep
from services.domain.wire import to_values
from services.usecases.claim_step import claim_step
from spokesmodel.bell import Bell

_log: Final = logging.getLogger("spokesmodel.runner")
_POLL_S: Final = 0.5  # for what rings no bell: delays that end, rows that another process wrote
_PAUSE_AFTER_ERROR_S: Final = 1.0
_LONGEST_REST_S: Final = 0.1
_MAX_DELAY_S: Final = 60.0
_AGAIN_S: Final = (0.02, 0.05, 0.1, 0.2, 0.4)

Handler = Callable[[Mapping[str, Any], Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """What functions read of their context."""

    function_name: str
    aws_request_id: str
    timeout_s: float
    memory_limit_in_mb: int = 512
    started_at: float = 0.0

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function's timeout."""
        return max(0, int(1000 * (self.timeout_s - (time.monotonic() - self.started_at))))


class Source:
    """A thread that looks for work, sleeps on the bell when there is none, and survives whatever work does."""

    def __init__(self, name: str, bell: Bell, *, poll_s: float = _POLL_S) -> None:
        self._bell = bell
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def tell_to_stop(self) -> None:
        """End after the present piece of work; ring the bell afterwards."""
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the end; of what was never started there is none."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def serve(self) -> bool:
        """One piece of work; whether there was any."""
        raise NotImplementedError

    def _loop(self) -> None:
        while not self._stopping.is_set():
            seen = self._bell.rings
            started = time.monotonic()
            try:
                worked = self.serve()
            except Exception as error:
                _log.exception("%s: %s", self._thread.name, type(error).__name__)
                self._stopping.wait(_PAUSE_AFTER_ERROR_S)
                continue
            if not worked:
                self._bell.wait(seen, self._poll_s)
            else:
                # Requests come first: under load a source leaves them as much time as it takes.
                self._stopping.wait(min(time.monotonic() - started, _LONGEST_REST_S))


class Share:
    """What the threads of one step give to one tenant: all but one, so that nobody's slow hosts hold up the others.

    On AWS fair queues and the function's own concurrency see to that.
    """

    def __init__(self, num_threads: int) -> None:
        self._at_most = max(1, num_threads - 1)
        self._serving: Counter[str] = Counter()
        self._lock = threading.Lock()

    def claim(self, claim: Callable[[Callable[[str], int]], Sequence[Job]]) -> Sequence[Job]:
        """The jobs that ``claim`` takes, told how many more of a tenant there may be; ``done`` gives them back."""
        with self._lock:
            claimed = claim(lambda tenant_id: self._at_most - self._serving[tenant_id])
            self._serving.update(job.tenant_id for job in claimed)
        return claimed

    def done(self, jobs: Sequence[Job]) -> None:
        """The jobs have been served."""
        with self._lock:
            self._serving.subtract(job.tenant_id for job in jobs)
            self._serving = +self._serving


class StepSource(Source):
    """Serves one step of the jobs."""

    def __init__(
        self,
        step: JobStep,
        function: Handler,
        *,
        context: Callable[[], FunctionContext],
        services: Services,
        batch_size: int,
        lease_s: float,
        bell: Bell,
        share: Share,
    ) -> None:
        super().__init__(f"step-{step}", bell)
        self._share = share
        self._step = step
        self._function = function
        self._context = context
        self._services = services
        self._batch_size = batch_size
        self._lease_s = lease_s

    def serve(self) -> bool:
        """Claim due rows and hand them over."""
        claimed = self._share.claim(self._claim)
        if not claimed:
            return False
        try:
            failed = invoke_with_records(
                self._function, self._context(), {job.id: json.dumps({"job_id": job.id}) for job in claimed}
            )
        finally:
            self._share.done(claimed)
        for job in claimed:
            if job.id in failed:
                self._services.jobs.release(job.id, delay_s=min(_MAX_DELAY_S, 0.25 * 2.0 ** min(job.step_tries, 10)))
        return True

    def _claim(self, share_of: Callable[[str], int]) -> Sequence[Job]:
        services = self._services
        return claim_step(
            self._step,
            limit=self._batch_size,
            lease_s=self._lease_s,
            jobs=services.jobs,
            engine=services.engine,
            tenants=services.tenants,
            share_of=share_of,
        )


class BatchSource(Source):
    """Serves batches: their files, their rows, their ends."""

    def __init__(
        self,
        function: Handler,
        *,
        context: Callable[[], FunctionContext],
        services: Services,
        batch_size: int,
        lease_s: float,
        bell: Bell,
    ) -> None:
        super().__init__("batches", bell, poll_s=min(_POLL_S, services.settings.batch_poll_s))
        self._function = function
        self._context = context
        self._batches = services.batches
        self._batch_size = batch_size
        self._lease_s = lease_s

    def serve(self) -> bool:
        """Claim due batches and hand them over."""
        claimed = self._batches.claim(limit=self._batch_size, lease_s=self._lease_s)
        if not claimed:
            return False
        failed = invoke_with_records(
            self._function, self._context(), {batch.id: json.dumps({"batch_id": batch.id}) for batch in claimed}
        )
        for batch in claimed:
            if batch.id in failed:
                self._batches.release(batch.id, delay_s=min(_MAX_DELAY_S, 0.25 * 2.0 ** min(batch.step_tries, 10)))
        return True


class EngineFeed(Source):
    """Hands the engine's answers and progress events to the function that hears them."""

    def __init__(
        self,
        function: Handler,
        *,
        context: Callable[[], FunctionContext],
        engine: SqliteEngine,
        batch_size: int,
        lease_s: float,
        bell: Bell,
    ) -> None:
        super().__init__("engine-feed", bell)
        self._function = function
        self._context = context
        self._engine = engine
        self._batch_size = batch_size
        self._lease_s = lease_s
        self._events: queue.Queue[EngineEvent] = queue.Queue(maxsize=1000)

    def hear(self, event: EngineEvent) -> None:
        """Take a progress event; one too many is dropped."""
        with contextlib.suppress(queue.Full):
            self._events.put_nowait(event)
        self._bell.ring()

    def serve(self) -> bool:
        """Claim answers, take events, and hand them over."""
        answers = {
            f"{answer.job_id}.{answer.attempt}": answer
            for answer in self._engine.claim_answers(limit=self._batch_size, lease_s=self._lease_s)
        }
        events = self._take_events()
        bodies = {name: json.dumps({"type": "answer", "answer": to_values(answer)}) for name, answer in answers.items()}
        bodies |= {
            f"event-{n}": json.dumps({"type": "event", "event": to_values(event)}) for n, event in enumerate(events)
        }
        if not bodies:
            return False
        failed = invoke_with_records(self._function, self._context(), bodies)
        # An answer may overtake the row that dispatch is about to save: it is told to come again, and that is soon.
        for pause_s in _AGAIN_S:
            again = {name: bodies[name] for name in answers if name in failed}
            if not again or self._stopping.wait(pause_s):
                break
            failed = invoke_with_records(self._function, self._context(), again)
        for name, answer in answers.items():
            if name not in failed:
                self._engine.heard(answer.job_id, answer.attempt)
        return True

    def _take_events(self) -> list[EngineEvent]:
        taken: list[EngineEvent] = []
        with contextlib.suppress(queue.Empty):
            while len(taken) < self._batch_size:
                taken.append(self._events.get_nowait())
        return taken


class Schedule(Source):
    """Calls a function every so often."""

    def __init__(self, name: str, function: Handler, *, context: Callable[[], FunctionContext], every_s: float) -> None:
        super().__init__(f"schedule-{name}", Bell(), poll_s=every_s)
        self._function = function
        self._context = context

    def serve(self) -> bool:
        """Call it now."""
        self._function({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}, self._context())
        return False

    def tell_to_stop(self) -> None:
        """End now, or after the present call."""
        super().tell_to_stop()
        self._bell.ring()


def invoke_with_records(function: Handler, context: FunctionContext, bodies: Mapping[str, str]) -> frozenset[str]:
    """Call ``function`` with an SQS event of these bodies by message id; the ids that it did not finish.

    An exception fails them all, as it would in the cloud.
    """
    records = [_record(message_id, body) for message_id, body in bodies.items()]
    try:
        answer = function({"Records": records}, context)
    except Exception as error:
        detail = error.code if isinstance(error, SpokesmodelError) else type(error).__name__
        _log.warning("%s failed for %d records: %s", context.function_name, len(records), detail)
        return frozenset(bodies)
    failures: Sequence[Mapping[str, str]] = (answer or {}).get("batchItemFailures", ())
    return frozenset(failure["itemIdentifier"] for failure in failures)


def _record(message_id: str, body: str) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": message_id,
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "0",
            "SenderId": "runner",
            "ApproximateFirstReceiveTimestamp": "0",
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:local:000000000000:runner",
        "awsRegion": "local",
    }
