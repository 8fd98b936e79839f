"""Time, so that tests can hold it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, timezone-aware UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; for bounded polling within a request only."""
        ...
