"""What a run tells while it runs: ``events.jsonl`` for programs, TensorBoard's files for people.

An event is an object of one line with ``at`` (seconds since 1970), ``step`` (steps trained) and one subject or more:
``loss`` with ``learning_rate`` and ``grad_norm``; ``validation_loss``; ``samples`` (a file of the run's folder);
``checkpoint``; ``warning``; ``state``: ``encoding``, ``running`` or ``resumed``, then ``interrupted``, ``canceled``,
``failed`` or ``finished``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

EVENTS: Final = "events.jsonl"
Event = dict[str, Any]


class EventLog:
    """Appends to the run's ``events.jsonl`` and calls ``on_event`` with the same."""

    def __init__(self, run_dir: Path, on_event: Callable[[Event], None]) -> None:
        path = run_dir / EVENTS
        torn = path.is_file() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self._file = path.open("ab")
        self._on_event = on_event
        self.last_step = 0
        if torn:  # the line that a killed run was writing
            self._file.write(b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._file.close()

    def emit(self, step: int, **subjects: Any) -> None:
        """One event; on the disk as far as the system goes before the next step begins."""
        event = {"at": round(time.time(), 3), "step": step, **subjects}
        self._file.write(json.dumps(event).encode() + b"\n")
        self._file.flush()
        self.last_step = step
        self._on_event(event)


def read_events(run_dir: Path) -> list[Event]:
    """What counts of a run's events, without lines cut off by a kill and steps that were trained again after it."""
    kept: list[Event] = []
    for event in _whole_lines(run_dir / EVENTS):
        match event.get("state"):
            case "running":  # from the beginning, whatever was there before
                kept = [one for one in kept if one.get("state") == "encoding"][-1:]
            case "resumed":
                kept = [one for one in kept if one["step"] <= event["step"]]
        kept.append(event)
    return kept


def _whole_lines(path: Path) -> Iterator[Event]:
    if not path.is_file():
        return
    for line in path.read_bytes().splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("step"), int):
            yield event


class Board:
    """TensorBoard's event files, where its package is; without it, and when it cannot write, nothing."""

    def __init__(self, run_dir: Path, *, first_step: int) -> None:
        self.missing = False
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self.missing = True
            self._writer = None
            return
        # What a killed run wrote of later steps is purged by TensorBoard when it reads.
        self._writer = SummaryWriter(str(run_dir / "tensorboard"), purge_step=first_step or None)

    def numbers(self, step: int, **values: float) -> None:
        """Curves by name."""
        for name, value in values.items():
            self._try("add_scalar", name, value, step)

    def picture(self, step: int, name: str, pixels: Any) -> None:
        """A picture, uint8 (h, w, 3)."""
        self._try("add_image", name, pixels, step, dataformats="HWC")

    def close(self) -> None:
        self._try("close")

    def _try(self, method: str, *values: Any, **options: Any) -> None:
        if self._writer is None:
            return
        try:
            getattr(self._writer, method)(*values, **options)
        except OSError:  # a full disk: the checkpoints' error tells of it
            self._writer = None
