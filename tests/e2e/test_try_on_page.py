"""``docs/try-on.md`` does what it says: its table and commands, then its Python, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.tryon.wig.pins import PINS
from services.domain.pins import garment_pins
from services.domain.product import GarmentCategory
from spokesmodel.runner import LocalSystem
from tests import drawn_products
from tests.e2e.conftest import running
from tests.e2e.test_cases import write_still_clip
from tests.e2e.test_previews import KINDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "try-on.md"
TEXT = PAGE.read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in _BLOCK.findall(TEXT) if name == language]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("page") / "state", engines=KINDS) as system:
        yield system


@pytest.fixture
def folder(system: LocalSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder, with the page's photos and table and a command called ``spokesmodel``."""
    shutil.copy(weights.path("avatar-ellen"), tmp_path / "hair.jpg")
    with Image.open(weights.path("avatar-max")) as portrait:
        write_still_clip(tmp_path / "clip.mp4", np.asarray(portrait.convert("RGB").resize((288, 384))))
    (tmp_path / "tee.png").write_bytes(drawn_products.tee())
    (tmp_path / "red.png").write_bytes(drawn_products.tee((170, 40, 40)))
    [table] = blocks("csv")
    (tmp_path / "tees.csv").write_text(table, encoding="utf-8")
    command = tmp_path / "bin" / "spokesmodel"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m spokesmodel "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_commands_of_the_page_make_what_it_says(system: LocalSystem, folder: Path) -> None:
    environment = {**os.environ, "SPOKESMODEL_STATE_DIR": str(system.services.settings.state_dir)}
    told = []
    for command in blocks("bash"):
        run = subprocess.run(
            ["bash", "-euc", command], capture_output=True, text=True, check=False, env=environment, timeout=300
        )
        assert run.returncode == 0, run.stdout + run.stderr
        told.append(run.stdout)
    [shown] = blocks("text")
    assert told[0].endswith(shown)
    assert all("verified" in said for said in told[1:3])
    assert not (folder / "nobody.png").exists()
    with Image.open(folder / "max-long" / "front.png") as picture, Image.open(weights.path("avatar-max")) as portrait:
        assert picture.size == portrait.size
    pictures = {path.name.split("-")[0] for path in (folder / "looks").glob("*-picture.png")}
    assert (pictures, len(list((folder / "looks").glob("*-picture.png")))) == ({"blue", "red"}, 4)


def test_python_of_the_page_runs_from_top_to_bottom(
    system: LocalSystem, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOKESMODEL_URL", system.url)
    monkeypatch.setenv("SPOKESMODEL_KEY", system.api_key)
    names: dict[str, Any] = {}
    for number, text in enumerate(blocks("python"), 1):
        exec(compile(text, f"{PAGE.name}, python block {number}", "exec"), names)
    assert names["product"]["state"] == "ready"
    assert names["product"]["photos"][0]["pins"] == {"neck_front": [0.5, 0.19]}
    assert {path.name for path in folder.glob("rest-*")} == {"rest-picture.png", "rest-mask.png", "rest-sheet.jpg"}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ("wig", tuple(PINS)),
        ("top, shirt, jacket, dress", garment_pins(GarmentCategory.TOP)),
        ("skirt", garment_pins(GarmentCategory.SKIRT)),
        ("trousers", garment_pins(GarmentCategory.TROUSERS)),
        ("overall", garment_pins(GarmentCategory.OVERALL)),
    ],
)
def test_pins_of_the_page_are_those_that_are_known(row: str, names: tuple[str, ...]) -> None:
    [cell] = re.findall(rf"^\| {row} \| (.*) \|$", TEXT, re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", cell)) == names
