"""``docs/try-on.md`` does what it says: its table and commands, then its Python, in order."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

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
from tests.e2e.pages import Page, reader_in
from tests.e2e.test_cases import write_still_clip
from tests.e2e.test_previews import KINDS

PAGE = Page("try-on.md")


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
    [table] = PAGE.blocks("csv")
    (tmp_path / "tees.csv").write_text(table, encoding="utf-8")
    reader_in(tmp_path, system, monkeypatch)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_commands_of_the_page_make_what_it_says(system: LocalSystem, folder: Path) -> None:
    told = PAGE.run_bash(SPOKESMODEL_STATE_DIR=str(system.services.settings.state_dir))
    [shown] = PAGE.blocks("text")
    assert told[0].endswith(shown)
    assert all("verified" in said for said in told[1:3])
    assert not (folder / "nobody.png").exists()
    with Image.open(folder / "max-long" / "front.png") as picture, Image.open(weights.path("avatar-max")) as portrait:
        assert picture.size == portrait.size
    pictures = {path.name.split("-")[0] for path in (folder / "looks").glob("*-picture.png")}
    assert (pictures, len(list((folder / "looks").glob("*-picture.png")))) == ({"blue", "red"}, 4)


def test_python_of_the_page_runs_from_top_to_bottom(folder: Path) -> None:
    names = PAGE.run_python()
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
    [cell] = re.findall(rf"^\| {row} \| (.*) \|$", PAGE.text, re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", cell)) == names
