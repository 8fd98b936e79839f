PRAGMA user_version=1;
BEGIN TRANSACTION;
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
INSERT INTO "jobs" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ1','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','video','queued','prepare',1793523600123456,0,0,NULL,0,'{"id":"job_01JZZZZZZZZZZZZZZZZZZZZZZ1","tenant_id":"tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ","kind":"video","request":{"presenter":{"avatar_id":"avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4","upload_id":null,"face":null},"speech":{"voice":{"voice_id":"en-us","speed":1.0,"pitch":0.0,"volume":1.0,"pause_s":0.0,"pronunciations":{}},"text":"Grüße, ''quoted''; -- 图","brief":null,"language":null},"frame":{"aspect":"9:16","fps":25,"height_px":null},"background":{"kind":"original","color":null,"upload_id":null},"subtitles":"file","seed":0},"created_at":"2026-11-01T09:00:00.123456Z","updated_at":"2026-11-01T09:00:00.123456Z","available_at":"2026-11-01T09:00:00.123456Z","state":"queued","step":"prepare","step_tries":0,"attempt":0,"progress":{"stage":"queued","fraction":0.0,"sequence":-1},"storyboard_key":null,"deadline_at":null,"finished_at":null,"result":null,"failure":null,"callback_url":null,"callback_id":null,"version":0}');
INSERT INTO "jobs" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ2','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','video','processing','run',1793523600123456,0,0,1793527200123456,0,'{"id":"job_01JZZZZZZZZZZZZZZZZZZZZZZ2","tenant_id":"tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ","kind":"video","request":{"presenter":{"avatar_id":"avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4","upload_id":null,"face":null},"speech":{"voice":{"voice_id":"en-us","speed":1.0,"pitch":0.0,"volume":1.0,"pause_s":0.0,"pronunciations":{}},"text":"Grüße, ''quoted''; -- 图","brief":null,"language":null},"frame":{"aspect":"9:16","fps":25,"height_px":null},"background":{"kind":"original","color":null,"upload_id":null},"subtitles":"file","seed":0},"created_at":"2026-11-01T09:00:00.123456Z","updated_at":"2026-11-01T09:00:00.123456Z","available_at":"2026-11-01T09:00:00.123456Z","state":"processing","step":"run","step_tries":0,"attempt":1,"progress":{"stage":"render","fraction":0.5,"sequence":3},"storyboard_key":"work/tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ/job_01JZZZZZZZZZZZZZZZZZZZZZZ2/0/storyboard.json","deadline_at":"2026-11-01T10:00:00.123456Z","finished_at":null,"result":null,"failure":null,"callback_url":null,"callback_id":null,"version":0}');
INSERT INTO "jobs" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ3','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','video','succeeded','none',1793523600123456,0,0,NULL,0,'{"id":"job_01JZZZZZZZZZZZZZZZZZZZZZZ3","tenant_id":"tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ","kind":"video","request":{"presenter":{"avatar_id":"avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4","upload_id":null,"face":null},"speech":{"voice":{"voice_id":"en-us","speed":1.0,"pitch":0.0,"volume":1.0,"pause_s":0.0,"pronunciations":{}},"text":"Grüße, ''quoted''; -- 图","brief":null,"language":null},"frame":{"aspect":"9:16","fps":25,"height_px":null},"background":{"kind":"original","color":null,"upload_id":null},"subtitles":"file","seed":0},"created_at":"2026-11-01T09:00:00.123456Z","updated_at":"2026-11-01T09:00:00.123456Z","available_at":"2026-11-01T09:00:00.123456Z","state":"succeeded","step":"none","step_tries":0,"attempt":1,"progress":{"stage":"queued","fraction":0.0,"sequence":-1},"storyboard_key":null,"deadline_at":null,"finished_at":"2026-11-01T09:00:09.123456Z","result":{"outputs":[{"name":"video","key":"result/tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ/job_01JZZZZZZZZZZZZZZZZZZZZZZ3/1/video.mp4","media_type":"video/mp4","size_bytes":7,"sha256":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"}],"facts":{"duration_s":6.4},"usage":{"output_s":6.4,"characters":50.0}},"failure":null,"callback_url":"https://client.example/hook","callback_id":"mine","version":0}');
INSERT INTO "jobs" VALUES('job_01JZZZZZZZZZZZZZZZZZZZZZZ4','tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ','video','failed','notify',1793523600123456,0,0,NULL,0,'{"id":"job_01JZZZZZZZZZZZZZZZZZZZZZZ4","tenant_id":"tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ","kind":"video","request":{"presenter":{"avatar_id":"avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4","upload_id":null,"face":null},"speech":{"voice":{"voice_id":"en-us","speed":1.0,"pitch":0.0,"volume":1.0,"pause_s":0.0,"pronunciations":{}},"text":"Grüße, ''quoted''; -- 图","brief":null,"language":null},"frame":{"aspect":"9:16","fps":25,"height_px":null},"background":{"kind":"original","color":null,"upload_id":null},"subtitles":"file","seed":0},"created_at":"2026-11-01T09:00:00.123456Z","updated_at":"2026-11-01T09:00:00.123456Z","available_at":"2026-11-01T09:00:00.123456Z","state":"failed","step":"notify","step_tries":0,"attempt":3,"progress":{"stage":"queued","fraction":0.0,"sequence":-1},"storyboard_key":null,"deadline_at":null,"finished_at":"2026-11-01T09:01:39.123456Z","result":null,"failure":{"code":"engine_failed","detail":"It broke.","retryable":true,"param":null},"callback_url":"https://client.example/hook","callback_id":null,"version":0}');
CREATE TABLE turns (
        step TEXT NOT NULL,
        tenant_id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        PRIMARY KEY (step, tenant_id)
    ) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_by_step ON jobs (step, tenant_id, due_at, id);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);
CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE step = 'run';
COMMIT;
