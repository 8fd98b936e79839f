"""Nothing of what clients wrote, and no secret, reaches a log: one whole run, debug logs on, everything searched."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from models import weights
from spokesmodel.client import Client
from spokesmodel.state_folder import running_server
from tests.waiting import until
from tests.web_server import WebServer, ok, status

MARK: Final = "Quokka"  # never a word of ours
HOOK: Final = f"/{MARK}-hook?token={MARK}"
FRAME: Final = {"aspect": "1:1", "height_px": 128}
VOICE: Final = {"voice_id": "en-us"}
_DATABASES_THAT_LOG: Final = ("deliveries.sqlite", "audit.sqlite")


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    """Takes callbacks; those to ``broken`` get 500. Its picture is none."""
    made = WebServer()
    made.answers[HOOK], made.answers[HOOK.replace("hook", "broken")] = status(204), status(500)
    made.answers[f"/{MARK}.png"] = ok(f"<html>{MARK} is no picture</html>".encode(), f"Content-Type: image/{MARK}")
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    """``spokesmodel serve`` as a user starts it, talkative; its state folder. What it printed is in ``output``."""
    state_dir = tmp_path / "state"
    environment = {
        **os.environ,
        "POWERTOOLS_LOG_LEVEL": "DEBUG",
        "SPOKESMODEL_ALLOW_PRIVATE_CALLBACKS": "true",
        "PYTHONFAULTHANDLER": "1",
    }
    command = [sys.executable, "-m", "spokesmodel", "serve", "--port", "0", "--state-dir", str(state_dir)]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            until(lambda: running_server(state_dir) is not None or process.poll() is not None)
            assert process.poll() is None, (tmp_path / "output").read_text()
            yield state_dir
        finally:
            process.terminate()
            process.wait(30)


def ended(client: Client, body: dict[str, Any]) -> dict[str, Any]:
    return client.wait(client.post("/v1/videos", body)["id"])


@pytest.mark.slow
def test_no_content_and_no_secret_is_in_any_log(server: Path, receiver: WebServer, tmp_path: Path) -> None:
    running = running_server(server)
    assert running is not None
    hook = receiver.url(HOOK)
    secrets = [running.api_key]
    with Client(running.url, running.api_key) as client:
        secrets.append(client.get("/v1/account")["webhook_secret"])
        portrait = tmp_path / f"{MARK} face.jpg"
        portrait.write_bytes(weights.path("avatar-vera").read_bytes())
        landscape = tmp_path / f"{MARK} hill.bmp"
        landscape.write_bytes(flat_picture())
        form = tmp_path / f"{MARK}.pdf"
        form.write_bytes(f"%PDF-1.7 {MARK}".encode())

        # A video from a brief, of an uploaded face under a consent, with a callback.
        consent = client.post(
            "/v1/consents",
            {
                "subject": f"{MARK} Ann",
                "likenesses": ["face"],
                "purpose": f"{MARK} campaign",
                "evidence_upload_id": client.upload(form, fallback_type="application/pdf"),
            },
        )
        secrets.append(signature_of(consent["evidence_url"]))
        avatar = client.post(
            "/v1/avatars",
            {
                "name": f"{MARK} name",
                "upload_id": client.upload(portrait, fallback_type="image/jpeg"),
                "consent_id": consent["id"],
            },
        )
        secrets.append(signature_of(avatar["preview_url"]))
        brief = {"product": f"{MARK} shoe", "benefits": [f"{MARK} light"], "language": "en-US", "duration_s": 4}
        made = ended(
            client,
            {
                "presenter": {"avatar_id": avatar["id"]},
                "speech": {"brief": brief, "voice": {**VOICE, "pronunciations": {MARK: "kwocka"}}},
                "frame": FRAME,
                "callback_url": hook,
                "callback_id": f"{MARK}-1",
            },
        )
        assert made["state"] == "succeeded", made["failure"]
        for output in made["result"]["outputs"]:
            assert httpx.get(output["url"]).status_code == 200
            secrets.append(signature_of(output["url"]))
        until(lambda: any("hook" in path for path in receiver.paths))

        # Failures at every place: the engine, the source URL, the callback, the request, the key.
        presenter = {"upload_id": client.upload(landscape, fallback_type="image/bmp"), "synthetic": True}
        text = {"text": f"{MARK} says hello.", "voice": VOICE}
        failed = ended(
            client,
            {
                "presenter": presenter,
                "speech": text,
                "frame": FRAME,
                "callback_url": hook.replace("hook", "broken"),
            },
        )
        assert failed["failure"]["code"] == "face_not_found"
        until(lambda: any("broken" in path for path in receiver.paths))
        for url in (receiver.url(f"/{MARK}.png"), f"http://127.0.0.1:9/{MARK}"):
            client.post("/v1/videos", {"presenter": {"source_url": url, "synthetic": True}, "speech": text})
        unreachable = client.post(
            "/v1/videos",
            {
                "presenter": {"avatar_id": avatar["id"]},
                "speech": text,
                "frame": FRAME,
                "callback_url": f"http://127.0.0.1:9/{MARK}?{MARK}",
            },
        )
        client.wait(unreachable["id"])
        until(lambda: client.get(f"/v1/jobs/{unreachable['id']}")["deliveries"])
        issued = client.post("/v1/keys", {"name": f"{MARK} key", "scopes": ["read"]})
        secrets.append(issued["secret"])
        odd_requests(running.url, running.api_key)
        client.post(f"/v1/consents/{consent['id']}/revoke")
        httpx.delete(
            f"{running.url}/v1/subjects/{MARK} Ann", headers={"Authorization": f"Bearer {running.api_key}"}
        ).raise_for_status()
        secrets.append((server / "signing.secret").read_text())

    logs = {path: path.read_text(errors="replace") for path in [tmp_path / "output", *server.rglob("*.log")]}
    assert "job served" in logs[tmp_path / "output"], "the logs are there"
    assert made["id"] in logs[tmp_path / "output"], "and name jobs"
    found = {
        f"{path.name}: {line}"
        for path, text_ in logs.items()
        for line in text_.splitlines()
        if MARK.lower() in line.lower() or any(secret in line for secret in secrets if secret != running.api_key)
    }
    assert found == set()
    # At its start the server shows its user the first key, once, as the documentation says.
    shown = [line for text_ in logs.values() for line in text_.splitlines() if running.api_key in line]
    assert len(shown) <= 1
    for line in database_logs(server):
        assert MARK.lower() not in line.lower(), line
        assert not any(secret in line for secret in secrets), line


def odd_requests(url: str, key: str) -> None:
    """Requests that are refused in as many places as there are."""
    headers = {"Authorization": f"Bearer {key}"}
    for method, path, options in (
        ("GET", f"/v1/{MARK}", {}),
        ("GET", f"/v1/jobs?{MARK}={MARK}", {}),
        ("GET", f"/v1/jobs/{MARK}", {}),
        ("GET", "/v1/jobs", {"headers": {"Authorization": f"Bearer sk_{MARK}{'x' * 30}"}}),
        ("POST", "/v1/videos", {"content": f"{{{MARK}".encode()}),
        ("POST", "/v1/videos", {"json": {MARK: MARK}}),
        ("POST", "/v1/videos", {"content": b"\xff" + MARK.encode()}),
        ("POST", "/v1/scripts", {"json": {"brief": {"product": MARK, "language": MARK, "duration_s": 5}}}),
        ("POST", "/v1/uploads", {"json": {"file_name": MARK, "media_type": f"text/{MARK}", "size_bytes": 1}}),
        ("PUT", f"/objects/upload/{MARK}?signature={MARK}", {"content": MARK.encode()}),
        ("GET", f"/objects/result/{MARK}?signature={MARK}", {}),
    ):
        answer = httpx.request(method, url + path, **{"headers": headers, **options})
        assert 400 <= answer.status_code < 500, (method, path, answer.status_code)


def signature_of(url: str) -> str:
    """The secret part of a signed link."""
    query = httpx.URL(url).params
    [signature] = [value for name, value in query.items() if name.lower().endswith("signature")]
    return str(signature)


def database_logs(state_dir: Path) -> Iterator[str]:
    """Rows of the databases that are logs: what was delivered, who did what."""
    for name in _DATABASES_THAT_LOG:
        with closing(sqlite3.connect(state_dir / name)) as connection:
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                rows = connection.execute(f"SELECT * FROM {table}").fetchall()
                assert rows or table != "entries"
                yield from (f"{name} {row}" for row in rows)


def flat_picture() -> bytes:
    """A BMP of one colour: a picture without a face."""
    width = height = 128
    pixels = bytes((120, 160, 90)) * (width * height)
    header = b"BM" + (54 + len(pixels)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    info = (40).to_bytes(4, "little") + width.to_bytes(4, "little") + height.to_bytes(4, "little")
    return header + info + (1).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(24) + pixels
