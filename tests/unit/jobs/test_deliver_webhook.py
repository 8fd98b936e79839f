"""Clients are called back as Standard Webhooks say."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest
from standardwebhooks.webhooks import Webhook

from services.domain.errors import ContentRejected, Unavailable
from services.domain.job import JobState, JobStep
from services.settings import Settings
from tests.fakes.world import CALLBACK_URL, WEBHOOK_SECRET, World

UNREACHABLE = Unavailable("No answer.", code="callback_unreachable")


@pytest.fixture
def job_id(world: World) -> str:
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    return job.id


def test_receiver_can_verify_and_read_the_event(world, job_id, monkeypatch):
    job = world.notify(job_id)
    assert job.step is JobStep.NONE
    [posted] = world.sender.posted
    assert posted.url == CALLBACK_URL
    sent_at = datetime.fromtimestamp(int(posted.headers["webhook-timestamp"]), tz=world.clock.now().tzinfo)
    assert sent_at == world.clock.now()
    _freeze_library_clock(monkeypatch, world)
    event = Webhook(WEBHOOK_SECRET).verify(posted.body, dict(posted.headers))
    assert event["type"] == "job.succeeded"
    assert event["timestamp"] == "2026-03-01T12:00:00.000Z"
    data = event["data"]
    assert (data["id"], data["state"], data["callback_id"]) == (job_id, "succeeded", "mine-1")
    assert data["result"]["outputs"][0]["url"].startswith("fake://result/")


def test_forged_body_does_not_verify(world, job_id, monkeypatch):
    world.notify(job_id)
    [posted] = world.sender.posted
    _freeze_library_clock(monkeypatch, world)
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(WEBHOOK_SECRET).verify(posted.body.replace(b"succeeded", b"failed"), dict(posted.headers))


def test_every_try_has_the_same_event_id_and_is_logged(world, job_id):
    world.sender.answers = [UNREACHABLE, 500, 302, 204]
    for _ in range(4):
        job = world.notify(job_id)
        world.clock.advance((job.available_at - world.clock.now()).total_seconds())
    assert job.step is JobStep.NONE
    assert len({posted.headers["webhook-id"] for posted in world.sender.posted}) == 1
    log = world.deliveries.list(job_id)
    assert [delivery.status for delivery in log] == [None, 500, 302, 204]
    assert log[0].error == "No answer."
    assert {delivery.event_id for delivery in log} == {world.sender.posted[0].headers["webhook-id"]}


def test_tries_grow_rarer_as_the_standard_recommends(world, job_id):
    world.sender.answers = [500] * 4
    delays = []
    for _ in range(4):
        job = world.notify(job_id)
        assert job.step is JobStep.NOTIFY
        delays.append((job.available_at - world.clock.now()).total_seconds())
        world.clock.advance(delays[-1])
    assert delays == [5, 300, 1800, 7200]


def test_given_up_after_the_last_try_and_the_result_stays(world, job_id):
    world.settings = Settings(max_webhook_tries=3)
    world.sender.answers = [500] * 9
    for _ in range(3):
        job = world.notify(job_id)
        world.clock.advance(3600)
    assert (job.step, job.state) == (JobStep.NONE, JobState.SUCCEEDED)
    world.notify(job_id)
    assert len(world.sender.posted) == 3


def test_message_that_comes_early_calls_nobody(world, job_id):
    world.sender.answers = [500, 200]
    waiting = world.notify(job_id)
    world.clock.advance(4.9)
    assert world.notify(job_id) == waiting
    world.clock.advance(0.1)
    assert world.notify(job_id).step is JobStep.NONE
    assert len(world.sender.posted) == 2


@pytest.mark.parametrize("answer", [200, 299, 410, ContentRejected("Private.", code="callback_url_refused")])
def test_done_gone_or_refused_is_not_tried_again(world, job_id, answer):
    world.sender.answers = [answer]
    assert world.notify(job_id).step is JobStep.NONE
    world.notify(job_id)
    assert len(world.sender.posted) == 1
    assert len(world.deliveries.list(job_id)) == 1


def test_failed_and_canceled_jobs_are_told_too(world):
    failed = world.start(callback_url=CALLBACK_URL)
    world.complete(world.failed(failed, retryable=False))
    canceled = world.submit(callback_url=CALLBACK_URL)
    world.cancel(canceled.id)
    for job in (failed, canceled):
        world.notify(job.id)
    events = [json.loads(posted.body) for posted in world.sender.posted]
    assert [event["type"] for event in events] == ["job.failed", "job.canceled"]
    assert events[0]["data"]["failure"]["code"] == "face_not_found"


def test_job_without_callback_or_not_final_calls_nobody(world):
    job = world.start()
    world.complete(world.answer(job))
    for job_id in (job.id, world.start(callback_url=CALLBACK_URL).id):
        world.notify(job_id)
    assert not world.sender.posted


def test_fault_of_our_own_is_not_tried_for_ever(world, job_id):
    job = world.jobs.get(job_id)
    world.jobs.save(replace(job, step_tries=world.settings.max_step_tries))
    assert world.notify(job_id).step is JobStep.NONE
    assert not world.sender.posted
    [delivery] = world.deliveries.list(job_id)
    assert "Given up" in delivery.error


def test_deleted_job_calls_nobody(world):
    assert world.notify("job_gone") is None


def test_failing_store_is_no_delivery(world, job_id, monkeypatch):
    def refuse(tenant_id: str) -> None:
        raise Unavailable("gone", code="store_unavailable")

    monkeypatch.setattr(world.tenants, "get", refuse)
    with pytest.raises(Unavailable):
        world.notify(job_id)
    assert not world.deliveries.list(job_id)


def _freeze_library_clock(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return world.clock.now()

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Frozen)
