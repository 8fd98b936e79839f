"""Jobs: read, list, cancel, delete."""

from __future__ import annotations

import pytest

from lambdas.api.routes.jobs import JobsBody
from lambdas.api.schemas.jobs import JobDetailBody
from services.domain.engine import EngineEvent
from services.usecases.record_progress import record_progress


def test_job_shows_progress(world, api):
    job = world.start()
    record_progress(
        EngineEvent(job_id=job.id, attempt=1, sequence=1, stage="render", fraction=0.4),
        jobs=world.jobs,
        clock=world.clock,
    )
    answer = api.get(f"/v1/jobs/{job.id}")
    assert answer.status == 200
    JobDetailBody.model_validate(answer.body)
    assert (answer.body["state"], answer.body["progress"]) == ("processing", {"stage": "render", "fraction": 0.4})


def test_succeeded_job_shows_outputs_with_links_and_facts(world, api):
    job = world.start()
    world.complete(world.answer(job))
    body = api.get(f"/v1/jobs/{job.id}").body
    JobDetailBody.model_validate(body)
    [output] = body["result"]["outputs"]
    assert output["url"].startswith(f"fake://result/{job.tenant_id}/{job.id}/1/")
    assert (output["media_type"], output["size_bytes"]) == ("application/json", 6)
    assert body["result"]["facts"]["duration_s"] == 1.5
    assert body["finished_at"].endswith("Z")


def test_failed_job_shows_why(world, api):
    job = world.start()
    world.complete(world.failed(job, retryable=False))
    body = api.get(f"/v1/jobs/{job.id}").body
    JobDetailBody.model_validate(body)
    assert body["failure"] == {"code": "face_not_found", "detail": "No face.", "param": None, "retryable": False}
    assert body["result"] is None


def test_job_shows_its_callback_deliveries(world, api):
    job = world.start(callback_url="https://client.example/hook")
    world.complete(world.answer(job))
    world.notify(job.id)
    body = api.get(f"/v1/jobs/{job.id}").body
    JobDetailBody.model_validate(body)
    [delivery] = body["deliveries"]
    assert delivery["event_id"].startswith("event_")
    assert delivery["status"] == 200


@pytest.mark.parametrize("job_id", ["job_01JXXXXXXXXXXXXXXXXXXXXXXX", "nonsense", "%2e%2e", "job_%00", "图"])
def test_unknown_job_is_not_found(api, job_id):
    assert api.get(f"/v1/jobs/{job_id}").problem == (404, "job_not_found", None)


def test_reading_with_wait_answers_when_the_job_is_final(world, api, monkeypatch):
    job = world.start()
    monkeypatch.setattr(world.clock, "sleep", lambda _: world.complete(world.answer(job)))
    answer = api.get(f"/v1/jobs/{job.id}", headers={"Prefer": "wait=3"})
    assert (answer.status, answer.body["state"]) == (200, "succeeded")
    assert answer.headers["preference-applied"] == "wait=3"


def test_listing_pages_through_every_job_newest_first(world, api):
    made = sorted((world.submit().id for _ in range(5)), reverse=True)
    seen, target = [], "/v1/jobs?limit=2"
    while target:
        page = api.get(target).body
        JobsBody.model_validate(page)
        seen += [job["id"] for job in page["items"]]
        target = page["next_cursor"] and f"/v1/jobs?limit=2&cursor={page['next_cursor']}"
    assert seen == made


def test_listing_filters_by_state_and_kind(world, api):
    waiting, canceled = world.submit(), world.submit()
    world.cancel(canceled.id)
    assert [job["id"] for job in api.get("/v1/jobs?state=queued").body["items"]] == [waiting.id]
    assert [job["id"] for job in api.get("/v1/jobs?state=canceled&kind=noop").body["items"]] == [canceled.id]
    assert api.get("/v1/jobs?kind=video").body["items"] == []


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("state=done", "invalid_request", "state"),
        ("kind=batch", "invalid_request", "kind"),
        ("limit=0", "invalid_request", "limit"),
        ("limit=101", "invalid_request", "limit"),
        ("limit=many", "invalid_request", "limit"),
        ("cursor=made-up", "malformed_cursor", "cursor"),
    ],
)
def test_bad_listing_is_refused(api, query, code, param):
    assert api.get(f"/v1/jobs?{query}").problem == (400, code, param)


def test_canceled_job_stays_canceled(world, api):
    job = world.start()
    first = api.post(f"/v1/jobs/{job.id}/cancel")
    assert (first.status, first.body["state"]) == (200, "canceled")
    assert api.post(f"/v1/jobs/{job.id}/cancel").status == 200
    assert world.jobs.get(job.id).state == "canceled"


def test_succeeded_job_cannot_be_canceled(world, api):
    job = world.start()
    world.complete(world.answer(job))
    assert api.post(f"/v1/jobs/{job.id}/cancel").problem == (409, "job_is_final", None)


def test_deleted_job_is_gone_with_its_files(world, api):
    job = world.start()
    world.complete(world.answer(job))
    answer = api.delete(f"/v1/jobs/{job.id}")
    assert (answer.status, answer.text) == (204, "")
    assert api.get(f"/v1/jobs/{job.id}").status == 404
    assert not [key for key in world.objects.stored_keys() if job.id in key]


def test_running_job_cannot_be_deleted(world, api):
    job = world.start()
    assert api.delete(f"/v1/jobs/{job.id}").problem == (409, "job_active", None)
    assert api.get(f"/v1/jobs/{job.id}").status == 200


def test_other_tenants_jobs_do_not_exist(world, api, other_api):
    job = world.start()
    assert other_api.get(f"/v1/jobs/{job.id}").problem == (404, "job_not_found", None)
    assert other_api.post(f"/v1/jobs/{job.id}/cancel").problem == (404, "job_not_found", None)
    assert other_api.delete(f"/v1/jobs/{job.id}").problem == (404, "job_not_found", None)
    assert other_api.get("/v1/jobs").body["items"] == []
    assert api.get(f"/v1/jobs/{job.id}").body["state"] == "processing"


def test_unfinished_job_says_when_to_ask_again_whether_or_not_the_wait_was_granted(world, api):
    job = world.start()
    for headers in ({}, {"Prefer": "wait=1"}):
        answer = api.get(f"/v1/jobs/{job.id}", headers=headers)
        assert (answer.body["state"], answer.headers["retry-after"]) == ("processing", "1")
        assert ("preference-applied" in answer.headers) == bool(headers)
    world.complete(world.answer(job))
    assert "retry-after" not in api.get(f"/v1/jobs/{job.id}").headers
