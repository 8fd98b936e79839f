"""A process that dies between any two writes loses no row and doubles none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from services.domain.batch import Batch, BatchState
from services.domain.errors import ContentRejected
from services.usecases import validate_batch
from services.usecases.control_batch import cancel_batch, retry_batch
from tests.fakes.world import TENANT
from tests.unit.batches.conftest import BatchWorld, make_world

NUM_ROWS = 7
WRITES = {"batches": ("save", "put_rows"), "jobs": ("add", "save"), "objects": ("put", "put_file")}


class Killed(BaseException):
    """The process is gone: nothing catches it, and nothing is written after it."""


class Mortal:
    """A world whose serving process dies before its write number ``last + 1``; others write on."""

    def __init__(self, world: BatchWorld, last: int) -> None:
        self._world = world
        self._left = last
        self._serves = False
        self.died = False
        for port, methods in WRITES.items():
            store = getattr(world, port)
            for name in methods:
                setattr(store, name, self._mortal(getattr(store, name)))

    def _mortal(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if self._serves and not self._left:
                self.died = True
                raise Killed
            self._left -= self._serves
            return write(*args, **options)

        return call

    def serve(self, batch: Batch) -> None:
        """Serve the batch, in a process that may die of it, and only once."""
        self._serves = not self.died
        with contextlib.suppress(Killed):
            self._world.serve(batch)
        self._serves = False


def run_with_a_death(num_writes: int, *, then: str) -> tuple[BatchWorld, Batch, bool]:
    """The world after a batch whose serving process died once, after that many writes; and whether it did die."""
    world = make_world(batch_window=3, batch_slice_s=0 if then == "slices" else 5)
    rows = [{"id": f"r{number}", "duration_s": 1} for number in range(NUM_ROWS)]
    batch = world.submit_rows(*rows, {"duration_s": -1})
    if then == "retry":
        world.serve(batch)
        world.serve(batch)
        world.work(fail=[row.job_id for row in world.rows(batch) if row.job_id])
        world.run_to_end(batch)
        retry_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    mortal = Mortal(world, num_writes)
    for turn in range(200):
        if then == "cancel" and turn == 3:
            cancel_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
        has_died = mortal.died
        mortal.serve(batch)
        if has_died:  # the first pass after a death knows how many rows are where, not only the last one
            stored = {str(state): number for state, number in world.batches.count_rows(batch.id).items()}
            assert dict(world.batches.get(batch.id).counts) == stored
        if world.batches.get(batch.id).finished_at is not None:
            return world, world.batches.get(batch.id), mortal.died
        world.work()
        world.clock.advance(1000 if mortal.died else 1)  # whoever comes next waits until the dead one's hold has ended
    raise AssertionError("the batch never ended")


@pytest.mark.parametrize("then", ["end", "slices", "retry", "cancel"])
def test_death_between_any_two_writes_loses_and_doubles_nothing(then, monkeypatch):
    monkeypatch.setattr(validate_batch, "_CHUNK", 2)
    num_deaths = 0
    for num_writes in range(400):
        world, batch, died = run_with_a_death(num_writes, then=then)
        rows = [row for row in world.rows(batch) if str(row.state) != "invalid"]
        jobs = {job.id: job for job in world.jobs_of(batch)}
        assert [row.number for row in rows] == list(range(1, NUM_ROWS + 1)), num_writes
        assert batch.counts == {str(state): number for state, number in world.batches.count_rows(batch.id).items()}
        assert all(job.state.is_final for job in jobs.values()), num_writes
        assert sum(row.tries for row in rows) == len(jobs), num_writes
        for row in rows:
            assert (row.job_id in jobs and jobs[row.job_id].state == str(row.state)) or row.tries == 0, num_writes
        assert world.report(batch) == [(NUM_ROWS + 1, "duration_s", "invalid_request")]
        if then in ("end", "slices"):
            assert (batch.state, len(jobs)) == (BatchState.SUCCEEDED, NUM_ROWS)
        elif then == "retry":
            assert all(str(row.state) == "succeeded" for row in rows), num_writes
            assert sorted(row.tries for row in rows) == [1] * 4 + [2] * 3
        else:
            assert batch.state is BatchState.CANCELED
        if not died:
            break
        num_deaths += 1
    else:
        raise AssertionError("the run never got by without a death")
    assert num_deaths > 10


def test_job_that_a_crash_hid_is_the_rows_even_when_the_row_would_be_refused_by_now(monkeypatch):
    from lambdas.api import creations

    world = make_world()
    batch = world.submit_rows({"duration_s": 1})
    world.serve(batch)
    Mortal(world, 2).serve(batch)  # taken, and the job stored
    [job] = world.jobs_of(batch)

    def refuse(*args: object, **options: object) -> None:
        raise ContentRejected("no more", code="upload_not_found")

    monkeypatch.setattr(creations, "submit_noop", refuse)
    world.clock.advance(1000)
    ended = world.run_to_end(batch)
    assert ended.counts == {"succeeded": 1}
    assert [row.job_id for row in world.rows(batch)] == [job.id]
