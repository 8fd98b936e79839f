from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.imaging.layers import Layers
from models.imaging.subject import Box, Subject, SubjectKind, find_subject


@pytest.fixture(scope="session")
def portrait(shared_data: Path) -> Callable[[str], np.ndarray]:
    """RGB pixels of one of the shared portraits or persons."""
    return lambda name: np.array(Image.open(shared_data / name).convert("RGB"))


@pytest.fixture(scope="session")
def presenter() -> np.ndarray:
    """A built-in presenter's picture: always there."""
    return np.array(Image.open(weights.path("avatar-max")).convert("RGB"))


@pytest.fixture(scope="session")
def presenter_subject(presenter: np.ndarray) -> Subject:
    return find_subject(presenter)


@pytest.fixture(scope="session")
def presenter_layers(presenter: np.ndarray) -> Layers:
    return Layers(rgb=presenter)


def subject_of(matte: np.ndarray, *, kind: SubjectKind = SubjectKind.PERSON, head: Box | None = None) -> Subject:
    """A subject without a face, from its matte."""
    rows, columns = np.flatnonzero((matte > 0.5).any(1)), np.flatnonzero((matte > 0.5).any(0))
    box = Box(left=float(columns[0]), top=float(rows[0]), right=float(columns[-1] + 1), bottom=float(rows[-1] + 1))
    return Subject(kind=kind, matte=np.asarray(matte, np.float32), box=box, head=head)


def disc(size: tuple[int, int], centre: tuple[float, float], radius: float) -> np.ndarray:
    """Exact coverage of a disc, float32 (h, w), by 8x8 samples a pixel."""
    height, width = size
    rows, columns = (np.mgrid[: 8 * height, : 8 * width] + 0.5) / 8
    inside = (columns - centre[0]) ** 2 + (rows - centre[1]) ** 2 <= radius**2
    return inside.reshape(height, 8, width, 8).mean((1, 3)).astype(np.float32)
