"""Estimates against what the real engine then made and what was charged for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.domain.engine import EngineKind
from spokesmodel.client import Client
from spokesmodel.first_start import BUILT_IN_AVATARS
from tests.e2e.conftest import running

BRIEF = {
    "product": "Aurora running shoe",
    "benefits": ["weighs only 190 grams", "grips on wet streets"],
    "call_to_action": "Order today",
    "language": "en-US",
    "duration_s": 8,
}
SPEECHES = {
    "sentence": {"text": "Good morning. This is a short test.", "voice": {"voice_id": "en-us"}},
    "numbers": {"text": "It costs $49.90, weighs 190 grams and ships in 24 hours.", "voice": {"voice_id": "en-us"}},
    "fast, with pauses": {
        "text": "Meet the Aurora. It is light. It grips on wet streets, and it lasts.",
        "voice": {"voice_id": "en-us", "speed": 1.3, "pause_s": 0.5},
    },
    "Chinese": {"text": "大家好,这款跑鞋只有一百九十克,雨天也很稳。今天就下单吧。", "voice": {"voice_id": "cmn"}},
    "brief": {"brief": BRIEF, "voice": {"voice_id": "en-us"}},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with (
        running(tmp_path_factory.mktemp("estimate") / "state", engines=(EngineKind.VIDEO,)) as system,
        Client(system.url, system.api_key) as client,
    ):
        yield client


@pytest.mark.parametrize("name", SPEECHES)
def test_estimate_holds_within_its_stated_bound(client: Client, name: str) -> None:
    body = {
        "presenter": {"avatar_id": BUILT_IN_AVATARS[0].id},
        "speech": SPEECHES[name],
        "frame": {"aspect": "1:1", "height_px": 256},
    }
    estimate = client.post("/v1/estimates", {"kind": "video", "body": body})
    job = client.wait(client.post("/v1/videos", body)["id"])
    assert job["state"] == "succeeded", job["failure"]
    made_s, bound = job["result"]["facts"]["duration_s"], estimate["uncertainty"]
    assert made_s == pytest.approx(estimate["duration_s"], rel=bound)
    assert job["cost"]["currency"] == estimate["cost"]["currency"]
    assert job["cost"]["amount"] == pytest.approx(estimate["cost"]["amount"], rel=bound)
