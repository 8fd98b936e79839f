"""The messages between the functions: streams, bells, queues, handlers, with time and mishaps, all in one thread."""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from lambdas import complete, dispatch, outbox, prepare, reaper, webhooks
from services.adapters.aws.job_items import item_of
from services.domain.allowance import Allowance
from services.domain.job import Job
from tests.fakes.clock import FakeClock
from tests.fakes.dead_letters import FakeDeadLetters
from tests.fakes.jobs import FakeJobStore
from tests.fakes.sagemaker import FakeSageMaker
from tests.fakes.world import World

_HANDLERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "prepare": prepare.lambda_handler,
    "dispatch": dispatch.lambda_handler,
    "notify": webhooks.lambda_handler,
    "engine": complete.lambda_handler,
}
_MAX_RECEIVES = 20
_VISIBILITY_S = 360.0
_KEPT = timedelta(days=90)


class Killed(BaseException):
    """A function's process ends without a word."""


def stream_image(job: Job) -> dict[str, Any]:
    """The job's item as a stream has it."""
    return {
        name: TypeSerializer().serialize(value)
        for name, value in item_of(job, retention=_KEPT).items()
        if value is not None
    }


class StreamingJobStore(FakeJobStore):
    """Keeps what a table's stream would say of each write.

    Attributes:
        ends: How often each job came to a final state.
        is_killed: Asked before and after each write of a function: whether its process ends here.
    """

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.changes: list[dict[str, Any]] = []
        self.ends: Counter[str] = Counter()
        self.is_killed: Callable[[], bool] = lambda: False
        self._numbers = itertools.count(1)

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        super().add(job, allowance=allowance)
        self._note(None, job)

    def save(self, job: Job) -> Job:
        if self.is_killed():
            raise Killed
        before = self.get(job.id)
        saved = super().save(job)
        self._note(before, saved)
        if self.is_killed():
            raise Killed
        return saved

    def _note(self, old: Job | None, new: Job) -> None:
        self.ends[new.id] += new.state.is_final and not (old is not None and old.state.is_final)
        images = {"NewImage": stream_image(new)}
        if old is not None:
            images["OldImage"] = stream_image(old)
        self.changes.append({"dynamodb": {**images, "SequenceNumber": str(next(self._numbers))}})


@dataclass(frozen=True, kw_only=True)
class Mishaps:
    """How often a message is lost, or delivered twice; how often a function's process is killed half-way."""

    lost: float = 0.0
    duplicated: float = 0.0
    killed: float = 0.0


@dataclass(order=True)
class _Message:
    due_s: float
    number: int
    queue: str = field(compare=False)
    body: str = field(compare=False)
    num_receives: int = field(compare=False, default=0)


class FakeCloud:
    """Everything between the fakes of ``world``, whose job store is a ``StreamingJobStore``.

    Attributes:
        dead_letters: What was received in vain too often; sent back, it is served again.
    """

    def __init__(self, world: World, sagemaker: FakeSageMaker, *, chance: random.Random, mishaps: Mishaps) -> None:
        self._world = world
        self._sagemaker = sagemaker
        self._random = chance
        self._mishaps = mishaps
        self._messages: list[_Message] = []
        self._numbers = itertools.count()
        self._start = world.clock.now()
        self._next_reaper_s = 60.0
        assert isinstance(world.jobs, StreamingJobStore)
        self._jobs = world.jobs
        self.dead_letters = FakeDeadLetters(world.clock, lambda queue, body, _: self._send(queue, body, 0.0))
        self.num_calls: Counter[str] = Counter()

    @property
    def _now_s(self) -> float:
        return (self._world.clock.now() - self._start).total_seconds()

    def step(self, seconds: float) -> None:
        """Let time pass, then let everything that is due happen."""
        self._world.clock.advance(seconds)
        if self._now_s >= self._next_reaper_s:
            self._next_reaper_s = self._now_s + 60.0
            self._call("reaper", reaper.lambda_handler, {})
        self._hear_streams()
        self._sagemaker.serve()
        for body in self._sagemaker.heard():
            self._send("engine", body, 0.0)
        while self._messages and self._messages[0].due_s <= self._now_s:
            self._deliver(heapq.heappop(self._messages))
            self._hear_streams()

    def _hear_streams(self) -> None:
        while self._jobs.changes:
            records, self._jobs.changes = self._jobs.changes[:100], self._jobs.changes[100:]
            self._call("outbox", outbox.lambda_handler, {"Records": records})
        self._hear_bells()

    def _hear_bells(self) -> None:
        for bell in self._world.step_queue.taken():
            if self._happens(self._mishaps.lost):
                continue
            for _ in range(2 if self._happens(self._mishaps.duplicated) else 1):
                body = {"job_id": bell.item_id} if bell.item_id else {"ring": "dispatch"}
                self._send(bell.step, json.dumps(body), bell.delay_s)

    def _send(self, queue: str, body: str, delay_s: float) -> None:
        message = _Message(self._now_s + delay_s, next(self._numbers), queue, body)
        heapq.heappush(self._messages, message)

    def _deliver(self, message: _Message) -> None:
        message.num_receives += 1
        receipt = str(message.number)
        record = {
            "messageId": receipt,
            "receiptHandle": receipt,
            "body": message.body,
            "attributes": {"ApproximateReceiveCount": str(message.num_receives)},
            "eventSource": "aws:sqs",
            "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{message.queue}",
        }
        answer = self._call(message.queue, _HANDLERS[message.queue], {"Records": [record]})
        if answer is not None and not answer["batchItemFailures"]:
            return
        if message.num_receives >= _MAX_RECEIVES:
            self.dead_letters.put(message.queue, message.body, num_tries=message.num_receives)
            return
        delays = [delay_s for _, handle, delay_s in self._world.step_queue.put_offs if handle == receipt]
        self._world.step_queue.put_offs.clear()
        message.due_s = self._now_s + (delays[-1] if delays else _VISIBILITY_S)
        heapq.heappush(self._messages, message)

    def _call(self, name: str, handler: Callable[[Any, Any], Any], event: Any) -> Any:
        """What the function answers; None when its process was killed."""
        self.num_calls[name] += 1
        self._jobs.is_killed = lambda: self._happens(self._mishaps.killed)
        try:
            return handler(event, None)
        except Killed:
            return None
        finally:
            self._jobs.is_killed = lambda: False

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability
