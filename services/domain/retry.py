"""How long to wait before trying again."""

from __future__ import annotations

from typing import Final

# Standard Webhooks' recommended schedule: at once, then ever rarer for a day and a half.
_WEBHOOK_DELAYS_S: Final = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0, 72000.0)


def backoff_s(num_tries: int, *, first_s: float = 1.0, longest_s: float = 60.0) -> float:
    """Delay after ``num_tries`` failed tries (1 or more): doubling from ``first_s``, never over ``longest_s``."""
    return float(min(longest_s, first_s * 2 ** min(num_tries - 1, 30)))


def webhook_delay_s(num_tries: int) -> float:
    """Delay after ``num_tries`` failed deliveries (1 or more)."""
    return _WEBHOOK_DELAYS_S[min(num_tries, len(_WEBHOOK_DELAYS_S)) - 1]
