"""What every rate limiter does. A token comes back every ten seconds, so no real moment decides."""

from __future__ import annotations

import threading

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.rates import DynamoRateLimiter
from services.adapters.local.clock import SystemClock
from services.adapters.local.rates import MemoryRateLimiter
from services.ports.rates import RateLimiter

SLOW = 0.1


@pytest.fixture(params=["memory", "aws"])
def limiter(request: pytest.FixtureRequest) -> RateLimiter:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoRateLimiter(Clients(), table_prefix=aws.tables("rates"), clock=SystemClock())
    return MemoryRateLimiter()


def test_burst_is_granted_and_then_the_wait_is_told(limiter):
    granted = [limiter.take("tenant_a", rate_per_s=SLOW, burst=3) for _ in range(3)]
    assert granted == [0, 0, 0]
    assert 0 < limiter.take("tenant_a", rate_per_s=SLOW, burst=3) <= 10


def test_refusal_takes_nothing(limiter):
    limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    waits = [limiter.take("tenant_a", rate_per_s=SLOW, burst=1) for _ in range(5)]
    assert all(0 < wait <= 10 for wait in waits)


def test_buckets_do_not_share(limiter):
    limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    assert limiter.take("tenant_b", rate_per_s=SLOW, burst=1) == 0


def test_tokens_are_granted_once_each_to_callers_at_the_same_time(limiter):
    waits: list[float] = []
    threads = [
        threading.Thread(target=lambda: waits.append(limiter.take("tenant_a", rate_per_s=SLOW, burst=5)))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert waits.count(0) == 5


def test_tokens_come_back_at_the_rate_and_never_beyond_the_burst():
    now = [0.0]
    limiter = MemoryRateLimiter(lambda: now[0])
    take = lambda: limiter.take("tenant_a", rate_per_s=0.5, burst=2)  # noqa: E731
    assert [take(), take(), take()] == [0, 0, 2]
    now[0] = 1.0
    assert take() == 1
    now[0] = 2.0
    assert [take(), take()] == [0, 2]
    now[0] = 1000.0
    assert [take(), take(), take()] == [0, 0, 2]
