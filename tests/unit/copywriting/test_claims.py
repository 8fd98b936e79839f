"""The guard against what a language model invents."""

from __future__ import annotations

import pytest

from services.domain.brief import Brief
from services.domain.copywriting.claims import foreign_claims

BRIEF = Brief(
    product="FlowDesk 3",
    language="en",
    duration_s=10,
    benefits=("saves two hours a week", "trusted by 1,200 teams", "rated 4.8 stars", "twenty-five templates"),
    price="€9.50",
    call_to_action="Visit flowdesk.example or write to hi@flowdesk.example",
)
CHINESE = Brief(product="面霜", language="zh", duration_s=10, benefits=("24小时保湿",), price="199元", offer="八折")


@pytest.mark.parametrize(
    "script",
    [
        "It saves 2 hours a week.",
        "Trusted by 1200 teams, rated four of you and 4.8 stars.",
        "Twelve hundred teams trust it.",
        "25 templates, for €9.50. This one is for you.",
        "Write to hi@flowdesk.example.",
        "Go to FLOWDESK.example!",
    ],
)
def test_what_the_brief_says_passes_in_figures_and_in_words(script):
    assert foreign_claims(script, BRIEF) == ()


@pytest.mark.parametrize(
    ("script", "claims"),
    [
        ("It saves 3,000 hours.", ("3,000",)),
        ("Now ninety percent off.", ("ninety",)),
        ("Two hundred and fifty templates.", ("two hundred and fifty",)),
        ("At flowdesk.com.", ("flowdesk.com",)),
        ("Mail me@flowdesk.example.", ("me@flowdesk.example",)),
        ("The best tool, guaranteed.", ("best", "guaranteed")),
    ],
)
def test_inventions_are_named(script, claims):
    assert foreign_claims(script, BRIEF) == claims


def test_chinese_numbers_and_forbidden_superlatives():
    assert foreign_claims("二十四小时保湿，一百九十九元，打八折。", CHINESE) == ()
    assert foreign_claims("最好的面霜，三十天见效，打五折。", CHINESE) == ("三十", "五", "最好", "见效")
