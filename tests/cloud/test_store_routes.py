"""Every route that reads or writes a store, on the deployed stack: by the function's own role, tables and bucket."""

from __future__ import annotations

import json
from typing import Any

import boto3
import httpx
import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.tenants import DynamoTenantStore
from services.domain.errors import Unavailable
from services.usecases.manage_keys import create_tenant, issue_key
from tests.cloud.stack import Stack

pytestmark = pytest.mark.slow
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xaeB`\x82" + b"x" * 100  # it ends, and more comes behind
SPEECH = {"text": "Good morning.", "voice": {"voice_id": "en-us"}}


class Tenant:
    """One tenant of the stack; every call says which status it expects."""

    def __init__(self, stack: Stack) -> None:
        ours = stack.services
        parts = {"tenants": ours.tenants, "audit": ours.audit, "clock": ours.clock}
        self.id = create_tenant("Acme", **parts).id
        self.stack = stack
        self.key = issue_key(self.id, **parts).secret

    def call(self, method: str, path: str, status: int, body: Any = None, **headers: str) -> Any:
        answer = self.stack.call(method, path, key=self.key, json=body, headers=headers)
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.body}"
        return answer.body

    def upload(self, data: bytes = PNG, media_type: str = "image/png") -> str:
        """Id of an upload whose bytes were sent by its link."""
        body = {"file_name": "小明.png", "media_type": media_type, "size_bytes": len(data)}
        made = self.call("POST", "/v1/uploads", 201, body)
        link = made["request"]
        sent = httpx.request(link["method"], link["url"], content=data, headers=link["headers"])
        assert sent.status_code == 200, sent.text
        return str(made["id"])


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> Tenant:
    return Tenant(stack)


def test_emulator_refuses_what_no_policy_allows(stack):
    """Without this the tests below would prove nothing about the functions' policies."""
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = stack.emulator.client("iam").create_role(RoleName="nobody", AssumeRolePolicyDocument=document)["Role"]
    given = stack.emulator.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="nobody")["Credentials"]
    session = boto3.Session(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], "us-east-1")
    with pytest.raises(Unavailable) as caught:
        DynamoTenantStore(Clients(session), table_prefix=stack.settings.table_prefix).get("tenant_a")
    assert caught.value.code == "aws_denied"


def test_upload_of_another_size_is_refused_by_s3(tenant):
    link = tenant.call("POST", "/v1/uploads", 201, {"file_name": "a", "media_type": "image/png", "size_bytes": 9})
    sent = httpx.put(link["request"]["url"], content=PNG, headers={"Content-Type": "image/png"})
    assert sent.status_code == 403


def test_keys_are_issued_rotated_and_revoked_at_once(tenant):
    issued = tenant.call("POST", "/v1/keys", 201, {"name": "reader", "scopes": ["read"]})
    other = Tenant.__new__(Tenant)
    other.stack, other.key = tenant.stack, issued["secret"]
    other.call("GET", "/v1/jobs", 200)
    other.call("GET", "/v1/keys", 403)
    rotated = tenant.call("POST", f"/v1/keys/{issued['key']['id']}/rotate", 201, {})
    tenant.call("DELETE", f"/v1/keys/{issued['key']['id']}", 204)
    other.call("GET", "/v1/jobs", 401)
    other.key = rotated["secret"]
    other.call("GET", "/v1/jobs", 200)
    assert {key["id"] for key in tenant.call("GET", "/v1/keys", 200)["items"]} >= {rotated["key"]["id"]}
    actions = [entry["action"] for entry in tenant.call("GET", "/v1/audit", 200)["items"]]
    assert {"key.issued", "key.rotated", "key.revoked"} <= set(actions)


def test_avatar_is_made_shown_and_deleted(tenant):
    avatar = tenant.call(
        "POST", "/v1/avatars", 201, {"name": "Vera 图", "upload_id": tenant.upload(), "synthetic": True}
    )
    assert httpx.get(avatar["preview_url"]).content == PNG
    assert tenant.call("GET", f"/v1/avatars/{avatar['id']}", 200)["name"] == "Vera 图"
    assert avatar["id"] in [one["id"] for one in tenant.call("GET", "/v1/avatars", 200)["items"]]
    tenant.call("DELETE", f"/v1/avatars/{avatar['id']}", 204)
    tenant.call("GET", f"/v1/avatars/{avatar['id']}", 404)
    assert httpx.get(avatar["preview_url"]).status_code == 404


def test_wig_is_registered_found_by_its_sku_and_deleted_with_its_job(stack):
    tenant = Tenant(stack)
    body = {"sku": "BOB 图", "photos": {"front": {"upload_id": tenant.upload()}}, "synthetic": True}
    wig = tenant.call("POST", "/v1/wigs", 202, body)
    assert tenant.call("GET", f"/v1/wigs/{wig['id']}", 200)["state"] == "processing"
    assert [one["id"] for one in tenant.call("GET", "/v1/wigs?sku=BOB%20%E5%9B%BE", 200)["items"]] == [wig["id"]]
    assert tenant.call("GET", "/v1/garments", 200)["items"] == []
    order = {"model": {"model_id": "model_01M8MW0N000TTE1VHXNGC78ZKS"}, "wig": {"wig_id": wig["id"]}}
    assert tenant.call("POST", "/v1/wig-previews", 422, order)["code"] == "product_not_ready"
    tenant.call("DELETE", f"/v1/wigs/{wig['id']}", 204)
    tenant.call("GET", f"/v1/wigs/{wig['id']}", 404)
    assert tenant.call("GET", f"/v1/jobs/{wig['job_id']}", 200)["state"] == "canceled"
    photo = {"upload_id": tenant.upload(), "synthetic": True}
    tenant.call("POST", "/v1/garment-previews", 202, {"model": photo, "garment": photo})
    assert len(tenant.call("GET", "/v1/models", 200)["items"]) == 10


def test_job_is_made_once_listed_canceled_and_deleted(tenant):
    body = {"speech": SPEECH, "presenter": {"upload_id": tenant.upload(), "synthetic": True}}
    header = {"Idempotency-Key": "once"}
    job = tenant.call("POST", "/v1/videos", 202, body, **header)
    assert tenant.call("POST", "/v1/videos", 202, body, **header)["id"] == job["id"]
    tenant.call("POST", "/v1/videos", 422, {**body, "callback_id": "other"}, **header)
    assert [one["id"] for one in tenant.call("GET", "/v1/jobs", 200)["items"]] == [job["id"]]
    tenant.call("POST", f"/v1/jobs/{job['id']}/cancel", 200)
    tenant.call("DELETE", f"/v1/jobs/{job['id']}", 204)
    tenant.call("GET", f"/v1/jobs/{job['id']}", 404)
    tenant.call("GET", "/v1/usage", 200)
    tenant.call("POST", "/v1/estimates", 200, {"kind": "video", "body": body})


def test_consent_is_registered_revoked_and_deleted_with_what_it_allowed(tenant):
    upload_id = tenant.upload()
    body = {"subject": "Zoë", "likenesses": ["face"], "purpose": "spring", "evidence_upload_id": tenant.upload()}
    consent = tenant.call("POST", "/v1/consents", 201, body)
    avatar = tenant.call(
        "POST", "/v1/avatars", 201, {"name": "Zoë", "upload_id": upload_id, "consent_id": consent["id"]}
    )
    assert httpx.get(consent["evidence_url"]).content == PNG
    found = tenant.call("GET", "/v1/consents?subject=Zo%C3%AB", 200)["items"]
    assert [one["id"] for one in found] == [consent["id"]]
    tenant.call("POST", f"/v1/consents/{consent['id']}/revoke", 200)
    assert tenant.call("GET", f"/v1/consents/{consent['id']}", 200)["revoked_at"] is not None
    video = {"speech": SPEECH, "presenter": {"avatar_id": avatar["id"]}}
    assert tenant.call("POST", "/v1/videos", 403, video)["code"] == "consent_revoked"
    deleted = tenant.call("DELETE", "/v1/subjects/Zo%C3%AB", 200)
    assert (deleted["num_consents"], deleted["num_avatars"]) == (1, 1)
    tenant.call("GET", f"/v1/avatars/{avatar['id']}", 404)
    tenant.call("GET", f"/v1/consents/{consent['id']}", 404)
    assert httpx.get(avatar["preview_url"]).status_code == 404


def test_batch_is_read_paused_canceled_and_deleted(tenant):
    table = b"id,speech.text,speech.voice.voice_id\nfirst,,\n"
    body = {"kind": "video", "upload_id": tenant.upload(table, "text/csv")}
    batch = tenant.call("POST", "/v1/batches", 202, body)
    assert [one["id"] for one in tenant.call("GET", "/v1/batches", 200)["items"]] == [batch["id"]]
    tenant.call("GET", f"/v1/batches/{batch['id']}/rows", 200)
    tenant.call("POST", f"/v1/batches/{batch['id']}/pause", 200)
    tenant.call("POST", f"/v1/batches/{batch['id']}/resume", 200)
    tenant.call("POST", f"/v1/batches/{batch['id']}/cancel", 200)


def test_another_tenant_finds_nothing(tenant, stack):
    upload_id = tenant.upload()
    avatar = tenant.call("POST", "/v1/avatars", 201, {"name": "V", "upload_id": upload_id, "synthetic": True})
    stranger = Tenant(stack)
    stranger.call("GET", f"/v1/avatars/{avatar['id']}", 404)
    stranger.call("DELETE", f"/v1/avatars/{avatar['id']}", 404)
    body = {"name": "V", "upload_id": upload_id, "synthetic": True}
    assert stranger.call("POST", "/v1/avatars", 422, body)["code"] == "upload_not_found"
    assert stranger.call("GET", "/v1/avatars", 200)["items"] == []
    tenant.call("GET", f"/v1/avatars/{avatar['id']}", 200)
