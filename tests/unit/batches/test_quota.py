"""A batch keeps to its tenant's quota and waits, losing nothing."""

from __future__ import annotations

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
