"""What to do about a profile's figures, each in a sentence that names its figure. One rule, one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

# Above these shares of the time a change is worth somebody's afternoon; below, the report keeps silent.
DATA_WAIT_LIMIT: Final = 0.20
IDLE_LIMIT: Final = 0.20
OPTIMIZER_LIMIT: Final = 0.25
CHECKPOINT_LIMIT: Final = 0.10
LOOKS_LIMIT: Final = 0.20  # validation and samples together
OTHER_LIMIT: Final = 0.20
UNUSED_LIMIT: Final = 0.01  # utilisation below it: nothing of the run is on that GPU
ROOM_LIMIT: Final = 0.60  # of a GPU's memory: a batch half as large again fits, what is not activations included
FULL_LIMIT: Final = 0.95
UNEVEN_LIMIT: Final = 2.0  # 9 of 10 steps are no slower than the median times this
_FEWEST_STEPS: Final = 10  # fewer say nothing about evenness


def advice_on(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Title and sentence of every rule whose figure is over its limit."""
    return [{"title": title, "sentence": sentence} for title, sentence in _found(figures)]


def _found(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _phases(figures)
    for device in figures["devices"]:
        yield from _device(device)
    yield from _gaps(figures["kernels"])
    yield from _machine(figures["machine"])
    median, slow = figures["step_median_s"], figures["step_p90_s"]
    if median and figures["num_steps"] - figures["num_traced"] >= _FEWEST_STEPS and slow > UNEVEN_LIMIT * median:
        yield (
            "Uneven steps",
            f"One step in ten takes {slow / median:.1f} times the median or longer ({_ms(slow)} to {_ms(median)}): "
            "see in the plot of steps which phase grows; buckets of unlike sizes and checkpoints are usual reasons.",
        )


def _phases(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    rows = {row["name"]: row for row in figures["phases"]}

    def share(*names: str) -> float:
        return sum(float(rows[name]["share"]) for name in names if name in rows)

    if share("data_wait") > DATA_WAIT_LIMIT:
        yield (
            "Waiting for data",
            f"{share('data_wait'):.0%} of the steps' time is waiting for data ({_ms(rows['data_wait']['median_s'])} in "
            "the median step): give the loader more workers, or keep latents and text states in a cache.",
        )
    if share("optimizer") > OPTIMIZER_LIMIT:
        yield (
            "The optimiser",
            f"{share('optimizer'):.0%} of the steps' time is the optimiser's: accumulate gradients over more batches, "
            "train fewer layers or a lower rank, or take a fused or 8-bit optimiser.",
        )
    if share("checkpoint") > CHECKPOINT_LIMIT:
        yield (
            "Checkpoints",
            f"{share('checkpoint'):.0%} of the steps' time goes to checkpoints: write them less often, or to a faster "
            "disk.",
        )
    if share("validation", "samples") > LOOKS_LIMIT:
        yield (
            "Validation and samples",
            f"{share('validation', 'samples'):.0%} of the steps' time goes to validation and sample pictures: make "
            "them less often, or of fewer pictures and timesteps.",
        )
    if share("other") > OTHER_LIMIT:
        yield (
            "Outside of phases",
            f"{share('other'):.0%} of the steps' time lies in no phase: the loop's own work between them, such as "
            "logging or reading a loss back from the device, holds the run up.",
        )


def _device(device: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name, idle, gpu = device["name"], device["idle"], device["kind"] == "gpu"
    if gpu and device["utilisation"] is not None and device["utilisation"] < UNUSED_LIMIT:
        yield (
            f"{name} unused",
            f"{name} computed nothing in {device['idle_s']:.0f} s: give it back, or train on it too.",
        )
        return
    if idle is not None and idle > IDLE_LIMIT:
        told = f"{name} stood idle for {idle:.0%} of the time ({device['idle_s']:.1f} s): "
        yield (
            f"{name} idle",
            told + "work reaches it too slowly; a larger batch, less waiting for data and fewer reads of values back "
            "from the device fill the gaps."
            if gpu
            else told + "it waits for disks, the network, other processes or single-threaded code; if other processes "
            "share the machine, give the run its own cores.",
        )
    peak, total = device["memory_peak_bytes"], device["memory_total_bytes"]
    if not gpu or not peak or not total:
        return
    if peak > FULL_LIMIT * total:
        yield (
            f"{name} full",
            f"{name} had {peak / total:.0%} of its memory in use at the peak: the next larger batch runs out of it; "
            "gradient checkpointing or a smaller batch gives room.",
        )
    elif peak < ROOM_LIMIT * total:
        yield (
            f"{name} has room",
            f"{name} used {peak / 1e9:.1f} of {total / 1e9:.1f} GB at the peak: a larger batch fits, or gradient "
            "checkpointing can go where it is on.",
        )


def _gaps(kernels: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    gaps = None if kernels is None else kernels["idle_between_kernels"]
    if gaps is not None and gaps > IDLE_LIMIT:
        yield (
            "Gaps between kernels",
            f"In the traced steps {gaps:.0%} of the time lies between kernels: they are too small to fill the device; "
            "a larger batch, or compiling the network, joins them.",
        )


def _machine(machine: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if machine is None:
        return
    used = machine["memory_peak_bytes"] / machine["memory_total_bytes"]
    if used > FULL_LIMIT:
        yield (
            "The machine's memory",
            f"{used:.0%} of the machine's memory was in use at the peak: fewer loader workers or smaller caches keep "
            "the run from being killed.",
        )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
