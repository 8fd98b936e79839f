"""The monthly quota through the whole system of one machine: HTTP, threads, SQLite, engines."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from services.usecases.manage_keys import sha256_of
from spokesmodel.runner import LocalSystem
from tests.waiting import until

NUM_REQUESTS = 20
NUM_FITTING = 7
VIDEO = {
    "presenter": {"avatar_id": "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"},
    "speech": {"text": "Meet the Aurora: made for wet streets.", "voice": {"voice_id": "en-us"}},
}


@pytest.fixture
def api(noop_system: LocalSystem) -> httpx.Client:
    """No engine makes videos here, so that none ends by itself."""
    headers = {"Authorization": f"Bearer {noop_system.api_key}"}
    return httpx.Client(base_url=noop_system.url, headers=headers, timeout=60)


def limit(system: LocalSystem, **limits: Any) -> str:
    """The tenant's id."""
    tenants = system.services.tenants
    key = tenants.find_key(sha256_of(system.api_key))
    assert key is not None
    tenants.update(replace(tenants.get(key.tenant_id), **limits))
    return key.tenant_id


def together(api: httpx.Client, url: str, body: dict[str, Any]) -> list[httpx.Response]:
    barrier = threading.Barrier(NUM_REQUESTS)

    def post(_: int) -> httpx.Response:
        barrier.wait()
        return api.post(url, json=body)

    with ThreadPoolExecutor(NUM_REQUESTS) as pool:
        return list(pool.map(post, range(NUM_REQUESTS)))


def test_of_twenty_requests_at_once_exactly_those_that_fit_are_accepted(
    noop_system: LocalSystem, api: httpx.Client
) -> None:
    each_s = api.post("/v1/estimates", json={"kind": "video", "body": VIDEO}).raise_for_status().json()["duration_s"]
    limits = {"requests_per_s": 1000.0, "request_burst": 1000}
    tenant_id = limit(noop_system, monthly_output_s=round((NUM_FITTING + 0.5) * each_s, 3), **limits)
    answers = together(api, "/v1/videos", VIDEO)
    assert sorted(answer.status_code for answer in answers) == [202] * NUM_FITTING + [429] * (
        NUM_REQUESTS - NUM_FITTING
    )
    assert {answer.json()["code"] for answer in answers if answer.status_code == 429} == {"monthly_quota_used"}
    ids = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert {job["id"] for job in api.get("/v1/jobs").json()["items"]} == ids
    # What is canceled makes room, and all that was held is let go.
    for job_id in ids:
        assert api.post(f"/v1/jobs/{job_id}/cancel").status_code in (200, 409)  # 409: it has failed already, unserved
    assert noop_system.services.jobs.holdings(tenant_id).open_ms == 0
    assert api.post("/v1/videos", json=VIDEO).status_code == 202


def test_of_rows_and_requests_at_once_no_more_than_fit_are_accepted(
    noop_system: LocalSystem, api: httpx.Client
) -> None:
    each_s = api.post("/v1/estimates", json={"kind": "video", "body": VIDEO}).raise_for_status().json()["duration_s"]
    limits = {"requests_per_s": 1000.0, "request_burst": 1000}
    tenant_id = limit(noop_system, monthly_output_s=round((NUM_FITTING + 0.5) * each_s, 3), **limits)
    batch = api.post("/v1/batches", json={"rows": [VIDEO] * NUM_FITTING}).raise_for_status().json()
    assert batch["held_by"] is None
    together(api, "/v1/videos", VIDEO)
    until(lambda: api.get(f"/v1/batches/{batch['id']}").json()["held_by"] is not None)
    held_by = api.get(f"/v1/batches/{batch['id']}").json()["held_by"]
    assert held_by["code"] == "monthly_quota_used"
    assert "unfinished jobs hold" in held_by["detail"]
    assert len(api.get("/v1/jobs", params={"limit": 50}).json()["items"]) == NUM_FITTING
    assert noop_system.services.jobs.holdings(tenant_id).open_ms == round(NUM_FITTING * each_s * 1000)
