"""Scripts, usage, health."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from lambdas.api.routes import meta
from lambdas.api.schemas.account import AccountBody, UsageBody
from lambdas.api.schemas.scripts import ScriptBody
from services.ports.usage import UsageRecord
from tests.fakes.world import TENANT, WEBHOOK_SECRET
from tests.handlers.api.gateway import Gateway

BRIEF = {
    "product": "Aurora running shoe",
    "benefits": ["weighs only 190 grams", "grips on wet streets"],
    "call_to_action": "Order today",
    "language": "en-US",
    "duration_s": 12,
}


def test_script_arranges_the_facts_and_names_its_writer(api):
    answer = api.post("/v1/scripts", {"brief": BRIEF})
    assert answer.status == 200, answer.text
    ScriptBody.model_validate(answer.body)
    assert answer.body["writer"] == "template"
    assert "Aurora running shoe" in answer.body["text"]
    assert 8 < answer.body["estimated_duration_s"] < 16


def test_script_is_fitted_to_the_voice(api):
    usual = api.post("/v1/scripts", {"brief": BRIEF}).body
    fast = api.post("/v1/scripts", {"brief": BRIEF, "voice": {"voice_id": "en-us", "speed": 2.0}}).body
    assert fast["estimated_duration_s"] != usual["estimated_duration_s"]


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({"brief": {**BRIEF, "product": "?!"}}, 422, "nothing_to_say", "brief.product"),
        ({"brief": {**BRIEF, "language": "ja"}}, 422, "language_not_written", "brief.language"),
        ({"brief": {**BRIEF, "duration_s": 0}}, 400, "invalid_request", "brief.duration_s"),
        ({"brief": {**BRIEF, "tone": "angry"}}, 400, "invalid_request", "brief.tone"),
        ({"brief": {**BRIEF, "benefits": "light"}}, 400, "invalid_request", "brief.benefits"),
        ({"brief": {**BRIEF, "benefits": [1]}}, 400, "invalid_request", "brief.benefits.0"),
        ({"brief": BRIEF, "voice": {"voice_id": "none"}}, 422, "voice_not_found", "voice.voice_id"),
        ({}, 400, "invalid_request", "brief"),
    ],
)
def test_bad_brief_is_refused_naming_the_field(api, body, status, code, param):
    assert api.post("/v1/scripts", body).problem == (status, code, param)


def test_usage_adds_up_succeeded_jobs_of_the_tenant(world, api, other_api):
    for _ in range(2):
        job = world.start()
        world.complete(world.answer(job))
    canceled = world.start()
    world.cancel(canceled.id)
    world.clock.advance(1)
    body = api.get("/v1/usage").body
    UsageBody.model_validate(body)
    assert body["totals"] == [{"kind": "noop", "num_jobs": 2, "quantities": {"output_s": 3.0}, "costs": []}]
    assert other_api.get("/v1/usage").body["totals"] == []


def test_usage_is_told_without_the_noise_of_floating_point(world, api):
    for number in range(3):
        at = world.clock.now()
        record = UsageRecord(
            job_id=f"job_{number}", tenant_id=TENANT, kind="video", quantities={"output_s": 0.1}, at=at
        )
        world.usage.record(record)
    world.clock.advance(1)
    assert api.get("/v1/usage").body["totals"][0]["quantities"] == {"output_s": 0.3}


def test_usage_of_a_period(world, api):
    world.complete(world.answer(world.start()))
    assert api.get("/v1/usage?since=2026-03-01T12:00:00Z&until=2026-03-01T12:00:01Z").body["totals"] != []
    assert api.get("/v1/usage?since=2026-02-01T00:00:00%2B01:00&until=2026-03-01T12:00:00Z").body["totals"] == []


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("since=yesterday", "invalid_request", "since"),
        ("since=2026-03-01T12:00:00", "invalid_request", "since"),
        ("since=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z", "invalid_period", "since"),
        ("until=0001-01-01T00:00:00Z", "invalid_period", "until"),
    ],
)
def test_bad_period_is_refused(api, query, code, param):
    assert api.get(f"/v1/usage?{query}").problem == (400, code, param)


def test_account_is_the_keys_own_with_the_secret_of_its_callbacks(api, other_api):
    body = api.get("/v1/account").body
    AccountBody.model_validate(body)
    assert (body["id"], body["webhook_secret"]) == (TENANT, WEBHOOK_SECRET)
    assert other_api.get("/v1/account").body["id"] != TENANT


def test_health_needs_no_key(world):
    answer = Gateway().get("/v1/health")
    packaged = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["version"]
    assert answer.status == 200
    assert answer.body == {"status": "ok", "version": packaged, "api_version": "v1"}


def test_health_answers_where_the_package_is_not_installed(world, monkeypatch):
    def not_installed(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(meta, "version", not_installed)
    meta.package_version.cache_clear()
    try:
        assert Gateway().get("/v1/health").body["version"] == "unknown"
    finally:
        meta.package_version.cache_clear()
