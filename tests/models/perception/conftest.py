from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.perception.faces import FaceFinder


@pytest.fixture(scope="session")
def finder() -> FaceFinder:
    return FaceFinder()


@pytest.fixture(scope="session")
def portrait(shared_data: Path) -> Callable[[str], np.ndarray]:
    """RGB pixels of one of the shared portraits."""
    return lambda name: np.array(Image.open(shared_data / "portraits" / name).convert("RGB"))


@pytest.fixture(scope="session")
def presenter() -> np.ndarray:
    """A built-in presenter's picture: always there."""
    return np.array(Image.open(weights.path("avatar-max")).convert("RGB"))
