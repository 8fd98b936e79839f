"""A photo studio's seamless paper: lit from above, running from wall to floor without a corner, with soft shadows."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.subject import Subject, SubjectKind
from models.video.background import parse_color
from models.video.yuv import rounded

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

PAPER: Final = "#e8e6e3"
_GLOW: Final = 0.07  # how much lighter the paper is behind the subject
_FALL_OFF: Final = 0.20  # how much darker in the far corners
_FLOOR_LIFT: Final = 0.035  # the floor faces the lamp
_BEND: Final = 0.10  # of the subject's height: the paper's bend behind the feet
_STANDING: Final = 1.3  # height to width from which a whole person stands
# The lamp stands above, before and to the left: a point one body height up throws its shadow this far to the right
# and this far up the picture, in body heights.
_CAST: Final = (0.30, 0.135)
_CAST_OPACITY: Final = (0.42, 0.05)  # at the feet and at the head
_CONTACT_OPACITY: Final = 0.62
_CONTACT_SHARE: Final = 0.035  # of the body height: soles and hems that touch the floor
_WALL_SHIFT: Final = (0.022, 0.02)  # of the subject's width and height, where it does not stand on the floor
_WALL_OPACITY: Final = 0.20
_WORKING_SIDE_PX: Final = 640  # shadows are soft


def studio_plate(subject: Subject, color: str | None) -> Picture:
    """The paper behind ``subject`` with its shadow, uint8 (height, width, 3) in the picture's size.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    import cv2

    height, width = subject.matte.shape
    scale = min(1.0, _WORKING_SIDE_PX / max(height, width))
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    matte = np.asarray(cv2.resize(subject.matte, size, interpolation=cv2.INTER_AREA), np.float32)
    small = subject.box.scaled(size[0] / width)
    paper = np.array(parse_color(color or PAPER), np.float32)
    stands = is_standing(subject)
    light = _light(size, (small.left + small.right) / 2, small.top + 0.4 * small.height)
    if stands:
        light += _floor(size, small.bottom - _BEND * small.height, _BEND * small.height)
        shadow = _floor_shadow(matte, small.bottom, small.height)
    else:
        shadow = _wall_shadow(matte, small.width, small.height)
    # Paper keeps its hue in the light and in the shade; a shadow takes a little less of blue than of red away.
    shade = (light * (1 - shadow))[..., None] ** np.array([1.0, 1.0, 0.97], np.float32)
    plate = cv2.resize(np.asarray(paper * shade, np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
    # Slow ramps of 8 bits show steps; noise of half a step hides them.
    noise = np.random.default_rng(0).random((height, width, 1), np.float32) - np.float32(0.5)
    return rounded(plate + noise)


def is_standing(subject: Subject) -> bool:
    """Whether a whole person stands on the floor within the picture."""
    is_whole = not subject.cut_sides()[3] and subject.box.height > _STANDING * subject.box.width
    return subject.kind is SubjectKind.PERSON and is_whole


def _light(size: tuple[int, int], x: float, y: float) -> Matte:
    """Brightness of the wall, 1 at the middle of the glow's slope."""
    width, height = size
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    reach = 0.5 * float(np.hypot(width, height))
    away = np.hypot((columns - x) / reach, (rows - y) / reach)
    return np.asarray(1 + _GLOW * np.exp(-2.2 * away**2) - _FALL_OFF * np.clip(away, 0, 2) ** 2.4 * 0.5, np.float32)


def _floor(size: tuple[int, int], bend: float, width_px: float) -> Matte:
    width, height = size
    rows = np.arange(height, dtype=np.float32)[:, None]
    ramp = 1 / (1 + np.exp(-(rows - bend) / max(2.0, 0.5 * width_px)))
    return np.asarray(np.broadcast_to(_FLOOR_LIFT * ramp, (height, width)), np.float32)


def _floor_shadow(matte: Matte, floor: float, body: float) -> Matte:
    """The body's shadow on the floor, and the dark line where soles touch it."""
    import cv2

    height, width = matte.shape
    aside, up = _CAST
    # Picture row y is (floor - y) above the floor; inverse of: x + aside * (floor - y), floor - up * (floor - y).
    matrix = np.array([[1, -aside, aside * floor], [0, up, floor - up * floor]], np.float64)
    cast = np.asarray(cv2.warpAffine(matte, matrix, (width, height), flags=cv2.INTER_AREA), np.float32)
    rows = np.arange(height, dtype=np.float32)[:, None]
    up_share = np.clip((floor - rows) / max(up * body, 1.0), 0, 1)
    near = cv2.GaussianBlur(cast, (0, 0), max(1.0, 0.008 * body))
    far = cv2.GaussianBlur(cast, (0, 0), max(2.0, 0.035 * body))
    at_feet, at_head = _CAST_OPACITY
    shadow = (near * (1 - up_share) + far * up_share) * (at_feet + (at_head - at_feet) * up_share)
    soles = matte * (rows > floor - _CONTACT_SHARE * body)
    sigma = max(1.0, 0.012 * body)
    flat = cv2.GaussianBlur(soles, (0, 0), sigmaX=sigma, sigmaY=max(0.8, 0.4 * sigma))
    moved = np.array([[1, 0, 0.2 * sigma], [0, 1, 0.5 * sigma]], np.float64)
    contact = np.clip(1.5 * cv2.warpAffine(flat, moved, (width, height)), 0, 1)
    around = cv2.GaussianBlur(soles, (0, 0), sigmaX=4 * sigma, sigmaY=1.2 * sigma)
    total = 1 - (1 - shadow) * (1 - _CONTACT_OPACITY * contact) * (1 - 0.5 * np.clip(around, 0, 1))
    return np.asarray(np.clip(total, 0, 0.9), np.float32)


def _wall_shadow(matte: Matte, subject_width: float, subject_height: float) -> Matte:
    """The soft shadow of something before a wall, or lying on paper."""
    import cv2

    height, width = matte.shape
    aside, down = _WALL_SHIFT[0] * subject_width, _WALL_SHIFT[1] * subject_height
    matrix = np.array([[1, 0, aside], [0, 1, down]], np.float64)
    moved = cv2.warpAffine(matte, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    near = cv2.GaussianBlur(moved, (0, 0), max(1.0, 0.016 * subject_height), borderType=cv2.BORDER_REPLICATE)
    far = cv2.GaussianBlur(moved, (0, 0), max(2.0, 0.05 * subject_height), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(_WALL_OPACITY * (0.5 * near + 0.5 * far), np.float32)
