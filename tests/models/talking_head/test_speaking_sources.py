"""Videos whose people already speak or smile: what the client is told about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.talking_head.scene import FilmSettings, open_scene
from services.domain.storyboard import BackgroundShot
from services.domain.video import Aspect, BackgroundKind, FrameSettings

SETTINGS = FilmSettings(
    face=None,
    frame=FrameSettings(aspect=Aspect.SOURCE),
    background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
    background_file=None,
    max_picture_pixels=64_000_000,
    max_source_video_s=60,
)


@pytest.mark.parametrize(("name", "told"), [("man_speaking_25fps.mp4", True), ("woman_landscape_30fps.mp4", False)])
def test_a_video_of_someone_who_opens_wide_is_told_and_a_smile_is_not(shared_data: Path, name: str, told: bool) -> None:
    scene = open_scene(shared_data / "videos" / name, SETTINGS, num_frames=50, check_canceled=lambda: None)
    assert any("wide open" in note for note in scene.notes) is told
