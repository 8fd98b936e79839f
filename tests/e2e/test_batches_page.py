"""``docs/batches.md`` does what it says: its files and commands, then its Python, in order."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.engine import EngineKind
from services.settings import Settings
from services.usecases.batch_file import MAX_COLUMNS
from spokesmodel.runner import LocalSystem
from tests.e2e.conftest import running
from tests.e2e.pages import Page, reader_in

PAGE = Page("batches.md")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("page") / "state", engines=(EngineKind.VIDEO,)) as system:
        yield system


@pytest.fixture
def folder(system: LocalSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder, with the page's two files and a command called ``spokesmodel``."""
    [table] = PAGE.blocks("csv")
    [defaults] = PAGE.blocks("json")
    (tmp_path / "spring.csv").write_text(table, encoding="utf-8")
    (tmp_path / "defaults.json").write_text(defaults, encoding="utf-8")
    reader_in(tmp_path, system, monkeypatch)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_commands_of_the_page_make_what_it_says(system: LocalSystem, folder: Path) -> None:
    told = "".join(PAGE.run_bash(SPOKESMODEL_STATE_DIR=str(system.services.settings.state_dir)))
    [shown] = PAGE.blocks("text")
    _, fault, rows, estimate = shown.splitlines()
    assert fault.split() == told.splitlines()[0].split()
    assert told.splitlines()[1:3] == [rows, estimate]
    names = {path.name for path in (folder / "spring-results").iterdir()}
    assert {"aurora.mp4", "aurora.srt", "comet.mp4", "comet-poster.jpg", "results.csv"} <= names
    assert not any(name.startswith("borealis") for name in names)


def test_python_of_the_page_runs_from_top_to_bottom(folder: Path) -> None:
    names = PAGE.run_python()
    assert names["batch"]["counts"]["succeeded"] == 2
    assert [fault["row"] for fault in names["report"]["faults"]] == [2]
    rows = [json.loads(line) for line in names["lines"]]
    assert [row["state"] for row in rows] == ["succeeded", "invalid", "succeeded"]


def test_numbers_of_the_page_are_the_settings() -> None:
    settings = Settings()
    assert f"At most {settings.max_batch_rows:,} rows and 64 MB" in PAGE.text
    assert settings.max_batch_file_bytes == 64 * 1024**2
    assert f"`batch_window` ({settings.batch_window})" in PAGE.text
    assert f"`batch_slice_s` ({settings.batch_slice_s:g} s;" in PAGE.text
    assert f"{MAX_COLUMNS:,} columns" in PAGE.text
