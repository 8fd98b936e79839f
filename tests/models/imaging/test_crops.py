from __future__ import annotations

import numpy as np
import pytest

from models.imaging.crops import crop_window, cropped
from models.imaging.layers import Layers
from models.imaging.subject import Box, SubjectKind
from services.domain.image_steps import CropShape
from tests.models.imaging.conftest import subject_of

RATIOS = {"1:1": 1.0, "4:5": 0.8, "3:4": 0.75, "9:16": 0.5625, "16:9": 16 / 9, "head": 1.0}


def bust(width, height, head):
    """Head and shoulders, cut by the frame below."""
    matte = np.zeros((height, width), np.float32)
    left, top, right, bottom = head
    matte[top:bottom, left:right] = 1
    matte[bottom:, max(0, left - 40) : right + 40] = 1
    return subject_of(matte, head=Box(left=left, top=top, right=right, bottom=bottom))


def figure(width, height, box, kind=SubjectKind.PERSON):
    matte = np.zeros((height, width), np.float32)
    matte[box[1] : box[3], box[0] : box[2]] = 1
    return subject_of(matte, kind=kind)


@pytest.mark.parametrize("shape", CropShape)
def test_every_shape_has_its_ratio_and_holds_the_whole_head(shape):
    generator = np.random.default_rng(0)
    for _ in range(200):
        width, height = (int(value) for value in generator.integers(300, 1500, 2))
        head_width, head_height = (int(value * min(width, height)) for value in generator.uniform(0.1, 0.6, 2))
        left = int(generator.integers(0, width - head_width))
        top = int(generator.integers(0, height - head_height))
        subject = bust(width, height, (left, top, left + head_width, top + head_height))
        window = crop_window(subject, shape)
        assert window.width / window.height == pytest.approx(RATIOS[shape.value], abs=2 / window.height)
        assert window.left <= left + 1
        assert window.top <= top + 1
        assert window.left + window.width >= left + head_width - 1
        assert window.top + window.height >= top + head_height - 1


@pytest.mark.parametrize("shape", [shape for shape in CropShape if shape is not CropShape.HEAD])
@pytest.mark.parametrize("kind", SubjectKind)
def test_a_whole_figure_or_product_stays_whole(shape, kind):
    window = crop_window(figure(600, 800, (200, 80, 420, 760), kind), shape)
    assert window.left < 200 < 420 < window.left + window.width
    assert window.top < 80 < 760 < window.top + window.height


def test_a_crop_is_a_part_of_the_picture_never_stretched():
    rgb = np.random.default_rng(2).integers(0, 255, (800, 600, 3), np.uint8)
    subject = bust(600, 800, (220, 120, 380, 330))
    window = crop_window(subject, CropShape.SQUARE)
    assert window.padding((600, 800)) == (0, 0, 0, 0)
    part = rgb[window.top : window.top + window.height, window.left : window.left + window.width]
    assert np.array_equal(cropped(Layers(rgb=rgb), subject, CropShape.SQUARE).rgb, part)


def test_a_person_whom_the_frame_cuts_is_padded_above_and_never_floats():
    subject = bust(500, 500, (40, 120, 460, 420))
    left, top, right, bottom = crop_window(subject, CropShape.STORY).padding((500, 500))
    assert top > 100
    assert (left, right, bottom) == (0, 0, 0)


def test_padding_continues_the_background_and_keeps_the_person():
    rgb = np.full((800, 600, 3), (90, 140, 200), np.uint8)
    subject = figure(600, 800, (200, 80, 420, 760))
    rgb[subject.matte > 0.5] = (200, 40, 40)
    result = cropped(Layers(rgb=rgb), subject, CropShape.BANNER).rgb
    assert result.shape[1] > 1200
    assert np.abs(result[:, :200].astype(int) - (90, 140, 200)).max() < 12
    assert (result == (200, 40, 40)).all(2).sum() == (subject.matte > 0.5).sum()


def test_padding_of_a_transparent_picture_is_transparent():
    subject = figure(600, 800, (200, 80, 420, 760))
    alpha = np.rint(255 * subject.matte).astype(np.uint8)
    result = cropped(Layers(rgb=np.zeros((800, 600, 3), np.uint8), alpha=alpha), subject, CropShape.BANNER)
    assert result.alpha is not None
    assert (result.alpha[:, :200] == 0).all()
    assert (result.alpha == 255).sum() == (alpha == 255).sum()


def test_the_head_crop_is_of_the_head():
    subject = bust(900, 1200, (380, 200, 520, 400))
    window = crop_window(subject, CropShape.HEAD)
    assert 1.2 * 200 < window.height < 2.2 * 200
    assert abs(window.left + window.width / 2 - 450) < 5
