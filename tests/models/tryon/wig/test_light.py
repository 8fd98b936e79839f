from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.light import FaceLight, contact_shadow, face_light, lit
from tests.models.tryon.wig.cielab import rgb2lab

Head = Callable[[float, float, float], np.ndarray]


def _face(slope: float) -> np.ndarray:
    """A picture whose grey grows from left to right by ``slope`` from cheek to cheek (180 pixels)."""
    x = np.arange(400, dtype=np.float32)
    return (
        np.repeat(np.clip(150 + slope * (x - 200) / 180, 0, 255)[None, :, None], 400, 0).repeat(3, 2).astype(np.uint8)
    )


def test_light_from_one_side_is_measured(head: Head) -> None:
    points = head(200, 200, 180)
    even, right = face_light(_face(0), points), face_light(_face(60), points)

    assert abs(even.slope) < 0.5
    # sRGB 120 and 180 have L 50.4 and 73.3 (CIE formulas).
    assert abs(right.slope - 22.9) < 2
    assert abs(even.lightness - 62.1) < 1  # L of sRGB 150


def test_a_wig_takes_on_the_sitters_light(wig: WigAsset) -> None:
    left_lit = lit(
        wig.picture_rgba, wig.landmarks, FaceLight(lightness=65, slope=-25), FaceLight(lightness=65, slope=0)
    )
    lightness = rgb2lab(left_lit[..., :3] / 255)[..., 0]
    solid = wig.picture_rgba[..., 3] > 200

    assert np.median(lightness[:, :150][solid[:, :150]]) > np.median(lightness[:, 250:][solid[:, 250:]]) + 3


def test_a_dark_face_darkens_the_wig_but_never_hides_it(wig: WigAsset) -> None:
    there = FaceLight(lightness=70, slope=0)
    solid = wig.picture_rgba[..., 3] > 200

    def median(here: float) -> float:
        out = lit(wig.picture_rgba, wig.landmarks, FaceLight(lightness=here, slope=0), there)
        return float(np.median(rgb2lab(out[..., :3] / 255)[..., 0][solid]))

    same, dim, dark = median(70), median(50), median(5)
    assert same > dim > dark
    assert abs(dark / same - 0.75) < 0.03


def test_the_shadow_lies_below_the_fringe_and_far_from_it_there_is_none(head: Head) -> None:
    alpha = np.zeros((400, 400), np.float32)
    alpha[60:120, 100:300] = 1
    shadow = contact_shadow(alpha, head(200, 200, 180))

    assert shadow[124, 200] > 0.15
    assert shadow[110, 200] > shadow[130, 200] > shadow[150, 200]
    assert shadow[300, 200] == 0


def test_hair_fades_out_from_a_face_in_a_spot_of_light_and_not_before_an_ordinary_ground(
    wig: WigAsset, head: Head
) -> None:
    points = head(200, 200, 120)
    y, x = np.mgrid[:400, :400]
    near = np.hypot(x - 200, y - 200) < 110
    dark = np.repeat(np.where(near, 185, 8)[..., None], 3, 2).astype(np.uint8)
    light = np.repeat(np.where(near, 185, 150)[..., None], 3, 2).astype(np.uint8)
    there = FaceLight(lightness=face_light(light, points).lightness, slope=0, surround=60)

    def lightness(picture: np.ndarray, product: FaceLight) -> np.ndarray:
        shown = lit(wig.picture_rgba, wig.landmarks, face_light(picture, points), product)
        return rgb2lab(shown[..., :3] / 255)[..., 0]

    solid = wig.picture_rgba[..., 3] > 200
    crown = solid & (y < 40) & (y > 20)
    before, after = lightness(light, there), lightness(dark, there)
    assert np.abs(np.median(before[solid]) - np.median(rgb2lab(wig.picture_rgba[..., :3] / 255)[..., 0][solid])) < 1
    assert np.median(after[crown]) < 0.8 * np.median(before[crown])
    assert np.median(after[crown] / before[crown]) < np.median(after[solid] / before[solid]) - 0.01
    # A photo that was lit so as well shows it already.
    assert np.allclose(lightness(dark, face_light(dark, points)), before, atol=1.5)
