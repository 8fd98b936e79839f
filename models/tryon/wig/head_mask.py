"""Which part of a person turns with the head, and what is behind it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_EARS: Final = 0.66  # nothing of a head without hair is further to a side, in face widths
_CHIN_SHADE: Final = (0.45, 0.3)  # how much darker a neck gets behind the jaw, and over how many face widths
_BEARD: Final = 0.4  # face widths that one may hang below the jaw
_BEARD_CONTRAST: Final = 55.0  # between its colour and the skin's, CIELAB as OpenCV scales it
_CHIN_PLACES: Final = (199, 200, 175, 208, 428)
_SKIN_PLACES: Final = (50, 280, 101, 330, 151)
_NECK: Final = 0.42  # half of it, in face widths


class HeadMask:
    """Which part of the person turns: the head down to the jaw or the beard, with the ears; and what is below it.

    Attributes:
        soft: float32 (h, w); 1 above the jaw.
        above_lobes: float32 (h, 1); 1 above the ears' lower ends.
        lobe: Row of those.
    """

    def __init__(self, points: Points, picture_rgb: Picture) -> None:
        import cv2

        height, width = picture_rgb.shape[:2]
        oval = points[list(FACE_OVAL), :2]
        centre = oval.mean(0)
        self._face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
        grown = centre + (oval - centre) * np.array([1.06, 1.03], np.float32)
        # Down to the jaw's line, and on to both sides at the height of the ears' lower end.
        lower = grown[grown[:, 1] > centre[1]]
        lower = lower[np.argsort(lower[:, 0])]
        self._neck_x = 0.6 * points[[234, 454], 0].mean() + 0.4 * points[152, 0]
        columns = np.arange(width, dtype=np.float32)
        line = np.interp(columns, lower[:, 0], lower[:, 1])
        self.lobe = lobe = float(points[[58, 288], 1].mean())
        line = np.where((columns < lower[0, 0]) | (columns > lower[-1, 0]), np.maximum(line, lobe), line)
        line = line + _beard(picture_rgb, points, line, self._face_width)
        beside = np.abs(columns - points[[234, 454], 0].mean()) > _EARS * self._face_width
        smooth = cv2.GaussianBlur(line.astype(np.float32)[None], (0, 0), 0.02 * self._face_width)[0]
        self._line: Matte = np.where(beside, -1e3, smooth).astype(np.float32)
        rows = np.arange(height, dtype=np.float32)[:, None]
        self._rows = rows
        soft = max(1.0, 0.012 * self._face_width)
        self.soft: Matte = np.asarray(np.clip((self._line[None] - rows) / soft + 0.5, 0, 1), np.float32)
        self.above_lobes: Matte = np.asarray(rows < lobe, np.float32)

    def continued(self, rgb: Picture, alpha: Matte) -> tuple[Picture, Matte]:
        """The person without head: what is just below the jaw goes on upwards behind it, and ends at the ears."""
        import cv2

        height, width = alpha.shape
        start: Matte = np.clip(np.asarray(self._line + 0.05 * self._face_width, np.float32), 0, height - 1)
        above = self._rows < start[None]
        y = np.broadcast_to(start[None].astype(np.float32), (3, width))
        x = np.ascontiguousarray(np.broadcast_to(np.arange(width, dtype=np.float32)[None], y.shape))
        strip_rgb, strip_alpha = (
            cv2.remap(part, x, np.ascontiguousarray(y), cv2.INTER_LINEAR)[:1] for part in (rgb, alpha)
        )
        strip_rgb = cv2.blur(strip_rgb, (max(3, round(0.05 * self._face_width)) | 1, 1))
        columns = np.arange(width, dtype=np.float32)
        aside = np.abs(columns - self._neck_x) / self._face_width
        ends = np.clip((self._rows - self.lobe) / (0.1 * self._face_width) + 3, 0, 1)  # at the ears
        neck = ends * strip_alpha * np.clip((_NECK - aside) / 0.012, 0, 1)[None]
        strength, over = _CHIN_SHADE
        shade = 1 - strength * np.clip((start[None] - self._rows) / (over * self._face_width), 0, 1)
        out = np.where(above[..., None], strip_rgb * shade[..., None], rgb)
        return np.asarray(out, np.uint8), np.asarray(np.where(above, neck, alpha), np.float32)


def _beard(picture_rgb: Picture, points: Points, line: NDArray[np.floating], face_width: float) -> NDArray[np.floating]:
    """How far a beard hangs below the jaw's ``line`` in each column, pixels."""
    import cv2

    height, width = picture_rgb.shape[:2]
    reach, patch = max(2, round(_BEARD * face_width)), max(1, round(0.03 * face_width))
    lab = cv2.cvtColor(picture_rgb, cv2.COLOR_RGB2LAB).astype(np.float32)

    def colour(places: tuple[int, ...]) -> Matte:
        values = []
        for x, y in np.round(points[list(places), :2]).astype(int):
            part = lab[max(0, y - patch) : y + patch + 1, max(0, x - patch) : x + patch + 1]
            if part.size:
                values.append(np.median(part.reshape(-1, 3), axis=0))
        return np.median(values, axis=0).astype(np.float32) if values else np.zeros(3, np.float32)

    chin, skin = colour(_CHIN_PLACES), colour(_SKIN_PLACES)
    none = np.zeros(width)
    if float(np.linalg.norm(chin - skin)) < _BEARD_CONTRAST:
        return none
    down = np.arange(reach)[:, None]
    rows = np.clip(np.round(line)[None].astype(int) + down, 0, height - 1)
    below = lab[rows, np.arange(width)[None]]
    like_chin = np.linalg.norm(below - chin, axis=2) < np.linalg.norm(below - skin, axis=2)
    length = np.where(like_chin.all(0), 0, like_chin.argmin(0))  # what never ends is no beard
    low, high = points[[172, 397], 0].min(), points[[172, 397], 0].max()
    columns = np.arange(width)
    length = np.where((columns > low) & (columns < high), length, 0).astype(np.float32)
    return np.asarray(cv2.blur(cv2.dilate(length[None], np.ones((1, 2 * patch + 1))), (4 * patch + 1, 1))[0])
