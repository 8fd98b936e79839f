PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE deliveries (
        number INTEGER PRIMARY KEY,
        job_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        status INTEGER,
        error TEXT
    ) STRICT;
INSERT INTO "deliveries" VALUES(1,'job_01JZZZZZZZZZZZZZZZZZZZZZZ4','event_x_failed',1793523600123456,503,NULL);
CREATE INDEX deliveries_by_job ON deliveries (job_id, number);
COMMIT;
