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
    """The whole stack on an emulator of its own, which holds every function to its role's policy."""
    if not PYTHON.exists():
        pytest.skip("the AWS emulator is not installed; `make tools` does it")
    emulator = Emulator(tmp_path_factory.mktemp("cloud") / "emulator.log", AUTH="true")
    patch = pytest.MonkeyPatch()
    for name, value in emulator.environment.items():
        patch.setenv(name, value)
    yield Stack(emulator, rewrite=_over_plain_http)
    patch.undo()
    emulator.close()


def _over_plain_http(text: str) -> str:
    """The template's denials of requests without TLS never match: the emulator has none."""
    denial = 'aws:SecureTransport: "false"'
    assert text.count(denial) >= 2, "bucket and queues refuse plain HTTP"
    return text.replace(denial, 'aws:PrincipalType: "nobody"')
