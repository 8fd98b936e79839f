"""docs/settings.md says what services/settings.py does."""

from __future__ import annotations

import re
from dataclasses import fields

from services import settings
from services.settings import Settings
from tests.architecture.repository import ROOT

_TEXT = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_every_setting_is_listed_with_its_default():
    listed = dict(re.findall(r"^\| `([a-z_]+)` \| (?:`(.*?)`)? ?\|", _TEXT, re.MULTILINE))
    assert listed == {field.name: str(getattr(Settings(), field.name)) for field in fields(Settings)}


def test_variables_that_are_no_settings_are_listed():
    listed = set(re.findall(r"^\| `(SPOKESMODEL_[A-Z_]+)` \|", _TEXT, re.MULTILINE))
    assert listed == set(settings._NOT_OURS)
