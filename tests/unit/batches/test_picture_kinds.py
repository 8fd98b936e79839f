"""Batches of previews, images and products."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain import wire
from services.domain.batch import BatchKind, BatchState, RowState
from services.domain.engine import EngineKind
from services.domain.image_steps import ImageRequest
from services.domain.preview import WigPreviewRequest
from services.domain.product import ProductKind, ProductState
from services.ports.usage import UsageRecord
from tests.fakes.world import TENANT

VERA = "model_01M8MW0N000TTE1VHXNGC78ZKS"


def jobs_of(world, kind):
    return sorted(world.jobs.list(TENANT, kind=kind).items, key=lambda job: job.id)


def test_skus_by_models_become_a_preview_a_row(world):
    photo = world.upload()
    table = (
        "id,model.model_id,model.specification.gender,wig.upload_id,wig.synthetic,yaw_deg,colours\n"
        f"a,{VERA},,{photo},true,-20|0|20,auburn|#3a2a22\n"
        f"b,,man,{photo},true,,\n"
        f"c,{VERA},,,true,0,\n"
        f"d,{VERA},,{photo},true,many,\n"
    )
    batch = world.serve(world.submit_file(table, kind=BatchKind.WIG_PREVIEW))
    assert batch.counts == {"pending": 2, "invalid": 2}
    faults = {row.number: row.faults[0] for row in world.rows(batch) if row.state is RowState.INVALID}
    assert (faults[3].code, faults[3].column) == ("exactly_one", "wig")
    assert faults[4].column == "yaw_deg.0"
    assert batch.estimate.quantities == {"pictures": 6.0}
    assert batch.estimate.cost.amount == pytest.approx(6 * 0.004)
    world.serve(batch)
    requests = [wire.from_values(WigPreviewRequest, job.request) for job in jobs_of(world, EngineKind.WIG_PREVIEW)]
    assert sorted(len(request.yaw_deg) for request in requests) == [1, 3]
    assert {request.colours for request in requests} == {("auburn", "#3a2a22"), ()}


def test_catalogue_is_filled_from_a_table(world):
    front, back = world.upload(), world.upload()
    table = (
        "id,sku,name,photos.front.upload_id,photos.back.upload_id,category\n"
        f"a,TEE-1,Tee,{front},{back},top\n"
        f"b,TEE-2,Tee,{front},,hat\n"
    )
    batch = world.submit_file(table, kind=BatchKind.GARMENT, defaults={"synthetic": True})
    batch = world.serve(batch)
    assert batch.counts == {"pending": 1, "invalid": 1}
    world.serve(batch)
    [product] = world.products.list(TENANT, ProductKind.GARMENT).items
    [job] = jobs_of(world, EngineKind.PRODUCT)
    assert (product.sku, product.state, product.job_id) == ("TEE-1", ProductState.PROCESSING, job.id)
    assert product.id == f"garment_{job.id.removeprefix('job_')}"
    assert [photo.view for photo in product.photos] == ["front", "back"]


def test_steps_of_images_stand_in_the_defaults_or_as_json_in_a_cell(world):
    table = f'id,image.model_id,steps\na,{VERA},\nb,{VERA},"[{{""tool"": ""upscale"", ""factor"": 4}}]"\n'
    batch = world.submit_file(table, kind=BatchKind.IMAGE, defaults={"steps": [{"tool": "cutout"}]})
    world.serve(world.serve(batch))
    requests = [wire.from_values(ImageRequest, job.request) for job in jobs_of(world, EngineKind.IMAGE)]
    assert sorted(step.tool for request in requests for step in request.steps) == ["cutout", "upscale"]


def test_used_up_month_of_video_holds_no_pictures(world):
    world.tenants.update(replace(world.tenants.get(TENANT), monthly_output_s=1.0))
    now = world.clock.now()
    world.usage.record(
        UsageRecord(job_id="job_1", tenant_id=TENANT, kind=EngineKind.VIDEO, quantities={"output_s": 9.0}, at=now)
    )
    rows = f"id,image.model_id\na,{VERA}\n"
    batch = world.submit_file(rows, kind=BatchKind.IMAGE, defaults={"steps": [{"tool": "cutout"}]})
    batch = world.serve(world.serve(batch))
    assert (batch.state, batch.held_by) == (BatchState.PROCESSING, None)
    assert len(jobs_of(world, EngineKind.IMAGE)) == 1
