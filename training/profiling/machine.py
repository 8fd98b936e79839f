"""CPU, memory, disk and network of the machine, by psutil where it is installed (extra ``training``)."""

from __future__ import annotations

from typing import Any

from training.profiling.sampling import MachineReading


class Machine:
    """Reads through ``psutil``, a module or what has its functions."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._process = psutil.Process()
        self._before = psutil.cpu_times()

    @classmethod
    def of_this(cls) -> Machine | None:
        """This machine, or None without psutil."""
        try:
            import psutil
        except ImportError:
            return None
        return cls(psutil)

    def read(self) -> MachineReading:
        """Now. A container without counters of disks has none read or written."""
        psutil = self._psutil
        memory, disk = psutil.virtual_memory(), psutil.disk_io_counters()
        networks = [one for name, one in psutil.net_io_counters(pernic=True).items() if name != "lo"]
        return MachineReading(
            cpu=self._busy(),
            memory_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            process_bytes=self._process.memory_info().rss,
            disk_read_bytes=0 if disk is None else disk.read_bytes,
            disk_written_bytes=0 if disk is None else disk.write_bytes,
            received_bytes=sum(one.bytes_recv for one in networks),
            sent_bytes=sum(one.bytes_sent for one in networks),
        )

    def _busy(self) -> float:
        """Share of all cores since the call before; psutil's own ``cpu_percent`` compares within one thread only."""
        before, now = self._before, self._psutil.cpu_times()
        self._before = now
        # Linux counts guests into user time too.
        spent = {
            name: max(0.0, getattr(now, name) - getattr(before, name))
            for name in now._fields
            if name not in {"guest", "guest_nice"}
        }
        total = sum(spent.values())
        return 1 - (spent.get("idle", 0.0) + spent.get("iowait", 0.0)) / total if total else 0.0
