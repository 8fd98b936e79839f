PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE usage (
        job_id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        quantities TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "usage" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ3','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','video','{"output_s": 6.4, "characters": 50.0}',1793523609123456);
CREATE INDEX usage_by_tenant ON usage (tenant_id, at);
COMMIT;
