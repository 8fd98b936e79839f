"""Disclosure through the real system: what a client downloads is labelled, marked and signed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from models.provenance.inspection import inspect_file
from services.adapters.local.signer import FILE_NAME
from services.domain.engine import EngineKind
from spokesmodel.cli.app import app
from spokesmodel.client import Client
from spokesmodel.runner import LocalSystem
from tests.e2e.conftest import running
from tests.e2e.test_video import video

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("disclosure") / "state", engines=(EngineKind.VIDEO,)) as system:
        yield system


@pytest.fixture(scope="module")
def client(system: LocalSystem) -> Iterator[Client]:
    with Client(system.url, system.api_key) as client:
        yield client


def test_downloads_verify_and_the_switch_is_on_record(system: LocalSystem, client: Client, tmp_path: Path) -> None:
    job = client.wait(client.post("/v1/videos", video("Hi.", disclosure={"visible_label": False}))["id"])
    assert job["state"] == "succeeded", job["failure"]
    assert job["result"]["facts"]["visible_label"] is False
    checked = 0
    for output in job["result"]["outputs"]:
        path = tmp_path / f"{output['name']}.{output['media_type'].split('/')[1].split(';')[0]}"
        client.download(output["url"], path)
        assert path.stat().st_size == output["size_bytes"]
        if output["media_type"] in ("video/mp4", "image/jpeg"):
            assert inspect_file(path).is_verified
            assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 0
            checked += 1
    assert checked == 2
    key = system.services.settings.state_dir / FILE_NAME
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    acts = {entry.action: entry.target for entry in system.services.audit.list(job_tenant(system, job["id"])).items}
    assert acts["label.turned_off"] == job["id"]


def job_tenant(system: LocalSystem, job_id: str) -> str:
    return system.services.jobs.get(job_id).tenant_id
