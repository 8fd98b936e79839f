"""What the contract suites share: adapters of AWS are run on an emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emulator import PYTHON, Aws, Emulator


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One for the test process; nothing in it outlives that."""
    if not PYTHON.exists():
        pytest.skip("the AWS emulator is not installed; `make tools` does it")
    running = Emulator(tmp_path_factory.mktemp("emulator") / "emulator.log")
    yield running
    running.close()


@pytest.fixture
def aws(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> Aws:
    """This test's own tables, bucket, queues and topics; boto3 finds them by the environment, too."""
    for name, value in emulator.environment.items():
        monkeypatch.setenv(name, value)
    return Aws(emulator)
