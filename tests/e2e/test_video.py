"""A video through HTTP and the real engine."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import httpx
import pytest

from services.domain.engine import EngineKind
from spokesmodel.client import Client
from spokesmodel.first_start import BUILT_IN_AVATARS
from spokesmodel.runner import LocalSystem
from tests.e2e.conftest import running
from tests.waiting import until

VERA = BUILT_IN_AVATARS[0].id
SHORT = {"text": "Good morning. This is a short test.", "voice": {"voice_id": "en-us"}}
SMALL = {"aspect": "1:1", "height_px": 256}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("video") / "state", engines=(EngineKind.VIDEO,)) as system:
        yield system


@pytest.fixture(scope="module")
def client(system: LocalSystem) -> Iterator[Client]:
    with Client(system.url, system.api_key) as client:
        yield client


def video(text: str | None = None, **changes: Any) -> dict[str, Any]:
    speech = SHORT if text is None else {**SHORT, "text": text}
    return {"presenter": {"avatar_id": VERA}, "speech": speech, "frame": SMALL, **changes}


def plain_png(width: int, height: int) -> bytes:
    """A picture of nothing, by the PNG specification alone."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes((y % 256, 120, 200)) * width for y in range(height))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def usage_of(client: Client) -> dict[str, Any]:
    totals = client.get("/v1/usage")["totals"]
    return totals[0] if totals else {"num_jobs": 0, "quantities": {"output_s": 0.0}}


def test_video_is_made_and_downloaded(client: Client, tmp_path: Path) -> None:
    before = usage_of(client)
    job = client.wait(client.post("/v1/videos", video())["id"])
    assert job["state"] == "succeeded", job["failure"]
    outputs = {output["name"]: output for output in job["result"]["outputs"]}
    assert set(outputs) == {"video", "poster", "script", "subtitles_srt", "subtitles_vtt"}
    for output in outputs.values():
        data = httpx.get(output["url"]).content
        assert len(data) == output["size_bytes"]
        assert hashlib.sha256(data).hexdigest() == output["sha256"]
    path = tmp_path / "video.mp4"
    client.download(outputs["video"]["url"], path)
    facts = job["result"]["facts"]
    with av.open(path) as film:
        picture, sound = film.streams.video[0], film.streams.audio[0]
        assert (picture.codec_context.name, sound.codec_context.name) == ("h264", "aac")
        assert (picture.width, picture.height) == (256, 256) == (facts["width_px"], facts["height_px"])
        assert sum(1 for _ in film.decode(video=0)) == facts["num_frames"]
    assert 1.0 < facts["duration_s"] < 8.0
    assert facts["timeline_source"] == "synthesis"
    assert "WEBVTT" in httpx.get(outputs["subtitles_vtt"]["url"]).text
    until(lambda: usage_of(client)["num_jobs"] == before["num_jobs"] + 1)
    added = usage_of(client)["quantities"]["output_s"] - before["quantities"]["output_s"]
    assert added == pytest.approx(facts["duration_s"], abs=0.01)


def test_client_that_waits_gets_the_result_at_once(client: Client) -> None:
    job = client.post("/v1/videos", video("Hello."), Prefer="wait=20")
    assert job["state"] == "succeeded", job["failure"]


def test_repeated_request_makes_one_video(client: Client) -> None:
    key = {"Idempotency-Key": "e2e-once"}
    first = client.post("/v1/videos", video("Once."), **key)
    second = client.post("/v1/videos", video("Once."), **key)
    assert first["id"] == second["id"]
    client.wait(first["id"])


def test_picture_without_a_face_fails_by_name_and_is_not_charged(client: Client, tmp_path: Path) -> None:
    before = usage_of(client)["num_jobs"]
    picture = tmp_path / 'Wiese "und" Himmel 草地.png'
    picture.write_bytes(plain_png(400, 400))
    upload_id = client.upload(picture, fallback_type="image/png")
    job = client.wait(client.post("/v1/videos", video(presenter={"upload_id": upload_id, "synthetic": True}))["id"])
    assert job["state"] == "failed"
    assert job["failure"]["code"] == "face_not_found"
    assert job["result"] is None
    assert usage_of(client)["num_jobs"] == before


def test_running_video_is_canceled(client: Client) -> None:
    job_id = client.post("/v1/videos", video("This goes on for long. " * 60))["id"]
    until(lambda: client.get(f"/v1/jobs/{job_id}")["progress"]["fraction"] > 0)
    client.cancel(job_id)
    job = client.wait(job_id)
    assert (job["state"], job["result"], job["failure"]) == ("canceled", None, None)


def test_video_is_made_again_when_its_worker_is_killed(system: LocalSystem, client: Client) -> None:
    job_id = client.post("/v1/videos", video("This goes on for a while, long enough to be hit. " * 24))["id"]
    until(lambda: client.get(f"/v1/jobs/{job_id}")["progress"]["fraction"] > 0)
    pid = system.endpoints[0].worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    job = client.wait(job_id)
    assert (job["state"], job["attempt"]) == ("succeeded", 2), job["failure"]
    video_output = next(output for output in job["result"]["outputs"] if output["name"] == "video")
    assert f"/{job_id}/2/" in video_output["url"]
