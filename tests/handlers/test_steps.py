"""The handlers behind queues and schedule, on events as SQS and EventBridge send them."""

from __future__ import annotations

import io
import json

import pytest

from lambdas import complete, dispatch, prepare, reaper, runtime, webhooks
from services.domain import wire
from services.domain.errors import Unavailable
from services.domain.job import JobState, JobStep
from services.domain.video import Presenter, SpokenText, VideoRequest, VoiceSettings
from tests.fakes.world import CALLBACK_URL

DONE: dict[str, list[object]] = {"batchItemFailures": []}


def again(*message_ids: str) -> dict[str, list[dict[str, str]]]:
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


def test_handlers_take_a_job_from_request_to_notice(world, sqs):
    job_id = world.submit(callback_url=CALLBACK_URL).id
    message = sqs({"job_id": job_id})
    assert prepare.lambda_handler(message, None) == DONE
    assert dispatch.lambda_handler(message, None) == DONE
    job = world.jobs.get(job_id)
    event = {"job_id": job_id, "attempt": 1, "sequence": 0, "stage": "render", "fraction": 0.25}
    assert complete.lambda_handler(sqs({"type": "event", "event": event}), None) == DONE
    assert world.jobs.get(job_id).progress.fraction == 0.25
    notice = sqs({"type": "answer", "answer": wire.to_values(world.answer(job))})
    assert complete.lambda_handler(notice, None) == DONE
    assert webhooks.lambda_handler(message, None) == DONE
    job = world.jobs.get(job_id)
    assert (job.state, job.step) == (JobState.SUCCEEDED, JobStep.NONE)
    assert len(world.sender.posted) == 1
    assert world.bill() == [job_id]


def test_only_the_failed_record_of_a_batch_comes_again(world, sqs, monkeypatch):
    jobs = [world.submit() for _ in range(3)]
    put = world.objects.put

    def fail_for_one(key, data, *, media_type):
        if key.owner_id == jobs[1].id:
            raise Unavailable("full", code="store_unavailable")
        put(key, data, media_type=media_type)

    monkeypatch.setattr(world.objects, "put", fail_for_one)
    answer = prepare.lambda_handler(sqs(*({"job_id": job.id} for job in jobs)), None)
    assert answer == again("m1")
    assert [world.jobs.get(job.id).step for job in jobs] == [JobStep.DISPATCH, JobStep.PREPARE, JobStep.DISPATCH]


def test_batch_that_fails_whole_is_reported_record_by_record(world, sqs, monkeypatch):
    world.engine.is_reachable = False
    jobs = [world.prepare(world.submit().id) for _ in range(2)]
    assert dispatch.lambda_handler(sqs(*({"job_id": job.id} for job in jobs)), None) == again("m0", "m1")


def test_job_that_cannot_be_prepared_fails_by_name_and_not_its_record(world, sqs):
    speech = SpokenText(voice=VoiceSettings(voice_id="en-us"), text="Hi")
    job = world.add_video(VideoRequest(presenter=Presenter(upload_id="upload_gone"), speech=speech))
    assert prepare.lambda_handler(sqs({"job_id": job.id}), None) == DONE
    assert world.jobs.get(job.id).failure.code == "upload_not_found"


@pytest.mark.parametrize("handler", [prepare, dispatch, webhooks])
def test_message_about_a_deleted_job_is_done(world, sqs, handler):
    assert handler.lambda_handler(sqs({"job_id": "job_gone"}), None) == DONE


@pytest.mark.parametrize("handler", [prepare, dispatch, webhooks, complete])
@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"job_id": 7}', '{"type": "answer", "answer": {"job_id": 1}}'])
def test_message_that_cannot_be_read_goes_to_the_dead_letters(world, sqs, handler, body):
    assert handler.lambda_handler(sqs(body), None) == again("m0")


def test_answer_that_overtakes_the_row_comes_again(world, sqs):
    job = world.prepare(world.submit().id)
    notice = sqs({"type": "answer", "answer": wire.to_values(world.answer(job, attempt=1))})
    assert complete.lambda_handler(notice, None) == again("m0")
    world.dispatch(job.id)
    assert complete.lambda_handler(notice, None) == DONE


def test_answer_that_cannot_be_read_just_now_comes_again_and_progress_beside_it_is_heard(world, sqs):
    job = world.start()
    event = {"job_id": job.id, "attempt": 1, "sequence": 0, "stage": "render", "fraction": 0.25}
    answer = {"type": "answer", "answer": wire.to_values(world.answer(job))}
    notices = sqs(answer, {"type": "event", "event": event})
    world.notices.is_reachable = False
    assert complete.lambda_handler(notices, None) == again("m0")
    assert world.jobs.get(job.id).progress.fraction == 0.25
    world.notices.is_reachable = True
    assert complete.lambda_handler(notices, None) == DONE
    assert world.bill() == [job.id]


def test_repeated_records_in_one_batch_are_harmless(world, sqs):
    job = world.start()
    body = {"type": "answer", "answer": wire.to_values(world.answer(job))}
    assert complete.lambda_handler(sqs(body, body, body), None) == DONE
    assert world.bill() == [job.id]


def test_client_that_does_not_answer_fails_no_record(world, sqs):
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    world.sender.answers = [500]
    assert webhooks.lambda_handler(sqs({"job_id": job.id}), None) == DONE
    assert world.jobs.get(job.id).step is JobStep.NOTIFY


def test_schedule_reaps_what_is_overdue(world):
    job = world.start()
    event = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
    assert reaper.lambda_handler(event, None) == {"num_reaped": 0, "num_rung": 0, "num_expired": 0}
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    assert reaper.lambda_handler(event, None) == {"num_reaped": 1, "num_rung": 0, "num_expired": 0}
    assert world.jobs.get(job.id).step is JobStep.DISPATCH


def test_schedule_removes_what_was_kept_long_enough(world):
    world.complete(world.answer(world.start()))
    world.clock.advance(86_400 * world.settings.job_retention_days + 1)
    assert reaper.lambda_handler({}, None) == {"num_reaped": 0, "num_rung": 0, "num_expired": 1}


def test_logs_name_the_job_and_neither_texts_nor_links(world, sqs, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(runtime.logger.handlers[0], "stream", stream)
    job = world.start(callback_url=CALLBACK_URL + "?token=topsecret", text="a private prompt")
    notice = sqs({"type": "answer", "answer": wire.to_values(world.answer(job))})
    complete.lambda_handler(notice, None)

    def explode(*args: object, **kwargs: object) -> None:
        raise RuntimeError(" ".join(["a", "private", "prompt"]))  # in pieces: a log shows lines of source

    monkeypatch.setattr(world.sender, "post", explode)
    assert webhooks.lambda_handler(sqs({"job_id": job.id}), None) == again("m0")
    logged = stream.getvalue()
    lines = [json.loads(line) for line in logged.splitlines()]
    assert any(line.get("job_id") == job.id and line.get("tenant_id") == job.tenant_id for line in lines)
    assert any(line.get("error") == "RuntimeError" and "deliver_webhook" in line["frames"] for line in lines)
    for secret in ("private prompt", "topsecret", "fake://"):
        assert secret not in logged
