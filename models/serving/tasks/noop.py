"""Does nothing for a stated time: for load tests, and for tests of what happens when engines fail."""

from __future__ import annotations

import json
import mmap
import os
import signal
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from models.serving.context import TaskContext, TaskResult
from services.domain.errors import ContentRejected
from services.domain.wire import decode

_STEP_S: Final = 0.02


class Fault(StrEnum):
    """What goes wrong half-way."""

    NONE = "none"
    REJECT = "reject"  # an error of the product's own tree
    RAISE = "raise"  # a foreign exception
    EXIT = "exit"  # a library calls exit()
    CRASH = "crash"  # the process dies
    SEGFAULT = "segfault"  # the process is killed by the system, as by a broken native library
    ALLOCATE = "allocate"  # two gibibytes, never touched: fails where engines are given less
    HANG = "hang"  # sleeps on, deaf to cancel and deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class NoopOrder:
    """The object at ``storyboard_key`` of a no-op attempt.

    Attributes:
        faulty_attempts: The fault happens on attempts up to this one; later ones go well.
    """

    duration_s: float = 0.0
    fault: Fault = Fault.NONE
    faulty_attempts: int = 1_000


class NoopTask:
    """Sleeps, reports, honours cancel, and leaves one small output."""

    def load(self) -> None:
        """Nothing to load."""

    def run(self, context: TaskContext) -> TaskResult:
        """Sleep as ordered.

        Raises:
            ContentRejected: ``noop_rejected``, when ordered.
        """
        order = decode(NoopOrder, context.objects.read(context.request.storyboard_key))
        faulty = context.request.attempt <= order.faulty_attempts
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < order.duration_s:
            context.check_canceled()
            context.on_progress("sleeping", elapsed / order.duration_s)
            if faulty and elapsed >= order.duration_s / 2:
                _break(order.fault)
            time.sleep(min(_STEP_S, order.duration_s - elapsed))
        if faulty:
            _break(order.fault)
        path = context.folder / "result.json"
        path.write_text(json.dumps({"slept_s": order.duration_s}))
        output = context.objects.store("result", path)
        return TaskResult(
            outputs=(output,), facts={"duration_s": order.duration_s}, usage={"output_s": order.duration_s}
        )


def _break(fault: Fault) -> None:
    match fault:
        case Fault.NONE:
            return
        case Fault.REJECT:
            raise ContentRejected("This no-op was ordered to be rejected.", code="noop_rejected")
        case Fault.RAISE:
            raise RuntimeError("a foreign exception")
        case Fault.EXIT:
            raise SystemExit(3)
        case Fault.CRASH:
            os._exit(70)
        case Fault.SEGFAULT:
            os.kill(os.getpid(), signal.SIGSEGV)
        case Fault.ALLOCATE:
            mmap.mmap(-1, 2 * 1024**3, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        case Fault.HANG:
            time.sleep(3600)
