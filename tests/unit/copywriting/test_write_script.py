"""The use case: a checked language model first, the labelled template otherwise."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from services.domain.brief import Brief, WriterKind
from services.domain.errors import ContentRejected, EngineFailed, InvalidRequest, Unavailable
from services.ports.catalogue import Voice
from services.usecases.write_script import write_script
from tests.fakes.language_model import FakeLanguageModel

VOICE = Voice(id="en-us", name="English", language="en-US", engine="espeak", gender=None, characters_per_s=15.0)
BRIEF = Brief(
    product="Luma Night Serum",
    language="en-US",
    duration_s=10,
    benefits=("hydrates for 24 hours", "fragrance-free"),
    price="$38",
    call_to_action="Shop at luma.example",
)
GOOD = (
    "Meet Luma Night Serum. It hydrates your skin for twenty-four hours, and it's fragrance-free. "
    "It's yours for $38. Shop at luma.example."
)


def answer(script: str, unused: tuple[str, ...] = ()) -> dict[str, object]:
    return {"script": script, "unused_facts": list(unused)}


def unavailable() -> Unavailable:
    return Unavailable("No answer.", code="language_model_unavailable")


def test_without_a_model_the_template_writes_and_says_so():
    script = write_script(BRIEF, voice=VOICE)
    assert script.writer is WriterKind.TEMPLATE
    assert "24 hours" in script.text


def test_a_good_answer_is_the_script():
    model = FakeLanguageModel(answer(GOOD))
    script = write_script(BRIEF, voice=VOICE, language_model=model)
    assert (script.text, script.writer, script.warnings) == (GOOD, WriterKind.LANGUAGE_MODEL, ())
    assert len(model.calls) == 1


def test_the_brief_goes_in_as_data_and_the_form_is_a_valid_schema():
    model = FakeLanguageModel(answer(GOOD))
    write_script(BRIEF, voice=VOICE, language_model=model)
    call = model.calls[0]
    jsonschema.Draft202012Validator.check_schema(call["schema"])
    jsonschema.validate(answer(GOOD), call["schema"])
    assert json.loads(call["content"])["product"] == "Luma Night Serum"
    assert "Luma" not in call["instructions"]
    assert "135 to 165 characters" in call["instructions"]  # 10 s at 15 a second, a tenth either way


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (GOOD.replace("$38", "$29"), "29"),
        (GOOD.replace("twenty-four", "forty-eight"), "forty-eight"),
        (GOOD.replace("luma.example", "luma-shop.example"), "luma-shop.example"),
        (GOOD.replace("Meet", "Meet the best serum,"), "best"),
        ("", "empty"),
        ("认识一下这款精华。" * 12, "Han"),
        ("Meet Luma Night Serum.", "characters"),
        (GOOD * 3, "characters"),
    ],
    ids=["price", "number in words", "address", "superlative", "empty", "language", "short", "long"],
)
def test_a_bad_answer_is_asked_again_with_the_reason(bad, reason):
    model = FakeLanguageModel(answer(bad), answer(GOOD))
    script = write_script(BRIEF, voice=VOICE, language_model=model)
    assert script.text == GOOD
    assert reason in model.calls[1]["instructions"].removeprefix(model.calls[0]["instructions"])


def test_after_two_bad_answers_the_template_serves():
    model = FakeLanguageModel(answer("Buy it for $1!"), answer("Buy it for $2!"))
    script = write_script(BRIEF, voice=VOICE, language_model=model)
    assert script.writer is WriterKind.TEMPLATE
    assert len(model.calls) == 2


def test_an_absent_model_leaves_it_to_the_template():
    assert (
        write_script(BRIEF, voice=VOICE, language_model=FakeLanguageModel(unavailable())).writer is WriterKind.TEMPLATE
    )


def test_a_refusal_is_told_and_not_worked_around():
    model = FakeLanguageModel(ContentRejected("No.", code="language_model_refused"))
    with pytest.raises(ContentRejected) as caught:
        write_script(BRIEF, voice=VOICE, language_model=model)
    assert caught.value.code == "language_model_refused"


def test_emoji_and_markdown_of_a_model_are_not_spoken():
    model = FakeLanguageModel(answer(f"**{GOOD}** ✨"))
    assert write_script(BRIEF, voice=VOICE, language_model=model).text == GOOD


def test_facts_that_a_model_invents_as_unused_are_not_told():
    model = FakeLanguageModel(answer(GOOD, ("fragrance-free", "made on the moon")))
    assert write_script(BRIEF, voice=VOICE, language_model=model).unused_facts == ("fragrance-free",)


def test_a_model_writes_languages_that_the_template_does_not():
    german = replace(BRIEF, language="de", benefits=("spendet 24 Stunden Feuchtigkeit",), call_to_action=None)
    text = (
        "Das ist Luma Night Serum. Es spendet deiner Haut vierundzwanzig Stunden lang Feuchtigkeit. "
        "Der Preis: $38. Schau es dir einfach an."
    )
    script = write_script(german, language_model=FakeLanguageModel(answer(text)))
    assert (script.text, script.language) == (text, "de")


def test_without_a_model_other_languages_are_refused_with_the_written_ones_named():
    with pytest.raises(ContentRejected) as caught:
        write_script(replace(BRIEF, language="de-AT"))
    assert caught.value.code == "language_not_written"
    assert "en and zh" in caught.value.detail


@pytest.mark.parametrize("failure", [unavailable(), None])
def test_other_languages_fail_by_name_when_the_model_does(failure):
    bad = answer("Nur 1 Euro!")
    model = FakeLanguageModel(failure) if failure else FakeLanguageModel(bad, bad)
    with pytest.raises((Unavailable, EngineFailed)) as caught:
        write_script(replace(BRIEF, language="de"), language_model=model)
    assert caught.value.code == ("language_model_unavailable" if failure else "script_not_usable")
    assert caught.value.retryable


def test_a_voice_of_another_language_is_refused():
    with pytest.raises(ContentRejected) as caught:
        write_script(replace(BRIEF, language="zh-CN", benefits=("保湿",), call_to_action=None), voice=VOICE)
    assert caught.value.code == "language_not_spoken"


def test_mandarin_is_chinese_whatever_its_tag():
    voice = replace(VOICE, id="cmn", language="cmn", characters_per_s=3.8)
    brief = Brief(product="面霜", language="zh-CN", duration_s=8, benefits=("24小时保湿", "不含酒精"))
    assert "不含酒精" in write_script(brief, voice=voice).text


def test_facts_in_another_writing_are_refused_by_the_template():
    with pytest.raises(ContentRejected) as caught:
        write_script(replace(BRIEF, language="zh", call_to_action=None))
    assert caught.value.code == "facts_in_other_language"


def test_a_faster_voice_says_more_and_pauses_leave_less():
    rich = replace(BRIEF, duration_s=15, benefits=tuple(f"benefit number {i} of the serum" for i in range(12)))
    normal = len(write_script(rich, voice=VOICE).text)
    assert len(write_script(rich, voice=VOICE, speed=1.5).text) > 1.3 * normal
    assert len(write_script(rich, voice=VOICE, pause_s=1.0).text) < 0.9 * normal


@pytest.mark.parametrize(
    ("change", "error", "code", "param"),
    [
        ({"product": " "}, ContentRejected, "nothing_to_say", "brief.product"),
        ({"product": "✨🔥"}, ContentRejected, "nothing_to_say", "brief.product"),
        ({"product": "x" * 121}, ContentRejected, "text_too_long", "brief.product"),
        ({"benefits": ("x" * 301,)}, ContentRejected, "text_too_long", "brief.benefits.0"),
        ({"keywords": ("x",) * 31}, ContentRejected, "too_many_facts", "brief.keywords"),
        ({"offer": "20% off\x00"}, ContentRejected, "control_character", "brief.offer"),
        ({"brand": "Lu\u202ema"}, ContentRejected, "control_character", "brief.brand"),
        ({"duration_s": 2.9}, InvalidRequest, "out_of_range", "brief.duration_s"),
        ({"duration_s": 601.0}, InvalidRequest, "out_of_range", "brief.duration_s"),
        ({"duration_s": float("nan")}, InvalidRequest, "out_of_range", "brief.duration_s"),
        ({"tone": "angry"}, InvalidRequest, "unknown_tone", "brief.tone"),
    ],
)
def test_a_brief_beyond_the_limits_is_refused_by_name(change, error, code, param):
    with pytest.raises(error) as caught:
        write_script(replace(BRIEF, **change), voice=VOICE)
    assert (caught.value.code, caught.value.param) == (code, param)


@pytest.mark.parametrize("limit", ["121", "120"])
def test_the_message_names_value_and_limit(limit):
    with pytest.raises(ContentRejected, match=limit):
        write_script(replace(BRIEF, product="x" * 121))


def test_newlines_tabs_and_empty_fields_of_a_form_are_accepted():
    script = write_script(replace(BRIEF, benefits=("hydrates\nfor\t24 hours", ""), brand="", offer=" "), voice=VOICE)
    assert "hydrates for 24 hours" in script.text
