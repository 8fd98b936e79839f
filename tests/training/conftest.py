"""One thread: what every test of the loop wants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from models.diffusion.checkpoints import Family


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


FAMILIES = pytest.mark.parametrize("family", list(Family), ids=str)
