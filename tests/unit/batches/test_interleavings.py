"""What an owner asks for between any two writes of a pass is done, and nothing is lost by it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from services.domain.batch import Batch, BatchState
from services.domain.errors import Conflict, Unavailable
from services.usecases.control_batch import cancel_batch, pause_batch, resume_batch, retry_batch
from tests.fakes.world import TENANT
from tests.unit.batches.conftest import BatchWorld, make_world

ROWS = [{"id": f"r{number}", "duration_s": 1} for number in range(6)]


class Meddler:
    """Does something once, before write number ``at`` of whoever serves the batch."""

    def __init__(self, world: BatchWorld, at: int, meddle: Callable[[], object]) -> None:
        self.left = at
        self.done = False
        self._meddle = meddle
        for port, names in {"batches": ("save", "put_rows"), "jobs": ("add",)}.items():
            store = getattr(world, port)
            for name in names:
                setattr(store, name, self._watched(getattr(store, name)))

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0 and not self.done:
                self.done = True
                self._meddle()
            return write(*args, **options)

        return call


def every_moment(meddle: Callable[[BatchWorld, Batch], object]) -> list[tuple[BatchWorld, Batch]]:
    """The worlds in which it happened before the first write, the second, and so on; each run until nothing moves."""
    found = []
    for at in range(200):
        world = make_world(batch_window=3)
        batch = world.submit_rows(*ROWS)
        meddler = Meddler(world, at, lambda world=world, batch=batch: meddle(world, batch))  # type: ignore[misc]
        for turn in range(40):
            world.serve(batch)
            failing = [row.job_id for row in world.rows(batch) if row.number == 1 and row.job_id and row.tries == 1]
            world.work(fail=[job_id for job_id in failing if job_id])
            world.clock.advance(1000 if turn > 30 else 2)
        if not meddler.done:
            return found
        found.append((world, world.batches.get(batch.id)))
    raise AssertionError("there is no end of writes")


def steer(action: Callable[..., Batch], refused: list[str] | None = None) -> Callable[[BatchWorld, Batch], object]:
    def meddle(world: BatchWorld, batch: Batch) -> object:
        try:
            return action(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
        except Conflict as conflict:  # at that moment it is not possible, which is told
            if refused is not None:
                refused.append(batch.id)
            return conflict

    return meddle


def judge(world: BatchWorld, batch: Batch) -> None:
    """Counts are exact, and each try has one job."""
    stored = {str(state): number for state, number in world.batches.count_rows(batch.id).items()}
    assert dict(batch.counts) == stored
    assert sum(row.tries for row in world.rows(batch)) == len(world.jobs_of(batch))


def test_pause_at_any_moment_holds_and_resume_goes_on():
    worlds = every_moment(steer(pause_batch))
    assert len(worlds) > 10
    paused = [world for world, batch in worlds if batch.state is BatchState.PAUSED]
    assert paused
    for world, batch in worlds:
        judge(world, batch)
        if batch.state is BatchState.PAUSED:
            assert batch.counts.get("submitted", 0) == 0
            resume_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
            batch = world.run_to_end(batch)
        assert batch.counts in ({"succeeded": 5, "failed": 1}, {"succeeded": 6})


def test_cancel_at_any_moment_ends_everything():
    worlds = every_moment(steer(cancel_batch))
    assert any(batch.state is BatchState.CANCELED for _, batch in worlds)
    for world, batch in worlds:
        judge(world, batch)
        assert batch.finished_at is not None
        assert all(job.state.is_final for job in world.jobs_of(batch))
        assert sum(batch.counts.values()) in (0, len(ROWS))  # 0: before its file was read
        assert not {"pending", "submitted"} & set(batch.counts)


def test_retry_at_any_moment_is_done_or_refused():
    refused: list[str] = []
    worlds = every_moment(steer(retry_batch, refused))
    assert 0 < len(refused) < len(worlds)
    for world, batch in worlds:
        judge(world, batch)
        assert batch.state is BatchState.SUCCEEDED
        assert batch.counts == ({"succeeded": 5, "failed": 1} if batch.id in refused else {"succeeded": 6})
        assert all(row.tries <= 2 for row in world.rows(batch))


def test_deletion_at_any_moment_ends_the_serving():
    def delete(world: BatchWorld, batch: Batch) -> None:
        world.batches.delete(batch.id)

    for at in range(12):
        world = make_world()
        batch = world.submit_rows(*ROWS)
        Meddler(world, at, lambda world=world, batch=batch: delete(world, batch))  # type: ignore[misc]
        for _ in range(5):
            world.serve(batch)
            world.clock.advance(2)
        assert world.serve(batch) is None
        assert not world.rows(batch), "nothing of what its client wrote stays"


@pytest.mark.parametrize("fault", [RuntimeError("a bug"), Unavailable("away", code="store_unavailable")])
def test_file_that_cannot_be_checked_again_and_again_fails_its_batch(fault):
    world = make_world(max_step_tries=5)
    batch = world.submit_rows(*ROWS)

    def put_file(*args: Any, **options: Any) -> None:
        raise fault

    world.objects.put_file = put_file  # type: ignore[method-assign,assignment]
    for _ in range(10):
        if world.batches.get(batch.id).finished_at is not None:
            break
        with contextlib.suppress(RuntimeError, Unavailable):
            world.serve(batch)
        world.clock.advance(61)
    ended = world.batches.get(batch.id)
    assert ended.failure is not None
    assert (ended.state, ended.failure.code) == (BatchState.FAILED, "validation_failed")


def test_store_that_is_away_for_a_while_only_delays(world):
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    add, faults = world.jobs.add, iter([True, False, True, True])

    def sometimes(job: Any, **options: Any) -> None:
        if next(faults, False):
            raise Unavailable("away", code="store_unavailable")
        add(job, **options)

    world.jobs.add = sometimes
    for _ in range(20):
        with contextlib.suppress(Unavailable):
            world.serve(batch)
        world.work()
        world.clock.advance(61)
    assert world.batches.get(batch.id).counts == {"succeeded": 6}
    assert len(world.jobs_of(batch)) == 6


def test_what_is_asked_for_during_a_pass_waits_for_its_end_and_is_then_due_at_once(world):
    batch = world.submit_rows(*ROWS)
    world.serve(batch)

    seen: list[object] = []

    def cancel_and_serve() -> None:
        seen.append(cancel_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock))
        seen.append(world.serve(batch))
        seen.append(world.batches.claim(limit=1, lease_s=30))

    Meddler(world, 4, cancel_and_serve)
    served = world.serve(batch)
    canceled, served_meanwhile, claimed = seen
    assert served_meanwhile == canceled, "the pass that is under way keeps it"
    assert not claimed
    assert served.available_at == world.clock.now()
    assert world.serve(batch).finished_at is not None


def test_pause_within_a_pass_stops_the_next_chunk():
    world = make_world(batch_window=1000)
    batch = world.submit_file("duration_s\n" + "0\n" * 100)
    world.serve(batch)
    Meddler(world, 30, lambda: steer(pause_batch)(world, batch))
    served = world.serve(batch)
    assert served is not None
    assert served.counts == {"submitted": 50, "pending": 50}
