"""The tables of jobs and turns in SQLite, and whose turn it is."""

from __future__ import annotations

from typing import Final

# `due_at` is when the step may next be claimed: the job's `available_at`, or the end of the running claim.
# `turns` remembers which tenant was served when, in claims counted by `turn`.
MIGRATIONS: Final = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        step TEXT NOT NULL,
        due_at INTEGER NOT NULL,
        claimed INTEGER NOT NULL DEFAULT 0,
        step_tries INTEGER NOT NULL,
        deadline_at INTEGER,
        version INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX jobs_by_step ON jobs (step, tenant_id, due_at, id);
    CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);
    CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE step = 'run';
    CREATE TABLE turns (
        step TEXT NOT NULL,
        tenant_id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        PRIMARY KEY (step, tenant_id)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    CREATE INDEX jobs_by_state ON jobs (tenant_id, state, id);
    """,
    """
    ALTER TABLE jobs ADD COLUMN finished_at INTEGER;
    UPDATE jobs SET finished_at = CAST(strftime('%s', json_extract(body, '$.finished_at')) AS INTEGER) * 1000000
        WHERE json_extract(body, '$.finished_at') IS NOT NULL;
    CREATE INDEX jobs_by_end ON jobs (finished_at) WHERE finished_at IS NOT NULL;
    """,
    """
    CREATE TABLE holdings (
        tenant_id TEXT PRIMARY KEY,
        month TEXT NOT NULL,
        made_ms INTEGER NOT NULL,
        open_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)

# The tenants that have rows at a step, least recently served first, by skipping through the index.
TENANTS_IN_TURN: Final = """
    WITH RECURSIVE waiting (tenant_id) AS (
        SELECT min(tenant_id) FROM jobs WHERE step = :step
        UNION ALL
        SELECT (SELECT min(tenant_id) FROM jobs WHERE step = :step AND tenant_id > waiting.tenant_id)
        FROM waiting WHERE waiting.tenant_id IS NOT NULL
    )
    SELECT waiting.tenant_id, coalesce(turns.turn, 0) AS turn
    FROM waiting LEFT JOIN turns ON turns.step = :step AND turns.tenant_id = waiting.tenant_id
    WHERE waiting.tenant_id IS NOT NULL
    ORDER BY turn, waiting.tenant_id
"""
