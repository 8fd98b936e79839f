PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE engine_attempts (
        job_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'answered', 'heard')),
        due_at INTEGER NOT NULL,
        num_claims INTEGER NOT NULL DEFAULT 0,
        request TEXT NOT NULL,
        answer TEXT,
        PRIMARY KEY (job_id, attempt)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "engine_attempts" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ2',1,'queued',1796058097715639,0,'{"kind":"video","tenant_id":"tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ","job_id":"job_01JZZZZZZZZZZZZZZZZZZZZZZ2","attempt":1,"storyboard_key":"work/tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ/job_01JZZZZZZZZZZZZZZZZZZZZZZ2/0/storyboard.json","deadline_at":"2026-11-01T10:00:00.123456Z"}',NULL);
CREATE INDEX engine_attempts_due ON engine_attempts (state, due_at);
COMMIT;
