"""People of the shared pictures, analysed once a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest

from models.perception.analyst import shared_analyst
from models.perception.body import BodyAnalysis
from models.tryon.garment.wearer import Wearer, wearer_of
from models.video.picture import read_picture


@pytest.fixture(scope="session")
def body(shared_data: Path) -> Callable[[str], BodyAnalysis]:
    """The analysis of one of the shared pictures, at 1024 pixels high."""

    @cache
    def analysed(name: str) -> BodyAnalysis:
        source = read_picture(shared_data / name, name, max_pixels=64_000_000)
        assert source is not None
        scale = 1024 / source.rgb.shape[0]
        rgb = cv2.resize(source.rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        return shared_analyst().body(np.asarray(rgb, np.uint8))

    return analysed


@pytest.fixture(scope="session")
def wearer(body: Callable[[str], BodyAnalysis]) -> Callable[[str], Wearer]:
    """Somebody of the shared pictures, ready to be dressed."""
    return cache(lambda name: wearer_of(body(name)))
