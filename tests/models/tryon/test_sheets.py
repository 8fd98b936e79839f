"""The command that makes sheets to grade, on the built-in pictures."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks import tryon_cells
from benchmarks.sheets import main, render
from benchmarks.tryon_cells import EXCEPTION, Cell, summary
from models import weights
from models.tryon.wig import preview
from models.tryon.wig.asset import WigAsset


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One portrait, one landscape without a face, one photo of hair."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "portraits").mkdir()
    (folder / "hair").mkdir()
    with Image.open(weights.path("avatar-vera")) as picture:
        picture.convert("RGB").save(folder / "portraits" / "a_vera.png")
    ramp = np.linspace(40, 200, 300, dtype=np.uint8)
    Image.fromarray(np.dstack([np.tile(ramp, (200, 1))] * 3)).save(folder / "portraits" / "noface_landscape.png")
    suffix = Path(weights.path("avatar-ellen")).suffix or ".jpg"
    shutil.copy(weights.path("avatar-ellen"), folder / "hair" / f"ref_ellen{suffix}")
    return folder


@pytest.fixture(scope="module")
def sheet(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Cell]]:
    out = tmp_path_factory.mktemp("out")
    return out, render("wigs", data, out)


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_every_pair_is_a_numbered_cell_with_its_outcome(sheet: tuple[Path, list[Cell]]) -> None:
    out, _ = sheet
    index = [(row["cell"], row["model"], row["product"], row["outcome"]) for row in rows(out / "wigs.csv")]
    assert index == [
        ("w001", "a_vera", "ref_ellen", "ok"),
        ("w002", "noface_landscape", "ref_ellen", "face_not_found"),
    ]


def test_the_pages_fit_a_viewer_and_cells_are_large(sheet: tuple[Path, list[Cell]]) -> None:
    out, _ = sheet
    pages = {row["page"] for row in rows(out / "wigs.csv")}
    assert pages == {"wigs-01.png", "wigs-02.png"}
    for name in pages:
        with Image.open(out / name) as page:
            assert max(page.size) <= 2400
            assert page.size[0] >= 384
    with Image.open(out / "cells" / "w001.png") as cell:
        assert cell.size[1] >= 384
    assert not (out / "cells" / "w002.png").exists()


def test_a_second_run_takes_the_cells_of_the_first(
    data: Path, sheet: tuple[Path, list[Cell]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, cells = sheet

    def made_again(*arguments: Any, **options: Any) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(tryon_cells, "make_wig_previews", made_again)
    assert render("wigs", data, out) == cells


def test_cells_of_other_code_are_made_again_and_a_bug_is_counted_not_raised(
    data: Path, tmp_path: Path, sheet: tuple[Path, list[Cell]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(sheet[0], out)

    def broken(*arguments: Any, **options: Any) -> None:
        raise ZeroDivisionError("no face")

    monkeypatch.setattr(tryon_cells, "code_state", lambda: "other")
    monkeypatch.setattr(tryon_cells, "ingest_wig", lambda photo, name: WigAsset.load(asset_of(sheet[0])))
    monkeypatch.setattr(tryon_cells, "make_wig_previews", broken)
    cells = render("wigs", data, out)
    assert [cell.outcome for cell in cells] == [EXCEPTION, EXCEPTION]
    assert summary(cells)["exceptions"] == 2
    assert main(["wigs", "--data", str(data), "--out", str(out)]) == 1


def asset_of(out: Path) -> Path:
    return next((out / "assets").iterdir())


def test_a_pixel_changed_outside_the_mask_is_counted(
    data: Path, tmp_path: Path, sheet: tuple[Path, list[Cell]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = preview.make_wig_previews

    def careless(*arguments: Any, **options: Any) -> Any:
        previews = make(*arguments, **options)
        path = previews.files["front"]
        pixels = np.array(Image.open(path))
        pixels[-1, -1] ^= 1
        Image.fromarray(pixels).save(path)
        return previews

    monkeypatch.setattr(tryon_cells, "make_wig_previews", careless)
    monkeypatch.setattr(tryon_cells, "ingest_wig", lambda photo, name: WigAsset.load(asset_of(sheet[0])))
    cells = render("wigs", data, tmp_path)
    assert (cells[0].outcome, cells[0].changed_outside) == ("ok", 1)
    assert summary(cells)["cells_changed_outside_mask"] == 1


def test_the_sheet_that_is_as_the_cases_demand_ends_well(data: Path, sheet: tuple[Path, list[Cell]]) -> None:
    assert main(["wigs", "--data", str(data), "--out", str(sheet[0])]) == 0


def test_chosen_cells_keep_their_numbers(data: Path, sheet: tuple[Path, list[Cell]]) -> None:
    cells = render("wigs", data, sheet[0], only=(["noface"], []))
    assert [(cell.cell, cell.model) for cell in cells] == [("w002", "noface_landscape")]
