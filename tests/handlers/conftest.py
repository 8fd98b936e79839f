from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lambdas import runtime
from tests.fakes.world import World


@pytest.fixture
def world() -> Iterator[World]:
    """Fakes that every handler works with."""
    world = World()
    runtime.use_services(world.services)
    yield world
    runtime.use_services(None)


@pytest.fixture
def sqs() -> Callable[..., dict[str, Any]]:
    """An SQS event of these bodies; strings are sent as they are. Message ids are ``m0``, ``m1`` ..."""

    def event(*bodies: Any) -> dict[str, Any]:
        return {
            "Records": [
                {
                    "messageId": f"m{number}",
                    "receiptHandle": f"r{number}",
                    "body": body if isinstance(body, str) else json.dumps(body),
                    "attributes": {"ApproximateReceiveCount": "1"},
                    "messageAttributes": {},
                    "eventSource": "aws:sqs",
                    "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:queue",
                    "awsRegion": "eu-central-1",
                }
                for number, body in enumerate(bodies)
            ]
        }

    return event
