"""Devices and machine, looked at now and then by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

_MOST_SAMPLES: Final = 4096  # then every second one is dropped and the pauses double: a run of days fits


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """A GPU at one moment.

    Attributes:
        utilisation: Share of the time since shortly before in which a kernel ran, 0 to 1; None: it does not tell.
    """

    name: str
    utilisation: float | None
    memory_bytes: int | None
    memory_total_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReading:
    """The machine at one moment; the four last count bytes since it was started.

    Attributes:
        cpu: Share of all cores that were busy since the reading before, 0 to 1.
        process_bytes: Memory of this process.
    """

    cpu: float
    memory_bytes: int
    memory_total_bytes: int
    process_bytes: int
    disk_read_bytes: int
    disk_written_bytes: int
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was read ``time_s`` after the beginning."""

    time_s: float
    machine: MachineReading | None
    devices: tuple[DeviceReading, ...]


class ReadsMachine(Protocol):
    def read(self) -> MachineReading: ...


class ReadsDevices(Protocol):
    def read(self) -> tuple[DeviceReading, ...]: ...


class Sampler:
    """Reads at ``start``, every ``interval_s``, and at ``stop``."""

    def __init__(
        self,
        machine: ReadsMachine | None,
        devices: ReadsDevices | None,
        *,
        interval_s: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._machine, self._devices, self._clock = machine, devices, clock
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self.samples: list[Sample] = []

    def start(self) -> None:
        """Read once, then go on in a thread."""
        self._began = self._clock()
        self.read()
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, name="profiler-samples", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and read a last time."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self.read()

    def read(self) -> None:
        """One sample, now."""
        self.samples.append(
            Sample(
                time_s=self._clock() - self._began,
                machine=None if self._machine is None else self._machine.read(),
                devices=() if self._devices is None else self._devices.read(),
            )
        )
        if len(self.samples) > _MOST_SAMPLES:
            del self.samples[1::2]
            self._interval_s *= 2

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            self.read()
