"""How often a tenant may call."""

from __future__ import annotations

from typing import Protocol


class RateLimiter(Protocol):
    def take(self, bucket: str, *, rate_per_s: float, burst: int) -> float:
        """Take one token of ``bucket`` (refilled at ``rate_per_s`` up to ``burst``).

        Returns:
            0 when there was one; otherwise the seconds until there will be, and none is taken.
        """
        ...
