"""Idempotency-Key: one answer, one thing made."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.domain.errors import Unavailable
from tests.fakes.world import TENANT

KEY = {"Idempotency-Key": "order-42"}


def test_repeat_gets_the_first_answer_and_makes_nothing(world, api, video):
    first = api.post("/v1/videos", video, headers=KEY)
    repeat = api.post("/v1/videos", dict(reversed(video.items())), headers=KEY)
    assert (repeat.status, repeat.body) == (202, first.body)
    assert repeat.headers["location"] == first.headers["location"]
    assert repeat.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len(world.jobs.list(TENANT).items) == 1


def test_without_a_key_each_request_makes_a_job(world, api, video):
    api.post("/v1/videos", video)
    api.post("/v1/videos", video)
    assert len(world.jobs.list(TENANT).items) == 2


def test_other_body_or_route_under_the_same_key_is_refused(api, video):
    api.post("/v1/videos", video, headers=KEY)
    refused = (422, "idempotency_key_reused", "Idempotency-Key")
    assert api.post("/v1/videos", {**video, "seed": 1}, headers=KEY).problem == refused
    upload = {"file_name": "a.png", "media_type": "image/png", "size_bytes": 3}
    assert api.post("/v1/uploads", upload, headers=KEY).problem == refused


def test_refused_request_leaves_its_key_free(api, video):
    bad = {**video, "speech": {"text": "!", "voice": {"voice_id": "en-us"}}}
    assert api.post("/v1/videos", bad, headers=KEY).status == 422
    assert api.post("/v1/videos", video, headers=KEY).status == 202


def test_keys_of_tenants_are_apart(api, other_api, video):
    first = api.post("/v1/videos", video, headers=KEY)
    other = other_api.post("/v1/videos", video, headers=KEY)
    assert other.status == 202
    assert other.body["id"] != first.body["id"]


@pytest.mark.parametrize("key", ["", "a b", "a/b", "ключ", "x" * 129])
def test_malformed_key_is_refused(api, video, key):
    assert api.post("/v1/videos", video, headers={"Idempotency-Key": key}).problem == (
        400,
        "invalid_request",
        "Idempotency-Key",
    )


@pytest.mark.parametrize("key", ["x" * 128, "A-z0._~9"])
def test_longest_and_oddest_keys_are_taken(api, video, key):
    assert api.post("/v1/videos", video, headers={"Idempotency-Key": key}).status == 202


def test_crash_between_making_and_answering_makes_one_job(world, api, video, monkeypatch):
    real = world.services.idempotency.finish

    def crash(*_):
        raise SystemExit("killed")

    monkeypatch.setattr(world.services.idempotency, "finish", crash)
    with pytest.raises(SystemExit):
        api.post("/v1/videos", video, headers=KEY)
    monkeypatch.setattr(world.services.idempotency, "finish", real)
    [made] = world.jobs.list(TENANT).items

    assert api.post("/v1/videos", video, headers=KEY).problem == (
        409,
        "idempotency_key_in_flight",
        "Idempotency-Key",
    )
    world.clock.advance(31)
    taken_over = api.post("/v1/videos", video, headers=KEY)
    assert (taken_over.status, taken_over.body["id"]) == (202, made.id)
    assert [job.id for job in world.jobs.list(TENANT).items] == [made.id]


def test_failure_of_unknown_outcome_keeps_the_id_for_the_repeat(world, api, video, monkeypatch):
    real = world.jobs.add

    def add_then_fail(job, **options):
        real(job, **options)
        raise Unavailable("The store went away.", code="store_unavailable")

    monkeypatch.setattr(world.jobs, "add", add_then_fail)
    assert api.post("/v1/videos", video, headers=KEY).status == 503
    monkeypatch.setattr(world.jobs, "add", real)
    assert api.post("/v1/videos", video, headers=KEY).status == 202
    assert len(world.jobs.list(TENANT).items) == 1


def test_same_key_at_once_makes_one_job(world, api, video, monkeypatch):
    real, inside = world.jobs.add, threading.Event()

    def slow(job, **options):
        inside.wait(5)
        real(job, **options)

    monkeypatch.setattr(world.jobs, "add", slow)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(api.post, "/v1/videos", video, headers=KEY) for _ in range(8)]
        while sum(call.done() for call in calls) < 7:  # all but the first are told that it is in flight
            pass
        inside.set()
        answers = [call.result() for call in calls]
    assert sorted(answer.status for answer in answers) == [202] + [409] * 7
    refused = next(answer for answer in answers if answer.status == 409)
    assert refused.body["code"] == "idempotency_key_in_flight"
    assert refused.body["retryable"]
    assert int(refused.headers["retry-after"]) > 0
    assert len(world.jobs.list(TENANT).items) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/uploads", {"file_name": "a.png", "media_type": "image/png", "size_bytes": 3}),
        ("/v1/scripts", {"brief": {"product": "Aurora", "language": "en", "duration_s": 5}}),
    ],
)
def test_other_creating_routes_repeat_their_first_answer_too(api, path, body):
    first = api.post(path, body, headers=KEY)
    assert first.status in (200, 201), first.text
    repeat = api.post(path, body, headers=KEY)
    assert (repeat.status, repeat.body) == (first.status, first.body)
    assert repeat.headers["idempotent-replayed"] == "true"


def test_repeat_that_prefers_to_wait_waits_for_the_job_again(world, api, video, monkeypatch):
    first = api.post("/v1/videos", video, headers=KEY)
    world.cancel(first.body["id"])
    repeat = api.post("/v1/videos", video, headers={**KEY, "Prefer": "wait=1"})
    assert (repeat.status, repeat.body["state"]) == (200, "canceled")
    assert repeat.headers["idempotent-replayed"] == "true"


def test_repeat_of_a_request_whose_job_was_deleted_is_told_so(world, api, video):
    made = api.post("/v1/videos", video, headers=KEY).body
    world.cancel(made["id"])
    assert api.delete(f"/v1/jobs/{made['id']}").status == 204
    for headers in (KEY, {**KEY, "Prefer": "wait=1"}):
        repeat = api.post("/v1/videos", video, headers=headers)
        assert repeat.problem == (410, "deleted_since", "Idempotency-Key")
        assert made["id"] in repeat.body["detail"]
    assert not world.jobs.list(TENANT).items


def test_repeat_of_a_request_whose_avatar_was_deleted_is_told_so(world, api):
    body = {"name": "Vera", "upload_id": world.upload(), "synthetic": True}
    made = api.post("/v1/avatars", body, headers=KEY).body
    assert api.post("/v1/avatars", body, headers=KEY).body["id"] == made["id"]
    api.delete(f"/v1/avatars/{made['id']}")
    assert api.post("/v1/avatars", body, headers=KEY).problem == (410, "deleted_since", "Idempotency-Key")
