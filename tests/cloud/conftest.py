from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud.stack import Stack, staged_folder
from tests.emulator import PYTHON, Emulator


@pytest.fixture(scope="session")
def staged() -> Path:
    """The functions' folder for the Python that runs the tests."""
    return staged_folder()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole stack on an emulator of its own."""
    if not PYTHON.exists():
        pytest.skip("the AWS emulator is not installed; `make tools` does it")
    emulator = Emulator(tmp_path_factory.mktemp("cloud") / "emulator.log")
    patch = pytest.MonkeyPatch()
    for name, value in emulator.environment.items():
        patch.setenv(name, value)
    yield Stack(emulator)
    patch.undo()
    emulator.close()
