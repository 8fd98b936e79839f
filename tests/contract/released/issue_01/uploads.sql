PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE uploads (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        object_key TEXT NOT NULL,
        media_type TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        file_name TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "uploads" VALUES('upload_01JZZZZZZZZZZZZZZZZZZZZZZ1','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','upload/tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ/upload_01JZZZZZZZZZZZZZZZZZZZZZZ1/0/file.png','image/png',12,'小明''s photo.png',1793523600123456);
COMMIT;
