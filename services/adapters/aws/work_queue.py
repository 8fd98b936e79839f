"""The engine's container as a queue's worker: its work comes from one SQS queue, what it has to say goes to another."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, Final

from services.adapters.aws.clients import Clients, translated
from services.domain.engine import EngineAnswer, EngineEvent
from services.domain.errors import Unavailable
from services.domain.wire import to_values

_log: Final = logging.getLogger("spokesmodel.engine")
_PART: Final = "the engine's queue"
_CODE: Final = "queue_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkMessage:
    """One message as received; ``receipt`` is good for this receipt only."""

    id: str
    body: str
    receipt: str


class SqsWorkQueue:
    """Attempts that wait for a worker."""

    def __init__(self, clients: Clients, queue_url: str, *, visibility_s: int = 60) -> None:
        """``visibility_s``: how long a received message stays hidden after ``receive`` and after each ``keep``."""
        self.visibility_s = visibility_s
        self._clients = clients
        self._queue_url = queue_url

    @property
    def _sqs(self) -> Any:
        return self._clients.get("sqs")

    def receive(self, *, wait_s: int) -> WorkMessage | None:
        """The next message; None when none came in ``wait_s`` (at most 20).

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        with translated(_PART, code=_CODE):
            answer = self._sqs.receive_message(
                QueueUrl=self._queue_url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=wait_s,
                VisibilityTimeout=self.visibility_s,
            )
        for message in answer.get("Messages", ()):
            return WorkMessage(id=message["MessageId"], body=message["Body"], receipt=message["ReceiptHandle"])
        return None

    def keep(self, message: WorkMessage) -> None:
        """Hide it for another ``visibility_s`` from now.

        Raises:
            Unavailable: ``queue_unavailable``; also when the message is hidden no more.
        """
        self._hide(message, self.visibility_s)

    def give_back(self, message: WorkMessage, *, delay_s: int = 0) -> None:
        """Let it be received again, by anyone, after ``delay_s``.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        self._hide(message, delay_s)

    def finish(self, message: WorkMessage) -> None:
        """Delete it.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        with translated(_PART, code=_CODE):
            self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message.receipt)

    def _hide(self, message: WorkMessage, seconds: int) -> None:
        with translated(_PART, code=_CODE):
            self._sqs.change_message_visibility(
                QueueUrl=self._queue_url, ReceiptHandle=message.receipt, VisibilityTimeout=seconds
            )


class SqsEngineNotices:
    """Answers and progress events, for ``lambdas/complete``."""

    def __init__(self, clients: Clients, queue_url: str) -> None:
        self._clients = clients
        self._queue_url = queue_url

    @property
    def _sqs(self) -> Any:
        return self._clients.get("sqs")

    def answer(self, answer: EngineAnswer) -> None:
        """Tell the end of an attempt.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        self._send("answer", to_values(answer))

    def emit(self, event: EngineEvent) -> None:
        """Tell progress, or lose it."""
        try:
            self._send("event", to_values(event))
        except Unavailable as error:
            _log.info("progress event of %s lost: %s", event.job_id, error.code)

    def _send(self, kind: str, values: dict[str, object]) -> None:
        body = json.dumps({"type": kind, kind: values}, ensure_ascii=False)
        with translated(_PART, code=_CODE):
            self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=body)
