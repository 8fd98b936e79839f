"""What the sentences of a script may not do: capitals, articles, questions, links between facts."""

from __future__ import annotations

import re

import pytest

from services.domain.brief import Brief
from services.domain.copywriting import write_from_template

TONES = ("friendly", "confident", "playful", "calm")


def scripts(*, seconds: tuple[float, ...] = (6, 14), language: str = "en", **facts) -> list[str]:
    """The script of one brief in each tone and length."""
    rate = 3.65 if language.startswith("zh") else 17.4
    briefs = [Brief(language=language, tone=tone, duration_s=s, **facts) for tone in TONES for s in seconds]
    return [write_from_template(brief, characters_per_s=rate).text for brief in briefs]


@pytest.mark.parametrize(
    ("given", "spoken"),
    [
        ("Download Calmly on the App Store", "ownload Calmly on the App Store"),
        ("Get Calmly at Best Buy", "et Calmly at Best Buy"),
        ("TRY IT FREE", "ry it free"),
        ("DOWNLOAD CALMLY NOW", "ownload Calmly now"),
        ("SUBSCRIBE", "ubscribe"),
        ("Start Your Free Trial Today", "tart your free trial today"),
        ("Start Your Calmly Trial Today", "tart your Calmly trial today"),
        ("Book a Test Drive at Tesla.com", "ook a Test Drive at Tesla.com"),
        ("Get Your Copy on Amazon", "et Your Copy on Amazon"),
        ("Download on Google Play", "ownload on Google Play"),
        ("Shop the Spring sale", "hop the Spring sale"),
        ("Enroll Today", "nroll today"),
        ("Get 20% Off With Code SAVE20", "et 20% Off With Code SAVE20"),
    ],
)
def test_call_to_action_keeps_its_words(given, spoken):
    for script in scripts(product="Calmly", benefits=("helps you relax",), call_to_action=given, seconds=(6,)):
        assert spoken in script


def test_product_and_brand_keep_their_capitals_in_benefits():
    for script in scripts(product="Calmly", brand="Still", benefits=("Calmly tracks your sleep", "Made by Still")):
        assert not re.search(r"\bcalmly\b|\bstill\b", script), script


@pytest.mark.parametrize(
    "audience",
    [
        *("people who can't sleep", "people who don't cook", "people who had surgery", "people who could use a break"),
        *("people who were let down", "anyone who was let down", "anyone who does not cook", "people who would travel"),
        *("people who lost their job", "people who should rest", "people who may move", "people who have tried it all"),
    ],
)
def test_no_question_is_made_of_an_auxiliary_or_a_past(audience):
    for script in scripts(product="Calmly", audience=audience, benefits=("helps you relax",), seconds=(10,)):
        assert "Do you" not in script


def test_a_question_is_made_of_a_plain_verb_and_of_what_people_cannot_do():
    travel = scripts(product="Calmly", audience="people who want to improve their sleep", benefits=("tracks noise",))
    assert any("Do you want to improve your sleep?" in script for script in travel)
    awake = scripts(product="Calmly", audience="people who can't sleep", benefits=("tracks noise",))
    assert any("Can't sleep?" in script for script in awake)


def test_facts_are_not_linked_as_causes_or_ranked():
    benefits = ("fits every bike holder", "a lid that opens with one hand", "save time", "waterproof", "free returns")
    for script in scripts(product="the Lumo bottle", benefits=benefits):
        assert not re.search(
            r"That means|So you can|More than that|What's in it|highlights|You'll (see|notice)", script
        )


def test_also_stands_only_after_another_benefit():
    for script in scripts(product="Lumo bottle", benefits=("waterproof", "free returns", "onboarding in one day")):
        first = re.split(r"(?<=[.!?]) ", script[script.index("Lumo") :])[1]
        assert not re.search(r"\b(also|plus)\b", first, re.IGNORECASE), script
        assert not re.search(r"\balso\b[^.!?]*\balso\b", script, re.IGNORECASE), script


@pytest.mark.parametrize(
    "product",
    [
        *("Dr. Smith's dental clinic", "Grandma's cookies", "Learn Python in 30 days", "Oatly oat milk"),
        *("Crown & Curl wig", "Pulse Pilates studio", "Mr. Bean coffee grinder"),
    ],
)
def test_names_that_take_no_article_get_none(product):
    for script in scripts(product=product, benefits=("made in Porto", "free returns")):
        assert not re.search(rf"\b(the|our|a) {re.escape(product)}", script, re.IGNORECASE), script
        assert product in script


def test_a_kind_of_thing_after_one_name_gets_its_article():
    for product in ("Nimbus mattress", "Solstice yoga mat"):
        assert all(f"the {product}" in script for script in scripts(product=product, benefits=("firm",)))


def test_a_name_that_is_an_ordinary_word_is_a_name():
    for script in scripts(product="Calm", benefits=("Calm your mind", "sleep stories")):
        assert "our calm" not in script
        assert " Calm your" not in script or ". Calm your" in script


def test_verbs_agree_with_a_name_whose_number_nobody_knows():
    for script in scripts(product="BrightBooks", benefits=("Send invoices in seconds", "Rolls up small")):
        assert not re.search(r"(?i)BrightBooks send|(is|it's|are|they're)( also)? rolls", script), script


def test_offer_and_price_come_before_secondary_benefits():
    facts = {"offer": "20% off your first order", "price": "$29", "call_to_action": "Shop now"}
    benefits = ("keeps drinks cold for 24 hours", "fits every bike holder", "a lid that opens with one hand")
    for script in scripts(product="Lumo", benefits=benefits, seconds=(8, 9), **facts):
        assert "20% off your first order" in script
        assert "$29" in script
        assert "hop now" in script


def test_a_script_does_not_end_with_the_bare_name():
    for script in scripts(product="Lumo", brand="Acme", benefits=("waterproof",), call_to_action="Shop now"):
        assert not re.search(r"[.!?] Lumo( from Acme)?\.$", script)


def test_what_the_product_did_gets_its_subject():
    for script in scripts(
        product="Lumo", benefits=("Helped 10,000 women lose weight.", "Rated 4.8 stars", "Sold 400 homes")
    ):
        assert not re.search(r"[.!?] (Helped|Rated|Sold)", script), script


def test_nothing_is_linked_twice():
    facts = {"product": "AirBuds", "brand": "Luma", "benefits": ("lightweight", "for dry skin", "with SPF 30")}
    for script in scripts(**facts):
        assert not re.search(r"(?i)\band and\b|and all that", script)


def test_chinese_asks_people_what_they_would_and_names_no_conditions():
    told = {"product": "英语课程", "benefits": ("真人外教", "每天二十分钟"), "call_to_action": "扫码试听"}
    asked = scripts(language="zh-CN", audience="不敢开口说英语的人", **told)
    assert any("不敢开口说英语？" in script for script in asked)
    assert not any("如果你是" in script for script in asked)


def test_chinese_sums_up_no_fewer_than_three_facts():
    two = scripts(language="zh-CN", product="面霜", benefits=("质地轻盈", "气味清新"), price="199元", offer="买一送一")
    assert not any(re.search("总结一下|再说一遍|请记住", script) for script in two)


def test_chinese_counts_no_fruit_by_models():
    told = {"product": "烟台苹果", "audience": "爱吃水果的家庭", "benefits": ("清脆多汁", "适合送礼", "当天采摘")}
    assert not any("这款苹果" in script or "这款烟台" in script for script in scripts(language="zh-CN", **told))
