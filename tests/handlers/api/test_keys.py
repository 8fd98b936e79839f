"""API keys over REST: scopes, rotation, expiry, revocation, last use; and the audit log."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lambdas.api.app import app
from lambdas.api.openapi import document
from lambdas.api.routes.meta import PUBLIC_PATHS
from lambdas.api.scopes import needs
from services.domain.scope import Scope
from services.usecases.manage_keys import issue_key
from tests.fakes.world import OTHER_TENANT, TENANT
from tests.handlers.api.gateway import Gateway

HOUR_S = 3600.0


def gateway(world, *scopes: str, **options) -> Gateway:
    """The API as the holder of a key with these scopes calls it."""
    return Gateway(
        issue_key(
            TENANT,
            tenants=world.tenants,
            audit=world.audit,
            clock=world.clock,
            scopes=[Scope(scope) for scope in scopes] or list(Scope),
            **options,
        ).secret
    )


def actions(world) -> list[str]:
    return [entry.action for entry in world.audit.entries]


def test_every_route_that_needs_a_key_declares_its_scope():
    for route in app._static_routes + app._dynamic_routes:
        if route.path not in PUBLIC_PATHS:
            assert (route.openapi_extensions or {}).get("x-scope") in {"read", "create", "manage"}, route.path
    operations = [one for methods in document()["paths"].values() for one in methods.values()]
    assert all(("x-scope" in one) == (one.get("security") != []) for one in operations)


def test_routes_need_what_they_do(world):
    def scope_of(operation_id: str) -> str:
        [found] = [
            one
            for methods in document()["paths"].values()
            for one in methods.values()
            if one["operationId"] == operation_id
        ]
        return found["x-scope"]

    assert {scope_of(name) for name in ("listJobs", "getJob", "listAvatars", "getUsage", "listConsents")} == {"read"}
    assert {scope_of(name) for name in ("createVideo", "createUpload", "createAvatar", "deleteJob")} == {"create"}
    assert {
        scope_of(name) for name in ("listKeys", "createKey", "rotateKey", "revokeKey", "listAudit", "deleteSubject")
    } == {"manage"}


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [("read", ("GET", "/v1/jobs")), ("create", ("POST", "/v1/scripts")), ("manage", ("GET", "/v1/keys"))],
)
def test_key_does_what_its_scope_says_and_nothing_else(world, scope, allowed):
    api = gateway(world, scope)
    for needed, (method, path) in {
        "read": ("GET", "/v1/jobs"),
        "create": ("POST", "/v1/scripts"),
        "manage": ("GET", "/v1/keys"),
    }.items():
        answer = api.call(method, path, {} if method == "POST" else None)
        if (method, path) == allowed:
            assert answer.status in (200, 400)
        else:
            assert answer.problem == (403, "scope_missing", None)
            assert f"the scope `{needed}`;" in answer.body["detail"]
            assert scope in answer.body["detail"]


def test_scope_is_checked_before_the_body(world):
    assert gateway(world, "read").post("/v1/videos", raw=b"\xff").problem[:2] == (403, "scope_missing")


def test_undeclared_route_needs_the_most():
    from types import SimpleNamespace

    from lambdas.api.scopes import scope_of

    assert scope_of(SimpleNamespace(openapi_extensions=None)) is Scope.MANAGE
    assert scope_of(SimpleNamespace(openapi_extensions=needs(Scope.READ))) is Scope.READ


def test_issued_key_serves_and_its_secret_is_shown_once(world, api):
    answer = api.post("/v1/keys", {"name": "dashboard", "scopes": ["read"]})
    assert answer.status == 201
    secret, key = answer.body["secret"], answer.body["key"]
    assert Gateway(secret).get("/v1/jobs").status == 200
    assert (key["name"], key["scopes"], key["revoked_at"]) == ("dashboard", ["read"], None)
    listed = api.get("/v1/keys")
    assert listed.body["items"][0]["id"] == key["id"]
    assert secret not in listed.text
    assert "sha256" not in listed.text
    assert secret not in repr(vars(world.tenants))
    assert actions(world)[-1] == "key.issued"


def test_no_answer_with_a_secret_is_remembered(world, api):
    for path, body in (("/v1/keys", {}), (f"/v1/keys/{api.get('/v1/keys').body['items'][0]['id']}/rotate", {})):
        first = api.post(path, body, headers={"Idempotency-Key": "same"})
        assert first.status == 201
    assert not vars(world.services.idempotency)["_entries"]


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({"scopes": []}, 400, "invalid_request", "scopes"),
        ({"scopes": ["admin"]}, 400, "invalid_request", "scopes.0"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 400, "out_of_range", "expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, 400, "invalid_request", "expires_at"),
        ({"name": "a\nb"}, 422, "control_character", "name"),
        ({"name": "x" * 101}, 400, "invalid_request", "name"),
    ],
)
def test_odd_key_is_refused(api, body, status, code, param):
    assert api.post("/v1/keys", body).problem == (status, code, param)


def test_key_ends_at_its_expiry(world, api):
    expires_at = (world.clock.now() + timedelta(hours=1)).isoformat()
    secret = api.post("/v1/keys", {"expires_at": expires_at}).body["secret"]
    world.clock.advance(HOUR_S - 1)
    assert Gateway(secret).get("/v1/jobs").status == 200
    world.clock.advance(1)
    assert Gateway(secret).get("/v1/jobs").problem == (401, "api_key_expired", None)


def test_rotated_key_serves_beside_the_new_one_until_the_grace_is_over(world, api):
    old = api.post("/v1/keys", {"name": "ci", "scopes": ["read", "create"]}).body
    new = api.post(f"/v1/keys/{old['key']['id']}/rotate", {"grace_s": HOUR_S}).body
    assert new["key"]["id"] != old["key"]["id"]
    assert (new["key"]["name"], new["key"]["scopes"]) == ("ci", ["create", "read"])
    for secret in (old["secret"], new["secret"]):
        assert Gateway(secret).get("/v1/jobs").status == 200
    world.clock.advance(HOUR_S)
    assert Gateway(old["secret"]).get("/v1/jobs").problem == (401, "api_key_expired", None)
    assert Gateway(new["secret"]).get("/v1/jobs").status == 200
    [entry] = [one for one in world.audit.entries if one.action == "key.rotated"]
    assert (entry.target, entry.details["replaced_by"]) == (old["key"]["id"], new["key"]["id"])


def test_rotation_without_grace_ends_the_old_key_at_once(world, api):
    old = api.post("/v1/keys", {}).body
    api.post(f"/v1/keys/{old['key']['id']}/rotate", {"grace_s": 0})
    assert Gateway(old["secret"]).get("/v1/jobs").problem == (401, "api_key_expired", None)


def test_key_out_of_service_is_not_rotated(world, api):
    old = api.post("/v1/keys", {}).body["key"]["id"]
    api.delete(f"/v1/keys/{old}")
    assert api.post(f"/v1/keys/{old}/rotate", {}).problem == (409, "key_not_in_service", None)
    assert api.post(f"/v1/keys/{old}/rotate", {"grace_s": 2_592_001}).problem == (400, "invalid_request", "grace_s")


def test_revoked_key_is_refused_at_once_and_may_revoke_itself(world, api):
    made = api.post("/v1/keys", {}).body
    own = Gateway(made["secret"])
    assert own.delete(f"/v1/keys/{made['key']['id']}").status == 204
    assert own.get("/v1/jobs").problem == (401, "api_key_revoked", None)
    assert api.delete(f"/v1/keys/{made['key']['id']}").status == 204
    assert actions(world).count("key.revoked") == 1


def test_key_grants_no_more_than_it_may_do_itself(world, api):
    manager = gateway(world, "manage", "read")
    assert manager.post("/v1/keys", {"scopes": ["read"]}).status == 201
    answer = manager.post("/v1/keys", {"scopes": ["read", "create"]})
    assert answer.problem == (403, "scope_missing", "scopes")
    assert "create" in answer.body["detail"]
    maker = api.post("/v1/keys", {"scopes": ["create"]}).body["key"]["id"]
    assert manager.post(f"/v1/keys/{maker}/rotate", {}).problem == (403, "scope_missing", "scopes")
    assert manager.delete(f"/v1/keys/{maker}").status == 204


def test_keys_of_another_tenant_are_not_there(world, api, other_api):
    foreign = other_api.get("/v1/keys").body["items"][0]["id"]
    assert api.delete(f"/v1/keys/{foreign}").problem == (404, "key_not_found", None)
    assert api.post(f"/v1/keys/{foreign}/rotate", {}).problem == (404, "key_not_found", None)
    assert other_api.get("/v1/jobs").status == 200
    assert foreign not in api.get("/v1/keys").text


def test_a_hundred_keys_are_enough_and_dead_ones_do_not_count(world, api):
    ids = [api.post("/v1/keys", {}).body["key"]["id"] for _ in range(99)]
    assert api.post("/v1/keys", {}).problem == (409, "too_many_keys", None)
    api.delete(f"/v1/keys/{ids[0]}")
    assert api.post("/v1/keys", {}).status == 201


def test_last_use_is_noted_once_an_hour(world, api, monkeypatch):
    writes = []
    real = world.tenants.note_use
    monkeypatch.setattr(world.tenants, "note_use", lambda key, now: (writes.append(now), real(key, now)))
    started = world.clock.now()
    for advance_s in (0, 1800, 1799, 1, 10):
        world.clock.advance(advance_s)
        api.get("/v1/jobs")
    assert writes == [started, started + timedelta(hours=1)]
    [key] = [one for one in api.get("/v1/keys").body["items"] if one["last_used_at"]]
    assert key["last_used_at"] == "2026-03-01T13:00:00.000Z"


def test_store_that_cannot_note_a_use_refuses_nobody(world, api, monkeypatch):
    from services.domain.errors import Unavailable

    def broken(*_):
        raise Unavailable("Throttled.")

    monkeypatch.setattr(world.tenants, "note_use", broken)
    assert api.get("/v1/jobs").status == 200


def test_account_shows_the_webhook_secret_to_managers_only(world, api):
    assert api.get("/v1/account").body["webhook_secret"].startswith("whsec_")
    reader = gateway(world, "read").get("/v1/account").body
    assert (reader["webhook_secret"], reader["scopes"]) == (None, ["read"])


def test_audit_log_is_the_tenants_own_and_newest_first(world, api, other_api):
    other_api.post("/v1/keys", {})
    made = api.post("/v1/keys", {"scopes": ["read"]}).body["key"]["id"]
    api.delete(f"/v1/keys/{made}")
    page = api.get("/v1/audit?limit=2").body
    assert [(one["action"], one["target"]) for one in page["items"]] == [("key.revoked", made), ("key.issued", made)]
    acting = api.get("/v1/account").body["key_id"]
    assert {one["actor"] for one in page["items"]} == {acting}
    rest = api.get(f"/v1/audit?cursor={page['next_cursor']}").body
    assert all(one["target"] != made for one in rest["items"])
    assert {entry.tenant_id for entry in world.audit.entries} == {TENANT, OTHER_TENANT}
    assert api.get("/v1/audit?cursor=nonsense").problem == (400, "malformed_cursor", "cursor")


def test_keys_of_a_tenant_that_is_being_deleted_are_unknown(world, api):
    from dataclasses import replace

    world.tenants.update(replace(world.tenants.get(TENANT), deleting_since=world.clock.now()))
    assert api.get("/v1/jobs").problem == (401, "api_key_unknown", None)


def test_of_rotations_at_one_moment_one_gives_a_key(world, api, monkeypatch):
    old = api.post("/v1/keys", {"scopes": ["read"]}).body["key"]["id"]
    rotated_first: list[str] = []
    expire = world.tenants.expire_key

    def expire_second(key, at):
        if not rotated_first:
            rotated_first.append("")
            rotated_first.append(api.post(f"/v1/keys/{old}/rotate", {"grace_s": 0}).body["key"]["id"])
        expire(key, at)

    monkeypatch.setattr(world.tenants, "expire_key", expire_second)
    assert api.post(f"/v1/keys/{old}/rotate", {"grace_s": 0}).problem == (409, "key_changed", None)
    of_readers = [key for key in world.tenants.list_keys(TENANT) if key.scopes == {"read"}]
    assert {key.id for key in of_readers if key.revoked_at is None} == {old, rotated_first[1]}
    assert len(of_readers) == 3  # the second one's, revoked before anybody heard of it
