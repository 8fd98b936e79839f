"""The generative way to relight, as the picture tools see it; ``models.diffusion`` has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.imaging.layers import Layers, Matte, Picture
from models.imaging.skin_areas import face_areas
from models.imaging.subject import Subject
from models.video.background import parse_color
from services.domain.image_steps import LightFrom, RelightStep

_DARK: Final = 20  # the side away from the light, of 255: a room is not black
_SCENE_BLUR: Final = 0.06  # of the long side: what lights is the scene's colour, not its things


class Relighter(Protocol):
    """Lights a subject anew with a network."""

    def __call__(
        self,
        picture_rgb: Picture,
        *,
        subject: Matte,
        light_rgb: Picture,
        repaint: Matte,
        amount: float,
        check_canceled: Callable[[], None],
    ) -> Picture:
        """The picture in new light; where ``subject`` is 0 it comes back bit-identical.

        Args:
            subject: float32 (height, width), 0 to 1.
            light_rgb: Bright where the light comes from, uint8 of the picture's size.
            repaint: Where what the network paints is taken whole, 0 to 1; elsewhere only its light is.
            amount: How much of the new light is taken, 0 to 1.
        """
        ...


def relit_by(
    relighter: Relighter, layers: Layers, subject: Subject, step: RelightStep, check_canceled: Callable[[], None]
) -> Layers:
    """The subject in the light of the step, made by ``relighter``; face skin retouched in the same generation.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    height, width = subject.matte.shape
    repaint = np.zeros((height, width), np.float32)
    if subject.face is not None and step.retouch > 0:
        areas = face_areas(layers.rgb, subject, subject.face)
        repaint[areas.where] = step.retouch * areas.skin
    lit = relighter(
        layers.rgb,
        subject=subject.matte,
        light_rgb=light_picture(layers.rgb, step),
        repaint=repaint,
        amount=step.strength,
        check_canceled=check_canceled,
    )
    return Layers(rgb=lit, alpha=layers.alpha)


def light_picture(rgb: Picture, step: RelightStep) -> Picture:
    """What the generation starts from: the scene out of focus, or a slope that is bright on the lamp's side.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    import cv2

    height, width = rgb.shape[:2]
    if step.light is LightFrom.SCENE:
        light: NDArray[Any] = cv2.GaussianBlur(rgb, (0, 0), max(1.0, _SCENE_BLUR * max(height, width)))
    else:
        across, down = np.linspace(0, 1, width)[None, :], np.linspace(0, 1, height)[:, None]
        slope: NDArray[np.floating] = {
            LightFrom.LEFT: 1 - across + 0 * down,
            LightFrom.RIGHT: across + 0 * down,
            LightFrom.ABOVE: 1 - down + 0 * across,
            LightFrom.FRONT: 1 - np.hypot(across - 0.5, down - 0.4),
        }[step.light]
        light = (_DARK + (255 - _DARK) * slope.astype(np.float32))[..., None].repeat(3, axis=2)
    if step.color is not None:
        light = light * np.asarray(parse_color(step.color), np.float32) / 255
    return np.asarray(np.clip(np.rint(light), 0, 255), np.uint8)
