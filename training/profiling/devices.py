"""NVIDIA GPUs through NVML, where a driver and the package ``nvidia-ml-py`` (module ``pynvml``) are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from training.profiling.sampling import DeviceReading


class NvidiaDevices:
    """Every GPU of the machine, used or not.

    Args:
        nvml: The module ``pynvml``, or what has NVML's functions by its names, and ``NVMLError``.
    """

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        nvml.nvmlInit()
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        self._names = [_text(nvml.nvmlDeviceGetName(handle)) for handle in self._handles]

    @classmethod
    def of_this(cls) -> NvidiaDevices | None:
        """Those of this machine, or None without driver or package."""
        try:
            import pynvml
        except ImportError:
            return None
        try:
            return cls(pynvml)
        except pynvml.NVMLError:
            return None

    def read(self) -> tuple[DeviceReading, ...]:
        """Now; None for what a device does not tell (utilisation of a MIG slice)."""
        readings = []
        for index, (handle, name) in enumerate(zip(self._handles, self._names, strict=True)):
            rates = self._told(self._nvml.nvmlDeviceGetUtilizationRates, handle)
            memory = self._told(self._nvml.nvmlDeviceGetMemoryInfo, handle)
            readings.append(
                DeviceReading(
                    name=f"GPU {index}, {name}",
                    utilisation=None if rates is None else rates.gpu / 100,
                    memory_bytes=None if memory is None else int(memory.used),
                    memory_total_bytes=None if memory is None else int(memory.total),
                )
            )
        return tuple(readings)

    def _told(self, ask: Callable[[Any], Any], handle: Any) -> Any:
        try:
            return ask(handle)
        except self._nvml.NVMLError:
            return None


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name  # older NVML bindings give bytes
