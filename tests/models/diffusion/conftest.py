"""One thread, small pictures, no chatter: what every test of diffusion wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.pipelines import load_generator
from tests.models.diffusion import tiny_checkpoints


@pytest.fixture(autouse=True)
def one_thread_and_small_pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(Family, "side_px", 64)  # random weights draw nothing better at 512
    yield
    torch.set_num_threads(threads)
    load_generator.cache_clear()


@pytest.fixture(scope="session")
def tiny_sd15(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return tiny_checkpoints.sd15(tmp_path_factory.mktemp("sd15"))


@pytest.fixture(scope="session")
def tiny_sdxl(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return tiny_checkpoints.sdxl(tmp_path_factory.mktemp("sdxl"))


@pytest.fixture(scope="session")
def tiny_flux(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return tiny_checkpoints.flux(tmp_path_factory.mktemp("flux"))


@pytest.fixture(scope="session")
def tiny_sd3(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return tiny_checkpoints.sd3(tmp_path_factory.mktemp("sd3"))


@pytest.fixture
def checkpoint(request: pytest.FixtureRequest) -> Checkpoint:
    """The tiny checkpoint that a test is parametrised with."""
    found: Checkpoint = request.getfixturevalue(f"tiny_{request.param}")
    return found


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    """A picture with structure: stripes on a slope of colour, (96, 80, 3)."""
    y, x = np.mgrid[:96, :80]
    rgb = np.stack([60 + x, 90 + y, 200 - x], axis=2) + ((x // 5) % 2 * 25)[..., None]
    return np.asarray(rgb, np.uint8)


@pytest.fixture
def index_folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


ALL = pytest.mark.parametrize("checkpoint", ["sd15", "sdxl", "flux"], indirect=True)
TO_GENERATE = pytest.mark.parametrize("checkpoint", ["sd15", "sdxl", "flux", "sd3"], indirect=True)
UNETS = pytest.mark.parametrize("checkpoint", ["sd15", "sdxl"], indirect=True)
