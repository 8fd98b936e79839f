"""A film says that AI made it: in its frames, and in its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models import weights
from models.provenance.inspection import inspect_file
from models.talking_head.film import FilmInputs, FilmResult, make_video
from models.video.label import VisibleLabel
from services.domain.storyboard import BackgroundShot
from services.domain.video import Aspect, BackgroundKind, Disclosure, FrameSettings, LabelCorner, SubtitleMode
from tests.models.talking_head.test_film import decoded, film, storyboard, write_sound

ASPECTS = [Aspect.PORTRAIT, Aspect.SQUARE, Aspect.TALL, Aspect.LANDSCAPE, Aspect.SOURCE]
OFF = Disclosure(visible_label=False)


@pytest.fixture(scope="module")
def portrait() -> Path:
    return weights.path("avatar-vera")


def pair(tmp_path: Path, presenter: Path, **changes: object) -> tuple[FilmResult, NDArray[np.bool_], NDArray[np.uint8]]:
    """A film, where its first frame differs from the same film without the label, and that frame unlabelled."""
    sound = write_sound(tmp_path / "sound.wav", 0.2, 0.2)
    labelled = film(tmp_path / "with", presenter, sound, **changes)
    disclosure = changes.pop("disclosure", Disclosure())
    plain = film(tmp_path / "without", presenter, sound, disclosure=replace(disclosure, visible_label=False), **changes)
    one, other = (decoded(result.files["video"])[0].astype(int) for result in (labelled, plain))
    return labelled, abs(one - other).max(axis=2) > 40, other.astype(np.uint8)


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.parametrize("name", ["avatar-vera", "avatar-tom", "avatar-max", "avatar-ellen"])
def test_label_is_seen_and_leaves_the_face_free(
    tmp_path: Path, name: str, aspect: Aspect, face_box: Callable[[NDArray[np.uint8]], tuple[int, int, int, int]]
) -> None:
    """By another face detector than the product's."""
    frame = FrameSettings(aspect=aspect, height_px=480)
    result, changed, plain = pair(tmp_path, weights.path(name), frame=frame)
    assert changed.sum() > 300
    left, top, right, bottom = face_box(plain)
    assert not changed[max(0, top) : bottom, max(0, left) : right].any()
    assert result.facts["visible_label"] is True
    assert result.facts["label_corner"] in list(LabelCorner)


@pytest.mark.parametrize("name", ["man_glasses.png", "three_people.jpg", "dark_woman_afro.png", "old_woman.png"])
@pytest.mark.parametrize("corner", [None, LabelCorner.TOP_LEFT, LabelCorner.BOTTOM_RIGHT])
def test_no_detected_face_of_a_real_portrait_is_covered(
    tmp_path: Path, shared_data: Path, name: str, corner: LabelCorner | None
) -> None:
    dlib = pytest.importorskip("dlib")
    _, changed, plain = pair(
        tmp_path,
        shared_data / "portraits" / name,
        frame=FrameSettings(aspect=Aspect.SOURCE, height_px=640),
        disclosure=Disclosure(corner=corner),
    )
    assert changed.any()
    for box in dlib.get_frontal_face_detector()(plain, 1):
        # dlib's square box has corners beyond the cheeks: the ellipse inside it is the face.
        y, x = np.nonzero(changed)
        across = (x - (box.left() + box.right()) / 2) / (box.width() / 2)
        down = (y - (box.top() + box.bottom()) / 2) / (box.height() / 2)
        assert not (across**2 + down**2 < 1).any()


def test_label_is_in_every_frame_and_on_the_poster(tmp_path: Path, portrait: Path) -> None:
    result = film(tmp_path, portrait, write_sound(tmp_path / "sound.wav", 0.4, 0.2))
    label = VisibleLabel((256, 256), "en", corner=LabelCorner(result.facts["label_corner"]))
    left, top, right, bottom = label.box
    frames = [*decoded(result.files["video"]), np.asarray(Image.open(result.files["poster"]))]
    assert len(frames) == 11
    letters = np.stack([frame[top:bottom, left:right].mean(axis=2) > 200 for frame in frames])
    assert letters[0].sum() > 80
    assert (letters.sum(axis=(1, 2)) > 0.8 * letters[0].sum()).all()


def test_label_turned_off_is_recorded_and_the_marks_stay(tmp_path: Path, portrait: Path) -> None:
    result = film(tmp_path, portrait, write_sound(tmp_path / "sound.wav", 0.2), disclosure=OFF)
    assert result.facts["visible_label"] is False
    assert result.facts["label_corner"] is None
    for role in ("video", "poster"):
        report = inspect_file(result.files[role])
        assert report.is_marked
        assert report.label.source_type.endswith("/compositeWithTrainedAlgorithmicMedia")
        assert report.label.aigc["ProduceID"] == f"job_test.{role}"
    assert result.facts["digital_source_type"] == report.label.source_type


def test_producer_of_the_settings_is_named(tmp_path: Path, portrait: Path) -> None:
    inputs = FilmInputs(
        storyboard=storyboard(),
        presenter=portrait,
        audio=write_sound(tmp_path / "sound.wav", 0.2),
        producer="001191610133596325171T12566",
    )
    result = make_video(inputs, out_dir=tmp_path)
    with av.open(str(result.files["video"])) as container:
        assert json.loads(container.metadata["AIGC"])["ContentProducer"] == "001191610133596325171T12566"


def test_moved_label_is_told(tmp_path: Path, portrait: Path) -> None:
    """A head that fills the frame up to the right: the corner asked for is taken."""
    with Image.open(portrait) as image:
        width, height = image.size
        close = image.convert("RGB").crop(
            (int(0.15 * width), int(0.22 * height), int(0.62 * width), int(0.55 * height))
        )
        close.save(tmp_path / "close.png")
    result = film(
        tmp_path / "out",
        tmp_path / "close.png",
        write_sound(tmp_path / "sound.wav", 0.2),
        frame=FrameSettings(aspect=Aspect.SOURCE),
        disclosure=Disclosure(corner=LabelCorner.TOP_RIGHT),
    )
    told = [warning for warning in result.facts["warnings"] if warning.startswith("The label")]
    assert bool(told) == (result.facts["label_corner"] != LabelCorner.TOP_RIGHT)


def test_label_and_burnt_subtitles_are_both_read(tmp_path: Path, portrait: Path) -> None:
    """Asked for where the subtitles stand, the label goes beside them."""
    options = {
        "subtitles": SubtitleMode.BURN,
        "frame": FrameSettings(aspect=Aspect.LANDSCAPE, height_px=360),
        "background": BackgroundShot(kind=BackgroundKind.COLOR, color="#204060"),
    }
    wanted = Disclosure(corner=LabelCorner.BOTTOM_LEFT)
    both, words = (
        decoded(film(tmp_path / name, portrait, disclosure=disclosure, **options).files["video"])[20].astype(int)
        for name, disclosure in (("both", wanted), ("words", OFF))
    )
    of_label = abs(both - words).max(axis=2) > 40
    of_words = words.min(axis=2) > 235  # white letters; nothing else in this film is so bright
    assert of_label.sum() > 200
    assert of_words.sum() > 100
    assert not (of_words.any(axis=1) & of_label.any(axis=1)).any()


def test_language_of_the_film_is_the_labels(tmp_path: Path, portrait: Path) -> None:
    """Two films with the same sound, in two languages, differ in nothing but their label."""
    sound = write_sound(tmp_path / "sound.wav", 0.2, 0.2)
    board = storyboard(subtitles=SubtitleMode.NONE)
    shots = []
    for language in ("en-US", "zh-CN"):
        speech = replace(board.speech, audio_key="unused", script=None, voice=None, language=language)
        made = film(
            tmp_path / language, portrait, sound, speech=speech, disclosure=Disclosure(corner=LabelCorner.TOP_RIGHT)
        )
        shots.append(decoded(made.files["video"])[0].astype(int))
    y, x = np.nonzero(abs(shots[0] - shots[1]).max(axis=2) > 60)
    assert len(y) > 100
    assert y.max() < 60  # at the top, where the label is
    assert x.min() > 128


def test_film_of_one_frame_is_labelled(tmp_path: Path, portrait: Path) -> None:
    result, changed, _ = pair(tmp_path, portrait)
    assert changed.any()
    short = film(tmp_path / "short", portrait, write_sound(tmp_path / "short.wav", 0.03))
    assert short.facts["num_frames"] == 1
    assert inspect_file(short.files["video"]).is_marked
    assert result.facts["visible_label"]
