"""Pipelines kept ready in a worker: one set of networks for every task, LoRAs exchanged in place between requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from models.diffusion.checkpoints import Checkpoint
from models.diffusion.lora_files import read_lora
from models.diffusion.lora_fit import check_fits
from models.diffusion.lora_fold import FoldedLoras, LoraUse, PlacedLora
from models.diffusion.lora_library import StoredLora
from models.diffusion.pipelines import Generator, Task, for_task, open_generator
from models.diffusion.schedulers import make_scheduler
from services.domain.errors import Unavailable

MAX_LORA_BYTES: Final = 2 * 1024**3
MAX_LORAS: Final = 32
WAIT_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedLora:
    """A version of a LoRA, and how much of it."""

    stored: StoredLora
    scale: float = 1.0
    text_scale: float | None = None


class WarmPipeline:
    """One checkpoint's networks, ready.

    Several threads may ask; one at a time has it, the others wait, and are refused after ``wait_s``.

    Args:
        generator: What ``open_generator`` made; its own LoRAs, if any, count as the base.
        max_lora_bytes, max_loras: How much of LoRAs stays beside the networks, the least lately used going first. What
            one request needs at once is held in any case.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        max_lora_bytes: int = MAX_LORA_BYTES,
        max_loras: int = MAX_LORAS,
        wait_s: float = WAIT_S,
    ) -> None:
        self._tasks: dict[Task, Generator] = {}
        self._generator = generator
        self._scheduler = generator.pipe.scheduler
        self._folded = FoldedLoras(generator.pipe)
        self._placed: OrderedDict[str, PlacedLora] = OrderedDict()
        self._lock = threading.Lock()
        self._max_lora_bytes = max_lora_bytes
        self._max_loras = max_loras
        self._wait_s = wait_s

    @property
    def checkpoint(self) -> Checkpoint:
        return self._generator.checkpoint

    @property
    def held_loras(self) -> tuple[str, ...]:
        """Digests of the LoRAs that are held, the least lately used first."""
        return tuple(self._placed)

    @contextmanager
    def holding(
        self, task: Task, loras: Sequence[WantedLora] = (), *, scheduler: str | None = None
    ) -> Iterator[tuple[Generator, tuple[PlacedLora, ...]]]:
        """The generator for the task with exactly these LoRAs, for as long as it lasts and for nobody else meanwhile.

        Raises:
            Unavailable: ``pipeline_busy``: whoever has it did not end within ``wait_s``; ``checkpoint_not_usable``.
            ContentRejected: ``not_a_lora``, ``lora_wrong_base``.
            InvalidRequest: ``scheduler_unknown``.
        """
        if not self._lock.acquire(timeout=self._wait_s):
            raise Unavailable(
                f"The pipeline of {self.checkpoint.name} is used by another request.", code="pipeline_busy"
            )
        try:
            made = self._for_task(task)
            made.pipe.scheduler = self._scheduler_called(scheduler)
            placed = tuple(self._place(one.stored) for one in loras)
            self._folded.use(
                [
                    LoraUse(lora=lora, scale=one.scale, text_scale=one.text_scale)
                    for lora, one in zip(placed, loras, strict=True)
                ]
            )
            self._drop_old(keep={one.stored.digest for one in loras})
            yield made, placed
        finally:
            self._lock.release()

    def release(self) -> None:
        """Give up all LoRAs and the copies kept for them; the networks are the base's to the bit."""
        with self._lock:
            self._folded.clear()
            self._placed.clear()

    def _for_task(self, task: Task) -> Generator:
        if task not in self._tasks:
            self._tasks[task] = for_task(self._generator, task)
        return self._tasks[task]

    def _scheduler_called(self, name: str | None) -> Any:
        if name is None:
            return self._scheduler
        return make_scheduler(name, self.checkpoint.family, self._scheduler.config)

    def _place(self, stored: StoredLora) -> PlacedLora:
        if stored.digest not in self._placed:
            weights = read_lora(stored.path)
            check_fits(weights, self.checkpoint, name=stored.label)
            self._placed[stored.digest] = self._folded.place(weights, name=stored.label)
        self._placed.move_to_end(stored.digest)
        return self._placed[stored.digest]

    def _drop_old(self, keep: set[str]) -> None:
        for digest in list(self._placed):
            size = sum(one.size_bytes for one in self._placed.values())
            if len(self._placed) <= self._max_loras and size <= self._max_lora_bytes:
                return
            if digest not in keep:
                del self._placed[digest]


class WarmPipelines:
    """The pipelines of a worker, by checkpoint; the least lately used is given up for a new one.

    Args:
        max_pipelines: One fills a GPU.
    """

    def __init__(self, *, max_pipelines: int = 1, device: str | None = None, dtype: str | None = None) -> None:
        self._held: OrderedDict[Checkpoint, WarmPipeline] = OrderedDict()
        self._lock = threading.Lock()
        self._max_pipelines = max_pipelines
        self._device = device
        self._dtype = dtype

    def pipeline(self, checkpoint: Checkpoint) -> WarmPipeline:
        """The checkpoint's pipeline, loaded where it is not held.

        Raises:
            Unavailable: As ``open_generator``.
        """
        with self._lock:
            if checkpoint not in self._held:
                if len(self._held) >= self._max_pipelines:
                    while len(self._held) >= self._max_pipelines:
                        self._held.popitem(last=False)
                    _give_memory_back()
                generator = open_generator(checkpoint, _first_task(checkpoint), self._device, self._dtype)
                self._held[checkpoint] = WarmPipeline(generator)
            self._held.move_to_end(checkpoint)
            return self._held[checkpoint]

    def is_held(self, checkpoint: Checkpoint) -> bool:
        return checkpoint in self._held


def _give_memory_back() -> None:
    """Free what dropped networks held before others are loaded: pipelines are cyclic, and CUDA keeps what it has."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _first_task(checkpoint: Checkpoint) -> Task:
    """The task that the checkpoint's own pipeline is for: others are made of the same networks."""
    import json

    kind = str(json.loads((checkpoint.folder() / "model_index.json").read_text(encoding="utf-8")).get("_class_name"))
    return "inpainting" if "Inpaint" in kind else "text2image"
