"""Scripts that people read and approved."""

from __future__ import annotations

import pytest

from tests.unit.copywriting import golden

BRIEFS = golden.briefs()


@pytest.mark.parametrize("name", BRIEFS)
def test_script_is_the_approved_one(name):
    assert golden.written(BRIEFS[name]).text == golden.approved_scripts()[name]


@pytest.mark.parametrize("name", BRIEFS)
def test_script_fits_the_seconds_or_says_why_not(name):
    brief, script = BRIEFS[name], golden.written(BRIEFS[name])
    fits = abs(script.estimated_duration_s - brief.duration_s) <= 0.1 * brief.duration_s
    assert fits == (script.warnings == ())
    if not fits and script.estimated_duration_s < brief.duration_s:
        assert script.unused_facts == ()
        assert script.warnings[0].startswith("too_few_facts: ")


def test_same_brief_gives_the_same_script():
    brief = BRIEFS["wig"]
    assert golden.written(brief) == golden.written(brief)


def test_briefs_of_one_shape_get_different_sentences():
    texts = [golden.written(brief).text for name, brief in BRIEFS.items() if not name.startswith("zh")]
    assert len({text.split(" ", 2)[0] for text in texts}) >= 8
