"""Burnt-in captions leave the face alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models import weights
from models.talking_head.scene import FilmSettings, PictureScene, face_finder, open_scene
from models.video.subtitles import CueLimits, SubtitleBurner, cues_from_timeline, place_captions
from models.video.yuv import planes
from services.domain.storyboard import BackgroundShot
from services.domain.timeline import SpeechTimeline, TimelineSource, Word
from services.domain.video import Aspect, BackgroundKind, FrameSettings

TEXT = "Bold people make a perfect pair with the new Numa bottle, so that your summer stays cool all day long."
SETTINGS = FilmSettings(
    face=None,
    frame=FrameSettings(),
    background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
    background_file=None,
    max_picture_pixels=64_000_000,
    max_source_video_s=10,
    has_captions=True,
)
ASPECTS = [Aspect.LANDSCAPE, Aspect.SQUARE, Aspect.TALL, Aspect.PORTRAIT, Aspect.SOURCE]
_NOSE_TIP, _CHIN = 1, 152  # of the face mesh


def timeline() -> SpeechTimeline:
    words, position = [], 0
    for number, word in enumerate(TEXT.split()):
        words.append(
            Word(
                text=word,
                start_s=0.3 * number,
                end_s=0.3 * number + 0.25,
                char_start=position,
                char_end=position + len(word),
            )
        )
        position += len(word) + 1
    return SpeechTimeline(duration_s=0.3 * len(words), source=TimelineSource.SYNTHESIS, words=tuple(words), phonemes=())


def mouth_is_free(presenter: Path, aspect: Aspect) -> bool:
    """Whether every cue of TEXT leaves the rows from the nose to the chin as they were."""
    frame = FrameSettings(aspect=aspect, height_px=None if aspect is Aspect.SOURCE else 540)
    scene = open_scene(presenter, replace(SETTINGS, frame=frame), num_frames=1, check_canceled=lambda: None)
    assert isinstance(scene, PictureScene)
    place = place_captions(*scene.size, scene.face_rows)
    limits = CueLimits.for_frame(*scene.size, place.style, max_lines=place.max_lines)
    cues = cues_from_timeline(timeline(), TEXT, "en", limits=limits)
    burner = SubtitleBurner(cues, scene.size, "en", place=place)
    luma = planes(scene.base_frame)[0]
    gray = np.repeat(luma[..., None], 3, axis=2)
    finder = face_finder()
    points = finder.landmarks(gray, max(finder.find(gray), key=lambda face: face.width)).points
    nose, chin = int(points[_NOSE_TIP, 1]), int(points[_CHIN, 1])
    for cue in cues:
        burnt = scene.base_frame.copy()
        burner.draw(burnt, cue.start_s)
        changed = np.abs(planes(burnt)[0].astype(int) - luma) > 24
        assert changed.any()
        if changed[nose:chin].any():
            return False
    return True


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.parametrize("name", ["avatar-vera", "avatar-tom", "avatar-max", "avatar-ellen"])
def test_captions_keep_off_the_mouth_of_an_avatar(name: str, aspect: Aspect) -> None:
    assert mouth_is_free(weights.path(name), aspect)


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.parametrize("name", ["man_glasses.png", "cartoon_man_teeth.png", "dark_woman_afro.png"])
def test_captions_keep_off_the_mouth_of_a_tight_portrait(shared_data: Path, name: str, aspect: Aspect) -> None:
    assert mouth_is_free(shared_data / "portraits" / name, aspect)
