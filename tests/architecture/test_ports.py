"""The table of ports: what it names exists, is held to one suite, and what it leaves out has a reason."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.repository import ROOT

_PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
_TABLE = _PAGE.partition("\n## Ports\n")[2].partition("\n## ")[0]
_ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in _TABLE.splitlines() if line.startswith("| `")
]
_CLASS = re.compile(r"`([A-Z]\w+)`")
_SUITES = {
    path.name: set(re.findall(r"\b[A-Z]\w+", path.read_text(encoding="utf-8")))
    for path in (ROOT / "tests" / "contract").glob("test_*.py")
}


def protocols(port: str) -> int:
    """How many protocols the module of a port has."""
    tree = ast.parse((ROOT / "services" / "ports" / f"{port}.py").read_text(encoding="utf-8"))
    return sum(
        isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Protocol" for base in node.bases)
        for node in tree.body
    )


def test_every_port_has_a_row_for_each_of_its_protocols():
    modules = {path.stem for path in (ROOT / "services" / "ports").glob("*.py")} - {"__init__"}
    expected = {port: protocols(port) for port in modules}
    named = [row[0].strip("`") for row in _ROWS]
    assert {port: named.count(port) for port in {*expected, *named}} == expected


@pytest.mark.parametrize("row", _ROWS, ids=[f"{row[0].strip('`')}: {row[1]}" for row in _ROWS])
def test_all_that_stands_in_a_row_is_held_to_one_suite(row):
    _, _, *adapters = row
    assert len(adapters) == 3, "one machine, AWS, tests"
    reasonless = [cell for cell in adapters if not _CLASS.search(cell) and not re.fullmatch(r"none: .{10,}", cell)]
    assert reasonless == []
    named = set(_CLASS.findall(" ".join(adapters)))
    assert [name for name, words in _SUITES.items() if named <= words], f"no suite of tests/contract runs {named}"
