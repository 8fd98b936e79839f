"""A batch keeps to its tenant's quota and waits, losing nothing."""

from __future__ import annotations

from dataclasses import replace

from services.domain.batch import OnInvalid
from services.domain.engine import Failure
from services.usecases.control_batch import cancel_batch, pause_batch, resume_batch
from services.usecases.view_batch import view_batch
from tests.fakes.world import TENANT
from tests.unit.batches.conftest import BatchWorld, make_world


def test_batch_waits_while_its_tenant_has_too_many_jobs():
    world = make_world(max_queued_jobs=5, batch_window=1000)
    batch = world.submit_file("duration_s\n" + "0\n" * 60)
    most = 0
    for _ in range(200):
        world.serve(batch)
        most = max(most, sum(not job.state.is_final for job in world.jobs_of(batch)))
        if world.batches.get(batch.id).finished_at is not None:
            break
        world.work(num_jobs=4)
        world.clock.advance(10)
    assert world.batches.get(batch.id).counts == {"succeeded": 60}
    assert most < 5 + 25  # the quota is looked at before each chunk


def test_batch_says_what_holds_it():
    world = make_world(max_queued_jobs=2)
    waits = world.submit_file("duration_s\n" + "0\n" * 60)

    def view():
        return view_batch(world.batches.get(waits.id), objects=world.objects, link_lifetime_s=60)["held_by"]

    world.serve(waits)
    assert view() is None
    for _ in range(2):
        world.serve(waits)
        world.clock.advance(20)
    assert (view()["code"], view()["retryable"]) == ("too_many_jobs", True)
    pause_batch(waits.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    assert view() is None
    resume_batch(waits.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    ended = world.run_to_end(waits)
    assert (ended.counts, view()) == ({"succeeded": 60}, None)


def limited(**settings) -> BatchWorld:
    world = make_world(**settings)
    world.tenants.update(replace(world.tenants.get(TENANT), monthly_output_s=10.0))
    return world


def test_as_many_rows_are_submitted_as_fit_into_the_month_and_the_rest_says_why_it_waits():
    world = limited()
    batch = world.submit_file("duration_s\n" + "4\n" * 5)
    world.serve(batch)
    world.serve(batch)
    assert world.batches.get(batch.id).counts == {"submitted": 2, "pending": 3}
    held_by = world.batches.get(batch.id).held_by
    assert held_by is not None
    assert (held_by.code, held_by.retryable) == ("monthly_quota_used", True)
    assert "unfinished jobs hold 8.0" in held_by.detail
    world.work()  # each is charged 1.5 s
    for _ in range(3):
        world.clock.advance(901)
        world.serve(batch)
        world.work()
    counts = world.batches.get(batch.id).counts
    assert counts["succeeded"] + counts.get("submitted", 0) == 5


def test_a_row_that_fits_no_month_fails_and_the_others_run():
    world = limited()
    batch = world.run_to_end(world.submit_file("duration_s\n1\n10.5\n1\n"))
    assert world.states(batch) == ["succeeded", "failed", "succeeded"]
    failure = world.rows(batch)[1].failure
    assert failure is not None
    assert failure.code == "longer_than_monthly_quota"


def test_canceled_batch_lets_its_part_of_the_month_go():
    world = limited()
    batch = world.submit_file("duration_s\n" + "4\n" * 5)
    world.serve(batch)
    world.serve(batch)
    assert world.jobs.holdings(TENANT).open_ms == 8_000
    cancel_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    world.run_to_end(batch)
    assert world.jobs.holdings(TENANT).open_ms == 0


def test_a_quota_known_when_the_batch_came_is_shown_until_a_pass_knows_better():
    world = limited()
    reason = Failure(code="monthly_quota_used", detail="used", retryable=True)
    batch = world.submit_file("duration_s\n1\n", held_by=reason)
    assert world.serve(batch).held_by == reason
    assert world.run_to_end(batch).held_by is None
    dry = world.submit_file("duration_s\n1\n", held_by=reason, dry_run=True)
    assert dry.held_by is None
    rejected = world.submit_file("duration_s\n-1\n", held_by=reason, on_invalid=OnInvalid.REJECT)
    assert world.run_to_end(rejected).held_by is None
