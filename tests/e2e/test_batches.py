"""Batches through the whole system: the command line, the sources of one machine, and processes that die."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest

from benchmarks.faults import Server
from services.bootstrap import Services, bootstrap
from services.domain.batch import Batch, BatchKind
from services.domain.engine import EngineKind
from services.domain.ids import new_id
from services.settings import Settings
from services.usecases.batch_objects import REPORT_JSON, answer_key
from services.usecases.submit_batch import BatchOrder, submit_batch
from spokesmodel.cli.backend import backend
from spokesmodel.runner import LocalSystem
from tests.e2e.conftest import TENANT, running
from tests.e2e.test_cli import ROOT, error_of, spokesmodel
from tests.waiting import until

AVATAR = "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"
DEFAULTS = {"presenter": {"avatar_id": AVATAR}, "frame": {"aspect": "1:1", "height_px": 128}}


def submit_noops(services: Services, num_rows: int, *, bad: int = 0) -> Batch:
    """A batch of no-ops straight into the stores, as an API process would write it; its last rows are bad."""
    rows = "duration_s\n" + "0.001\n" * (num_rows - bad) + "a while\n" * bad
    order = BatchOrder(kind=BatchKind.NOOP, upload_id=_upload(services, rows.encode()))
    return submit_batch(
        order,
        batch_id=new_id("batch"),
        tenant_id=TENANT,
        batches=services.batches,
        uploads=services.uploads,
        objects=services.objects,
        clock=services.clock,
        settings=services.settings,
    )


def _upload(services: Services, data: bytes) -> str:
    from services.domain.object_key import ObjectKey
    from services.usecases.create_upload import create_upload

    permitted = create_upload(
        upload_id=new_id("upload"),
        tenant_id=TENANT,
        file_name="rows.csv",
        media_type="text/csv",
        size_bytes=len(data),
        uploads=services.uploads,
        objects=services.objects,
        clock=services.clock,
        settings=services.settings,
    )
    services.objects.put(ObjectKey.parse(permitted.upload.object_key), data, media_type="text/csv")
    return permitted.upload.id


def test_batch_of_no_ops_runs_on_one_machine_and_bad_rows_are_told(noop_system: LocalSystem) -> None:
    services = noop_system.services
    batch = submit_noops(services, 60, bad=3)
    until(lambda: services.batches.get(batch.id).finished_at is not None)
    ended = services.batches.get(batch.id)
    assert ended.counts == {"succeeded": 57, "invalid": 3}
    report = json.loads(services.objects.get(answer_key(ended, REPORT_JSON)))
    assert [(fault["row"], fault["column"]) for fault in report["faults"]] == [
        (number, "duration_s") for number in (58, 59, 60)
    ]


@pytest.mark.slow
def test_kill_9_of_the_server_loses_and_doubles_no_row(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    server = Server(state_dir, engines="noop", num_workers=1)
    server.start()
    services = bootstrap(replace(Settings(), state_dir=state_dir))
    try:
        batch = submit_noops(services, 80)
        chance = random.Random(4)
        for _ in range(4):
            time.sleep(chance.uniform(0.2, 1.0))
            server.kill()
            server.start()
        until(lambda: services.batches.get(batch.id).finished_at is not None, timeout_s=120)
    finally:
        server.terminate()
    assert services.batches.get(batch.id).counts == {"succeeded": 80}
    rows = services.batches.rows(batch.id, limit=1000)
    assert Counter(row.tries for row in rows) == {1: 80}
    jobs = _jobs(services)
    assert sorted(job.id for job in jobs if job.batch_id == batch.id) == sorted(str(row.job_id) for row in rows)


def _jobs(services: Services) -> list[Any]:
    found, cursor = [], None
    while True:
        page = services.jobs.list(TENANT, cursor=cursor, limit=200)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.fixture(scope="module")
def server_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a server that makes videos; the commands find it there."""
    state_dir = tmp_path_factory.mktemp("batches") / "state"
    with running(state_dir, engines=(EngineKind.VIDEO,)):
        yield state_dir


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A team's folder: a table that a spreadsheet wrote, the pictures it names, and what all rows share."""
    from models import weights

    shutil.copy(weights.path("avatar-vera"), tmp_path / "vera.jpg")
    (tmp_path / "pictures").mkdir()
    shutil.copy(weights.path("avatar-vera"), tmp_path / "pictures" / "the same.jpg")
    (tmp_path / "spring.csv").write_bytes(
        "id;speech.text;speech.voice.voice_id;presenter.file;presenter.synthetic\r\n"
        "Müller 1/2;Hello there.;en-us;vera.jpg;TRUE\r\n"
        'bad;"Hello; again.";en-uk;;\r\n'
        ";Good bye.;en-us;pictures/the same.jpg;TRUE\r\n".encode("utf-16")
    )
    (tmp_path / "defaults.json").write_text(json.dumps(DEFAULTS))
    return tmp_path


def batch_command(verb: str, folder: Path, state_dir: Path, *options: str) -> Any:
    return spokesmodel("batch", verb, str(folder / "spring.csv"), "--state-dir", str(state_dir), *options)


def test_team_runs_a_table_gets_films_and_is_told_the_bad_row(folder: Path, server_dir: Path) -> None:
    options = ("--defaults", str(folder / "defaults.json"))
    run = batch_command("run", folder, server_dir, *options)
    assert run.returncode == 3, run.stderr
    told = run.stdout.splitlines()
    assert told[0].split("\t")[:4] == ["2", "bad", "speech.voice.voice_id", "voice_not_found"]
    assert told[1] == "3 rows: 1 invalid, 2 succeeded"
    results = folder / "spring-results"
    for name in ("Müller_1_2", "row-3"):
        with av.open(str(results / f"{name}.mp4")) as film:
            assert film.streams.video[0].codec_context.width == 128
        assert "-->" in (results / f"{name}.srt").read_text()
    with (results / "results.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert [(row["id"], row["state"], row["video"]) for row in rows] == [
        ("Müller 1/2", "succeeded", "Müller_1_2.mp4"),
        ("bad", "invalid", ""),
        ("", "succeeded", "row-3.mp4"),
    ]
    status = batch_command("status", folder, server_dir, "--json")
    batch = json.loads(status.stdout)
    assert (batch["state"], batch["counts"]["succeeded"]) == ("succeeded", 2)
    retry = batch_command("retry", folder, server_dir, "--json")
    assert (retry.returncode, error_of(retry)["code"]) == (3, "nothing_to_retry")


def test_dry_run_makes_nothing_and_tells_faults_and_estimate(folder: Path, server_dir: Path) -> None:
    options = ("--defaults", str(folder / "defaults.json"), "--dry-run", "--json")
    run = batch_command("run", folder, server_dir, *options)
    assert run.returncode == 3, run.stderr
    document = json.loads(run.stdout)
    assert document["batch"]["counts"] == {
        "invalid": 1, "pending": 2, "submitted": 0, "succeeded": 0, "failed": 0, "canceled": 0
    }  # fmt: skip
    assert document["batch"]["estimate"]["quantities"]["output_s"] > 1
    assert [(fault["row"], fault["column"]) for fault in document["faults"]] == [(2, "speech.voice.voice_id")]
    assert not (folder / "spring-results").exists()
    assert not (folder / "spring.csv.batch.json").exists()


def test_missing_file_is_told_before_anything_is_sent(folder: Path, server_dir: Path) -> None:
    (folder / "vera.jpg").unlink()
    run = batch_command("run", folder, server_dir, "--json")
    assert (run.returncode, error_of(run)["code"]) == (3, "invalid_rows")
    [fault] = json.loads(run.stdout)["faults"]
    assert (fault["row"], fault["column"], fault["code"]) == (1, "presenter.file", "file_not_found")


def test_file_without_a_batch_and_file_of_no_known_kind_are_wrong_usage(folder: Path, server_dir: Path) -> None:
    status = batch_command("status", folder, server_dir, "--json")
    assert (status.returncode, error_of(status)["code"]) == (2, "batch_unknown")
    sheet = folder / "spring.xlsx"
    sheet.write_bytes(b"PK\x03\x04")
    run = spokesmodel("batch", "run", str(sheet), "--state-dir", str(server_dir), "--json")
    assert (run.returncode, error_of(run)["code"]) == (2, "unsupported_media_type")


@pytest.mark.slow
def test_run_that_was_interrupted_goes_on_when_run_again_and_makes_nothing_twice(folder: Path) -> None:
    table = folder / "spring.csv"
    table.write_text("speech.text\n" + "".join(f"This is number {number}.\n" for number in range(8)))
    (folder / "defaults.json").write_text(json.dumps({**DEFAULTS, "speech": {"voice": {"voice_id": "en-us"}}}))
    state_dir = folder / "state"
    arguments = ["batch", "run", str(table), "--defaults", str(folder / "defaults.json"), "--state-dir", str(state_dir)]
    process = subprocess.Popen(
        [sys.executable, "-m", "spokesmodel", *arguments, "--json"], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    until((folder / "spring.csv.batch.json").exists)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 6, told
    assert "is kept" in json.loads(told.strip().splitlines()[-1])["error"]["detail"]
    again = spokesmodel(*arguments)
    assert again.returncode == 0, again.stderr
    assert "going on with batch_" in again.stderr
    assert again.stdout.splitlines()[0] == "8 rows: 8 succeeded"
    assert len(list((folder / "spring-results").glob("row-*.mp4"))) == 8
    services = bootstrap(replace(Settings(), state_dir=state_dir))
    [batch] = services.batches.list(_tenant(services)).items
    rows = services.batches.rows(batch.id)
    assert [row.tries for row in rows] == [1] * 8
    assert len(services.jobs.list(batch.tenant_id, limit=100).items) == 8


def _tenant(services: Services) -> str:
    """The state folder's first tenant."""
    key = (services.settings.state_dir / "api_key").read_text().strip()
    found = services.tenants.find_key(hashlib.sha256(key.encode()).hexdigest())
    assert found is not None
    return found.tenant_id


def test_retry_tries_the_failed_row_again_and_no_other(folder: Path, server_dir: Path) -> None:
    from PIL import Image

    Image.new("RGB", (256, 256), (90, 120, 90)).save(folder / "pictures" / "the same.jpg")  # nobody is in it
    options = ("--defaults", str(folder / "defaults.json"), "--json")
    run = batch_command("run", folder, server_dir, *options)
    assert run.returncode == 3, run.stderr
    before = json.loads(run.stdout)
    assert (before["batch"]["counts"]["succeeded"], before["batch"]["counts"]["failed"]) == (1, 1)
    film = folder / "spring-results" / "Müller_1_2.mp4"
    made = (film.read_bytes(), film.stat().st_mtime_ns)
    retry = batch_command("retry", folder, server_dir, "--json")
    assert retry.returncode == 3, retry.stderr
    after = json.loads(retry.stdout)
    assert after["batch"]["counts"] == before["batch"]["counts"]
    assert [(fault["row"], fault["code"]) for fault in after["faults"]] == [
        (2, "voice_not_found"),
        (3, "face_not_found"),
    ]
    assert (film.read_bytes(), film.stat().st_mtime_ns) == made, "what succeeded is neither made nor fetched again"
    with backend(server_dir) as client:
        rows = list(client.items(f"/v1/batches/{after['batch']['id']}/rows"))
    assert [(row["state"], row["tries"]) for row in rows] == [("succeeded", 1), ("invalid", 0), ("failed", 2)]


def test_batch_is_paused_resumed_and_canceled_by_command(folder: Path, server_dir: Path) -> None:
    body = {"defaults": DEFAULTS, "rows": [{"speech": {"text": "Hello.", "voice": {"voice_id": "en-us"}}}] * 2}

    def command(verb: str, batch_id: str, *options: str) -> Any:
        done = spokesmodel("batch", verb, batch_id, "--state-dir", str(server_dir), *options)
        assert not done.stderr.startswith("error"), done.stderr
        return done

    with backend(server_dir) as client:
        first, second = client.post("/v1/batches", body), client.post("/v1/batches", body)
        for batch in (first, second):  # before anything of them can have ended
            assert client.post(f"/v1/batches/{batch['id']}/pause")["state"] == "paused"
        for verb in ("pause", "status"):
            paused = command(verb, first["id"])
            assert (paused.returncode, paused.stdout.splitlines()[0]) == (0, f"{first['id']}: paused")
        resumed = command("resume", first["id"], "--out", str(folder / "films"))
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stdout.splitlines()[0] == "2 rows: 2 succeeded"
        assert sorted(path.name for path in (folder / "films").glob("*.mp4")) == ["row-1.mp4", "row-2.mp4"]
        canceled = command("cancel", second["id"], "--json")
        assert canceled.returncode == 0, canceled.stderr
        told = json.loads(canceled.stdout)
        assert (told["state"], told["counts"]["succeeded"]) == ("canceled", 0)
        assert told["finished_at"] is not None
        again = command("cancel", first["id"], "--json")
        assert error_of(again)["code"] == "batch_is_final"
