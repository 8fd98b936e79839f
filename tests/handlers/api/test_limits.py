"""Rate limits and quotas."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from services.domain.errors import Unavailable
from services.ports.usage import UsageRecord
from tests.fakes.world import TENANT
from tests.handlers.api.gateway import Gateway


def limit(world, **limits) -> None:
    world.tenants.update(replace(world.tenants.get(TENANT), **limits))


def test_burst_is_served_then_refused_until_tokens_come_back(world, api):
    limit(world, requests_per_s=0.5, request_burst=3)
    assert [api.get("/v1/jobs").status for _ in range(4)] == [200, 200, 200, 429]
    world.clock.advance(2)
    assert [api.get("/v1/jobs").status for _ in range(2)] == [200, 429]


def test_refusal_says_when_to_come_back_and_which_limit_it_was(world, api):
    limit(world, requests_per_s=0.5, request_burst=3)
    for _ in range(3):
        api.get("/v1/jobs")
    answer = api.get("/v1/jobs")
    assert answer.problem == (429, "too_many_requests", None)
    assert answer.body["retryable"]
    assert answer.headers["retry-after"] == "2"
    assert answer.headers["ratelimit"] == '"too_many_requests";r=0;t=2'
    assert answer.headers["ratelimit-policy"] == '"too_many_requests";q=3;w=6'


def test_settings_hold_where_the_tenant_has_no_limits_of_its_own(world, api):
    burst = world.settings.request_burst
    assert [api.get("/v1/jobs").status for _ in range(burst + 1)] == [200] * burst + [429]


def test_tenants_do_not_share_their_allowance(world, api, other_api):
    limit(world, requests_per_s=0.1, request_burst=1)
    assert [api.get("/v1/jobs").status, api.get("/v1/jobs").status] == [200, 429]
    assert other_api.get("/v1/jobs").status == 200


def test_keys_of_a_tenant_share_one(world, api):
    second = Gateway(api.post("/v1/keys", {}).body["secret"])
    limit(world, requests_per_s=0.1, request_burst=3)
    world.clock.advance(0)
    statuses = [gateway.get("/v1/jobs").status for gateway in (api, second, api, second)]
    assert statuses.count(200) <= 3
    assert statuses[-1] == 429


def test_unknown_callers_take_nothing_of_it(world, api):
    limit(world, requests_per_s=0.1, request_burst=1)
    for _ in range(5):
        assert Gateway("sk_unknownunknownunknownunknown").get("/v1/jobs").status == 401
        assert Gateway().get("/v1/health").status == 200
    assert api.get("/v1/jobs").status == 200


def test_unfinished_jobs_are_limited_and_ended_ones_make_room(world, api, video):
    limit(world, max_queued_jobs=2)
    jobs = [api.post("/v1/videos", video).body["id"] for _ in range(2)]
    answer = api.post("/v1/videos", video)
    assert answer.problem == (429, "too_many_jobs", None)
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["ratelimit"].startswith('"too_many_jobs";r=0;t=')
    assert "ratelimit-policy" not in answer.headers
    api.post(f"/v1/jobs/{jobs[0]}/cancel")
    assert api.post("/v1/videos", video).status == 202


def test_repeat_of_an_accepted_request_is_answered_when_the_quota_is_full(world, api, video):
    limit(world, max_queued_jobs=1)
    key = {"Idempotency-Key": "mine"}
    first = api.post("/v1/videos", video, headers=key)
    again = api.post("/v1/videos", video, headers=key)
    assert (again.status, again.body["id"]) == (202, first.body["id"])
    assert api.post("/v1/videos", video).status == 429


def test_refused_job_frees_its_idempotency_key(world, api, video):
    limit(world, max_queued_jobs=1)
    first = api.post("/v1/videos", video).body["id"]
    key = {"Idempotency-Key": "mine"}
    assert api.post("/v1/videos", video, headers=key).status == 429
    api.post(f"/v1/jobs/{first}/cancel")
    assert api.post("/v1/videos", video, headers=key).status == 202


def used(world, output_s: float, at: datetime, job_id: str) -> None:
    world.usage.record(
        UsageRecord(job_id=job_id, tenant_id=TENANT, kind="video", quantities={"output_s": output_s}, at=at)
    )


@pytest.mark.parametrize("month_ago", [False, True])
def test_seconds_of_video_are_limited_by_the_calendar_month(world, api, video, month_ago):
    limit(world, monthly_output_s=60.0)
    now = world.clock.now()  # 2026-03-01T12:00Z
    used(world, 30.0, now - timedelta(hours=1), "job_1")
    used(world, 30.0, now - timedelta(hours=13 if month_ago else 2), "job_2")
    answer = api.post("/v1/videos", video)
    if month_ago:
        assert answer.status == 202
        return
    assert answer.problem == (429, "monthly_quota_used", None)
    assert answer.headers["retry-after"] == str(int(30.5 * 24 * 3600))  # until 2026-04-01


@pytest.mark.parametrize("month_ago", [False, True])
def test_batch_made_when_the_month_is_used_up_says_so_at_once(world, api, video, month_ago):
    limit(world, monthly_output_s=60.0)
    used(world, 60.0, world.clock.now() - timedelta(hours=13 if month_ago else 2), "job_1")
    batch = api.post("/v1/batches", {"rows": [video]}).body
    held_by = None if month_ago else batch["held_by"]["code"]
    assert (batch["state"], held_by) == ("queued", None if month_ago else "monthly_quota_used")
    assert api.get(f"/v1/batches/{batch['id']}").body["held_by"] == batch["held_by"]
    assert api.post("/v1/batches", {"rows": [video], "dry_run": True}).body["held_by"] is None


def estimated_s(api, video) -> float:
    return api.post("/v1/estimates", {"kind": "video", "body": video}).body["duration_s"]


def test_unfinished_jobs_hold_what_they_are_expected_to_make(world, api, video):
    each_s = estimated_s(api, video)
    limit(world, monthly_output_s=round(3.5 * each_s, 3))
    jobs = [api.post("/v1/videos", video).body["id"] for _ in range(3)]
    audited = len(world.audit.list(TENANT).items)
    answer = api.post("/v1/videos", video)
    assert answer.problem == (429, "monthly_quota_used", None)
    assert answer.headers["retry-after"] == "60"
    assert f"unfinished jobs hold {3 * each_s:.1f}" in answer.body["detail"]
    assert len(world.audit.list(TENANT).items) == audited
    api.post(f"/v1/jobs/{jobs[0]}/cancel")
    assert api.post("/v1/videos", video).status == 202
    assert api.post("/v1/videos", video).status == 429


def test_one_second_left_lets_no_thousand_jobs_in(world, api, video):
    limit(world, monthly_output_s=60.0)
    used(world, 60.0 - estimated_s(api, video), world.clock.now() - timedelta(hours=1), "job_1")
    assert [api.post("/v1/videos", video).status for _ in range(3)] == [202, 429, 429]


def test_a_film_that_fits_no_month_is_refused_for_good(world, api, video):
    limit(world, monthly_output_s=round(estimated_s(api, video) - 0.01, 2))
    assert api.post("/v1/videos", video).problem == (422, "longer_than_monthly_quota", None)


def test_without_a_monthly_quota_nothing_is_estimated_or_held(world, api, video):
    job = world.jobs.get(api.post("/v1/videos", video).body["id"])
    assert job.held_s is None
    assert world.jobs.holdings(TENANT).open_ms == 0


def test_twenty_requests_at_once_get_as_many_jobs_as_fit(world, api, video):
    each_s = estimated_s(api, video)
    limit(world, monthly_output_s=round(7 * each_s, 3), requests_per_s=1000.0, request_burst=1000)
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: api.post("/v1/videos", video).status, range(20)))
    assert sorted(statuses) == [202] * 7 + [429] * 13


def test_repeat_whose_first_answer_was_lost_finds_its_job_though_the_month_is_full(world, api, video, monkeypatch):
    limit(world, monthly_output_s=estimated_s(api, video))
    real, key = world.jobs.add, {"Idempotency-Key": "mine"}

    def add_then_fail(job, **options):
        real(job, **options)
        raise Unavailable("The store went away.", code="store_unavailable")

    monkeypatch.setattr(world.jobs, "add", add_then_fail)
    assert api.post("/v1/videos", video, headers=key).status == 503
    monkeypatch.setattr(world.jobs, "add", real)
    assert api.post("/v1/videos", video, headers=key).status == 202
    assert api.post("/v1/videos", video).status == 429
