"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: what hypothesis finds must not decide at random whether an unrelated change passes.
# Search further with `pytest --hypothesis-profile=default --hypothesis-seed=N`.
settings.register_profile("suite", derandomize=True)
settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real portraits, speech, videos; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("SPOKESMODEL_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real test data is not here ({folder}); set SPOKESMODEL_TEST_DATA to use it")
    return folder
