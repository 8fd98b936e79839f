"""What the face does in each frame: the interface between the planning stages and any face renderer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class MouthTrack:
    """The mouth at each frame's centre time ``(index + .5) / fps``; every array has shape ``(num_frames,)``.

    Attributes:
        aperture: Inner lip opening in widths of the resting mouth; 0 touches, slightly negative presses.
        width: Distance between the corners as a factor of the resting mouth's.
        pucker: Lips pushed forward, 0 to 1.
        teeth: Lower lip drawn to the upper teeth (f, v), 0 to 1.
        tongue: Tongue raised to the upper teeth (l, t, th), 0 to 1.
        closed: Frames that must be seen closed (p, b, m; and rest).
        speaking: False where the mouth is at rest in silence.
    """

    fps: float
    aperture: Curve
    width: Curve
    pucker: Curve
    teeth: Curve
    tongue: Curve
    closed: NDArray[np.bool_]
    speaking: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.aperture)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTrack:
    """Head pose and eyes, relative to the source picture; every array has shape ``(num_frames,)``.

    Attributes:
        yaw, pitch, roll: Radians.
        shift_x, shift_y: In face widths.
        blink: Lid travel, 0 open to 1 closed.
        brow: Brow lift, 0 to 1.
    """

    yaw: Curve
    pitch: Curve
    roll: Curve
    shift_x: Curve
    shift_y: Curve
    blink: Curve
    brow: Curve

    def __len__(self) -> int:
        return len(self.yaw)
