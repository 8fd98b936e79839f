"""Interactive work has workers of its own."""

from __future__ import annotations

import io
from pathlib import Path

import httpx
from PIL import Image

from services.domain.engine import EngineKind, Lane
from services.domain.job import JobState
from tests.e2e.conftest import running, submit
from tests.waiting import until


def test_product_is_taken_in_while_the_only_worker_of_long_jobs_is_busy(tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (640, 640), "white").save(picture, "PNG")
    with running(tmp_path / "state", engines=(EngineKind.NOOP, EngineKind.PRODUCT)) as system:
        assert [endpoint.worker.name for endpoint in system.endpoints] == ["worker-0", "preview-worker-0"]
        jobs = system.services.jobs
        long = [submit(system, {"duration_s": 600}) for _ in range(3)]
        until(lambda: jobs.outstanding(lane=Lane.LONG) >= 2)  # the only worker has one, another waits behind it
        with httpx.Client(base_url=system.url, headers={"X-Api-Key": system.api_key}, timeout=60) as api:
            size = len(picture.getvalue())
            order = {"file_name": "a.png", "media_type": "image/png", "size_bytes": size}
            upload = api.post("/v1/uploads", json=order).raise_for_status().json()
            signed = upload["request"]
            httpx.request(signed["method"], signed["url"], headers=signed["headers"], content=picture.getvalue())
            body = {"sku": "A", "photos": {"front": {"upload_id": upload["id"]}}, "synthetic": True}
            wig = api.post("/v1/wigs", json=body).raise_for_status().json()
            until(lambda: jobs.get(wig["job_id"]).state.is_final)
            wig = api.get(f"/v1/wigs/{wig['id']}").raise_for_status().json()
        assert wig["state"] == "rejected", "nothing is on the photo"
        assert all(jobs.get(job_id).state in (JobState.QUEUED, JobState.PROCESSING) for job_id in long)


def test_worker_without_a_kind_of_the_other_lane_refuses_it_instead_of_leaving_it(tmp_path: Path) -> None:
    with running(tmp_path / "state") as system:
        assert [endpoint.worker.name for endpoint in system.endpoints] == ["worker-0"]
        with httpx.Client(base_url=system.url, headers={"X-Api-Key": system.api_key}, timeout=60) as api:
            image = {"image": {"model_id": "model_01M8MW0N000TTE1VHXNGC78ZKS"}, "steps": [{"tool": "cutout"}]}
            job_id = api.post("/v1/images", json=image).raise_for_status().json()["id"]
        until(lambda: system.services.jobs.get(job_id).state.is_final)
        failure = system.services.jobs.get(job_id).failure
    assert failure is not None
    assert failure.code == "engine_kind_not_served"
