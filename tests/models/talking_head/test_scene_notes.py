"""What a client is told about the size of the face."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from models import weights
from models.talking_head.scene import FilmSettings, open_scene
from services.domain.storyboard import BackgroundShot
from services.domain.video import Aspect, BackgroundKind, FrameSettings


def size_notes(presenter: Path, frame: FrameSettings) -> list[str]:
    settings = FilmSettings(
        face=None,
        frame=frame,
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        background_file=None,
        max_picture_pixels=64_000_000,
        max_source_video_s=10,
    )
    scene = open_scene(presenter, settings, num_frames=1, check_canceled=lambda: None)
    return [note for note in scene.notes if "face is small" in note]


@pytest.mark.parametrize(
    ("picture_height_px", "film_height_px", "says"),
    [
        (None, 160, "larger height_px"),
        (260, 1000, "A closer picture"),
        (260, 160, "A closer picture"),
        (None, 720, None),
    ],
)
def test_small_face_is_told_by_its_cause(
    tmp_path: Path, picture_height_px: int | None, film_height_px: int, says: str | None
) -> None:
    """The picture is blamed for what it lacks, the asked height for what it takes away."""
    picture = cv2.imread(str(weights.path("avatar-vera")))
    assert picture is not None
    if picture_height_px is not None:
        width_px = round(picture.shape[1] * picture_height_px / picture.shape[0])
        picture = cv2.resize(picture, (width_px, picture_height_px), interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(tmp_path / "a.png"), picture)
    notes = size_notes(tmp_path / "a.png", FrameSettings(aspect=Aspect.SQUARE, height_px=film_height_px))
    assert len(notes) == (says is not None)
    assert says is None or says in notes[0]
