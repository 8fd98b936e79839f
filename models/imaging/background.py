"""Something else behind the person or product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.imaging.layers import Layers, front_colors, laid_over
from models.imaging.studio import studio_plate
from models.imaging.subject import Subject
from models.video.background import blurred_behind, cover, parse_color
from models.video.picture import PictureSource
from services.domain.errors import InvalidRequest
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind

NOTHING_BEHIND = "The picture is transparent already: there is no background to blur."


def swapped(layers: Layers, subject: Subject, shot: BackgroundShot, picture: PictureSource | None = None) -> Layers:
    """The subject on the background that was asked for; an opaque picture.

    Pixels that are wholly the subject's stay bit-identical. ``original`` gives the picture back as it is.

    Args:
        layers: The picture as it is now.
        subject: What it shows.
        shot: What is wanted.
        picture: The picture that ``shot`` names.

    Raises:
        InvalidRequest: ``background_missing``, ``malformed_color``.
    """
    if shot.kind is BackgroundKind.ORIGINAL or (shot.kind is BackgroundKind.BLUR and layers.alpha is not None):
        return layers
    matte = subject.matte
    return Layers(rgb=laid_over(front_colors(layers, matte), matte, _plate(layers, subject, shot, picture)))


def _plate(layers: Layers, subject: Subject, shot: BackgroundShot, picture: PictureSource | None) -> NDArray[np.uint8]:
    width, height = layers.size
    match shot.kind:
        case BackgroundKind.STUDIO:
            return studio_plate(subject, shot.color)
        case BackgroundKind.BLUR:
            return blurred_behind(layers.rgb, subject.matte)
        case BackgroundKind.COLOR if shot.color is not None:
            return np.full((height, width, 3), parse_color(shot.color), np.uint8)
        case BackgroundKind.IMAGE if picture is not None:
            return cover(picture.rgb, width, height)
    what = "colour" if shot.kind is BackgroundKind.COLOR else "picture"
    raise InvalidRequest(f"A {what} background needs its {what}.", code="background_missing", param="steps.background")
