"""How a film says that AI made it: the words in its frames and the marks in its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.provenance.boxes import append_xmp
from models.provenance.marks import Marks, SourceType
from models.talking_head.scene import Scene
from models.video.label import KeepClear, VisibleLabel
from services.domain.storyboard import Storyboard

# A film changes the presenter's own pixels: IPTC calls that a composite, whoever the presenter is.
_SOURCE_TYPE: Final = SourceType.COMPOSITE
_MOVED: Final = "The label stands at {corner}: a face or the subtitles are where it was wanted."
_ON_FACE: Final = "The label covers a part of a face: no corner of the film is free. A wider frame has room for it."


class FilmDisclosure:
    """What one film discloses.

    Args:
        captions: First and last row of burnt-in subtitles; None without.
        producer: Who the metadata say made the film.
    """

    def __init__(
        self,
        storyboard: Storyboard,
        scene: Scene,
        language: str | None,
        *,
        captions: tuple[int, int] | None,
        producer: str,
    ) -> None:
        self._job_id = storyboard.job_id
        self._producer = producer
        self._wanted = storyboard.disclosure.corner
        self._label: VisibleLabel | None = None
        if storyboard.disclosure.visible_label:
            keep_clear = KeepClear(faces=scene.faces, heads=scene.hair, caption_rows=captions)
            self._label = VisibleLabel(scene.size, language, corner=self._wanted, keep_clear=keep_clear)

    def draw(self, frame: NDArray[np.uint8]) -> None:
        """Lay the label on ``frame`` (I420), unless the client turned it off."""
        if self._label is not None:
            self._label.draw(frame)

    def marks(self, role: str) -> Marks:
        """What the file ``role`` says about itself."""
        return Marks(source_type=_SOURCE_TYPE, producer=self._producer, content_id=f"{self._job_id}.{role}")

    def finish_video(self, path: Path) -> None:
        """Add to a written video what its encoder could not."""
        append_xmp(path, self.marks("video").xmp())

    def notes(self) -> list[str]:
        """What the client should know about the label's place."""
        if self._label is None:
            return []
        notes = [_ON_FACE] if self._label.covers_face else []
        if self._wanted not in (None, self._label.corner):
            notes.append(_MOVED.format(corner=self._label.corner.value))
        return notes

    def facts(self) -> dict[str, Any]:
        """For the job's result."""
        return {
            "visible_label": self._label is not None,
            "label_corner": self._label.corner.value if self._label else None,
            "digital_source_type": _SOURCE_TYPE.value,
        }
