"""The grades by eye: each cell once, with a reason, and summed up as the page and README say."""

from __future__ import annotations

import csv
import re

import pytest

from tests.architecture.repository import ROOT

EYE = ROOT / "docs" / "eye"
COLUMNS = ["cell", "portrait", "product", "usable", "reason", "grader", "date", "command", "commit"]


@pytest.mark.parametrize("name", ["wigs", "garments"])
def test_every_cell_is_graded_once_with_a_reason_and_the_page_sums_them_up(name):
    with (EYE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert len({row["cell"] for row in rows}) == len({(row["portrait"], row["product"]) for row in rows}) == len(rows)
    assert all(row[column].strip() for row in rows for column in COLUMNS)
    assert {row["usable"] for row in rows} <= {"0", "1"}
    num_usable = sum(row["usable"] == "1" for row in rows)
    page = (EYE / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"\| {name}, commit (\w+) \| (\d+) of (\d+) \|", page)
    assert line == (rows[0]["commit"], str(num_usable), str(len(rows)))
    assert f"{num_usable} of {len(rows)} {name.removesuffix('s')} cells" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )
