PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE api_keys (
        sha256 TEXT PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        created_at INTEGER NOT NULL,
        revoked_at INTEGER
    ) WITHOUT ROWID;
INSERT INTO "api_keys" VALUES('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','key_01JZZZZZZZZZZZZZZZZZZZZZZ1','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ',1793523600123456,NULL);
INSERT INTO "api_keys" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','key_01JZZZZZZZZZZZZZZZZZZZZZZ2','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ',1793523600123456,1793610000123456);
CREATE TABLE tenants (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        webhook_secret TEXT NOT NULL,
        max_outstanding INTEGER NOT NULL,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "tenants" VALUES('tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','Acme','whsec_c2VjcmV0IG9mIGEgdGVuYW50IGluIGEgdGVzdA==',4,1793523600123456);
COMMIT;
