"""A bell that wakes whoever waits for work: threads sleep on it and look again when it rings, or after a while."""

from __future__ import annotations

import threading


class Bell:
    """Counts its rings, so that one that sounds between a look and a wait is not missed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    @property
    def rings(self) -> int:
        return self._rings

    def ring(self) -> None:
        """Wake everyone."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Return when it has rung more than ``seen`` times, or after ``timeout_s``."""
        with self._condition:
            self._condition.wait_for(lambda: self._rings > seen, timeout_s)
