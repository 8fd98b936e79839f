"""Token buckets in DynamoDB."""

from __future__ import annotations

from typing import Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.instants import to_micros
from services.domain.errors import Unavailable
from services.ports.clock import Clock

_MICROS: Final = 1_000_000
_KEPT_S: Final = 3600  # a full bucket need not be remembered
_MAX_RACES: Final = 20


class DynamoRateLimiter:
    """``services.ports.rates.RateLimiter`` for all functions together.

    A bucket is one number: the moment at which it will be full again (the "generic cell rate algorithm"). Taking a
    token moves that moment on by the time that one token needs; it may never lie further ahead than ``burst`` tokens
    take. Both are one conditional update, so that callers at the same moment cannot share a token, and no read comes
    first. A function whose clock is behind the others' waits that much longer; one that is ahead gets that much more.
    """

    def __init__(self, clients: Clients, *, table_prefix: str, clock: Clock) -> None:
        self._table = Table(clients, f"{table_prefix}rates")
        self._clock = clock

    def take(self, bucket: str, *, rate_per_s: float, burst: int) -> float:
        token = max(1, round(_MICROS / rate_per_s))
        for _ in range(_MAX_RACES):
            now = to_micros(self._clock.now())
            latest = now + (burst - 1) * token  # the last moment of being full that leaves a token now
            full_at = self._taken_from_full(bucket, now, token)
            if full_at is None:
                return 0.0
            if full_at > latest:
                return (full_at - latest) / _MICROS
            if self._taken(bucket, now, token, latest):
                return 0.0
        raise Unavailable(f"The bucket {bucket} is asked by too many at once.", code="aws_throttled")

    def _taken_from_full(self, bucket: str, now: int, token: int) -> int | None:
        """Take a token of a bucket that is full or new; None when done, else when it will be full."""
        try:
            self._table.update(
                {"bucket": bucket},
                "#full_at = :then, #expires_at = :expires_at",
                condition="attribute_not_exists(#full_at) OR #full_at <= :now",
                values={"now": now, "then": now + token, "expires_at": _expiry(now + token)},
            )
        except ConditionFailed as failure:
            return now if failure.item is None else int(failure.item["full_at"])
        return None

    def _taken(self, bucket: str, now: int, token: int, latest: int) -> bool:
        """Take a token of a bucket that is neither full nor empty; whether it still was so."""
        try:
            self._table.update(
                {"bucket": bucket},
                "#full_at = #full_at + :token, #expires_at = :expires_at",
                condition="#full_at > :now AND #full_at <= :latest",
                values={"now": now, "latest": latest, "token": token, "expires_at": _expiry(latest + token)},
            )
        except ConditionFailed:
            return False
        return True


def _expiry(micros: int) -> int:
    return micros // _MICROS + _KEPT_S
