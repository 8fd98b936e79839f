from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.colour import NAMED, hair_colour, recoloured
from services.domain.errors import InvalidRequest
from services.domain.preview import HAIR_COLOURS
from tests.models.tryon.wig.cielab import rgb2lab


def _lab(rgba: np.ndarray) -> np.ndarray:
    return rgb2lab(rgba[rgba[..., 3] > 200][:, :3] / 255)


def _black(wig: WigAsset) -> np.ndarray:
    rgba = wig.picture_rgba.copy()
    rgba[..., :3] = rgba[..., :3] * 0.3  # L about 8, as black hair has in a photo
    return rgba


@pytest.mark.parametrize("name", ["blonde", "platinum", "copper", "black", "burgundy"])
def test_hair_takes_the_asked_colour(wig: WigAsset, name: str) -> None:
    got = np.median(_lab(recoloured(wig.picture_rgba, hair_colour(name))), axis=0)
    wanted = rgb2lab(np.array([[NAMED[name]]]) / 255)[0, 0]

    assert abs(got[0] - wanted[0]) < 4
    assert np.linalg.norm(got[1:] - wanted[1:]) < 9


def test_black_hair_made_blonde_keeps_its_strands(wig: WigAsset) -> None:
    black = _black(wig)
    before, after = _lab(black)[:, 0], _lab(recoloured(black, hair_colour("blonde")))[:, 0]

    assert spearmanr(before, after).statistic > 0.98  # what was light stays lighter than what was dark
    spread = np.percentile(after, 92) - np.percentile(after, 8)
    assert spread > 18  # blond hair in photos spans twenty and more; a shift of L would keep the black's few
    assert spread > 1.5 * (np.percentile(before, 92) - np.percentile(before, 8))
    assert after.max() < 99  # no strand is burnt out


def test_the_outline_is_untouched_by_dye(wig: WigAsset) -> None:
    dyed = recoloured(wig.picture_rgba, hair_colour("#3355cc"))
    assert np.array_equal(dyed[..., 3], wig.picture_rgba[..., 3])


def test_a_colour_that_is_none_is_refused_by_name() -> None:
    for text in ("sparkly", "#12345", "#gggggg", ""):
        with pytest.raises(InvalidRequest) as refused:
            hair_colour(text)
        assert refused.value.code == "colour_unknown"


def test_spelling_of_names_is_forgiving_and_the_api_knows_the_same_ones() -> None:
    assert hair_colour("Dark Brown").name == "dark_brown"
    assert hair_colour("gray") == hair_colour("grey")
    assert tuple(NAMED) == HAIR_COLOURS
