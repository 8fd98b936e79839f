"""Every error code is explained in docs/errors.md, and nothing is explained that does not exist."""

from __future__ import annotations

import re

from tests.architecture.error_codes import raised_codes, string_literals
from tests.architecture.repository import ROOT

_PAGE = ROOT / "docs" / "errors.md"
_ROW = re.compile(r"^\| ((?:`[a-z0-9_]+`(?:, )?)+) \| (.*?) \|", re.MULTILINE)


def explained():
    rows = _ROW.findall(_PAGE.read_text(encoding="utf-8"))
    return {code: meaning for codes, meaning in rows for code in re.findall(r"`([a-z0-9_]+)`", codes)}


def test_scan_finds_codes_in_every_form():
    found = raised_codes()
    assert {"face_not_found", "request_too_large", "not_used", "conflict", "engine_lost"} <= found.keys()


def test_every_code_that_is_raised_is_explained():
    assert {code: files for code, files in raised_codes().items() if code not in explained()} == {}


def test_every_explained_code_is_raised():
    assert {code for code in explained() if code not in string_literals()} == set()


def test_every_code_has_a_meaning():
    assert [code for code, meaning in explained().items() if not meaning.strip()] == []
