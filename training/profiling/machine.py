"""CPU, memory, disk and network of the machine, by psutil where it is installed (extra ``training``)."""

from __future__ import annotations

from typing import Any

from training.profiling.sampling import MachineReading


class Machine:
    """Reads through ``psutil``, a module or what has its functions."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._process = psutil.Process()
        psutil.cpu_percent(None)  # the first call has nothing to compare with and says 0

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
            cpu=psutil.cpu_percent(None) / 100,
            memory_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            process_bytes=self._process.memory_info().rss,
            disk_read_bytes=0 if disk is None else disk.read_bytes,
            disk_written_bytes=0 if disk is None else disk.write_bytes,
            received_bytes=sum(one.bytes_recv for one in networks),
            sent_bytes=sum(one.bytes_sent for one in networks),
        )
