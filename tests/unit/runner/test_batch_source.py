"""Batches reach their function on one machine, and come again when it fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from services.adapters.local.batches import SqliteBatchStore
from services.domain.batch import BatchStep
from spokesmodel.bell import Bell, Bells, RingingBatchStore
from spokesmodel.event_sources import BatchSource, Handler
from tests.fakes.clock import FakeClock
from tests.fakes.world import World
from tests.unit.batches.conftest import make_world
from tests.unit.runner.test_event_sources import context


def source_of(world: World, function: Handler) -> BatchSource:
    return BatchSource(function, context=context, services=world.services, batch_size=5, lease_s=600, bell=Bell())


def test_due_batches_are_handed_over_by_id_and_what_the_function_fails_comes_again_later() -> None:
    world = make_world()
    batch = world.submit_rows({"duration_s": 0})
    asked: list[list[str]] = []

    def function(event: Mapping[str, Any], _: Any) -> Any:
        asked.append([json.loads(record["body"])["batch_id"] for record in event["Records"]])
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in event["Records"]]}

    source = source_of(world, function)
    assert source.serve()
    assert not source.serve(), "not at once"
    world.clock.advance(60)
    assert source.serve()
    assert asked == [[batch.id], [batch.id]]
    assert world.batches.get(batch.id).step_tries == 2


def test_batch_that_its_function_served_is_not_given_back() -> None:
    world = make_world()
    world.submit_rows({"duration_s": 0})
    source = source_of(world, lambda event, _: {"batchItemFailures": []})
    assert source.serve()
    world.clock.advance(599)
    assert not source.serve(), "the claim holds until its lease ends, or the function saves"
    world.clock.advance(2)
    assert source.serve()


@pytest.mark.parametrize("step", [BatchStep.VALIDATE, BatchStep.FAN_OUT])
def test_runner_that_starts_takes_up_what_a_dead_one_held(tmp_path: Path, step: BatchStep) -> None:
    from dataclasses import replace

    clock = FakeClock()
    store = RingingBatchStore(tmp_path / "batches.sqlite", clock=clock, bells=(bells := Bells()))
    batch = make_world().submit_rows({"duration_s": 0})
    store.add(replace(batch, step=step))
    [claimed] = store.claim(limit=1, lease_s=600)
    store.save(replace(claimed, is_in_pass=True, available_at=clock.now() + timedelta(seconds=900)))
    assert bells.batches.rings == 2
    again = SqliteBatchStore(tmp_path / "batches.sqlite", clock=clock)
    assert not again.claim(limit=1, lease_s=600)
    again.end_claims()
    [taken] = again.claim(limit=1, lease_s=600)
    assert (taken.available_at, taken.is_in_pass) == (clock.now(), True)
