PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE avatars (
        id TEXT PRIMARY KEY,
        tenant_id TEXT,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        object_key TEXT NOT NULL,
        media_type TEXT NOT NULL,
        licence TEXT,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "avatars" VALUES('avatar_01JZZZZZZZZZZZZZZZZZZZZZZ1','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','Vera','picture','catalogue/tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ/avatar_01JZZZZZZZZZZZZZZZZZZZZZZ1/0/picture.png','image/png',NULL,1793523600123456);
CREATE INDEX avatars_by_tenant ON avatars (tenant_id, id);
COMMIT;
