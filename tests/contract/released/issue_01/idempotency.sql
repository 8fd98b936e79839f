PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE first_answers (
        tenant_id TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        reserved_until INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        status INTEGER,
        headers TEXT,
        body TEXT,
        PRIMARY KEY (tenant_id, key)
    ) WITHOUT ROWID;
INSERT INTO "first_answers" VALUES('tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','campaign-42','ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff','job_01JZZZZZZZZZZZZZZZZZZZZZZ3',1796058127714807,1796058097714807,202,'{"Location": "/v1/jobs/job_01JZZZZZZZZZZZZZZZZZZZZZZ3"}','{"id": "job_01JZZZZZZZZZZZZZZZZZZZZZZ3"}');
CREATE INDEX first_answers_by_age ON first_answers (created_at);
COMMIT;
