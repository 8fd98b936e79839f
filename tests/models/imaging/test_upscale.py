from __future__ import annotations

import cv2
import numpy as np
import pytest

from models import weights
from models.imaging import upscale
from models.imaging.layers import Layers
from models.imaging.upscale import UpconvNetwork, doubled, upscaled
from services.domain.errors import ContentRejected, Unavailable
from tests.models.imaging.conftest import disc


def psnr(one, other):
    return 10 * np.log10(255**2 / np.square(one.astype(float) - other).mean())


@pytest.mark.parametrize(
    "name", ["portraits/woman_neutral.jpg", "portraits/man_shirt_ai.png", "persons/woman_denim_full.png"]
)
def test_it_finds_more_of_a_photo_than_interpolation_does(portrait, name):
    rgb = portrait(name)
    y, x = rgb.shape[0] // 5, rgb.shape[1] // 2 - 100
    sharp = rgb[y : y + 200, x : x + 200]
    small = cv2.resize(sharp, (100, 100), interpolation=cv2.INTER_AREA)
    cubic = cv2.resize(small, (200, 200), interpolation=cv2.INTER_CUBIC)
    assert psnr(doubled(small), sharp) > psnr(cubic, sharp) + 0.15


def test_four_times_is_four_times(presenter):
    part = presenter[:40, :30]
    assert upscaled(Layers(rgb=part), 4).rgb.shape == (160, 120, 3)


def test_colours_stay_and_flat_parts_stay_flat():
    flat = np.full((40, 50, 3), (200, 90, 30), np.uint8)
    assert np.abs(doubled(flat).astype(int) - (200, 90, 30)).max() <= 2


def test_tiles_leave_no_seam(presenter, monkeypatch):
    part = presenter[:150, :140]
    whole = doubled(part)
    monkeypatch.setattr(upscale, "_TILE_PX", 47)
    assert np.abs(doubled(part).astype(int) - whole).max() <= 1


@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (7, 2)])
def test_the_tiniest_picture_is_doubled(shape):
    rgb = np.random.default_rng(0).integers(0, 255, (*shape, 3), np.uint8)
    assert doubled(rgb).shape == (2 * shape[0], 2 * shape[1], 3)


def test_transparency_is_kept_and_hidden_black_does_not_smear_into_the_edge():
    alpha = np.rint(255 * disc((60, 60), (30, 30), 20)).astype(np.uint8)
    rgb = np.zeros((60, 60, 3), np.uint8)
    rgb[alpha > 0] = (210, 180, 160)
    result = upscaled(Layers(rgb=rgb, alpha=alpha), 2)
    wanted = 255 * disc((120, 120), (60, 60), 40)
    assert np.abs(result.alpha.astype(float) - wanted).mean() < 2
    assert np.abs(result.rgb[result.alpha > 10].astype(int) - (210, 180, 160)).max() < 12


def test_a_result_that_would_be_too_large_is_refused_before_any_work():
    with pytest.raises(ContentRejected) as refusal:
        upscaled(Layers(rgb=np.zeros((2000, 2000, 3), np.uint8)), 4)
    assert refusal.value.code == "picture_too_large"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:1000], lambda data: b"\0" * len(data), lambda data: data + b"1234"]
)
def test_a_damaged_file_is_told(damage):
    data = weights.path(upscale.WEIGHTS).read_bytes()
    with pytest.raises(Unavailable) as refusal:
        UpconvNetwork(damage(data))
    assert refusal.value.code == "weights_corrupt"


def test_canceling_ends_it_between_tiles(presenter):
    def cancel():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upscaled(Layers(rgb=presenter), 2, check_canceled=cancel)
