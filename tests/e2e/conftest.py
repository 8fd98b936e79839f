"""Whole systems: API, event sources, endpoint threads and worker processes, on free ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.domain.engine import EngineKind
from services.domain.ids import new_id
from services.domain.job import Job
from services.settings import Settings
from services.usecases.submit_noop import submit_noop
from spokesmodel.runner import LocalSystem
from tests.waiting import until

TENANT = "tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6"


@contextmanager
def running(
    state_dir: Path, *, engines: tuple[EngineKind, ...] = (EngineKind.NOOP,), **settings: Any
) -> Iterator[LocalSystem]:
    """A system whose workers are ready."""
    chosen = replace(Settings(), state_dir=state_dir, **settings)
    with LocalSystem(chosen, engines=engines, quiet=True) as system:
        system.wait_for_workers()
        yield system


def submit(system: LocalSystem, order: Mapping[str, Any]) -> str:
    """A no-op job's id."""
    services = system.services
    job_id = new_id("job")
    submit_noop(
        order, job_id=job_id, tenant_id=TENANT, jobs=services.jobs, clock=services.clock, settings=services.settings
    )
    return job_id


def ended(system: LocalSystem, job_id: str) -> Job:
    """The job once it is final."""
    until(lambda: system.services.jobs.get(job_id).state.is_final)
    return system.services.jobs.get(job_id)


@pytest.fixture
def noop_system(tmp_path: Path) -> Iterator[LocalSystem]:
    with running(tmp_path / "state") as system:
        yield system
