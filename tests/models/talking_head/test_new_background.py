"""A presenter before another background."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.scene import FilmSettings, PictureScene, open_scene
from services.domain.storyboard import BackgroundShot
from services.domain.video import Aspect, BackgroundKind, FrameSettings

YELLOW = (0xF2, 0xC2, 0x30)


def before_yellow(presenter: Path, aspect: Aspect) -> NDArray[np.bool_]:
    """Where the film's frame, 400 pixels high, shows the colour itself."""
    settings = FilmSettings(
        face=None,
        frame=FrameSettings(aspect=aspect, height_px=400),
        background=BackgroundShot(kind=BackgroundKind.COLOR, color="#f2c230"),
        background_file=None,
        max_picture_pixels=64_000_000,
        max_source_video_s=10,
    )
    scene = open_scene(presenter, settings, num_frames=1, check_canceled=lambda: None)
    assert isinstance(scene, PictureScene)
    y, u, v = (cv2.resize(plane, scene.size, interpolation=cv2.INTER_NEAREST).astype(int) for plane in planes_of(scene))
    # BT.709 limited range of #f2c230, by hand.
    return np.asarray((abs(y - 182) < 8) & (abs(u - 59) < 8) & (abs(v - 155) < 8))


def planes_of(scene: PictureScene) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    from models.video.yuv import planes

    return planes(scene.base_frame)


def test_a_cut_person_stands_on_the_lower_edge_and_no_edge_is_drawn_out(shared_data: Path) -> None:
    is_plain = before_yellow(shared_data / "portraits" / "dark_woman_afro.png", Aspect.PORTRAIT)
    assert is_plain[:100].all()  # above the person the colour alone
    assert not is_plain[-40:, 82:115].any()  # her neck and shirt go down to the edge
    assert is_plain[-60:, 190:].all()  # the wall beside her neck was taken for half a shoulder


def test_a_plant_beside_the_person_goes_with_the_room(shared_data: Path) -> None:
    is_plain = before_yellow(shared_data / "portraits" / "woman_smile_tilt.jpg", Aspect.SQUARE)
    assert is_plain[240:, 360:].all()
    assert not is_plain[100:300, 150:250].any()
