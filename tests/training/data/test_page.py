"""The page on training lists every finding with its rule, and no other."""

from __future__ import annotations

import re

from tests.architecture.repository import ROOT
from training.data.findings import Fault


def test_page_lists_every_finding():
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    table = page.split("### What a scan finds")[1].split("**Near-duplicates**")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(Fault)
