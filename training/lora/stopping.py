"""SIGTERM and SIGINT as something that a loop looks at between steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Stopped(Exception):
    """A signal arrived; its name."""


class Signals:
    """Notes SIGTERM and SIGINT instead of dying of them; a second one of them ends the process as it always does."""

    def __init__(self) -> None:
        self.arrived = ""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python lets no other set handlers
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.arrived = signal.Signals(number).name
        signal.signal(number, self._before[number])
