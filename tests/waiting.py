"""Waiting for what other threads and processes do; a test that waits asserts what came, never how soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], timeout_s: float = 60.0) -> T:
    """What ``condition`` gives once that is true; it is asked often at first, then less so."""
    give_up_at = time.monotonic() + timeout_s
    pause_s = 0.005
    while not (found := condition()):
        assert time.monotonic() < give_up_at, "waited in vain"
        time.sleep(pause_s)
        pause_s = min(0.05, 1.2 * pause_s)
    return found
