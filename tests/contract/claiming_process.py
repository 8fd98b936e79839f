"""A process that claims jobs and finishes them until none is left; run by ``test_processes``."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

from services.adapters.local.clock import SystemClock
from services.adapters.local.jobs import SqliteJobStore
from services.domain.errors import Conflict
from services.domain.job import JobStep


def main(path: Path, name: str, lease_s: float) -> None:
    jobs = SqliteJobStore(path, clock=SystemClock())
    while jobs.outstanding() < int(sys.argv[4]):
        for job in jobs.claim(JobStep.PREPARE, limit=2, lease_s=lease_s):
            time.sleep(0.001)
            try:
                jobs.save(replace(job, step=JobStep.RUN, callback_id=name))
            except Conflict:  # the lease ran out and another process was quicker
                continue


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
