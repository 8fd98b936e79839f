"""Token buckets in memory: on one machine one process serves every request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

_MAX_BUCKETS: Final = 10_000


class MemoryRateLimiter:
    """``services.ports.rates.RateLimiter``; a restart fills every bucket.

    Args:
        seconds: A clock that only goes forward.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens left, and when that was so

    def take(self, bucket: str, *, rate_per_s: float, burst: int) -> float:
        now = self._seconds()
        with self._lock:
            tokens, since = self._buckets.get(bucket, (float(burst), now))
            tokens = min(float(burst), tokens + (now - since) * rate_per_s)
            wait_s = 0.0 if tokens >= 1 else (1 - tokens) / rate_per_s
            if bucket not in self._buckets and len(self._buckets) >= _MAX_BUCKETS:
                self._buckets.clear()  # forgetting gives tokens, it never takes any
            self._buckets[bucket] = (tokens if wait_s else tokens - 1, now)
            return wait_s
