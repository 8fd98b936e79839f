"""The style that LoRAs learn: other pictures, the same things in them."""

from __future__ import annotations

import numpy as np

from training.base.attributes import ALL
from training.base.checker import load_checker
from training.base.drawings import draw_set
from training.base.ink import in_ink


def test_style_changes_every_picture_and_what_it_shows_is_still_told():
    drawn = draw_set(128, ALL, 12)
    inked = np.stack([in_ink(picture) for picture in drawn.pictures])
    changed = np.abs(inked.astype(int) - drawn.pictures).mean((1, 2, 3))
    assert changed.min() > 10
    assert load_checker().right(inked, drawn.attributes).all(1).mean() >= 0.9


def test_paper_is_cream_whatever_the_background_was():
    drawn = draw_set(16, ALL, 13)
    paper = np.stack([in_ink(picture) for picture in drawn.pictures])[:, 2:10, 2:10].reshape(16, -1, 3)
    brightest = np.percentile(paper, 90, axis=1)
    assert np.abs(brightest - brightest.mean(0)).max() < 6
    assert (brightest[:, 0] > brightest[:, 2] + 15).all()  # more red than blue
