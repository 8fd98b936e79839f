from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.imaging.background import swapped
from models.imaging.cutout import cut_out
from models.imaging.fringe import sharpened
from models.imaging.layers import Layers, layers_of
from models.imaging.studio import studio_plate
from models.imaging.subject import SubjectKind, find_subject
from models.video.picture import PictureSource
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind
from tests.models.imaging.conftest import disc, subject_of

NEW = [
    BackgroundShot(kind=BackgroundKind.COLOR, color="#2050a0"),
    BackgroundShot(kind=BackgroundKind.STUDIO),
    BackgroundShot(kind=BackgroundKind.BLUR),
    BackgroundShot(kind=BackgroundKind.IMAGE, key="k"),
]


def picture_of(rgb):
    return PictureSource(name="scene", rgb=rgb, alpha=None, original_size=rgb.shape[1::-1])


@pytest.mark.parametrize("shot", NEW, ids=lambda shot: shot.kind.value)
def test_a_new_background_leaves_every_whole_pixel_of_the_person_as_it_was(presenter_layers, presenter_subject, shot):
    scene = picture_of(np.random.default_rng(1).integers(0, 255, (50, 90, 3), np.uint8))
    result = swapped(presenter_layers, presenter_subject, shot, scene)
    whole = presenter_subject.matte >= 1
    assert whole.mean() > 0.1
    assert np.array_equal(result.rgb[whole], presenter_layers.rgb[whole])
    assert (result.rgb[presenter_subject.matte == 0] != presenter_layers.rgb[presenter_subject.matte == 0]).any()


def test_a_colour_is_exactly_that_where_nobody_stands(presenter_layers, presenter_subject):
    result = swapped(presenter_layers, presenter_subject, NEW[0])
    assert (result.rgb[presenter_subject.matte == 0] == (0x20, 0x50, 0xA0)).all()


def test_no_rim_of_the_old_background_is_left():
    """A dark disc photographed before white, then laid on dark grey: the exact picture is known."""
    alpha = disc((200, 200), (100.3, 98.6), 60.2)[..., None]
    front, white, grey = np.array([40.0, 30, 20]), np.array([250.0, 250, 250]), np.array([60.0, 60, 60])
    photo = np.rint(white + alpha * (front - white)).astype(np.uint8)
    right = grey + alpha * (front - grey)
    # What a network gives: the outline a little soft and a pixel too wide.
    rough = cv2.GaussianBlur(cv2.dilate(alpha[..., 0], np.ones((3, 3))), (0, 0), 1.5)
    subject = subject_of(sharpened(photo, rough))
    result = swapped(Layers(rgb=photo), subject, BackgroundShot(kind=BackgroundKind.COLOR, color="#3c3c3c"))
    naive = photo * rough[..., None] + grey * (1 - rough[..., None])
    edge = (alpha[..., 0] > 0) & (cv2.dilate(1 - alpha[..., 0], np.ones((5, 5))) > 0)
    error = np.abs(result.rgb - right).max(2)[edge | (np.abs(naive - right).max(2) > 5)]
    assert np.abs(naive - right).max() > 60
    assert error.max() < 25
    assert error.mean() < 4


def test_leaves_behind_hair_are_not_taken_for_hair():
    """Where the background has all colours, colour says nothing: the matte stays what it was."""
    generator = np.random.default_rng(3)
    rgb = cv2.resize(generator.integers(0, 255, (40, 40, 3), np.uint8), (240, 240), interpolation=cv2.INTER_NEAREST)
    matte = cv2.GaussianBlur(disc((240, 240), (120, 120), 70), (0, 0), 3)
    rgb[matte > 0.5] = (60, 50, 40)
    after = sharpened(rgb, matte)
    far = disc((240, 240), (120, 120), 80) == 0
    assert after[far].max() < 0.1


def test_the_original_background_gives_the_picture_itself(presenter_layers, presenter_subject):
    shot = BackgroundShot(kind=BackgroundKind.ORIGINAL)
    assert swapped(presenter_layers, presenter_subject, shot) is presenter_layers


@pytest.mark.parametrize("kind", [BackgroundKind.COLOR, BackgroundKind.IMAGE])
def test_a_background_without_its_colour_or_picture_is_refused(presenter_layers, presenter_subject, kind):
    with pytest.raises(InvalidRequest) as refusal:
        swapped(presenter_layers, presenter_subject, BackgroundShot(kind=kind))
    assert refusal.value.code == "background_missing"


def test_who_stands_on_studio_paper_throws_a_shadow_on_the_floor_and_not_on_the_wall():
    matte = np.zeros((400, 300), np.float32)
    matte[60:360, 120:170] = 1
    plate = studio_plate(subject_of(matte), "#cccccc").astype(float).mean(2)
    assert plate[361:363, 130:165].mean() < 0.75 * plate[362:366, 20:60].mean()
    assert plate[340:355, 175:190].mean() < 0.93 * plate[340:355, 20:60].mean()  # falls to the right, from a lamp left
    assert plate[100:120, 175:200].mean() > 0.97 * plate[100:120, 90:115].mean()


def test_a_product_on_studio_paper_lies_on_it_instead_of_standing():
    matte = np.zeros((400, 300), np.float32)
    matte[60:360, 120:170] = 1
    plate = studio_plate(subject_of(matte, kind=SubjectKind.PRODUCT), "#cccccc").astype(float).mean(2)
    assert plate[361:364, 130:165].mean() > 0.75 * plate[361:364, 20:60].mean()
    assert plate[200, 172] < 0.97 * plate[200, 40]


def test_studio_paper_has_the_colour_asked_for_and_no_steps(presenter_subject):
    plate = studio_plate(presenter_subject, "#3b6ea5").astype(float)
    mean = plate.mean((0, 1))
    assert np.abs(mean / mean.sum() - np.array([0x3B, 0x6E, 0xA5]) / (0x3B + 0x6E + 0xA5)).max() < 0.03
    rows = cv2.blur(plate[..., 1], (31, 31))[20:-20, 20:-20]
    assert np.abs(np.diff(rows, axis=0)).max() < 1.0


def test_a_cut_out_keeps_the_person_and_no_trace_of_the_background(presenter_layers, presenter_subject):
    result = cut_out(presenter_layers, presenter_subject)
    assert result.alpha is not None
    whole = presenter_subject.matte >= 1
    assert (result.alpha[whole] == 255).all()
    assert np.array_equal(result.rgb[whole], presenter_layers.rgb[whole])
    assert (result.alpha == 0).mean() > 0.1
    assert (result.rgb[result.alpha == 0] == 0).all()


def test_a_transparent_file_is_its_own_matte_and_its_edges_carry_no_white():
    alpha = np.rint(255 * disc((60, 60), (30, 30), 18)).astype(np.uint8)
    share = alpha[..., None] / 255
    over_white = np.rint(255 + share * (np.array([30, 60, 90]) - 255)).astype(np.uint8)
    layers = layers_of(PictureSource(name="p", rgb=over_white, alpha=alpha, original_size=(60, 60)))
    subject = find_subject(over_white, alpha)
    assert np.array_equal(np.rint(255 * subject.matte), alpha)
    black = swapped(layers, subject, BackgroundShot(kind=BackgroundKind.COLOR, color="#000000")).rgb
    assert np.abs(black - share * np.array([30, 60, 90])).max() <= 1.5


def test_a_landscape_has_nothing_to_cut_out(portrait):
    subject = find_subject(portrait("portraits/noface_landscape.jpg"))
    with pytest.raises(ContentRejected) as refusal:
        subject.require_matte()
    assert refusal.value.code == "subject_not_found"


def test_a_jacket_alone_is_a_product_though_it_looks_like_a_person(portrait):
    subject = find_subject(portrait("garments/denim_jacket.jpg"))
    assert subject.kind is SubjectKind.PRODUCT
    assert subject.face is None
    assert 0.3 < (subject.matte > 0.5).mean() < 0.8


def test_of_two_people_the_chosen_one_is_alone_and_without_a_choice_both_are_kept(portrait):
    rgb = portrait("portraits/two_people_derived.jpg")
    both, right = find_subject(rgb), find_subject(rgb, face=1)
    half = rgb.shape[1] // 2
    assert both.matte[:, : half - 80].mean() > 0.2
    assert right.matte[:, : half - 80].mean() < 0.03
    assert right.matte[:, half:].mean() > 0.2


def test_hands_and_feet_of_a_whole_figure_are_kept(portrait):
    """The network alone loses the right hand and the left foot of this figure on white."""
    rgb = portrait("persons/cgi_dress_full.jpg")
    matte = find_subject(rgb).matte
    hands = np.abs(rgb.astype(int) - rgb[5, 5]).max(2) > 45
    hands[:, 330:830] = hands[:370] = hands[640:] = False
    assert hands.sum() > 3000
    assert matte[hands].mean() > 0.8
