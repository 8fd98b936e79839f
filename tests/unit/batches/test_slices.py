"""A file is checked a slice at a time: others get their turn, and what was canceled is checked no further."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lambdas.batch import server
from services.adapters.local.batches import SqliteBatchStore
from services.domain.batch import BatchState, BatchStep
from services.usecases import creation, validate_batch
from services.usecases.batch_file import MAX_COLUMNS, MAX_RECORD
from services.usecases.control_batch import cancel_batch, pause_batch, resume_batch
from services.usecases.view_batch import view_batch
from tests.fakes.world import OTHER_TENANT, TENANT
from tests.unit.batches.conftest import BatchWorld, make_world
from tests.unit.batches.test_fan_out import AVATAR_ID, VIDEO, make_avatar
from tests.unit.batches.test_interleavings import Meddler

ROWS = [{"id": f"r{number}", "duration_s": 1} for number in range(9)]


@pytest.fixture(autouse=True)
def chunks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate_batch, "_CHUNK", 2)


def test_check_goes_on_where_its_slice_ended() -> None:
    world = make_world(batch_slice_s=0)
    batch = world.submit_rows(*ROWS)
    checked = []
    while world.batches.get(batch.id).step is BatchStep.VALIDATE:
        checked.append(len(world.rows(batch)))
        served = world.serve(batch)
        assert served is not None
        assert not world.jobs_of(batch)
    assert checked == [0, 2, 4, 6, 8]
    assert world.run_to_end(batch).counts == {"succeeded": 9}


def test_slices_find_what_one_look_at_the_file_finds() -> None:
    found = []
    for slice_s in (0, 1000):
        world = make_world(batch_slice_s=slice_s)
        world.avatars.add(make_avatar(world))
        rows: list[dict[str, Any]] = [{"id": f"r{number}", **VIDEO} for number in range(7)]
        rows[2]["frame"] = {"height_px": -1}
        rows.append({"id": "r0", **VIDEO})  # its first is slices away
        batch = world.submit_rows(*rows, kind="video", dry_run=True)
        ended = world.run_to_end(batch)
        view = view_batch(ended, objects=world.objects, link_lifetime_s=60)
        found.append((world.report(batch), ended.counts, view["estimate"], ended.num_checked))
    assert found[0] == found[1]
    assert [(row, code) for row, _, code in found[0][0]] == [(3, "invalid_request"), (8, "duplicate_id")]
    assert found[0][2]["quantities"]["output_s"] > 1
    assert AVATAR_ID


def test_file_that_turns_out_unusable_tells_the_faults_of_the_rows_before() -> None:
    world = make_world(batch_slice_s=0, max_batch_rows=5)
    batch = world.submit_rows({"duration_s": -1}, *ROWS)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.failure and ended.failure.code) == (BatchState.FAILED, "too_many_rows")
    assert world.report(batch) == [(1, "duration_s", "invalid_request"), (0, None, "too_many_rows")]
    assert ended.counts == {str(state): number for state, number in world.batches.count_rows(batch.id).items()}


def test_batch_is_steered_between_two_slices() -> None:
    world = make_world(batch_slice_s=0)
    batch = world.submit_rows(*ROWS)
    world.serve(batch)
    steer = {"tenant_id": TENANT, "batches": world.batches, "clock": world.clock}
    pause_batch(batch.id, **steer)
    for _ in range(10):
        world.serve(batch)
        world.clock.advance(1)
    assert (world.batches.get(batch.id).state, len(world.rows(batch))) == (BatchState.PAUSED, 9)
    resume_batch(batch.id, **steer)
    assert world.run_to_end(batch).counts == {"succeeded": 9}


def test_canceled_batch_is_checked_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world()
    batch = world.submit_rows(*ROWS)
    Meddler(
        world, 2, lambda: cancel_batch(batch.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    )  # before the second chunk is written
    world.serve(batch)
    assert len(world.rows(batch)) == 4
    ended = world.run_to_end(batch)
    assert (ended.state, ended.counts, ended.has_report) == (BatchState.CANCELED, {"canceled": 4}, False)

    def check(*args: object, **options: object) -> None:
        raise AssertionError("the file of a canceled batch was read")

    monkeypatch.setattr(validate_batch, "read_rows", check)
    other = world.submit_rows(*ROWS)
    world.batches.save(replace(world.batches.get(other.id), is_in_pass=True))  # a process that died in its check
    cancel_batch(other.id, tenant_id=TENANT, batches=world.batches, clock=world.clock)
    world.clock.advance(1000)
    assert world.run_to_end(other).counts == {}


class TwoTenants(BatchWorld):
    """Batches in SQLite, claimed one at a time, as a runner's thread does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(make_world(batch_slice_s=0).settings)
        self.store = SqliteBatchStore(folder / "batches.sqlite", clock=self.clock)
        self.parts = replace(self.services, batches=self.store)

    def step(self) -> str:
        """Serve whose turn it is; the batch's tenant."""
        [claimed] = self.store.claim(limit=1, lease_s=600)
        server(self.parts).serve(claimed.id)
        return claimed.tenant_id


def test_large_files_of_one_tenant_delay_anothers_small_one_by_a_slice(tmp_path: Path) -> None:
    world = TwoTenants(tmp_path)
    for _ in range(8):
        world.store.add(world.submit_rows(*ROWS, dry_run=True))
    assert [world.step() for _ in range(3)] == [TENANT] * 3
    small = world.submit_rows(ROWS[0], dry_run=True, tenant_id=OTHER_TENANT)
    world.store.add(small)
    assert world.step() == OTHER_TENANT
    assert world.store.get(small.id).finished_at is not None
    while any(batch.finished_at is None for batch in world.store.list(TENANT).items):
        world.step()


@pytest.mark.parametrize("num_columns", [MAX_COLUMNS + 1, 200_000])
def test_header_of_more_columns_than_there_can_be_is_refused_by_name(world: BatchWorld, num_columns: int) -> None:
    batch = world.submit_file(",".join(f"column{number}" for number in range(num_columns)) + "\n1\n")
    ended = world.run_to_end(batch)
    assert (ended.state, ended.failure and ended.failure.code) == (BatchState.FAILED, "too_many_columns")
    assert world.report(batch) == [(0, None, "too_many_columns")]


def test_near_names_are_looked_for_a_few_times_only(world: BatchWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    near = creation.get_close_matches

    def counted(name: str, *args: Any, **options: Any) -> Any:
        asked.append(name)
        return near(name, *args, **options)

    monkeypatch.setattr(creation, "get_close_matches", counted)
    long_name = "speech.text" * 5_000
    batch = world.submit_file(",".join([long_name, *(f"duration{number}" for number in range(900))]) + "\n1\n")
    world.run_to_end(batch)
    report = world.report(batch)
    assert (len(report), {code for _, _, code in report}) == (901, {"unknown_column"})
    assert 0 < len(asked) <= 10
    assert max(len(column or "") for _, column, _ in report) < 200
    assert long_name not in asked


@pytest.mark.parametrize(
    ("data", "media_type", "code"),
    [
        ("id\n" + "x," * (MAX_RECORD // 2 + 10), "text/csv", "row_too_large"),
        ("id\n" + '"\n",' * (MAX_RECORD // 4 + 10), "text/csv", "row_too_large"),
        ("id\na" + "\n" * (1 << 20) + "\n\n\nb\n", "text/csv", "too_many_rows"),
    ],
    ids=["a line without end", "a row of many lines", "blank rows without end"],
)
def test_file_that_would_fill_the_memory_is_refused(world: BatchWorld, data: str, media_type: str, code: str) -> None:
    batch = world.submit_file(data, media_type=media_type)
    ended = world.run_to_end(batch)
    assert ended.failure is not None
    assert (ended.state, ended.failure.code) == (BatchState.FAILED, code)


def test_line_of_json_that_is_far_too_long_is_not_even_read(world: BatchWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = json.loads
    lengths: list[int] = []

    def counted(text: str, **options: Any) -> Any:
        lengths.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", counted)
    line = json.dumps({"id": "x" * MAX_RECORD})
    batch = world.submit_file(f"{line}\n{json.dumps(ROWS[0])}\n", media_type="application/jsonl")
    assert world.run_to_end(batch).counts == {"invalid": 1, "succeeded": 1}
    assert world.report(batch) == [(1, None, "row_too_large")]
    assert max(lengths) < MAX_RECORD
