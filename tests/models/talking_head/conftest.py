"""An eye that owes nothing to the code under test: dlib's 68-point detector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def face_box() -> Callable[[NDArray[np.uint8]], tuple[int, int, int, int]]:
    """Left, top, right, bottom of the one face that dlib finds in an RGB picture."""
    dlib = pytest.importorskip("dlib")
    detector = dlib.get_frontal_face_detector()

    def find(picture: NDArray[np.uint8]) -> tuple[int, int, int, int]:
        (box,) = detector(np.ascontiguousarray(picture), 1)  # of padded rows dlib reads what lies between them, too
        return box.left(), box.top(), box.right(), box.bottom()

    return find
