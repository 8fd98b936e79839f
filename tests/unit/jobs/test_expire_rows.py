"""What is old goes, and what is not stays."""

from __future__ import annotations

import pytest

from services.domain.batch import Batch, BatchRow, RowState
from services.domain.engine import EngineKind
from services.domain.errors import NotFound
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey
from services.usecases.batch_objects import answer_key
from services.usecases.expire_rows import expire_rows
from tests.fakes.world import CALLBACK_URL, TENANT


@pytest.fixture
def expire(world):
    def expire(limit=100):
        return expire_rows(
            jobs=world.jobs,
            batches=world.batches,
            objects=world.objects,
            uploads=world.uploads,
            deliveries=world.deliveries,
            usage=world.usage,
            clock=world.clock,
            settings=world.settings,
            limit=limit,
        )

    return expire


def days(world, number):
    world.clock.advance(number * 86_400.0)


def test_final_job_goes_after_its_days_with_its_files_and_deliveries(world, expire):
    job = world.start(callback_url=CALLBACK_URL)
    done = world.complete(world.answer(job))
    world.notify(job.id)
    [output] = done.result.outputs
    days(world, world.settings.job_retention_days)
    assert expire().num_jobs == 0
    world.clock.advance(1)
    assert expire().num_jobs == 1
    with pytest.raises(NotFound):
        world.jobs.get(job.id)
    assert not world.objects.exists(ObjectKey.parse(output.key))
    assert world.deliveries.list(job.id) == []
    assert world.bill() == [job.id], "usage stays"


def test_unfinished_and_young_jobs_stay(world, expire):
    waiting = world.submit()
    days(world, world.settings.job_retention_days + 1)
    young = world.start()
    world.complete(world.answer(young))
    assert expire().num_jobs == 0
    assert {job.id for job in world.jobs.list(TENANT).items} == {waiting.id, young.id}


def test_charge_that_a_crash_left_out_is_made_first(world, expire, monkeypatch):
    job = world.start()
    monkeypatch.setattr(world.usage, "record", lambda record: True)  # the crash
    world.complete(world.answer(job))
    monkeypatch.undo()
    days(world, world.settings.job_retention_days + 1)
    expire()
    assert world.bill() == [job.id]


def test_old_uploads_go_with_their_bytes(world, expire):
    old = world.upload()
    key = ObjectKey.parse(world.uploads.get(TENANT, old).object_key)
    days(world, world.settings.job_retention_days + 1)
    young = world.upload()
    assert expire().num_uploads == 1
    assert not world.objects.exists(key)
    with pytest.raises(NotFound):
        world.uploads.get(TENANT, old)
    world.uploads.get(TENANT, young)


def test_a_run_takes_a_bounded_number(world, expire):
    for _ in range(3):
        world.complete(world.answer(world.start()))
    days(world, world.settings.job_retention_days + 1)
    assert [expire(limit=2).num_jobs for _ in range(3)] == [2, 1, 0]


def test_ended_batch_goes_after_its_days_with_its_rows_and_files_and_one_that_runs_stays(world, expire):
    now = world.clock.now()
    batches = [
        Batch(
            id=new_id("batch"),
            tenant_id=TENANT,
            kind=EngineKind.VIDEO,
            file_key="",
            media_type="text/csv",
            created_at=now,
            updated_at=now,
            available_at=now,
            finished_at=finished_at,
        )
        for finished_at in (now, None)
    ]
    for batch in batches:
        world.batches.add(batch)
        world.batches.put_rows([BatchRow(batch_id=batch.id, number=1, state=RowState.SUCCEEDED)])
        world.objects.put(answer_key(batch, "report.json"), b"{}", media_type="application/json")
    days(world, world.settings.job_retention_days)
    assert expire().num_batches == 0
    world.clock.advance(1)
    assert expire().num_batches == 1
    ended, running = batches
    assert not world.batches.rows(ended.id)
    assert [ended.id in key for key in world.objects.stored_keys()] == [False]
    assert world.batches.get(running.id) == running
