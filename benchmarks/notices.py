"""10,000 jobs while everything goes wrong at once: kills, notices dropped, doubled and late, webhooks slow and refused.

The parts are in ``benchmarks.faults`` and ``benchmarks.faulty_server``.
"""

from __future__ import annotations

import sys

from benchmarks.faults import row_of, run_everything
from benchmarks.measure import Row

NUM_JOBS = 10_000


def rows(num_jobs: int = NUM_JOBS) -> list[Row]:
    """One run."""
    return [row_of("kill -9, faulty notices and slow webhooks under {} no-op jobs", run_everything, num_jobs)]


if __name__ == "__main__":
    print(*rows(int(sys.argv[1]) if len(sys.argv) > 1 else NUM_JOBS))
