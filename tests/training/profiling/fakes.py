"""A clock that moves when told, and a driver with NVML's own function names."""

from types import SimpleNamespace

from training.profiling.sampling import MachineReading


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


class Nvml:
    """One reading after the other of each GPU: (percent busy, bytes used), or an error."""

    class NVMLError(Exception):
        pass

    def __init__(self, *gpus, total=80_000_000_000):
        self.gpus, self.total, self.at = gpus, total, [0] * len(gpus)
        self.started = False

    def nvmlInit(self):  # noqa: N802
        self.started = True

    def nvmlDeviceGetCount(self):  # noqa: N802
        assert self.started
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return index

    def nvmlDeviceGetName(self, handle):  # noqa: N802
        return b"Fake H1"

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        percent = self.gpus[handle][self.at[handle]][0]
        if percent is None:
            raise self.NVMLError("not supported")
        return SimpleNamespace(gpu=percent, memory=0)

    def nvmlDeviceGetMemoryInfo(self, handle):  # noqa: N802
        used = self.gpus[handle][self.at[handle]][1]
        self.at[handle] += 1
        return SimpleNamespace(used=used, total=self.total, free=self.total - used)


class MachineOf:
    """Readings one after the other."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def read(self):
        return self.readings.pop(0)


def machine(**changes):
    values = {
        "cpu": 0.5,
        "memory_bytes": 4_000_000_000,
        "memory_total_bytes": 8_000_000_000,
        "process_bytes": 1_000_000_000,
        "disk_read_bytes": 0,
        "disk_written_bytes": 0,
        "received_bytes": 0,
        "sent_bytes": 0,
        **changes,
    }
    return MachineReading(**values)
