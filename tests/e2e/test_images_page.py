"""``docs/images.md`` does what it says: its commands, then its request by curl and its Python, in order."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from PIL import Image

from models import weights
from services.domain.engine import EngineKind
from services.domain.image_steps import ImageStep
from spokesmodel.runner import LocalSystem
from tests import drawn_products
from tests.e2e.conftest import running
from tests.e2e.pages import Page, reader_in

PAGE = Page("images.md")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("page") / "state", engines=(EngineKind.IMAGE,)) as system:
        yield system


@pytest.fixture
def folder(system: LocalSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder, with the page's photos."""
    shutil.copy(weights.path("avatar-ellen"), tmp_path / "me.jpg")
    (tmp_path / "tee.png").write_bytes(drawn_products.tee())
    reader_in(tmp_path, system, monkeypatch)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="bash or curl is not here")
def test_commands_of_the_page_make_what_it_says(system: LocalSystem, folder: Path) -> None:
    told = PAGE.run_bash(SPOKESMODEL_STATE_DIR=str(system.services.settings.state_dir))
    assert "verified" in told[0]
    with Image.open(folder / "me-shop-crop_4x5.png") as crop:
        assert crop.width / crop.height == pytest.approx(4 / 5, abs=0.01)
    with Image.open(folder / "tee-alone.png") as alone:
        assert alone.mode == "RGBA"
        assert alone.getchannel("A").getpixel((5, 5)) == 0
    with Image.open(folder / "me.jpg") as before, Image.open(folder / "me-light.png") as after:
        assert after.size == before.size
    answer = json.loads(told[-1])
    assert answer["state"] == "succeeded", answer["failure"]
    assert {output["name"] for output in answer["result"]["outputs"]} == {"image", "mask", "sheet", "crop_head"}


def test_python_of_the_page_runs_from_top_to_bottom(folder: Path) -> None:
    names = PAGE.run_python()
    assert names["job"]["state"] == "succeeded"
    assert {path.stem for path in folder.glob("rest-*")} == {"rest-image", "rest-mask", "rest-sheet", "rest-crop_1x1"}


def test_every_tool_of_the_page_has_a_command_to_copy() -> None:
    tools = set(re.findall(r"^\*\*`(\w+)`\*\*", PAGE.text, re.MULTILINE))
    assert tools == {one.default for step in get_args(ImageStep) for one in fields(step) if one.name == "tool"}
    assert tools == set(re.findall(r"--step (\w+)", "".join(PAGE.blocks("bash"))))
