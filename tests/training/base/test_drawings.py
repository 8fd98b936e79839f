"""Drawings show what they are said to show. Measured on the pixels, not by how they were drawn."""

from __future__ import annotations

import colorsys
from itertools import combinations, product

import numpy as np
import pytest
from PIL import ImageColor

from training.base.attributes import ALL, CATEGORIES, CHOICES, COLOURS, LEFT_OUT, PATTERNS, SEEN, Attributes, caption
from training.base.drawings import draw, draw_set

# What the web calls so, in degrees around the circle of hues; pink is a light red, black and white have none.
_CSS_NAMES = {"red": "red", "yellow": "gold", "green": "green", "blue": "blue", "purple": "rebeccapurple"}
_CSS_HUES = {name: 360 * colorsys.rgb_to_hsv(*ImageColor.getrgb(css))[0] for name, css in _CSS_NAMES.items()}
_NUM_TRIES = 6


def drawn(colour="red", category="T-shirt", pattern="plain", presentation="flat"):
    """Some pictures of the same attributes."""
    one = Attributes(colour=colour, category=category, pattern=pattern, presentation=presentation)
    random = np.random.default_rng([COLOURS.index(colour), CATEGORIES.index(category), PATTERNS.index(pattern)])
    return [draw(one, random) for _ in range(_NUM_TRIES)]


def name_of(rgb):
    """Which of the colours it is, by hue, saturation and value of the web's colours of these names."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(np.asarray(rgb) / 255))
    if value < 0.3:
        return "black"
    if saturation < 0.12:
        return "white"
    near = {name: abs((360 * hue - of + 180) % 360 - 180) for name, of in _CSS_HUES.items()}
    name = min(near, key=near.get)
    return "pink" if name == "red" and saturation < 0.5 else name


def foreground(picture, threshold=30):
    """What is no background: far in colour from its row's left edge, (64, 64) of booleans."""
    return np.linalg.norm(picture.astype(float) - picture[:, :1].astype(float), axis=2) > threshold


def cloth(picture):
    """The middle of the garment's chest, (12, 8, 3)."""
    return picture[30:42, 28:36].astype(float)


def test_one_seed_draws_one_set_and_another_another():
    first, second, other = (draw_set(12, SEEN, seed) for seed in (3, 3, 4))
    assert np.array_equal(first.pictures, second.pictures)
    assert first.captions == second.captions
    assert not np.array_equal(first.pictures, other.pictures)
    assert first.pictures.shape == (12, 64, 64, 3)


def test_no_two_pictures_of_a_set_are_the_same():
    pictures = draw_set(40, SEEN[:2], 1).pictures
    assert len(np.unique(pictures.reshape(40, -1), axis=0)) == 40


@pytest.mark.parametrize("presentation", ["flat", "worn"])
@pytest.mark.parametrize("colour", COLOURS)
def test_garment_has_the_colour_that_the_web_calls_so(colour, presentation):
    for picture in drawn(colour, presentation=presentation):
        rgb = np.median(cloth(picture).reshape(-1, 3), axis=0)
        assert name_of(rgb) == colour


def test_stripes_run_across_dots_and_checks_both_ways_and_plain_has_none():
    def spread(pattern):
        """How much brightness changes down and across the cloth, medians over some pictures."""
        greys = [cloth(picture).mean(2) for picture in drawn("blue", pattern=pattern, presentation="worn")]
        return [float(np.median([grey.std(axis).mean() for grey in greys])) for axis in (0, 1)]

    down, across = spread("plain")
    assert max(down, across) < 6
    down, across = spread("striped")
    assert down > 30
    assert across < 6
    for pattern in ("dotted", "checked"):
        assert min(spread(pattern)) > 12, pattern


def test_checks_have_three_tones_and_dots_two():
    """A check's bands are half as strong as their crossings; between a dot and its ground lies only its edge."""

    def share_of_middle_tones(pattern):
        tones = np.concatenate([cloth(picture).mean(2).ravel() for picture in drawn("black", pattern=pattern)])
        low, high = np.percentile(tones, [2, 98])
        return float(((tones > low + 0.3 * (high - low)) & (tones < low + 0.7 * (high - low))).mean())

    assert share_of_middle_tones("checked") > 1.4 * share_of_middle_tones("dotted")


def test_worn_shows_more_than_the_garment_and_flat_does_not():
    for category in CATEGORIES:
        for presentation, least, most in (("flat", 0.0, 0.15), ("worn", 0.2, 1.0)):
            for picture in drawn("green", category, presentation=presentation):
                there = foreground(picture)
                red, green, blue = picture.astype(int).transpose(2, 0, 1)
                share = (there & ~((green > red + 15) & (green > blue + 10))).sum() / there.sum()
                assert least <= share <= most, (category, presentation)


def test_categories_have_their_outlines():
    for category in CATEGORIES:
        for picture in drawn("red", category):
            there = foreground(picture)
            rows, columns = np.flatnonzero(there.any(1)), np.flatnonzero(there.any(0))
            height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
            low = there[rows[0] + int(0.85 * height)]
            num_parts = int((np.diff(np.concatenate([[0], low.astype(int)])) == 1).sum())
            top_width = there[rows[0] + int(0.3 * height)].sum()
            assert num_parts == (2 if category == "trousers" else 1), category
            if category == "T-shirt":
                assert width > height
                assert low.sum() < 0.75 * width  # its sleeves are above
            elif category == "dress":
                assert low.sum() > 1.6 * top_width
            elif category == "coat":
                assert 0.75 < width / height < 1.1
            else:
                assert height > 1.6 * width


def test_twenty_six_combinations_are_left_out_and_every_pair_is_seen():
    def triple(one):
        return one.colour, one.category, one.pattern

    assert len({triple(one) for one in LEFT_OUT}) == 26
    assert {triple(one) for one in LEFT_OUT} & {triple(one) for one in SEEN} == set()
    assert len(LEFT_OUT) + len(SEEN) == len(ALL) == 256
    for first, second in combinations(range(4), 2):
        seen = {(one.labels()[first], one.labels()[second]) for one in SEEN}
        assert seen == set(product(range(len(CHOICES[first])), range(len(CHOICES[second]))))


def test_a_set_shows_each_combination_equally_often_and_none_but_the_wanted():
    attributes = draw_set(2 * len(SEEN), SEEN, 5).attributes
    assert set(attributes) == set(SEEN)
    assert all(attributes.count(one) == 2 for one in SEEN)


def test_caption_says_what_is_shown():
    one = Attributes(colour="red", category="dress", pattern="striped", presentation="worn")
    assert caption(one) == "a striped red dress, worn by a model"


def test_captions_differ_and_fit_into_what_the_text_encoder_reads():
    from transformers import BertTokenizer

    from models.diffusion.drawn64.text import FILES, NUM_TOKENS
    from models.weights import path

    tokenizer = BertTokenizer(vocab=str(path(FILES[2])), do_lower_case=True)
    random = np.random.default_rng(0)
    captions = {caption(one, random) for one in ALL for _ in range(20)}
    assert len(captions) > 2000
    assert max(len(ids) for ids in tokenizer(sorted(captions))["input_ids"]) <= NUM_TOKENS
