from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.imaging.steps import ImageInputs, make_image
from models.provenance.inspection import inspect_file
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.image_steps import (
    CropShape,
    CropStep,
    CutoutStep,
    LightFrom,
    RelightStep,
    RetouchStep,
    UpscaleStep,
)
from services.domain.picture_storyboards import BackgroundSwap, ImageStoryboard, ModelShot
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure

STUDIO = BackgroundSwap(background=BackgroundShot(kind=BackgroundKind.STUDIO))
NO_LABEL = Disclosure(visible_label=False)


@pytest.fixture
def photo(tmp_path: Path, presenter: np.ndarray) -> Path:
    path = tmp_path / "in.png"
    Image.fromarray(presenter).save(path)
    return path


def made(photo: Path, *steps, disclosure=NO_LABEL, face=None, backgrounds=None, **hooks):
    out = photo.parent / "out"
    out.mkdir(exist_ok=True)
    storyboard = ImageStoryboard(
        job_id="job_1", image=ModelShot(key="k", face=face), steps=steps, disclosure=disclosure
    )
    inputs = ImageInputs(storyboard=storyboard, image=photo, backgrounds=backgrounds or {})
    return make_image(inputs, out_dir=out, **hooks)


def pixels(result, role="image"):
    return np.array(Image.open(result.files[role]))


def test_steps_of_no_strength_give_the_picture_back_bit_for_bit(photo, presenter):
    result = made(photo, RetouchStep(skin=0, blemishes=0), RelightStep(strength=0))
    assert np.array_equal(pixels(result), presenter)
    assert not pixels(result, "mask").any()
    assert result.facts["changed_share"] == 0


def test_the_mask_tells_exactly_which_pixels_are_others(photo, presenter):
    result = made(photo, RetouchStep(skin=1.0, eyes=1.0), RelightStep(light=LightFrom.LEFT))
    changed = (pixels(result) != presenter).any(2)
    assert 0.05 < changed.mean() < 0.95
    assert np.array_equal(pixels(result, "mask") > 0, changed)


def test_steps_follow_each_other_in_their_order(photo):
    """What is cut out stands on the studio's paper; the other way round it is transparent."""
    first = made(photo, CutoutStep(), STUDIO)
    assert Image.open(first.files["image"]).mode == "RGB"
    second = made(photo, STUDIO, CutoutStep())
    assert Image.open(second.files["image"]).mode == "RGBA"
    assert second.facts["transparent"] is True


def test_crops_are_files_of_their_own_and_the_picture_stays_whole(photo, presenter):
    result = made(photo, CropStep(shapes=(CropShape.TALL, CropShape.HEAD, CropShape.TALL)))
    assert set(result.files) == {"image", "mask", "sheet", "crop_4x5", "crop_head"}
    assert np.array_equal(pixels(result), presenter)
    height, width = pixels(result, "crop_4x5").shape[:2]
    assert abs(width / height - 0.8) < 0.01
    assert result.usage == {"pictures": 3.0}


def test_a_crop_after_enlarging_has_the_larger_size(tmp_path, presenter):
    path = tmp_path / "small.png"
    Image.fromarray(presenter).resize((presenter.shape[1] // 4, presenter.shape[0] // 4)).save(path)
    before = made(path, CropStep(shapes=(CropShape.SQUARE,)), UpscaleStep(factor=2))
    small = pixels(before, "crop_1x1").shape[0]
    after = made(path, UpscaleStep(factor=2), CropStep(shapes=(CropShape.SQUARE,)))
    assert abs(pixels(after, "crop_1x1").shape[0] - 2 * small) <= 2
    assert after.facts["width_px"] == 2 * (presenter.shape[1] // 4)


def test_every_file_says_that_ai_made_it(photo):
    result = made(photo, STUDIO, CropStep(shapes=(CropShape.SQUARE,)))
    assert set(result.marks) == set(result.files)
    for role, path in result.files.items():
        report = inspect_file(path)
        assert any("compositeWithTrainedAlgorithmicMedia" in str(value) for value in (report,)), role
        assert result.marks[role].content_id == f"job_1.{role}"


def test_the_label_is_drawn_on_pictures_and_crops_but_not_counted_as_change(photo, presenter):
    result = made(photo, CropStep(shapes=(CropShape.SQUARE,)), disclosure=Disclosure())
    assert (pixels(result) != presenter).any()
    assert not pixels(result, "mask").any()
    assert result.facts["visible_label"] is True
    plain = made(photo, CropStep(shapes=(CropShape.SQUARE,)))
    labelled = made(photo, CropStep(shapes=(CropShape.SQUARE,)), disclosure=Disclosure())
    assert labelled.facts["label_corner"] is not None
    assert plain.facts["label_corner"] is None


def test_a_background_picture_is_taken_by_its_key(photo, tmp_path):
    scene = tmp_path / "scene.png"
    Image.new("RGB", (90, 60), (10, 200, 30)).save(scene)
    step = BackgroundSwap(background=BackgroundShot(kind=BackgroundKind.IMAGE, key="bg"))
    assert (pixels(made(photo, step, backgrounds={"bg": scene}))[3, 3] == (10, 200, 30)).all()
    with pytest.raises(InvalidRequest) as refusal:
        made(photo, step)
    assert refusal.value.code == "background_missing"


def test_a_file_lying_on_its_side_comes_out_upright(tmp_path, presenter):
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(presenter)).save(path, exif=exif, quality=95)
    result = made(path, RetouchStep())
    assert result.facts["has_face"] is True
    assert (result.facts["height_px"], result.facts["width_px"]) == presenter.shape[:2]


@pytest.mark.parametrize("step", [RetouchStep(), STUDIO, CutoutStep(), RelightStep()], ids=lambda step: step.tool)
def test_an_empty_picture_is_refused_by_name(tmp_path, step):
    path = tmp_path / "grey.png"
    Image.new("RGB", (200, 160), (128, 128, 128)).save(path)
    with pytest.raises(ContentRejected) as refusal:
        made(path, step)
    assert refusal.value.code == ("face_not_found" if step.tool == "retouch" else "subject_not_found")


def test_a_face_that_is_not_there_is_told(photo):
    with pytest.raises(ContentRejected) as refusal:
        made(photo, CutoutStep(), face=4)
    assert refusal.value.code == "face_index"


def test_what_is_no_picture_is_refused(tmp_path):
    path = tmp_path / "in.png"
    path.write_bytes(b"hello, I am a text" * 40)
    with pytest.raises(ContentRejected) as refusal:
        made(path, CutoutStep())
    assert refusal.value.code == "unreadable_media"


def test_nobody_is_looked_for_when_no_step_asks(tmp_path):
    def never(*args, **kwargs):
        raise AssertionError("the picture was analysed")

    path = tmp_path / "in.png"
    Image.new("RGB", (40, 30), (90, 60, 30)).save(path)
    storyboard = ImageStoryboard(
        job_id="job_1", image=ModelShot(key="k"), steps=(UpscaleStep(factor=2),), disclosure=NO_LABEL
    )
    result = make_image(ImageInputs(storyboard=storyboard, image=path, analyze=never), out_dir=tmp_path)
    assert result.facts["subject"] is None
    assert pixels(result).shape == (60, 80, 3)


def test_progress_rises_and_canceling_ends_the_work(photo):
    told: list[float] = []
    made(photo, CutoutStep(), STUDIO, on_progress=lambda stage, fraction: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1.0

    def cancel():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(photo, CutoutStep(), check_canceled=cancel)


def test_the_weights_that_the_tools_need_are_listed():
    assert weights.is_present("upscale-photo")
    assert weights.manifest()["upscale-photo"].commercial_use
