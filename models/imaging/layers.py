"""A picture in the making: straight colours, its transparency, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.video.background import decontaminated
from models.video.picture import PictureSource
from models.video.yuv import rounded

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Attributes:
    rgb: uint8 (height, width, 3), straight: not mixed with anything where it is transparent.
    alpha: uint8 (height, width), None for an opaque picture.
    """

    rgb: Picture
    alpha: NDArray[np.uint8] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.rgb.shape[1], self.rgb.shape[0]

    def pixels(self) -> Picture:
        """uint8 (height, width, 3 or 4), to be written."""
        return self.rgb if self.alpha is None else np.dstack([self.rgb, self.alpha])

    def over(self, color: tuple[int, int, int]) -> Picture:
        """As it looks on one colour."""
        return (
            self.rgb if self.alpha is None else laid_over(self.rgb, np.divide(self.alpha, 255, dtype=np.float32), color)
        )


def layers_of(source: PictureSource) -> Layers:
    """The file's picture; the white that transparent files were laid over is taken out again."""
    if source.alpha is None:
        return Layers(rgb=source.rgb)
    return Layers(rgb=without_white(source.rgb, source.alpha), alpha=source.alpha)


def without_white(rgb_over_white: Picture, alpha: NDArray[np.uint8]) -> Picture:
    """Straight colours of a picture that lies over white with ``alpha``; white where it shows nothing."""
    partial = (alpha > 0) & (alpha < 255)
    if not partial.any():
        return rgb_over_white
    out = rgb_over_white.copy()
    share = (alpha[partial] / np.float32(255))[:, None]
    out[partial] = rounded(255 + (rgb_over_white[partial].astype(np.float32) - 255) / share)
    return out


def laid_over(front_rgb: Picture, alpha: Matte, plate: Picture | tuple[int, int, int]) -> Picture:
    """Straight ``front_rgb`` over ``plate``; bit-identical to either where ``alpha`` is 1 or 0."""
    below = np.asarray(plate, np.float32)
    mixed = rounded(below + alpha[..., None] * (front_rgb - below))
    whole = alpha >= 1
    mixed[whole] = front_rgb[whole]
    return mixed


def front_colors(layers: Layers, matte: Matte) -> Picture:
    """The subject's own colours, free of its background at the edge of ``matte``."""
    return decontaminated(layers.rgb, matte) if layers.alpha is None else layers.rgb
