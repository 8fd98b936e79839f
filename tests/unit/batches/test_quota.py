"""A batch keeps to its tenant's quota and waits, losing nothing."""

from __future__ import annotations

from services.usecases.control_batch import pause_batch, resume_batch
from services.usecases.view_batch import view_batch
from tests.fakes.world import TENANT
from tests.unit.batches.conftest import make_world


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
