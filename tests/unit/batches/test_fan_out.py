"""Rows become jobs, a window at a time, and end with them."""

from __future__ import annotations

import pytest

from services.domain.batch import BatchKind, BatchState, BatchStep, OnInvalid, RowState
from services.domain.errors import Conflict, ContentRejected, NotFound, Unavailable
from services.domain.job import JobState
from services.ports.catalogue import Avatar
from services.usecases.control_batch import (
    cancel_batch,
    delete_batch,
    pause_batch,
    resume_batch,
    retry_batch,
)
from services.usecases.find_batch import list_batches
from tests.fakes.world import CALLBACK_URL, OTHER_TENANT, TENANT
from tests.unit.batches.conftest import make_world

AVATAR_ID = "avatar_01JZZZZZZZZZZZZZZZZZZZZZZZ"
VIDEO = {"presenter": {"avatar_id": AVATAR_ID}, "speech": {"text": "Hello.", "voice": {"voice_id": "en-us"}}}
ROWS = [{"id": f"sku-{number}", "duration_s": 1} for number in range(1, 8)]


def make_avatar(world):
    return Avatar(
        id=AVATAR_ID,
        tenant_id=None,
        name="Vera",
        kind="picture",
        object_key=f"catalogue/shared/{AVATAR_ID}/0/picture.jpg",
        media_type="image/jpeg",
        created_at=world.clock.now(),
    )


def control(world, action, batch, tenant_id=TENANT):
    return action(batch.id, tenant_id=tenant_id, batches=world.batches, clock=world.clock)


def test_nothing_runs_before_the_whole_file_is_checked(world):
    batch = world.submit_rows(*ROWS, {"duration_s": "long"})
    assert not world.jobs_of(batch)
    checked = world.serve(batch)
    assert (checked.state, checked.step) == (BatchState.PROCESSING, BatchStep.FAN_OUT)
    assert checked.counts == {"pending": 7, "invalid": 1}
    assert not world.jobs_of(batch)


def test_every_row_ends_with_its_job(world):
    batch = world.submit_rows(*ROWS)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.step, ended.counts) == (BatchState.SUCCEEDED, BatchStep.NONE, {"succeeded": 7})
    rows = world.rows(batch)
    assert [row.external_id for row in rows] == [row["id"] for row in ROWS]
    for row in rows:
        job = world.jobs.get(row.job_id)
        assert (job.state, job.batch_id, row.tries) == (JobState.SUCCEEDED, batch.id, 1)


def test_no_more_jobs_than_the_window_are_unfinished():
    world = make_world(batch_window=3)
    batch = world.submit_rows(*ROWS)
    most = 0
    while world.batches.get(batch.id).finished_at is None:
        world.serve(batch)
        most = max(most, sum(not job.state.is_final for job in world.jobs_of(batch)))
        world.work(num_jobs=2)
        world.clock.advance(1)
    assert most == 3
    assert len(world.jobs_of(batch)) == 7


def test_failed_row_stops_no_other_and_says_why(world):
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    world.serve(batch)
    bad = world.rows(batch)[2].job_id
    world.work(fail=[bad])
    ended = world.run_to_end(batch)
    assert ended.state is BatchState.SUCCEEDED
    assert ended.counts == {"succeeded": 6, "failed": 1}
    assert world.rows(batch)[2].failure.code == "face_not_found"


def test_retry_tries_the_failed_rows_only_each_as_a_new_job(world):
    batch = world.submit_rows(*ROWS, {"duration_s": -1})
    world.serve(batch)
    world.serve(batch)
    first = [row.job_id for row in world.rows(batch)]
    world.work(fail=[first[2], first[5]])
    world.run_to_end(batch)
    again = control(world, retry_batch, batch)
    assert (again.state, again.finished_at) == (BatchState.PROCESSING, None)
    ended = world.run_to_end(batch)
    assert ended.counts == {"succeeded": 7, "invalid": 1}
    second = [row.job_id for row in world.rows(batch)]
    assert [number for number, (one, other) in enumerate(zip(first, second, strict=True)) if one != other] == [2, 5]
    assert [row.tries for row in world.rows(batch)] == [1, 1, 2, 1, 1, 2, 1, 0]
    assert len(world.jobs_of(batch)) == 9
    assert len(world.bill()) == 7


def test_retry_without_failed_rows_is_refused(world):
    batch = world.submit_rows(*ROWS, {"duration_s": -1})
    world.run_to_end(batch)
    with pytest.raises(Conflict) as raised:
        control(world, retry_batch, batch)
    assert raised.value.code == "nothing_to_retry"


def test_paused_batch_lets_its_jobs_end_and_submits_no_more():
    world = make_world(batch_window=3)
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    world.serve(batch)
    control(world, pause_batch, batch)
    for _ in range(3):
        world.work()
        world.clock.advance(1)
        world.serve(batch)
    paused = world.batches.get(batch.id)
    assert (paused.state, paused.step) == (BatchState.PAUSED, BatchStep.NONE)
    assert paused.counts == {"succeeded": 3, "pending": 4}
    assert control(world, resume_batch, batch).step is BatchStep.FAN_OUT
    assert world.run_to_end(batch).counts == {"succeeded": 7}


def test_batch_paused_before_its_file_was_read_is_checked_and_waits(world):
    batch = world.submit_rows(*ROWS)
    control(world, pause_batch, batch)
    for _ in range(3):
        world.serve(batch)
        world.clock.advance(1)
    held = world.batches.get(batch.id)
    assert (held.state, held.step, held.has_report) == (BatchState.PAUSED, BatchStep.NONE, True)
    assert not world.jobs_of(batch)
    control(world, resume_batch, batch)
    assert world.run_to_end(batch).counts == {"succeeded": 7}


def test_cancel_ends_pending_rows_and_running_jobs_and_leaves_what_has_ended():
    world = make_world(batch_window=4)
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    world.serve(batch)
    world.work(num_jobs=2)
    assert control(world, cancel_batch, batch).state is BatchState.CANCELED
    ended = world.run_to_end(batch)
    assert ended.state is BatchState.CANCELED
    assert ended.counts == {"succeeded": 2, "canceled": 5}
    assert sorted(str(job.state) for job in world.jobs_of(batch)) == ["canceled"] * 2 + ["succeeded"] * 2
    with pytest.raises(Conflict):
        control(world, retry_batch, batch)
    with pytest.raises(Conflict):
        control(world, resume_batch, batch)


def test_batch_canceled_before_its_file_was_read_ends_without_a_job(world):
    batch = world.submit_rows(*ROWS)
    control(world, cancel_batch, batch)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.counts, ended.has_report) == (BatchState.CANCELED, {}, False)
    assert not world.rows(batch), "nobody wants to know any more"
    assert not world.jobs_of(batch)


def test_job_that_its_owner_cancels_or_deletes_ends_its_row(world):
    batch = world.submit_rows(*ROWS[:3])
    world.serve(batch)
    world.serve(batch)
    one, two, _ = world.rows(batch)
    world.cancel(one.job_id)
    world.cancel(two.job_id)
    world.jobs.delete(two.job_id)
    ended = world.run_to_end(batch)
    assert world.states(batch) == ["canceled", "failed", "succeeded"]
    assert world.rows(batch)[1].failure.code == "job_deleted"
    assert ended.state is BatchState.SUCCEEDED


def test_dry_run_leaves_a_report_and_no_job(world):
    batch = world.submit_rows(*ROWS, {"duration_s": -1}, dry_run=True)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.counts) == (BatchState.SUCCEEDED, {"pending": 7, "invalid": 1})
    assert world.report(batch) == [(8, "duration_s", "invalid_request")]
    assert not world.jobs_of(batch)


def test_invalid_rows_reject_the_batch_when_asked(world):
    batch = world.submit_rows(*ROWS, {"duration_s": -1}, on_invalid=OnInvalid.REJECT)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.failure.code) == (BatchState.FAILED, "invalid_rows")
    assert not world.jobs_of(batch)


def test_row_that_breaks_the_code_stops_no_other(world, monkeypatch):
    from lambdas.api import creations

    def submit(order, **options):
        if order["faulty_attempts"] == 13:
            raise RuntimeError("a bug")
        return submit_noop(order, **options)

    submit_noop = creations.submit_noop
    monkeypatch.setattr(creations, "submit_noop", submit)
    batch = world.submit_rows(*ROWS[:2], {"faulty_attempts": 13}, *ROWS[2:])
    ended = world.run_to_end(batch)
    assert ended.counts == {"succeeded": 7, "failed": 1}
    assert world.rows(batch)[2].failure.code == "row_not_submitted"
    assert "a bug" not in world.rows(batch)[2].failure.detail


def test_batch_that_is_not_due_is_left_alone(world):
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    world.serve(batch)
    before = world.batches.get(batch.id)
    world.serve(batch)
    assert world.batches.get(batch.id) == before
    assert world.serve("batch_unknown") is None


def test_end_is_told_once(world):
    batch = world.submit_rows(*ROWS[:2], callback_url=CALLBACK_URL, callback_id="mine")
    assert world.run_to_end(batch).step is BatchStep.NOTIFY
    world.serve(batch)
    world.serve(batch)
    assert world.batches.get(batch.id).step is BatchStep.NONE
    [sent] = world.sender.posted
    import json

    event = json.loads(sent.body)
    assert (event["type"], event["data"]["id"], event["data"]["callback_id"]) == ("batch.succeeded", batch.id, "mine")
    assert event["data"]["counts"]["succeeded"] == 2


def test_end_after_a_retry_is_another_event(world):
    batch = world.submit_rows(*ROWS[:2], callback_url=CALLBACK_URL)
    world.serve(batch)
    world.serve(batch)
    world.work(fail=[world.rows(batch)[0].job_id])
    world.run_to_end(batch)
    world.serve(batch)
    control(world, retry_batch, batch)
    world.run_to_end(batch)
    world.serve(batch)
    assert len({sent.headers["webhook-id"] for sent in world.sender.posted}) == 2


def test_other_tenants_batch_is_not_found(world):
    batch = world.submit_rows(*ROWS)
    for action in (pause_batch, resume_batch, cancel_batch, retry_batch):
        with pytest.raises(NotFound):
            control(world, action, batch, OTHER_TENANT)


def test_deleted_batch_is_not_found_at_once_and_leaves_its_jobs_and_nothing_else(world):
    batch = world.submit_rows(*ROWS[:2], callback_url=CALLBACK_URL)
    with pytest.raises(Conflict) as raised:
        control(world, delete_batch, batch)
    assert raised.value.code == "batch_active"
    world.run_to_end(batch)
    world.serve(batch)
    assert world.deliveries.list(batch.id)
    control(world, delete_batch, batch)
    for action in (pause_batch, resume_batch, cancel_batch, retry_batch, delete_batch):
        with pytest.raises(NotFound):
            control(world, action, batch)
    assert world.serve(batch) is None
    with pytest.raises(NotFound):
        world.batches.get(batch.id)
    assert not world.rows(batch)
    assert not world.deliveries.list(batch.id)
    assert not [key for key in world.objects.stored_keys() if batch.id in key]
    assert len(world.jobs_of(batch)) == 2


def test_batch_deleted_while_its_client_is_called_back_is_removed_after_that(world):
    batch = world.submit_rows(*ROWS[:1], callback_url=CALLBACK_URL)
    world.run_to_end(batch)
    post = world.sender.post

    def delete_and_post(*args, **options):
        control(world, delete_batch, batch)
        return post(*args, **options)

    world.sender.post = delete_and_post
    assert world.serve(batch).step is BatchStep.DELETE
    assert world.serve(batch) is None
    assert not world.rows(batch)


def test_large_batch_is_removed_a_slice_at_a_time_and_goes_on_after_a_fault(monkeypatch):
    from services.usecases import remove_batch

    monkeypatch.setattr(remove_batch, "_CHUNK", 2)
    world = make_world(batch_slice_s=0)
    batch = world.submit_rows(*ROWS)
    world.run_to_end(batch)
    control(world, delete_batch, batch)
    assert world.serve(batch).step is BatchStep.DELETE
    assert len(world.rows(batch)) == 5
    delete_rows = world.batches.delete_rows

    def away(*args, **options):
        raise Unavailable("away", code="store_unavailable")

    world.batches.delete_rows = away
    with pytest.raises(Unavailable):
        world.serve(batch)
    world.batches.delete_rows = delete_rows
    world.clock.advance(60)
    served = [world.serve(batch) for _ in range(4)]
    assert served[-1] is None
    assert not world.rows(batch)


def test_listing_leaves_out_what_is_being_removed_and_no_slice_is_empty_before_the_end(world):
    batches = []
    for _ in range(5):
        batches.append(world.submit_rows(ROWS[0]))
        world.clock.advance(1)
    batches.sort(key=lambda batch: batch.id, reverse=True)
    for batch in (batches[0], batches[1], batches[3]):
        world.run_to_end(batch)
        control(world, delete_batch, batch)
    first = list_batches(TENANT, cursor=None, limit=2, batches=world.batches)
    assert [batch.id for batch in first.items] == [batches[2].id]
    rest = list_batches(TENANT, cursor=first.cursor, limit=2, batches=world.batches)
    assert ([batch.id for batch in rest.items], rest.cursor) == ([batches[4].id], None)


def test_count_of_rows_by_state_is_the_stores(world):
    batch = world.submit_rows(*ROWS)
    world.run_to_end(batch)
    assert dict(world.batches.count_rows(batch.id)) == {RowState.SUCCEEDED: 7}


def test_row_without_an_estimate_still_runs(world, monkeypatch):
    from lambdas.api import creations

    def estimate(*args, **options):
        raise ContentRejected("no idea", code="unknown")

    monkeypatch.setattr(creations, "estimate_request", estimate)
    world.avatars.add(make_avatar(world))
    batch = world.submit_rows(VIDEO, kind=BatchKind.VIDEO)
    checked = world.serve(batch)
    assert (checked.counts, checked.estimate) == ({"pending": 1}, None)


def test_store_that_is_away_while_rows_are_checked_blames_no_row(world, monkeypatch):
    world.avatars.add(make_avatar(world))
    batch = world.submit_rows(VIDEO, kind=BatchKind.VIDEO)
    get = world.avatars.get

    def away(*args):
        raise Unavailable("away", code="store_unavailable")

    monkeypatch.setattr(world.avatars, "get", away)
    with pytest.raises(Unavailable):
        world.serve(batch)
    monkeypatch.setattr(world.avatars, "get", get)
    world.clock.advance(61)
    assert world.serve(batch).counts == {"pending": 1}
