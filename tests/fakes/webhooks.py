"""A sender that keeps what it was given and answers as told; a delivery log in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.domain.outside_url import CALLBACK, parse_outside_url
from services.ports.webhooks import Delivery


@dataclass(frozen=True)
class Posted:
    url: str
    body: bytes
    headers: Mapping[str, str]


class FakeWebhookSender:
    """Attributes:
    answers: Status or exception of each coming post; afterwards 200.
    """

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.posted: list[Posted] = []

    def post(self, url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
        parse_outside_url(url, allow_private=False, purpose=CALLBACK)
        self.posted.append(Posted(url, body, dict(headers)))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeDeliveryLog:
    def __init__(self) -> None:
        self._deliveries: list[Delivery] = []

    def add(self, delivery: Delivery) -> None:
        self._deliveries.append(delivery)

    def list(self, job_id: str) -> Sequence[Delivery]:
        return [delivery for delivery in self._deliveries if delivery.job_id == job_id]

    def forget(self, job_id: str) -> None:
        self._deliveries = [delivery for delivery in self._deliveries if delivery.job_id != job_id]
