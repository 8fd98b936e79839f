from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lambdas.batch import server
from services.domain.batch import Batch, BatchKind, BatchRow
from services.domain.engine import Failure
from services.domain.ids import new_id
from services.domain.job import Job, JobStep
from services.settings import Settings
from services.usecases.batch_file import CSV, JSONL
from services.usecases.batch_objects import REPORT_JSON, answer_key
from services.usecases.claim_step import claim_step
from services.usecases.submit_batch import BatchOrder, submit_batch
from tests.fakes.world import TENANT, World


class BatchWorld(World):
    """A world with batches, whose steps are served one at a time."""

    def submit_file(self, data: bytes | str, *, media_type: str = CSV, tenant_id: str = TENANT, **order: Any) -> Batch:
        """A batch of an uploaded file; of no-ops, unless ``kind`` says otherwise."""
        data = data.encode() if isinstance(data, str) else data
        held_by = order.pop("held_by", None)
        upload_id = self.upload(media_type, data, tenant_id)
        return self.order(BatchOrder(**{"kind": BatchKind.NOOP, "upload_id": upload_id, **order}), tenant_id, held_by)

    def submit_rows(self, *rows: Mapping[str, Any], **order: Any) -> Batch:
        """A batch of these bodies."""
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        return self.submit_file(lines, media_type=JSONL, **order)

    def order(self, order: BatchOrder, tenant_id: str = TENANT, held_by: Failure | None = None) -> Batch:
        return submit_batch(
            order,
            batch_id=new_id("batch"),
            tenant_id=tenant_id,
            batches=self.batches,
            uploads=self.uploads,
            objects=self.objects,
            clock=self.clock,
            settings=self.settings,
            held_by=held_by,
        )

    def serve(self, batch: Batch | str) -> Batch | None:
        """The batch after its next step."""
        return server(self.services).serve(batch if isinstance(batch, str) else batch.id)

    def work(self, *, num_jobs: int = 1000, fail: Sequence[str] = ()) -> list[Job]:
        """Let an engine end up to ``num_jobs`` jobs, fairly claimed; those in ``fail`` fail. In their order."""
        for job in self._claim(JobStep.PREPARE, num_jobs):
            self.prepare(job.id)
        ended = []
        for job in self._claim(JobStep.DISPATCH, num_jobs):
            started = self.dispatch(job.id)
            if started.step is JobStep.RUN:
                answer = self.failed(started, retryable=False) if job.id in fail else self.answer(started)
                self.complete(answer)
                ended.append(started)
        return ended

    def run_to_end(self, batch: Batch, *, max_turns: int = 1000) -> Batch:
        """Serve the batch and its jobs, in turns, until nothing is left to do."""
        for _ in range(max_turns):
            self.serve(batch)
            batch = self.batches.get(batch.id)
            if batch.finished_at is not None:
                return batch
            self.work()
            self.clock.advance(1)
        raise AssertionError(f"the batch never ended: {batch}")

    def rows(self, batch: Batch) -> list[BatchRow]:
        return list(self.batches.rows(batch.id, limit=100_000))

    def states(self, batch: Batch) -> list[str]:
        return [str(row.state) for row in self.rows(batch)]

    def report(self, batch: Batch) -> list[tuple[int, str | None, str]]:
        """Row, column and code of every fault in the stored report."""
        report = json.loads(self.objects.get(answer_key(batch, REPORT_JSON)))
        return [(fault["row"], fault["column"], fault["code"]) for fault in report["faults"]]

    def jobs_of(self, batch: Batch) -> list[Job]:
        page = self.jobs.list(batch.tenant_id, limit=100_000)
        return [job for job in page.items if job.batch_id == batch.id]

    def _claim(self, step: JobStep, limit: int) -> Sequence[Job]:
        return claim_step(step, limit=limit, lease_s=30, jobs=self.jobs, engine=self.engine, tenants=self.tenants)


def make_world(**settings: Any) -> BatchWorld:
    return BatchWorld(replace(Settings(), **settings))


@pytest.fixture
def world() -> BatchWorld:
    return make_world()
