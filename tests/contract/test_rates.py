"""What every rate limiter does. A token comes back every two or ten seconds of a clock that the test holds."""

from __future__ import annotations

import threading

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.rates import DynamoRateLimiter
from services.adapters.local.rates import MemoryRateLimiter
from services.ports.rates import RateLimiter
from tests.fakes.clock import FakeClock
from tests.fakes.rates import FakeRateLimiter

SLOW = 0.1


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["fake", "memory", "aws"])
def limiter(request: pytest.FixtureRequest, clock: FakeClock) -> RateLimiter:
    if request.param == "fake":
        return FakeRateLimiter(clock)
    if request.param == "memory":
        return MemoryRateLimiter(lambda: clock.now().timestamp())
    return DynamoRateLimiter(Clients(), table_prefix=request.getfixturevalue("aws").tables("rates"), clock=clock)


def test_burst_is_granted_and_then_the_wait_is_told(limiter):
    granted = [limiter.take("tenant_a", rate_per_s=SLOW, burst=3) for _ in range(3)]
    assert granted == [0, 0, 0]
    assert limiter.take("tenant_a", rate_per_s=SLOW, burst=3) == pytest.approx(10)


def test_refusal_takes_nothing(limiter, clock):
    limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    waits = [limiter.take("tenant_a", rate_per_s=SLOW, burst=1) for _ in range(5)]
    assert waits == [pytest.approx(10)] * 5
    clock.advance(10)
    assert limiter.take("tenant_a", rate_per_s=SLOW, burst=1) == 0


def test_who_waits_as_long_as_told_is_granted_and_who_comes_sooner_is_not(limiter, clock):
    limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    clock.advance(4)
    wait_s = limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    assert wait_s == pytest.approx(6)
    clock.advance(wait_s - 0.5)
    assert limiter.take("tenant_a", rate_per_s=SLOW, burst=1) == pytest.approx(0.5)
    clock.advance(0.5)
    assert limiter.take("tenant_a", rate_per_s=SLOW, burst=1) == 0


def test_buckets_do_not_share(limiter):
    limiter.take("tenant_a", rate_per_s=SLOW, burst=1)
    assert limiter.take("tenant_b", rate_per_s=SLOW, burst=1) == 0
    assert limiter.take("tenant_a", rate_per_s=SLOW, burst=1) > 0


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
    assert len(waits) == 12


def test_tokens_come_back_at_the_rate_and_never_beyond_the_burst(limiter, clock):
    take = lambda: limiter.take("tenant_a", rate_per_s=0.5, burst=2)  # noqa: E731
    assert [take(), take(), take()] == [0, 0, pytest.approx(2)]
    clock.advance(1)
    assert take() == pytest.approx(1)
    clock.advance(1)
    assert [take(), take()] == [0, pytest.approx(2)]
    clock.advance(1000)
    assert [take(), take(), take()] == [0, 0, pytest.approx(2)]


def test_functions_share_a_bucket_where_requests_are_served_by_many(aws, clock):
    prefix = aws.tables("rates")
    one, another = (DynamoRateLimiter(Clients(), table_prefix=prefix, clock=clock) for _ in range(2))
    assert one.take("tenant_a", rate_per_s=SLOW, burst=1) == 0
    assert another.take("tenant_a", rate_per_s=SLOW, burst=1) == pytest.approx(10)
