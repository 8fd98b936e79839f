"""Whatever the brief, its script claims nothing that it does not say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.domain.brief import Brief
from services.domain.copywriting import check_brief, write_from_template
from services.domain.errors import SpokesmodelError
from tests.unit.copywriting import golden

RANKING = re.compile(
    r"(?i)\b(best|most|first|only|new|ever|perfect|guaranteed|free|amazing|great|no\. 1|\w+est)\b"
    r"|最|第一|唯一|全新|独家|仅|免费"
)
ENGLISH_BENEFITS = [
    "Keeps your feet dry", "lightweight", "a soft leather lining", "free returns", "Save an hour a day", "No parabens",
    "made in Porto", "for dry skin", "with SPF 30", "The battery lasts two days", "24-hour hydration", "easy to clean",
    "Works with Alexa and HomeKit", "Trusted by 300 clinics", "money-back guarantee", "sleep better",
    "covers a room of 40 m²", "designed by Ida Holm",
    "🌿 100% vegan", "**hand-stitched**", "Up to 8 hours of battery", "is gentle on curls",
]  # fmt: skip
CHINESE_BENEFITS = [
    "不含酒精", "24小时保湿", "告别毛躁", "质地轻盈,不粘腻", "真人发丝", "适合敏感肌", "获得红点奖", "三分钟出杯",
    "支持退换", "可水洗", "由林老师设计", "🌿 纯植物", "**手工缝制**", "续航8小时",
]  # fmt: skip


def optional(*values):
    return st.sampled_from([None, *values])


ENGLISH = st.builds(
    Brief,
    product=st.sampled_from(
        ["Luma", "ceramic mug", "CloudStride running shoes", "the Volt e-bike", "AirBuds", "Hotel Mar"]
    ),
    language=st.sampled_from(["en", "en-GB"]),
    duration_s=st.floats(3, 120),
    brand=optional("Luma", "Crown & Curl", "acme"),
    audience=optional("busy parents", "people with dry skin", "anyone who travels", "women 25-34", "HR teams"),
    keywords=st.lists(st.sampled_from(["SPF 50", "summer", "#vegan", "cork", "road trips"]), max_size=5).map(tuple),
    benefits=st.lists(st.sampled_from(ENGLISH_BENEFITS), max_size=8).map(tuple),
    offer=optional("20% off your first order", "first month free", "Buy 2, get 1 free", "a free case until 3 May"),
    price=optional("$29", "from €9 a month", "free", "£199.99", "29 EUR"),
    call_to_action=optional("Shop now", "luma.example", "Call 555-0101", "Book a demo at luma.example!"),
    tone=optional("friendly", "confident", "playful", "calm"),
)
CHINESE = st.builds(
    Brief,
    product=st.sampled_from(["修护面霜", "云步跑鞋", "FlowDesk", "海湾酒店", "真人假发"]),
    language=st.sampled_from(["zh-CN", "zh", "cmn"]),
    duration_s=st.floats(3, 120),
    brand=optional("花间", "Luma"),
    audience=optional("上班族", "敏感肌人群", "25-34岁女性", "电商企业"),
    keywords=st.lists(st.sampled_from(["补水", "SPF50", "#学生党", "露营"]), max_size=4).map(tuple),
    benefits=st.lists(st.sampled_from(CHINESE_BENEFITS), max_size=8).map(tuple),
    offer=optional("首单立减30元", "第二件半价"),
    price=optional("199元", "¥399", "每月29元起"),
    call_to_action=optional("点击链接下单", "luma.example", "021-5550101", "扫码预约"),
    tone=optional("friendly", "confident", "playful", "calm"),
)


def everything_in(brief: Brief) -> str:
    single = (brief.product, brief.brand, brief.audience, brief.offer, brief.price, brief.call_to_action)
    return " ".join(fact for fact in (*single, *brief.benefits, *brief.keywords) if fact)


def written(brief: Brief):
    return write_from_template(brief, characters_per_s=3.8 if brief.language[0] in "zc" else 15.5)


@settings(max_examples=25, deadline=None)
@given(ENGLISH | CHINESE)
def test_every_number_and_superlative_is_the_briefs(brief):
    told, script = everything_in(brief), written(brief).text
    assert set(re.findall(r"\d[\d.,]*\d|\d", script)) <= set(re.findall(r"\d[\d.,]*\d|\d", told))
    assert {word.lower() for word in RANKING.findall(script)} <= {word.lower() for word in RANKING.findall(told)}


@settings(max_examples=25, deadline=None)
@given(ENGLISH)
def test_every_name_is_the_briefs(brief):
    told = everything_in(brief)
    for sentence in re.split(r"(?<=[.!?:]) ", written(brief).text):
        for word in re.findall(r"[\w’'-]+", sentence)[1:]:
            assert not word[0].isupper() or word in told or word in ("I", "I'd", "I’d"), (word, sentence)


@settings(max_examples=25, deadline=None)
@given(ENGLISH)
def test_english_sentences_are_well_formed(brief):
    script = written(brief).text
    assert not re.search(r"\b(\w+) \1\b", script, re.IGNORECASE), script  # doubled word
    assert not re.search(r"\ba (?=[aeio])|\ban (?=[bcdfgjklmnpqrstvwxz])", script), script
    assert not re.search(r"\s[,.!?:;]|[,:;][,.!?:;]|\.\.|[!?]\.|  |\{|\}", script), script
    assert re.search(r"[.!?]$", script)
    for sentence in re.split(r"(?<=[.!?]) ", script):
        assert not sentence[0].islower() or sentence.split()[0].rstrip(".") in everything_in(brief), sentence
    assert not re.search(r"\b(it|It) (keep|work|hydrate)\b|\b(they|They) (keeps|works|is)\b", script), script


@settings(max_examples=25, deadline=None)
@given(CHINESE)
def test_chinese_sentences_are_well_formed(brief):
    script = written(brief).text
    assert not re.search(
        r"[，。！？、：]{2}|的的|它它|吧吧|[\u4e00-\u9fff][,;:!?]|[\u4e00-\u9fff] [\u4e00-\u9fff]|\{|\}", script
    ), script
    assert re.search(r"[。！？]$", script)


@settings(max_examples=15, deadline=None)
@given(ENGLISH | CHINESE)
def test_no_emoji_or_markdown_is_spoken(brief):
    assert not re.search(r"[*#🌿`_]", written(brief).text)


@settings(max_examples=25, deadline=None)
@given(ENGLISH | CHINESE)
def test_facts_left_out_are_named_and_only_when_time_is_short(brief):
    script = written(brief)
    facts = [fact for fact in (*brief.benefits, *brief.keywords, brief.offer, brief.price) if fact]
    assert set(script.unused_facts) <= {*facts, brief.brand, brief.audience, brief.call_to_action}
    if script.warnings and script.warnings[0].startswith("too_few_facts"):
        assert not set(script.unused_facts) - {"women 25-34", "25-34岁女性"}


@pytest.mark.parametrize("name", ["serum", "running_shoes", "e_bike", "mattress_90_seconds", "zh_wig"])
@pytest.mark.parametrize("duration_s", [8, 12, 16, 20])
def test_rich_briefs_fit_any_shorter_time(name, duration_s):
    script = golden.written(replace(golden.briefs()[name], duration_s=duration_s))
    assert abs(script.estimated_duration_s - duration_s) <= 0.1 * duration_s


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        Brief,
        product=st.text(min_size=1, max_size=30),
        language=st.sampled_from(["en", "zh", "zh-TW"]),
        duration_s=st.sampled_from([3.0, 30.0]),
        brand=st.none() | st.text(max_size=20),
        audience=st.none() | st.text(max_size=40),
        benefits=st.lists(st.text(max_size=60), max_size=4).map(tuple),
        price=st.none() | st.text(max_size=20),
        call_to_action=st.none() | st.text(max_size=40),
    )
)
def test_any_text_gives_a_finished_script_or_a_named_refusal(brief):
    try:
        check_brief(brief)
        text = written(brief).text
    except SpokesmodelError as refusal:
        text = f"{refusal.code}."
    assert text[-1] in ".!?…。！？"


def test_designations_are_said_as_they_are_in_chinese() -> None:
    brief = Brief(product="修护面霜", language="zh-CN", duration_s=8, keywords=("SPF50",))
    assert "SPF50" in write_from_template(brief, characters_per_s=3.8).text
