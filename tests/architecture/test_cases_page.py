"""Every case of docs/cases.md names tests that exist."""

from __future__ import annotations

import re

from tests.architecture.repository import ROOT

_PAGE = ROOT / "docs" / "cases.md"
_SHOWN_BY = re.compile(r"\]\(\.\./(tests/[\w/]+\.py)\)(?:`::(\w+)`)?")


def test_every_case_is_shown_by_tests_that_exist():
    rows = [line for line in _PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cases = [row for row in rows if not row.startswith(("| what is sent", "| ---"))]
    assert len(cases) >= 30
    for case in cases:
        shown_by = _SHOWN_BY.findall(case)
        assert shown_by, case
        for file, name in shown_by:
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") or not name, (file, name)
