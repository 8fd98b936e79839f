from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.imaging.layers import Layers
from models.imaging.relight import NO_SCENE, relit, scene_light, surface_normals
from services.domain.image_steps import LightFrom, RelightStep
from tests.models.imaging.conftest import disc, subject_of


def sides(rgb, subject):
    """Mean brightness of both cheeks and of forehead and chin: left, right, above, below."""
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(float)
    reach = max(3, round(0.06 * subject.face.width))

    def at(index):
        x, y = np.round(subject.face.points[index, :2]).astype(int)
        return grey[y - reach : y + reach, x - reach : x + reach].mean()

    return at(50), at(280), at(151), at(199)


@pytest.mark.parametrize(("light", "sign"), [(LightFrom.LEFT, 1), (LightFrom.RIGHT, -1)])
def test_the_side_of_the_lamp_gets_brighter_against_the_other(presenter_layers, presenter_subject, light, sign):
    after, _ = relit(presenter_layers, presenter_subject, RelightStep(light=light, strength=1.0))
    before_left, before_right, *_ = sides(presenter_layers.rgb, presenter_subject)
    left, right, *_ = sides(after.rgb, presenter_subject)
    assert sign * np.log((left / right) / (before_left / before_right)) > 0.1


def test_nothing_beside_the_person_changes(presenter_layers, presenter_subject):
    step = RelightStep(light=LightFrom.LEFT, strength=1.0, color="#ffa040")
    after, _ = relit(presenter_layers, presenter_subject, step)
    beside = presenter_subject.matte == 0
    assert beside.mean() > 0.2
    assert np.array_equal(after.rgb[beside], presenter_layers.rgb[beside])
    assert (after.rgb != presenter_layers.rgb).mean() > 0.1


def test_no_strength_changes_no_pixel(presenter_layers, presenter_subject):
    assert relit(presenter_layers, presenter_subject, RelightStep(strength=0))[0] is presenter_layers


@pytest.mark.parametrize("light", [LightFrom.LEFT, LightFrom.RIGHT, LightFrom.ABOVE, LightFrom.FRONT])
def test_nobody_gets_another_skin(presenter_layers, presenter_subject, light):
    after, _ = relit(presenter_layers, presenter_subject, RelightStep(light=light, strength=1.0))
    x, y = presenter_subject.face.points[:, 0], presenter_subject.face.points[:, 1]
    face = np.s_[int(y.min()) : int(y.max()), int(x.min()) : int(x.max())]
    before, now = (picture[face].astype(float).mean((0, 1)) for picture in (presenter_layers.rgb, after.rgb))
    assert 0.75 < now.mean() / before.mean() < 1.25
    assert np.abs(now / now.sum() - before / before.sum()).max() < 0.02


def test_a_warm_lamp_warms(presenter_layers, presenter_subject):
    white, warm = (
        relit(presenter_layers, presenter_subject, RelightStep(light=LightFrom.FRONT, strength=0.8, color=color))[0].rgb
        for color in ("#ffffff", "#ff9a40")
    )
    whole = presenter_subject.matte > 0.99
    ratio = [picture[whole][:, 0].mean() / picture[whole][:, 2].mean() for picture in (white, warm)]
    assert ratio[1] > 1.1 * ratio[0]


@pytest.mark.parametrize(("bright", "axis", "sign"), [("left", 0, -1), ("right", 0, 1), ("top", 1, -1)])
def test_the_scenes_light_comes_from_where_the_scene_is_bright(bright, axis, sign):
    rgb = np.full((200, 160, 3), 40, np.uint8)
    rgb[{"left": np.s_[:, :50], "right": np.s_[:, 110:], "top": np.s_[:60]}[bright]] = 240
    matte = np.zeros((200, 160), np.float32)
    matte[70:, 60:100] = 1
    light = scene_light(Layers(rgb=rgb), subject_of(matte))
    assert light is not None
    assert sign * light.direction[axis] > 0.35


def test_an_orange_evening_colours_the_person_a_little():
    rgb = np.full((200, 160, 3), (230, 140, 60), np.uint8)
    matte = np.zeros((200, 160), np.float32)
    matte[60:, 60:100] = 1
    rgb[matte > 0] = (150, 150, 150)
    after, notes = relit(Layers(rgb=rgb), subject_of(matte), RelightStep(light=LightFrom.SCENE, strength=1.0))
    red, _, blue = after.rgb[120, 80].astype(float)
    assert 1.05 < red / blue < 1.6
    assert notes == ()


def test_without_a_background_the_light_comes_from_the_front_and_it_is_told():
    matte = disc((80, 80), (40, 40), 25)
    layers = Layers(rgb=np.full((80, 80, 3), 120, np.uint8), alpha=np.rint(255 * matte).astype(np.uint8))
    after, notes = relit(layers, subject_of(matte), RelightStep(light=LightFrom.SCENE, strength=1.0))
    assert notes == (NO_SCENE,)
    left, right = after.rgb[40, 20:38].mean(), after.rgb[40, 43:61].mean()
    assert abs(left - right) < 2


def test_a_disc_is_blown_up_into_a_ball():
    normals = surface_normals(subject_of(disc((200, 200), (100, 100), 70)))
    assert normals[100, 100, 2] > 0.98
    assert normals[100, 155, 0] > 0.4
    assert normals[100, 45, 0] < -0.4
    assert normals[155, 100, 1] > 0.4
    assert np.allclose(np.linalg.norm(normals, axis=2), 1, atol=1e-4)


def test_the_frame_is_no_edge_of_a_body_that_it_cuts():
    matte = np.zeros((200, 200), np.float32)
    matte[60:, 50:150] = 1
    normals = surface_normals(subject_of(matte))
    assert abs(normals[196, 100, 1]) < 0.15
    assert normals[68, 100, 1] < -0.3
