"""Dead-letter queues of SQS: a look into them, and messages moved back.

Moved by this code and not by ``StartMessageMoveTask``: so it is the same everywhere, bounded, and told message by
message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from services.adapters.aws.clients import Clients, translated
from services.domain.notice import item_named
from services.ports.dead_letters import DeadLetter

_CODE: Final = "queue_unavailable"
_AT_ONCE: Final = 10
_LOOK_S: Final = 20  # what is looked at is hidden so long, should this program die


class SqsDeadLetters:
    """``services.ports.dead_letters.DeadLetters``.

    Args:
        urls: The queues that have dead-letter queues, by step (``queue_urls``); theirs are found by redrive policy.
    """

    def __init__(self, clients: Clients, *, urls: Mapping[str, str]) -> None:
        self._clients = clients
        self._urls = dict(urls)

    def list(self, *, limit: int = 100) -> Sequence[DeadLetter]:
        found: list[DeadLetter] = []
        seen: list[tuple[str, str]] = []
        for step, _, dead in self._queues():
            while len(found) < limit:
                messages = self._receive(step, dead, min(_AT_ONCE, limit - len(found)))
                if not messages:
                    break
                found += [_letter(step, message) for message in messages]
                seen += [(dead, message["ReceiptHandle"]) for message in messages]
        with translated("the dead letters", code=_CODE):
            for dead, receipt in seen:
                self._sqs.change_message_visibility(QueueUrl=dead, ReceiptHandle=receipt, VisibilityTimeout=0)
        return tuple(found)

    def replay(self, *, limit: int = 100) -> int:
        num_sent = 0
        for step, source, dead in self._queues():
            while num_sent < limit:
                messages = self._receive(step, dead, min(_AT_ONCE, limit - num_sent))
                if not messages:
                    break
                for message in messages:
                    self._move(step, message, dead, source)
                    num_sent += 1
        return num_sent

    @property
    def _sqs(self) -> Any:
        return self._clients.get("sqs")

    def _queues(self) -> Iterator[tuple[str, str, str]]:
        """Step, queue, dead-letter queue."""
        for step, url in self._urls.items():
            with translated(f"the queue {step}", code=_CODE):
                answer = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
                policy = json.loads(answer.get("Attributes", {}).get("RedrivePolicy", "{}"))
                if "deadLetterTargetArn" not in policy:
                    continue
                name = policy["deadLetterTargetArn"].rpartition(":")[2]
                dead = self._sqs.get_queue_url(QueueName=name)["QueueUrl"]
            yield step, url, dead

    def _receive(self, step: str, dead: str, number: int) -> Sequence[dict[str, Any]]:
        with translated(f"the dead letters of {step}", code=_CODE):
            answer = self._sqs.receive_message(
                QueueUrl=dead,
                MaxNumberOfMessages=number,
                VisibilityTimeout=_LOOK_S,
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount", "MessageGroupId"],
            )
        messages: Sequence[dict[str, Any]] = answer.get("Messages", ())
        return messages

    def _move(self, step: str, message: dict[str, Any], dead: str, source: str) -> None:
        group = message.get("Attributes", {}).get("MessageGroupId")
        fair = {} if group is None else {"MessageGroupId": group}
        with translated(f"the queue {step}", code=_CODE):
            self._sqs.send_message(QueueUrl=source, MessageBody=message["Body"], **fair)
            self._sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])


def _letter(step: str, message: Mapping[str, Any]) -> DeadLetter:
    attributes = message.get("Attributes", {})
    sent_s = int(attributes.get("SentTimestamp", 0)) / 1000
    return DeadLetter(
        queue=step,
        item_id=item_named(message["Body"]),
        num_tries=int(attributes.get("ApproximateReceiveCount", 1)),
        at=datetime.fromtimestamp(sent_s, UTC),
        reason="undelivered",
    )
