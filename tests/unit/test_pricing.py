"""Prices, worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from models.talking_head import film  # noqa: F401  the engine's own sizes are compared below
from models.video import framing
from services.adapters.price_list import read_price_list
from services.domain.errors import InvalidRequest
from services.domain.pricing import FULL_SIZES_PX, Cost, PriceList, SizePrice, Work, asked_size, work_of
from services.domain.video import Aspect, FrameSettings
from tests.architecture.repository import ROOT

LIST = PriceList(
    currency="EUR",
    sizes=(
        SizePrice(up_to_px=480, per_output_s=Decimal("0.001")),
        SizePrice(up_to_px=1080, per_output_s=Decimal("0.0025")),
    ),
    per_script=Decimal("0.02"),
    per_managed_character={"polly-": Decimal("0.00002")},
)


@pytest.mark.parametrize(
    ("work", "amount"),
    [
        (Work(), 0.0),
        (Work(output_s=10.0, short_side_px=256), 0.01),
        (Work(output_s=10.0, short_side_px=480), 0.01),
        (Work(output_s=10.0, short_side_px=481), 0.025),
        (Work(output_s=10.0, short_side_px=2160), 0.025),  # larger than the list knows: its last row
        (Work(output_s=10.0, short_side_px=256, num_scripts=1), 0.03),
        (Work(output_s=10.0, short_side_px=256, num_characters=500, voice_id="polly-joanna"), 0.02),
        (Work(output_s=10.0, short_side_px=256, num_characters=500, voice_id="en-us"), 0.01),
        (Work(output_s=1.0 / 3, short_side_px=256), 0.000333),
    ],
)
def test_cost_is_seconds_by_size_and_scripts_and_managed_characters(work, amount):
    assert LIST.cost(work) == Cost(amount=amount, currency="EUR")


def test_work_of_a_finished_job_comes_from_what_it_asked_for_and_what_it_used():
    request = {"speech": {"brief": {"product": "x"}, "text": None, "voice": {"voice_id": "polly-joanna"}}}
    facts = {"width_px": 1080, "height_px": 1920}
    work = work_of(request, usage={"output_s": 8.0, "characters": 120.0}, facts=facts)
    assert work == Work(output_s=8.0, short_side_px=1080, num_scripts=1, num_characters=120.0, voice_id="polly-joanna")


def test_work_of_a_recording_has_no_characters():
    work = work_of({"speech": {"upload_id": "upload_x"}}, usage={"output_s": 8.0}, facts={})
    assert (work.num_scripts, work.num_characters, work.voice_id) == (0, 0.0, None)


@pytest.mark.parametrize(
    ("frame", "size"),
    [
        (FrameSettings(), (1080, 1920)),
        (FrameSettings(aspect=Aspect.SQUARE, height_px=256), (256, 256)),
        (FrameSettings(aspect=Aspect.LANDSCAPE, height_px=720), (1280, 720)),
        (FrameSettings(aspect=Aspect.SOURCE), None),
    ],
)
def test_asked_size(frame, size):
    assert asked_size(frame) == size


def test_sizes_are_those_of_the_video_engine():
    sizes = [value for value in vars(framing).values() if isinstance(value, dict) and Aspect.SQUARE in value]
    assert FULL_SIZES_PX in sizes


def test_list_that_comes_along_can_be_read_and_charges_more_for_larger_pictures():
    prices = read_price_list()
    small, large = (prices.cost(Work(output_s=60.0, short_side_px=side)).amount for side in (480, 1080))
    assert 0 < small < large
    assert prices.cost(Work(num_characters=100, voice_id="polly-joanna")).amount > 0


def test_list_shown_in_the_documents_can_be_read(tmp_path):
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    path = tmp_path / "prices.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    assert read_price_list(str(path)).cost(Work(output_s=1000.0, short_side_px=480)).amount == 1.0


GOOD = 'currency = "EUR"\nscript = "0"\n[[output_second]]\nup_to_px = 480\nprice = "0.001"\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "currency =",
        GOOD.replace("EUR", "euro"),
        GOOD.replace('"0.001"', "0.001"),  # a float has lost decimals already
        GOOD.replace('"0.001"', '"-1"'),
        GOOD.replace('"0.001"', '"NaN"'),
        GOOD.replace('"0.001"', '"cheap"'),
        GOOD + '[[output_second]]\nup_to_px = 480\nprice = "1"\n',
        'tip = "1"\n' + GOOD,
        'currency = "EUR"\n',
    ],
)
def test_list_with_a_mistake_is_refused_by_name(tmp_path, text):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(InvalidRequest) as refused:
        read_price_list(str(path))
    assert refused.value.code == "malformed_price_list"


def test_missing_list_is_refused_by_name(tmp_path):
    with pytest.raises(InvalidRequest, match=r"none\.toml"):
        read_price_list(str(tmp_path / "none.toml"))
