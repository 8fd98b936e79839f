"""The stage between the planned mouth and the film: whoever draws a face in a frame.

The mesh engine (``models.talking_head.mesh``) is one; a neural renderer takes its place behind the same two calls.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.talking_head.tracks import HeadTrack, MouthTrack

Frame = NDArray[np.uint8]
"""Planar YUV 4:2:0 (see ``models.video.yuv``), uint8, shape (height * 3 // 2, width), both sides even."""


class PortraitState(Protocol):
    """What a renderer knows about one source frame.

    Attributes:
        region: x0, y0, x1, y1 in frame pixels, all even: the only area that ``render`` ever touches.
        warnings: Stable codes of what the viewer may notice, such as ``turned_face``.
    """

    @property
    def region(self) -> tuple[int, int, int, int]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


State = TypeVar("State", bound=PortraitState)


class FaceRenderer(Protocol[State]):
    """Draws a speaking face into frames."""

    def prepare(
        self, frame: Frame, landmarks: FaceLandmarks, *, previous: State | None = None, moving: bool = False
    ) -> State:
        """Everything about the source that does not change with the mouth.

        Args:
            frame: The source; kept, not copied: do not write to it while the state is in use.
            landmarks: In pixels of ``frame``.
            previous: The state of the video frame before this one, so that colours do not flicker.
            moving: The source is a video: its own head and eyes move, only the mouth is replaced.
        """
        ...

    def render(self, state: State, mouth: MouthTrack, head: HeadTrack | None, index: int, out: Frame) -> None:
        """Draw frame ``index`` into ``out``, which holds a copy of the source (of its region at least).

        ``head`` is ignored for a moving source. Outside ``state.region`` no sample of ``out`` is written.
        """
        ...
