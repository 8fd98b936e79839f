from collections import namedtuple
from types import SimpleNamespace

import pytest

from training.profiling.machine import Machine

Times = namedtuple("Times", "user system idle iowait guest")


class Psutil:
    """psutil's functions, of a machine without counters of disks."""

    def __init__(self, *times):
        self.times = list(times)

    def Process(self):  # noqa: N802
        return SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=7))

    def cpu_times(self):
        return self.times.pop(0)

    def virtual_memory(self):
        return SimpleNamespace(total=100, available=40)

    def disk_io_counters(self):
        return None

    def net_io_counters(self, pernic):
        assert pernic
        counts = {"lo": (1000, 1000), "eth0": (3, 4), "eth1": (10, 20)}
        return {name: SimpleNamespace(bytes_recv=got, bytes_sent=sent) for name, (got, sent) in counts.items()}


def test_busy_is_neither_idle_nor_waiting_since_the_reading_before():
    # Of 10 s: 2 + 1 busy, 4 idle, 3 waiting for disks; the guest's 1 s is counted in user already.
    machine = Machine(Psutil(Times(5, 5, 50, 0, 2), Times(7, 6, 54, 3, 3)))
    assert machine.read().cpu == pytest.approx(0.3)


def test_loopback_is_no_network_and_missing_disk_counters_are_none_moved():
    read = Machine(Psutil(*[Times(0, 0, 0, 0, 0)] * 2)).read()
    assert (read.received_bytes, read.sent_bytes) == (13, 24)
    assert (read.disk_read_bytes, read.disk_written_bytes) == (0, 0)
    assert (read.memory_bytes, read.process_bytes) == (60, 7)


def test_this_machine_can_be_read():
    machine = Machine.of_this()
    assert machine is not None
    read = machine.read()
    assert 0 <= read.cpu <= 1
    assert 0 < read.process_bytes < read.memory_total_bytes
