"""Captions from files, names, product facts and a captioner, and the trigger word."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from services.domain.errors import InvalidRequest, Unavailable
from tests.training.data.drawn import picture
from training.data.captions import (
    DEFAULT_TEMPLATE,
    CaptionFrom,
    caption_of_facts,
    caption_of_name,
    check_template,
    require_captioner,
    with_trigger,
)
from training.data.examine import Examiner, ScanOptions
from training.data.findings import Fault, Outcome, Rules
from training.data.sources.raw import RawSample


def sample(**more):
    out = io.BytesIO()
    Image.fromarray(picture(1, 96, 96)).save(out, "PNG")
    return RawSample(name="red-apple_02.png", data=out.getvalue(), **more)


def caption(raw, *places, captioner=None, **options):
    chosen = ScanOptions(rules=Rules(min_side_px=64), captions=places, **options)
    return Examiner(chosen, captioner).examine(raw)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("red-apple_02.jpg", "red apple"),
        ("sets/food/AppleTart.png", "Apple Tart"),
        ("blue dress (3).webp", "blue dress"),
        ("IMG.1234.jpg", "IMG"),
        ("0001.png", ""),
    ],
)
def test_caption_of_a_name_is_its_words(name, words):
    assert caption_of_name(name) == words


def test_facts_fill_a_template_and_a_part_in_brackets_goes_when_its_fact_is_missing():
    facts = {"name": "Mira coat", "colour": "navy", "material": ""}
    assert caption_of_facts(facts, DEFAULT_TEMPLATE) == "a photo of Mira coat, navy"
    with pytest.raises(KeyError, match="name"):
        caption_of_facts({"colour": "navy"}, DEFAULT_TEMPLATE)


def test_facts_are_read_without_their_markup_and_never_as_templates():
    facts = {"name": "<b>Mira</b> &amp; co {colour} [x]", "colour": "navy"}
    assert caption_of_facts(facts, "a photo of {name}") == "a photo of Mira & co {colour} [x]"


@pytest.mark.parametrize("template", ["a photo", "{name", "[a [b] {name}]", "{}", "a {name} }"])
def test_template_that_cannot_be_filled_is_refused(template):
    with pytest.raises(InvalidRequest) as told:
        check_template(template)
    assert told.value.code == "malformed_template_of_facts"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a red coat", "sks, a red coat"),
        ("a photo of sks coat", "a photo of sks coat"),
        ("a sksy coat", "sks, a sksy coat"),
        ("", "sks"),
    ],
)
def test_trigger_word_stands_in_every_caption_once(text, wanted):
    assert with_trigger(text, "sks") == wanted
    assert with_trigger(text, None) == text


def test_first_place_that_has_a_caption_gives_it():
    facts = {"name": "Mira coat"}
    both = caption(sample(caption=b"from a file", fields=facts), CaptionFrom.FILES, CaptionFrom.FACTS)
    assert both.caption == "from a file"
    assert caption(sample(fields=facts), CaptionFrom.FILES, CaptionFrom.FACTS).caption == "a photo of Mira coat"
    assert caption(sample(), CaptionFrom.FILES, CaptionFrom.NAMES).caption == "red apple"


def test_missing_fact_is_told_and_the_next_place_is_asked():
    done = caption(sample(fields={}), CaptionFrom.FACTS, CaptionFrom.NAMES)
    assert done.caption == "red apple"
    assert [(one.fault, one.outcome) for one in done.findings] == [(Fault.FACTS_MISSING, Outcome.NOTED)]


def test_two_captions_that_differ_are_told():
    done = caption(sample(caption=b"one", other_caption=b"two"), CaptionFrom.FILES)
    assert done.caption == "one"
    assert [one.fault for one in done.findings] == [Fault.CAPTIONS_DIFFER]


def test_captioner_sees_the_upright_picture_and_is_asked_only_when_nothing_else_has_a_caption():
    class Counting:
        def __init__(self):
            self.seen = []

        def caption(self, picture_rgb):
            self.seen.append(picture_rgb)
            return "what a machine sees"

    captioner = Counting()
    places = (CaptionFrom.FILES, CaptionFrom.CAPTIONER)
    assert caption(sample(caption=b"words"), *places, captioner=captioner).caption == "words"
    assert captioner.seen == []
    assert caption(sample(), *places, captioner=captioner).caption == "what a machine sees"
    assert np.array_equal(captioner.seen[0], picture(1, 96, 96))


def test_captioner_that_is_not_there_is_refused_before_anything_is_read():
    with pytest.raises(Unavailable) as told:
        require_captioner((CaptionFrom.FILES, CaptionFrom.CAPTIONER), None)
    assert told.value.code == "captioner_not_configured"
    require_captioner((CaptionFrom.FILES,), None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_captions_of_usual_encodings_are_read(encoding):
    done = caption(sample(caption="été, 猫\r\n".encode(encoding)), CaptionFrom.FILES)
    assert done.caption == "été, 猫"
    assert done.findings == []
