from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.imaging.layers import Layers
from models.imaging.retouch import retouched
from models.imaging.subject import find_subject
from services.domain.errors import ContentRejected
from services.domain.image_steps import RetouchStep
from tests.models.imaging.conftest import subject_of

ALL = RetouchStep(skin=1.0, blemishes=1.0, teeth=1.0, eyes=1.0)
LIPS = [61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146]
BROWS = [[70, 63, 105, 66, 107, 55, 65, 52, 53, 46], [300, 293, 334, 296, 336, 285, 295, 282, 283, 276]]
EYES = [[33, 160, 158, 133, 153, 144], [362, 385, 387, 263, 373, 380]]


def drawn(subject, parts):
    mask = np.zeros(subject.matte.shape, np.uint8)
    for part in parts:
        cv2.fillPoly(mask, [np.round(subject.face.points[part, :2]).astype(np.int32)], 1)
    return mask > 0


def cheek(subject):
    """A square on a cheek, in rows and columns."""
    x, y = np.round(subject.face.points[101, :2]).astype(int)
    reach = max(6, round(0.06 * subject.face.width))
    return np.s_[y - reach : y + reach, x - reach : x + reach]


def lab_of(rgb):
    return cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)


@pytest.fixture(scope="module")
def woman(portrait):
    rgb = portrait("portraits/woman_neutral.jpg")
    return rgb, find_subject(rgb)


def test_no_strength_changes_no_pixel(presenter_layers, presenter_subject):
    step = RetouchStep(skin=0, blemishes=0, teeth=0, eyes=0)
    assert retouched(presenter_layers, presenter_subject, step).layers is presenter_layers


def test_only_the_face_changes(presenter_layers, presenter_subject):
    after = retouched(presenter_layers, presenter_subject, ALL).layers.rgb
    changed = (after != presenter_layers.rgb).any(2)
    assert changed.sum() > 1000
    points = presenter_subject.face.points[:, :2]
    rows, columns = np.nonzero(changed)
    height = np.ptp(points[:, 1])
    assert rows.min() > points[:, 1].min() - 0.2 * height
    assert rows.max() < points[:, 1].max() + 1
    assert columns.min() > points[:, 0].min() - 1
    assert columns.max() < points[:, 0].max() + 1


@pytest.mark.parametrize("name", ["woman_neutral.jpg", "man_beard_bald.jpg", "woman_smile_tilt.jpg"])
def test_lips_and_brows_are_not_skin(portrait, name):
    rgb = portrait(f"portraits/{name}")
    subject = find_subject(rgb)
    after = retouched(Layers(rgb=rgb), subject, RetouchStep(skin=1, blemishes=1)).layers.rgb
    kept = drawn(subject, [LIPS, *BROWS, *EYES])
    assert kept.sum() > 200
    assert np.array_equal(after[kept], rgb[kept])


def test_a_beard_is_not_skin(portrait):
    rgb = portrait("portraits/man_beard_bald.jpg")
    subject = find_subject(rgb)
    after = retouched(Layers(rgb=rgb), subject, ALL).layers.rgb
    points = subject.face.points[:, :2]
    rows = slice(int(points[17, 1] + 8), int(points[152, 1]))
    columns = slice(int(points[84, 0]) - 20, int(points[314, 0]) + 20)
    assert rgb[rows, columns].mean() < 90  # it is the beard
    assert np.array_equal(after[rows, columns], rgb[rows, columns])


def test_the_skin_keeps_its_mean_colour(woman):
    rgb, subject = woman
    after = retouched(Layers(rgb=rgb), subject, RetouchStep(skin=1, blemishes=1)).layers.rgb
    changed = (after != rgb).any(2)
    drift = lab_of(after)[changed].mean(0) - lab_of(rgb)[changed].mean(0)
    assert np.abs(drift).max() < 0.35


def test_pores_stay_while_blotches_go(woman):
    """Noise of two sizes is laid on a cheek: as fine as pores, and as wide as blotches."""
    rgb, subject = woman
    width = subject.face.width
    generator = np.random.default_rng(5)

    def noise(sigma):
        values = cv2.GaussianBlur(generator.standard_normal(rgb.shape[:2]).astype(np.float32), (0, 0), sigma)
        return values / values.std()

    spotted = np.clip(rgb + 4 * noise(0.6)[..., None] + 4 * noise(0.025 * width)[..., None], 0, 255).astype(np.uint8)
    step = RetouchStep(skin=1, blemishes=0)
    without, with_noise = (retouched(Layers(rgb=picture), subject, step).layers.rgb for picture in (rgb, spotted))
    before = (lab_of(spotted) - lab_of(rgb))[..., 0]
    after = (lab_of(with_noise) - lab_of(without))[..., 0]
    here = cheek(subject)

    def fine(values):
        return float((values - cv2.GaussianBlur(values, (0, 0), 0.004 * width))[here].std())

    def wide(values):
        return float(cv2.GaussianBlur(values, (0, 0), 0.012 * width)[here].std())

    assert fine(after) > 0.9 * fine(before)
    assert wide(after) < 0.6 * wide(before)


def test_a_blemish_is_found_and_healed_and_the_skin_beside_it_stays(woman):
    rgb, subject = woman
    x, y = np.round(subject.face.points[101, :2]).astype(int)
    radius = 0.014 * subject.face.width
    rows, columns = np.mgrid[: rgb.shape[0], : rgb.shape[1]]
    spot = np.exp(-(((columns - x) ** 2 + (rows - y) ** 2) / (2 * (radius / 1.4) ** 2)))[..., None]
    marked = np.clip(rgb - spot * (25, 60, 55), 0, 255).astype(np.uint8)
    before = retouched(Layers(rgb=rgb), subject, RetouchStep(skin=0, blemishes=1))
    result = retouched(Layers(rgb=marked), subject, RetouchStep(skin=0, blemishes=1))
    assert result.num_blemishes > before.num_blemishes
    core = np.s_[y - 1 : y + 2, x - 1 : x + 2]
    was = np.abs(lab_of(marked)[core] - lab_of(rgb)[core]).mean((0, 1)).max()
    left = np.abs(lab_of(result.layers.rgb)[core] - lab_of(rgb)[core]).mean((0, 1)).max()
    assert was > 12
    assert left < 0.3 * was
    ring = (np.hypot(columns - x, rows - y) > 5 * radius) & (np.hypot(columns - x, rows - y) < 8 * radius)
    assert np.abs(result.layers.rgb[ring].astype(int) - marked[ring]).mean() < 1.0


def test_a_mole_is_part_of_a_face(woman):
    rgb, subject = woman
    marked = rgb.copy()
    x, y = np.round(subject.face.points[101, :2]).astype(int)
    cv2.circle(marked, (int(x), int(y)), round(0.013 * subject.face.width), (70, 45, 35), -1, cv2.LINE_AA)
    after = retouched(Layers(rgb=marked), subject, RetouchStep(skin=0, blemishes=1)).layers.rgb
    assert np.abs(after[y - 2 : y + 3, x - 2 : x + 3].astype(int) - marked[y - 2 : y + 3, x - 2 : x + 3]).max() <= 3


def test_teeth_get_less_yellow_and_lips_do_not_change(portrait):
    rgb = portrait("portraits/woman_smile_tilt.jpg")
    subject = find_subject(rgb)
    after = retouched(Layers(rgb=rgb), subject, RetouchStep(skin=0, blemishes=0, teeth=1)).layers.rgb
    changed = (after != rgb).any(2)
    before, now = lab_of(rgb)[changed].mean(0), lab_of(after)[changed].mean(0)
    assert changed.sum() > 300
    assert now[2] < before[2] - 4
    assert now[0] > before[0]
    inner = drawn(
        subject, [[78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95]]
    )
    grown = cv2.dilate(inner.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert not changed[~grown].any()


def test_a_closed_mouth_is_told_not_painted(presenter_layers, presenter_subject):
    result = retouched(presenter_layers, presenter_subject, RetouchStep(skin=0, blemishes=0, teeth=1))
    assert np.array_equal(result.layers.rgb, presenter_layers.rgb)
    assert "teeth" in result.notes[0]


def test_eyes_get_brighter_and_nothing_else(woman):
    rgb, subject = woman
    after = retouched(Layers(rgb=rgb), subject, RetouchStep(skin=0, blemishes=0, eyes=1)).layers.rgb
    eyes = drawn(subject, EYES)
    assert lab_of(after)[eyes][:, 0].mean() > lab_of(rgb)[eyes][:, 0].mean() + 1.5
    grown = cv2.dilate(eyes.astype(np.uint8), np.ones((13, 13), np.uint8)) > 0
    assert np.array_equal(after[~grown], rgb[~grown])


def test_a_picture_without_a_face_is_refused_by_name():
    matte = np.zeros((60, 60), np.float32)
    matte[20:50, 20:40] = 1
    with pytest.raises(ContentRejected) as refusal:
        retouched(Layers(rgb=np.zeros((60, 60, 3), np.uint8)), subject_of(matte), ALL)
    assert refusal.value.code == "face_not_found"


def test_transparency_is_kept(presenter_layers, presenter_subject):
    alpha = np.full(presenter_layers.rgb.shape[:2], 77, np.uint8)
    result = retouched(Layers(rgb=presenter_layers.rgb, alpha=alpha), presenter_subject, ALL)
    assert np.array_equal(result.layers.alpha, alpha)
