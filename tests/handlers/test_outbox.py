"""Streams of jobs and batches become bells; what gets lost on the way is rung for again."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from lambdas import dispatch, outbox, prepare, reaper, runtime, webhooks
from services.domain.batch import Batch, BatchKind, BatchState, BatchStep
from services.domain.engine import EngineKind
from services.domain.errors import Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from tests.fakes.cloud import stream_image
from tests.fakes.step_queue import Bell
from tests.fakes.world import CALLBACK_URL, TENANT, World

RING = {"ring": "dispatch"}


def change(old: Job | None, new: Job | None) -> dict[str, object]:
    """A stream's record as DynamoDB makes it of two items that the job store writes."""
    images = {"OldImage": old, "NewImage": new}
    dynamodb = {name: stream_image(job) for name, job in images.items() if job is not None}
    names = {(False, True): "INSERT", (True, True): "MODIFY", (True, False): "REMOVE"}
    return {
        "eventName": names[old is not None, new is not None],
        "eventSource": "aws:dynamodb",
        "dynamodb": {**dynamodb, "SequenceNumber": "1"},
    }


@pytest.fixture
def bells(world: World) -> list[Bell]:
    world.step_queue.is_used = True
    return world.step_queue.bells


def hear(*changes: dict[str, object]) -> dict[str, object]:
    return outbox.lambda_handler({"Records": list(changes)}, None)


def test_accepted_job_rings_for_preparing(world, bells):
    job = world.submit()
    assert hear(change(None, job)) == {"batchItemFailures": []}
    assert bells == [Bell("prepare", job.id, TENANT, 0.0)]


def test_prepared_job_rings_for_dispatch_as_a_whole(world, bells):
    job = world.submit()
    hear(change(job, world.prepare(job.id)))
    assert bells == [Bell("dispatch", "", TENANT, 0.0)]


def test_ended_job_frees_a_slot_and_calls_its_client(world, bells):
    job = world.start(callback_url=CALLBACK_URL)
    hear(change(job, world.complete(world.answer(job))))
    assert bells == [Bell("notify", job.id, TENANT, 0.0), Bell("dispatch", "", TENANT, 0.0)]


def test_job_that_waits_for_another_attempt_frees_its_slot_now_and_is_rung_for_then(world, bells):
    job = world.start()
    hear(change(job, world.complete(world.failed(job, retryable=True))))
    assert bells == [Bell("dispatch", "", TENANT, 1.0), Bell("dispatch", "", TENANT, 0.0)]


def test_webhook_that_failed_is_rung_for_at_its_next_try(world, bells):
    world.sender.answers = [500]
    job = world.start(callback_url=CALLBACK_URL)
    ended = world.complete(world.answer(job))
    hear(change(ended, world.notify(job.id)))
    assert bells == [Bell("notify", job.id, TENANT, 5.0)]


def test_what_a_tenants_jobs_hold_rings_and_counts_nothing(bells, monkeypatch):
    counted: list[str] = []
    monkeypatch.setattr(outbox.metrics, "submitted", counted.append)
    image = {"id": {"S": f"holdings#{TENANT}"}, "open_ms": {"N": "4000"}}
    record = {"eventName": "INSERT", "dynamodb": {"NewImage": image, "SequenceNumber": "1"}}
    assert hear(record) == {"batchItemFailures": []}
    assert (bells, counted) == ([], [])


def test_progress_claims_and_deletions_ring_nothing(world, bells):
    job = world.start()
    hear(change(job, replace(job, progress=replace(job.progress, fraction=0.5), version=9)))
    waiting = world.submit()
    hear(change(waiting, replace(waiting, step_tries=3)))
    hear(change(waiting, None))
    assert bells == []


@pytest.mark.parametrize("step", BatchStep)
def test_batch_rings_until_it_has_ended(world, bells, step):
    now = world.clock.now()
    batch = Batch(
        id=new_id("batch"),
        tenant_id=TENANT,
        kind=BatchKind.NOOP,
        file_key="upload/t/u/0/file.csv",
        media_type="text/csv",
        created_at=now,
        updated_at=now,
        available_at=now,
        state=BatchState.PROCESSING,
        step=step,
    )
    item = {
        "id": {"S": batch.id},
        "tenant_id": {"S": TENANT},
        "step": {"S": batch.step},
        "available_at": {"N": str(int(now.timestamp()) * 1_000_000)},
    }
    later = item | {"available_at": {"N": str((int(now.timestamp()) + 30) * 1_000_000)}}
    hear({"dynamodb": {"NewImage": item, "SequenceNumber": "1"}})
    hear({"dynamodb": {"OldImage": item, "NewImage": later, "SequenceNumber": "2"}})
    hear({"dynamodb": {"OldImage": later, "NewImage": later | {"step_tries": {"N": "1"}}, "SequenceNumber": "3"}})
    expected = [Bell("batch", batch.id, TENANT, 0.0), Bell("batch", batch.id, TENANT, 30.0)]
    assert bells == ([] if step is BatchStep.NONE else expected)


def test_stream_comes_again_from_the_first_bell_that_could_not_be_rung(world, bells, monkeypatch):
    jobs = [world.submit() for _ in range(3)]
    changes = [change(None, job) for job in jobs]
    for number, record in enumerate(changes):
        record["dynamodb"]["SequenceNumber"] = str(number)
    send = world.step_queue.send

    def fail_for_the_second(step, item_id, **others):
        if item_id == jobs[1].id:
            raise Unavailable("No.", code="queue_unavailable")
        send(step, item_id, **others)

    monkeypatch.setattr(world.step_queue, "send", fail_for_the_second)
    assert hear(*changes) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert [bell.item_id for bell in bells] == [jobs[0].id]


def test_bell_rung_twice_does_nothing(world, sqs, bells):
    job = world.submit(callback_url=CALLBACK_URL)
    for handler, message in ((prepare, {"job_id": job.id}), (dispatch, RING)):
        for _ in range(2):
            handler.lambda_handler(sqs(message, message), None)
    running = world.jobs.get(job.id)
    assert (running.attempt, len(world.engine.started)) == (1, 1)
    world.complete(world.answer(running))
    for _ in range(2):
        webhooks.lambda_handler(sqs({"job_id": job.id}), None)
    assert len(world.sender.posted) == 1


def test_bell_fills_the_room_there_is_and_no_more(world, sqs, bells):
    world.engine.num_instances = 12
    world.tenants.update(replace(world.tenants.get(TENANT), max_outstanding=100))
    for _ in range(40):
        world.prepare(world.submit().id)
    assert dispatch.lambda_handler(sqs(RING, RING, RING), None) == {"batchItemFailures": []}
    assert len(world.engine.started) == 24
    assert world.jobs.outstanding() == 24


def test_bell_serves_previews_though_the_videos_engine_cannot_be_asked(world, sqs, bells, monkeypatch):
    now = world.clock.now()
    job = Job(
        id=new_id("job"),
        tenant_id=TENANT,
        kind=EngineKind.IMAGE,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
        step=JobStep.DISPATCH_NOW,
        storyboard_key="work/t/j/0/storyboard.json",
    )
    world.jobs.add(job)
    hear(change(None, job))
    assert [bell.step for bell in bells] == ["dispatch"]
    world.prepare(world.submit().id)
    capacity = world.engine.capacity

    def asked(kind):
        if kind is EngineKind.VIDEO:
            raise Unavailable("No.", code="engine_unavailable")
        return capacity(kind)

    monkeypatch.setattr(world.engine, "capacity", asked)
    answer = dispatch.lambda_handler(sqs(RING), None)
    assert [one.kind for one in world.engine.started] == [EngineKind.IMAGE]
    assert len(answer["batchItemFailures"]) == 1, "the bell comes again for the videos"


def test_full_engine_leaves_waiting_jobs_untouched_and_rings_nothing(world, sqs, bells):
    world.engine.num_instances = 1
    jobs = [world.prepare(world.submit().id) for _ in range(5)]
    dispatch.lambda_handler(sqs(RING), None)
    bells.clear()
    waiting = [world.jobs.get(job.id) for job in jobs[2:]]
    for _ in range(10):
        assert dispatch.lambda_handler(sqs(RING), None) == {"batchItemFailures": []}
    assert [world.jobs.get(job.id) for job in jobs[2:]] == waiting == jobs[2:]
    assert bells == []


def test_engine_that_does_not_answer_costs_one_job_a_try_and_rings_later(world, sqs, bells):
    jobs = [world.prepare(world.submit().id) for _ in range(3)]
    world.engine.is_reachable = False
    assert dispatch.lambda_handler(sqs(RING), None) == {"batchItemFailures": []}
    assert [world.jobs.get(job.id).step_tries for job in jobs] == [1, 0, 0]
    assert [(bell.step, bell.delay_s) for bell in bells] == [("dispatch", 1.0)]
    world.engine.is_reachable = True
    dispatch.lambda_handler(sqs(RING), None)
    assert [world.jobs.get(job.id).step for job in jobs] == [JobStep.DISPATCH, JobStep.RUN, JobStep.RUN]
    world.clock.advance(1)
    dispatch.lambda_handler(sqs(RING), None)
    assert world.jobs.get(jobs[0].id).step is JobStep.RUN


def test_job_outlasts_an_hour_without_its_engine(world, sqs, bells):
    job = world.prepare(world.submit().id)
    world.engine.is_reachable = False
    dispatch.lambda_handler(sqs(RING), None)
    for _ in range(60):
        world.clock.advance(60)
        dispatch.lambda_handler(sqs(RING), None)
    world.engine.is_reachable = True
    world.clock.advance(300)
    dispatch.lambda_handler(sqs(RING), None)
    assert world.jobs.get(job.id).step is JobStep.RUN


def test_job_that_no_engine_takes_fails_by_name_in_the_end(world, sqs, bells):
    job = world.prepare(world.submit().id)
    world.engine.is_reachable = False
    for _ in range(200):
        dispatch.lambda_handler(sqs(RING), None)
        world.clock.advance(300)
    assert world.jobs.get(job.id).failure.code == "dispatch_failed"


def test_function_that_runs_out_of_time_rings_for_the_rest(world, sqs, bells):
    class Context:
        function_name, aws_request_id = "dispatch", "1"

        def get_remaining_time_in_millis(self) -> int:
            return 9_000

    world.engine.num_instances = 100
    world.tenants.update(replace(world.tenants.get(TENANT), max_outstanding=100))
    for _ in range(25):
        world.prepare(world.submit().id)
    dispatch.lambda_handler(sqs(RING), Context())
    assert len(world.engine.started) == 10
    assert [bell.step for bell in bells] == ["dispatch"]


def test_lost_message_is_sent_again_by_the_reaper(world, bells):
    job = world.submit()
    world.clock.advance(119)
    reaper.lambda_handler({}, None)
    assert [bell.step for bell in world.step_queue.taken()] == ["dispatch"]
    world.clock.advance(1)
    assert reaper.lambda_handler({}, None)["num_rung"] == 1
    assert Bell("prepare", job.id, TENANT, 0.0) in world.step_queue.taken()
    world.clock.advance(60)
    assert reaper.lambda_handler({}, None)["num_rung"] == 0, "its message is on the way"


def test_lost_message_of_a_webhook_is_sent_again(world, bells):
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    world.clock.advance(120)
    reaper.lambda_handler({}, None)
    assert Bell("notify", job.id, TENANT, 0.0) in world.step_queue.bells


def test_webhook_that_waits_for_its_next_try_is_not_rung_for(world, bells):
    world.sender.answers = [500, 500]
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    world.notify(job.id)
    world.clock.advance(5)
    world.notify(job.id)  # five minutes to the next
    world.clock.advance(299)
    assert reaper.lambda_handler({}, None)["num_rung"] == 0


def test_queue_that_fails_leaves_rows_as_they_were(world, bells):
    jobs = [world.submit() for _ in range(3)]
    world.clock.advance(121)
    world.step_queue.is_reachable = False
    with pytest.raises(Unavailable):
        reaper.lambda_handler({}, None)
    world.step_queue.is_reachable = True
    assert reaper.lambda_handler({}, None)["num_rung"] == 3
    assert [world.jobs.get(job.id).step_tries for job in jobs] == [0, 0, 0]


def test_job_whose_messages_all_die_fails_by_name(world, bells, sqs):
    """A dead-lettered message must not strand its job: each claim of the reaper that runs out counts as a try."""
    job = world.submit(callback_url=CALLBACK_URL)
    num_rounds = 0
    while world.jobs.get(job.id).step is JobStep.PREPARE:
        world.clock.advance(360 + 120 + 60)
        reaper.lambda_handler({}, None)
        num_rounds += 1
        assert num_rounds < 100
    failed = world.jobs.get(job.id)
    assert (failed.state, failed.failure.code, failed.step) == (JobState.FAILED, "prepare_failed", JobStep.NOTIFY)
    assert num_rounds == world.settings.max_step_tries + 2


def test_message_that_is_served_at_last_fails_the_job_by_name_itself(world, sqs, bells):
    job = world.submit()
    for _ in range(world.settings.max_step_tries + 1):
        world.clock.advance(540)
        reaper.lambda_handler({}, None)
    prepare.lambda_handler(sqs({"job_id": job.id}), None)
    assert world.jobs.get(job.id).failure.code == "prepare_failed"


def test_webhook_whose_messages_all_die_is_given_up_and_logged(bells, world):
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    for _ in range(world.settings.max_step_tries + 2):
        world.clock.advance(720 + 120 + 60)
        reaper.lambda_handler({}, None)
    given_up = world.jobs.get(job.id)
    assert (given_up.state, given_up.step) == (JobState.SUCCEEDED, JobStep.NONE)
    [delivery] = world.deliveries.list(job.id)
    assert (delivery.status, "tries" in delivery.error) == (None, True)


def test_where_nothing_is_sent_the_reaper_claims_nothing(world):
    job = world.submit()
    world.clock.advance(1000)
    assert reaper.lambda_handler({}, None)["num_rung"] == 0
    assert [one.id for one in world.jobs.claim(JobStep.PREPARE, limit=1, lease_s=1)] == [job.id]


@pytest.fixture
def full(world, monkeypatch):
    """Objects cannot be written, but rows can."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise Unavailable("full", code="store_unavailable")

    monkeypatch.setattr(world.objects, "put", refuse)


def test_step_that_failed_counts_on_the_row_which_rings_again_later(world, sqs, bells, full):
    job = world.submit()
    assert prepare.lambda_handler(sqs({"job_id": job.id}), None) == {"batchItemFailures": []}
    tried = world.jobs.get(job.id)
    assert (tried.step, tried.step_tries) == (JobStep.PREPARE, 1)
    hear(change(job, tried))
    assert bells == [Bell("prepare", job.id, TENANT, 1.0)]


def test_step_that_failed_is_measured_on_aws(world, sqs, bells, full, capsys):
    world.fit(settings=replace(world.settings, profile="aws", table_prefix="spokes-"))
    runtime.use_services(world.services)
    prepare.lambda_handler(sqs({"job_id": world.submit().id}), None)
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "StepsFailed" in line]
    assert [(line["StepsFailed"], line["stack"]) for line in written] == [([1.0], "spokes")]


def test_job_that_cannot_be_prepared_outlasts_an_hour_and_then_fails_by_name(world, sqs, bells, full):
    job, started_at = world.submit(callback_url=CALLBACK_URL), world.clock.now()
    while world.jobs.get(job.id).step is JobStep.PREPARE:
        prepare.lambda_handler(sqs({"job_id": job.id}), None)
        world.clock.advance(max(0.0, (world.jobs.get(job.id).available_at - world.clock.now()).total_seconds()))
    failed = world.jobs.get(job.id)
    assert (failed.state, failed.failure.code) == (JobState.FAILED, "prepare_failed")
    assert world.clock.now() - started_at > timedelta(hours=1)


def test_webhook_whose_function_breaks_each_time_is_given_up(world, sqs, bells, monkeypatch):
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))

    def explode(*args: object, **kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(world.sender, "post", explode)
    for _ in range(world.settings.max_step_tries + 1):
        assert webhooks.lambda_handler(sqs({"job_id": job.id}), None) == {"batchItemFailures": []}
        world.clock.advance(300)
    assert world.jobs.get(job.id).step is JobStep.NONE


def test_step_fails_its_record_when_the_row_cannot_be_written_either(world, sqs, bells, full, monkeypatch):
    job = world.submit()

    def refuse(job: Job) -> Job:
        raise Unavailable("down", code="store_unavailable")

    monkeypatch.setattr(world.jobs, "save", refuse)
    assert prepare.lambda_handler(sqs({"job_id": job.id}), None) == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert len(world.step_queue.put_offs) == 1


def test_record_that_failed_comes_again_soon_and_then_ever_later(world, sqs, full):
    job = world.submit()

    event = sqs({"job_id": job.id})
    for num_tries in (1, 2, 5, 20):
        event["Records"][0]["attributes"]["ApproximateReceiveCount"] = str(num_tries)
        prepare.lambda_handler(event, None)
    assert [delay_s for _, _, delay_s in world.step_queue.put_offs] == [1, 2, 16, 60]
