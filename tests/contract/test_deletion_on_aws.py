"""A deleted tenant leaves nothing in any table or in the bucket; its neighbour loses nothing."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from services.bootstrap import Services, bootstrap
from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchKind, BatchRow, RowState
from services.domain.consent import Consent, Likeness
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from services.domain.product import Product, ProductKind, ProductPhoto
from services.ports.catalogue import Avatar
from services.ports.idempotency import Reservation, StoredAnswer
from services.ports.uploads import Upload
from services.ports.usage import UsageRecord
from services.ports.webhooks import Delivery
from services.settings import Settings
from services.usecases.delete_tenant import delete_tenant
from services.usecases.manage_keys import create_tenant, issue_key
from services.usecases.record_act import OPERATOR, record_act
from services.usecases.submit_noop import submit_noop
from tests.emulator import Aws, table_properties
from tests.fakes.clock import FakeClock

TRANSIENT = {"rates", "turns"}  # they hold an id and numbers, and expire by themselves: when full, when found idle


@pytest.fixture
def services(aws: Aws) -> Services:
    aws.tables(*table_properties())
    queues = {f"{name}_queue_url": aws.queue(name) for name in ("prepare", "dispatch", "notify", "batch", "work")}
    settings = Settings(profile="aws", table_prefix=aws.table_prefix, bucket=aws.bucket, **queues)
    return bootstrap(settings, clock=FakeClock())


def fill(services: Services) -> str:
    """A tenant with something in every store; its id."""
    now = services.clock.now()
    parts = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
    tenant_id = create_tenant("Acme", **parts).id
    issue_key(tenant_id, **parts)
    owners = {kind: new_id(kind) for kind in ("upload", "avatar", "wig", "garment", "consent", "batch", "job")}

    def store(retention: Retention, owner_id: str) -> str:
        key = ObjectKey(retention=retention, tenant_id=tenant_id, owner_id=owner_id, attempt=0, name="file")
        services.objects.put(key, b"x", media_type="image/png")
        return str(key)

    services.uploads.add(
        Upload(
            id=owners["upload"],
            tenant_id=tenant_id,
            object_key=store(Retention.UPLOAD, owners["upload"]),
            media_type="image/png",
            size_bytes=1,
            file_name="a.png",
            created_at=now,
        )
    )
    services.avatars.add(
        Avatar(
            id=owners["avatar"],
            tenant_id=tenant_id,
            name="Vera",
            kind="picture",
            object_key=store(Retention.CATALOGUE, owners["avatar"]),
            media_type="image/png",
            created_at=now,
        )
    )
    for kind in ProductKind:
        services.products.add(
            Product(
                id=owners[kind],
                tenant_id=tenant_id,
                kind=kind,
                sku="A-1",
                name="",
                photos=(ProductPhoto(key=store(Retention.CATALOGUE, owners[kind])),),
                job_id=owners["job"],
                created_at=now,
            )
        )
    services.consents.add(
        Consent(
            id=owners["consent"],
            tenant_id=tenant_id,
            subject="Ann",
            likenesses=frozenset({Likeness.FACE}),
            purpose="p",
            evidence_key=store(Retention.CATALOGUE, owners["consent"]),
            created_at=now,
        )
    )
    services.consents.record_use(owners["consent"], owners["avatar"])
    services.batches.add(
        Batch(
            id=owners["batch"],
            tenant_id=tenant_id,
            kind=BatchKind.VIDEO,
            file_key=store(Retention.WORK, owners["batch"]),
            media_type="text/csv",
            created_at=now,
            updated_at=now,
            available_at=now,
        )
    )
    services.batches.put_rows(
        [
            BatchRow(batch_id=owners["batch"], number=number, state=RowState.PENDING, request={"tenant": tenant_id})
            for number in range(1, 60)
        ]
    )
    submit_noop(
        {"duration_s": 1.0},
        job_id=owners["job"],
        tenant_id=tenant_id,
        jobs=services.jobs,
        clock=services.clock,
        settings=services.settings,
        allowance=Allowance(output_s=10.0, used_s=0.0, at=now),
    )
    store(Retention.RESULT, owners["job"])
    for owner in ("job", "batch"):
        services.deliveries.add(
            Delivery(job_id=owners[owner], event_id="event_1", at=now, status=500, error=f"{tenant_id} said no")
        )
    services.usage.record(
        UsageRecord(job_id=owners["job"], tenant_id=tenant_id, kind="noop", quantities={"output_s": 1.0}, at=now)
    )
    reserved = services.idempotency.reserve(tenant_id, "k", fingerprint="f", new_resource_id=owners["job"])
    assert isinstance(reserved, Reservation)
    services.idempotency.finish(reserved, StoredAnswer(status=202, body="{}", headers={}))
    record_act(
        "job.deleted", owners["job"], tenant_id=tenant_id, actor="key_1", audit=services.audit, clock=services.clock
    )
    services.rates.take(tenant_id, rate_per_s=1, burst=1)
    return tenant_id


def items(aws: Aws, name: str) -> list[str]:
    """Every item of a table as text."""
    pages = aws.client("dynamodb").get_paginator("scan").paginate(TableName=f"{aws.table_prefix}{name}")
    return [json.dumps(item, sort_keys=True) for page in pages for item in page["Items"]]


def state(aws: Aws, tenant_id: str) -> dict[str, list[str]]:
    """What mentions a tenant, by table; and its objects."""
    found = {name: [one for one in items(aws, name) if tenant_id in one] for name in table_properties()}
    listed = aws.client("s3").list_objects_v2(Bucket=aws.bucket).get("Contents", [])
    found["objects"] = [entry["Key"] for entry in listed if tenant_id in entry["Key"]]
    return found


def test_deleted_tenant_leaves_nothing_and_its_neighbour_everything(services, aws):
    doomed, neighbour = fill(services), fill(services)
    before, kept = state(aws, doomed), state(aws, neighbour)
    # An item that names no tenant is found by the id of its owner, which is found by its tenant.
    assert {name for name, found in before.items() if not found} == {"consent_uses"}
    delete_tenant(doomed, stores=services)
    left = {name: found for name, found in state(aws, doomed).items() if found and name not in TRANSIENT}
    assert set(left) == {"audit"}  # the operator's own log says that there was this tenant
    assert [OPERATOR in one for one in left["audit"]] == [True]
    assert state(aws, neighbour) == kept
    assert len(items(aws, "consent_uses")) == 1


def test_bucket_of_tokens_expires(services, aws):
    tenant_id = fill(services)
    [bucket] = [json.loads(one) for one in items(aws, "rates") if tenant_id in one]
    assert int(bucket["expires_at"]["N"]) < (services.clock.now() + timedelta(hours=2)).timestamp()
