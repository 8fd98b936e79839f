from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image

from models.perception.analyst import Analyst

BALD = ["portraits/man_beard_bald.jpg", "persons/man_hoodie_full.png"]


@pytest.fixture(scope="module")
def analysed(shared_data):
    """The portrait analysis of one of the shared pictures, its long side 1024 at most."""
    analyst, known = Analyst(), {}

    def analyse(name: str, face: int | None = None):
        if (name, face) not in known:
            image = Image.open(shared_data / name).convert("RGB")
            image.thumbnail((1024, 1024), Image.Resampling.LANCZOS)
            known[name, face] = analyst.portrait(np.array(image), face=face)
        return known[name, face]

    return analyse


def share(mask, places, picture_size):
    """Mean of the mask in discs round places given in pixels of the picture file of ``picture_size``."""
    scale = max(mask.shape) / max(picture_size)
    drawn = np.zeros(mask.shape, np.uint8)
    for x, y in places:
        cv2.circle(drawn, (round(x * scale), round(y * scale)), max(2, round(0.012 * max(mask.shape))), 1, -1)
    return float(mask[drawn > 0].mean())


# Places read off the pictures by eye: in the hair, and where hair is easily mistaken.
SEEN = {
    "portraits/woman_smile_tilt.jpg": (
        (848, 1264),
        [(430, 150), (260, 400), (610, 500), (620, 900)],
        [(430, 260), (250, 160), (430, 700), (250, 900)],
    ),
    "portraits/dark_woman_afro.png": (
        (508, 504),
        [(250, 60), (110, 180), (400, 180)],
        [(250, 280), (60, 60), (250, 440)],
    ),
    "portraits/man_shirt_ai.png": (
        (1024, 1536),
        [(520, 120), (390, 210)],
        [(500, 420), (200, 200), (500, 1100)],
    ),
    "portraits/astronaut.png": (
        (512, 512),
        [(225, 30), (180, 80)],
        [(225, 115), (60, 60), (225, 350)],
    ),
    "portraits/asian_woman_ai.png": (
        (2840, 2840),
        [(1400, 500), (1400, 150), (1000, 900)],
        [(1400, 1400), (500, 800), (1400, 2600)],
    ),
    "hair/ref_pink_bob.jpg": (
        (1024, 1024),
        [(450, 120), (240, 600), (800, 500)],
        [(550, 450), (100, 300), (550, 900)],
    ),
    "hair/ref_blonde_fringe.jpg": (
        (985, 1280),
        [(450, 150), (120, 400), (90, 800)],
        [(500, 420), (800, 200), (450, 900), (800, 950)],
    ),
    "persons/woman_denim_full.png": (
        (768, 1376),
        [(375, 150), (320, 240), (440, 240), (450, 310)],
        [(375, 190), (375, 310), (370, 500), (200, 200)],
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_hair_is_where_a_person_sees_it_and_not_beside_it(analysed, name):
    size, hair, other = SEEN[name]
    mask = analysed(name).hair.mask
    assert share(mask, hair, size) > 0.8
    assert share(mask, other, size) < 0.1
    assert analysed(name).hair.confidence > 0.7
    assert not analysed(name).hair.is_covered


@pytest.mark.parametrize("name", BALD)
def test_a_bald_head_has_no_hair_and_a_beard_is_none(analysed, name):
    hair = analysed(name).hair
    assert hair.is_bald
    assert hair.mask.max() == 0
    assert hair.confidence > 0.7


def test_face_and_throat_are_never_hair(analysed):
    for name in SEEN:
        analysis = analysed(name)
        points = analysis.face.points[:, :2]
        face = np.zeros(analysis.hair.mask.shape, np.uint8)
        # Eyes, nose, cheeks and mouth.
        inner = points[[33, 50, 205, 214, 17, 434, 425, 280, 263, 9]]
        cv2.fillPoly(face, [np.round(inner).astype(np.int32)], 1)
        assert analysis.hair.mask[face > 0].mean() < 0.03, name


def test_long_hair_and_short_hair_are_measured(analysed):
    assert analysed("portraits/woman_smile_tilt.jpg").hair.length > 1.2
    assert analysed("portraits/man_shirt_ai.png").hair.length < 0
    afro, cropped = analysed("portraits/dark_woman_afro.png").hair, analysed("portraits/man_shirt_ai.png").hair
    assert afro.height > cropped.height + 0.2
    assert afro.half_width > 0.9 > cropped.half_width


def test_hair_that_runs_out_of_the_picture_is_told(analysed):
    assert analysed("hair/ref_blonde_fringe.jpg").hair.touches_frame
    assert not analysed("portraits/man_shirt_ai.png").hair.touches_frame


@pytest.mark.parametrize("name", ["portraits/woman_smile_tilt.jpg", "portraits/man_beard_bald.jpg"])
@pytest.mark.parametrize("color", [(40, 60, 140), (180, 30, 30)], ids=["blue", "red"])
def test_a_hat_is_told(analysed, name, color):
    bare = analysed(name)
    assert not bare.hair.is_covered
    points, width = bare.face.points[:, :2], bare.face.width
    middle = (points[234] + points[454]) / 2
    brim = 0.6 * points[10, 1] + 0.4 * points[[105, 334], 1].mean()
    cap = np.zeros(bare.rgb.shape[:2], np.uint8)
    size = (round(0.62 * width), round(0.72 * width))
    cv2.ellipse(cap, (round(middle[0]), round(brim)), size, 0, 180, 360, 255, -1)
    alpha = cv2.GaussianBlur(cap, (5, 5), 0)[..., None] / 255
    grain = np.random.default_rng(0).normal(1, 0.04, cap.shape)[..., None]
    dressed = np.clip(bare.rgb * (1 - alpha) + alpha * grain * np.array(color), 0, 255).astype(np.uint8)
    hair = Analyst().portrait(dressed).hair
    assert hair.is_covered
    assert hair.confidence < 0.6


def test_the_neighbour_keeps_their_hair(analysed):
    bald, woman = (analysed("portraits/two_people_derived.jpg", face) for face in (0, 1))
    assert bald.hair.is_bald
    other = woman.faces[0]
    x, y, width, height = (int(value) for value in (other.left, other.top, other.width, other.height))
    assert woman.hair.mask[max(0, y - height) : y + height, x : x + width].max() < 0.1
    assert woman.hair.length > 1.2


def test_edges_are_soft_and_the_mask_is_of_the_pictures_size(analysed):
    analysis = analysed("hair/ref_pink_bob.jpg")
    mask = analysis.hair.mask
    assert mask.shape == analysis.rgb.shape[:2]
    assert mask.dtype == np.float32
    partly = (mask > 0.1) & (mask < 0.9)
    assert 0.02 < partly.sum() / (mask > 0.5).sum() < 0.6
