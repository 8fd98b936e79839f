"""Another background behind a sitter who wears a wig."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected
from services.domain.storyboard import BackgroundShot

if TYPE_CHECKING:
    from models.tryon.wig.preview import Fitting

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]


class Backdrop:
    """The background of one job; the sitter is told from their own once.

    Args:
        file: The picture that ``shot`` names.

    Raises:
        ContentRejected: ``unsupported_media``, ``unreadable_media``, ``picture_too_large`` of the background.
    """

    def __init__(self, source: PictureSource, shot: BackgroundShot, file: Path | None, max_pixels: int) -> None:
        from models.imaging.subject import find_subject

        self._shot = shot
        self._picture: PictureSource | None = None
        if file is not None:
            self._picture = read_picture(file, "the background", max_pixels=max_pixels)
            if self._picture is None:
                raise ContentRejected("The background is no picture.", code="unsupported_media", param="background")
        self._subject = find_subject(source.rgb, source.alpha)

    def behind(self, picture_rgb: Picture, parts: tuple[Matte, Matte, Matte, Matte], fitting: Fitting) -> Picture:
        """``picture_rgb``, the portrait with the wig, on the background.

        Args:
            parts: ``WornWig.parts``, of the size at which the wig was worked on.

        Raises:
            InvalidRequest: ``background_missing``, ``malformed_color``.
        """
        import cv2

        from models.imaging.background import swapped
        from models.imaging.layers import Layers

        left, top, right, bottom = fitting.window
        size = (right - left, bottom - top)
        removed, person, wig, behind = (
            np.clip(cv2.resize(part, size, interpolation=cv2.INTER_LINEAR), 0, 1) for part in parts
        )
        matte = self._subject.matte.copy()
        window = (slice(top, bottom), slice(left, right))
        # Where hair was taken away only what was put there counts; elsewhere the sitter's matte is finer.
        sitter = matte[window] * (1 - removed) + person * removed
        matte[window] = 1 - (1 - sitter) * (1 - behind) * (1 - wig)
        subject = replace(self._subject, matte=matte)
        return swapped(Layers(rgb=picture_rgb), subject, self._shot, self._picture).rgb
