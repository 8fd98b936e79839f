"""What an engine can be asked to do, one module a kind. A task is imported and loaded only where it is served."""

from __future__ import annotations

from typing import Final, Protocol

from models.serving.context import TaskContext, TaskResult
from services.domain.engine import EngineKind
from services.domain.errors import NotFound
from services.settings import Settings

# What an engine serves unless it is told otherwise: everything that clients can ask for.
SERVED: Final = (
    EngineKind.VIDEO,
    EngineKind.WIG_PREVIEW,
    EngineKind.GARMENT_PREVIEW,
    EngineKind.IMAGE,
    EngineKind.PRODUCT,
)


class Task(Protocol):
    """One kind of work."""

    def load(self) -> None:
        """Load what every run needs.

        Raises:
            Unavailable: ``weights_missing``, ``engine_not_installed``; the engine can then not be used.
        """
        ...

    def run(self, context: TaskContext) -> TaskResult:
        """Do the work of one attempt; any ``SpokesmodelError`` ends it with that code."""
        ...


def task_for(kind: EngineKind, settings: Settings) -> Task:
    """The task of ``kind``, not loaded yet.

    Raises:
        NotFound: ``engine_kind_unknown``.
    """
    match kind:
        case EngineKind.VIDEO:
            from models.serving.tasks.video import VideoTask

            return VideoTask(settings)
        case EngineKind.WIG_PREVIEW:
            from models.serving.tasks.wig_preview import WigPreviewTask

            return WigPreviewTask(settings)
        case EngineKind.GARMENT_PREVIEW:
            from models.serving.tasks.garment_preview import GarmentPreviewTask

            return GarmentPreviewTask(settings)
        case EngineKind.IMAGE:
            from models.serving.tasks.image import ImageTask

            return ImageTask(settings)
        case EngineKind.PRODUCT:
            from models.serving.tasks.product import ProductTask

            return ProductTask(settings)
        case EngineKind.NOOP:
            from models.serving.tasks.noop import NoopTask

            return NoopTask()
    raise NotFound(f"No engine does {kind}.", code="engine_kind_unknown")
