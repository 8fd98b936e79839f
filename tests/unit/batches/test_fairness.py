"""A large batch of one tenant hardly delays what another asks for."""

from __future__ import annotations

from services.domain.batch import BatchKind
from tests.fakes.world import OTHER_TENANT, TENANT
from tests.unit.batches.conftest import make_world

NUM_ROWS = 10_000


def test_ten_thousand_rows_of_one_tenant_delay_anothers_single_job_by_a_few():
    world = make_world()
    world.engine.num_instances = 1
    batch = world.submit_file("duration_s\n" + "1\n" * NUM_ROWS)
    world.serve(batch)
    world.serve(batch)
    for _ in range(3):  # the batch is well under way, its window full
        world.work(num_jobs=2)
        world.clock.advance(1)
        world.serve(batch)
    single = world.submit(tenant_id=OTHER_TENANT)
    before: list[str] = []
    while single.id not in before:
        before += [job.id for job in world.work(num_jobs=1)]
        world.clock.advance(1)
        world.serve(batch)
        assert len(before) < 10
    assert before.index(single.id) <= 3


def test_two_batches_share_the_engine_evenly():
    world = make_world(batch_window=20)
    world.engine.num_instances = 1
    batches = [
        world.submit_file("duration_s\n" + "1\n" * 200, tenant_id=tenant_id, kind=BatchKind.NOOP)
        for tenant_id in (TENANT, OTHER_TENANT)
    ]
    served: list[str] = []
    for _ in range(60):
        for batch in batches:
            world.serve(batch)
        served += [job.tenant_id for job in world.work(num_jobs=2)]
        world.clock.advance(1)
    assert abs(served.count(TENANT) - served.count(OTHER_TENANT)) <= 4
    assert len(served) > 80
