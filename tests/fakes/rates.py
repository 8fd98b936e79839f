"""Token buckets on a clock that a test holds."""

from __future__ import annotations

import threading

from services.ports.clock import Clock


class FakeRateLimiter:
    """Knows of each bucket when it will be full again; a token taken puts that off by the time that one needs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: dict[str, float] = {}

    def take(self, bucket: str, *, rate_per_s: float, burst: int) -> float:
        now = self._clock.now().timestamp()
        with self._lock:
            full_at = max(now, self._full_at.get(bucket, now))
            wait_s = full_at - now - (burst - 1) / rate_per_s
            if wait_s > 1e-6:
                return wait_s
            self._full_at[bucket] = full_at + 1 / rate_per_s
            return 0.0
