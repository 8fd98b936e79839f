"""Everything that can be wrong with a request answers as a problem document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lambdas import runtime
from lambdas.api.problems import problem, status_of
from services.domain import errors
from services.settings import Settings
from tests.handlers.api.gateway import Gateway

JSON = {"content-type": "application/json"}


def test_missing_key_is_told_before_anything_else(world):
    answer = Gateway().post("/v1/videos", raw=b"\xff", headers=JSON)
    assert answer.problem == (401, "api_key_missing", None)
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("key", ["sk_unknownunknownunknownunknown", "nonsense", "sk_", "sk_图图图图图图图图图图图图"])
def test_unknown_key_is_refused(world, key):
    assert Gateway(key).get("/v1/jobs").problem == (401, "api_key_unknown", None)


def test_key_goes_in_either_header(world, api):
    assert Gateway().get("/v1/jobs", headers={"X-Api-Key": api.key}).status == 200
    assert Gateway().get("/v1/jobs", headers={"Authorization": f"bearer  {api.key} "}).status == 200
    assert Gateway().get("/v1/jobs", headers={"Authorization": f"Basic {api.key}"}).status == 401


def test_revoked_key_is_refused(world, api):
    key = world.tenants.find_key(__import__("hashlib").sha256(api.key.encode()).hexdigest())
    world.tenants.revoke_key(key.tenant_id, key.id, world.clock.now())
    assert api.get("/v1/jobs").problem == (401, "api_key_revoked", None)


def test_only_the_hash_of_a_key_is_stored(world, api):
    assert api.key not in repr(vars(world.tenants))


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/video", "/v2/videos", "/v1/jobs/a/b", "/v1/videos/"])
def test_unknown_path_is_not_found(api, path):
    assert api.get(path).problem == (404, "route_not_found", None)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/videos", "POST"),
        ("PATCH", "/v1/jobs/job_01JXXXXXXXXXXXXXXXXXXXXXXX", "DELETE, GET"),
        ("PUT", "/v1/avatars", "GET, POST"),
        ("POST", "/v1/health", "GET, HEAD"),
    ],
)
def test_wrong_method_names_the_right_ones(api, method, path, allowed):
    answer = api.call(method, path)
    assert answer.problem == (405, "method_not_allowed", None)
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"\xff\xfe{}", "body_not_utf8"),
        ("{", "malformed_json"),
        ("", "malformed_json"),
        ("{'a': 1}", "malformed_json"),
        ('{"seed": NaN}', "malformed_json"),
        ('{"seed": ' + "9" * 5000 + "}", "malformed_json"),
        ("[" * 100_000, "malformed_json"),
        ('{"subtitles": "burn", "subtitles": "none"}', "malformed_json"),
        ('{"callback_id": "\\ud83d"}', "malformed_json"),
        ("[]", "body_not_an_object"),
        ('"text"', "body_not_an_object"),
        ("null", "body_not_an_object"),
    ],
)
def test_body_that_is_no_json_object_is_malformed(api, raw, code):
    status, found, _ = api.post("/v1/videos", raw=raw, headers=JSON).problem
    assert (status, found) == (400, code)


@pytest.mark.parametrize("place", ["%s", '{"speech": %s}', '[{"speech": [%s]}]'])
def test_key_that_stands_twice_is_named(api, place):
    answer = api.post("/v1/videos", raw=place % '{"subtitles": "burn", "seed": 1, "subtitles": "none"}', headers=JSON)
    assert answer.problem == (400, "malformed_json", None)
    assert "the key 'subtitles' stands twice" in answer.body["detail"]


def test_long_key_that_stands_twice_is_named_in_short(api):
    key = "k" * 5_000
    answer = api.post("/v1/videos", raw=f'{{"{key}": 1, "{key}": 2}}', headers=JSON)
    assert answer.problem[1] == "malformed_json"
    assert len(answer.body["detail"]) < 200


def test_list_around_a_good_body_is_not_unwrapped(api, video):
    assert api.post("/v1/videos", [video]).problem == (400, "body_not_an_object", None)


def test_body_in_base64_is_read_like_any_other(api, video):
    assert api.post("/v1/videos", raw=json.dumps(video).encode(), headers=JSON).status == 202
    assert api.post("/v1/videos", raw=json.dumps(video), headers={}).status == 202


@pytest.mark.parametrize(
    "media_type", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"]
)
def test_other_media_types_are_refused(api, media_type):
    answer = api.post("/v1/videos", raw="{}", headers={"content-type": media_type})
    assert answer.problem == (415, "unsupported_media_type", "Content-Type")


def test_charset_and_case_of_the_media_type_do_not_matter(api, video):
    headers = {"content-type": "Application/JSON; charset=UTF-8"}
    assert api.post("/v1/videos", raw=json.dumps(video), headers=headers).status == 202


@pytest.mark.parametrize("encode", [str, str.encode])
def test_large_body_is_refused_naming_the_upload_route(world, api, video, encode):
    limit = Settings().max_request_bytes
    body = json.dumps({**video, "callback_id": "图" * (limit // 3)}, ensure_ascii=False)
    answer = api.post("/v1/videos", raw=encode(body), headers=JSON)
    assert answer.problem == (413, "request_too_large", None)
    assert "/v1/uploads" in answer.body["detail"]
    assert str(limit) in answer.body["detail"]


def test_body_just_within_the_limit_is_read(world, api, video):
    body = json.dumps(video)
    runtime.use_services(replace(world.services, settings=replace(world.settings, max_request_bytes=len(body))))
    assert api.post("/v1/videos", raw=body, headers=JSON).status == 202
    assert api.post("/v1/videos", raw=body + " ", headers=JSON).status == 413


def test_answers_carry_the_request_id(api):
    assert api.get("/v1/jobs", request_id="abc").headers["x-request-id"] == "abc"
    assert api.get("/nowhere", request_id="abc").body["request_id"] == "abc"


def test_unforeseen_error_is_a_plain_500_without_its_text(world, api, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret prompt")

    monkeypatch.setattr(world.jobs, "list", broken)
    answer = api.get("/v1/jobs")
    assert answer.problem == (500, "internal_error", None)
    assert answer.body["retryable"]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidRequest("x"), 400),
        (errors.Unauthenticated("x"), 401),
        (errors.Forbidden("x"), 403),
        (errors.NotFound("x"), 404),
        (errors.InvalidRequest("x", code="method_not_allowed"), 405),
        (errors.Conflict("x"), 409),
        (errors.ContentRejected("x", code="request_too_large"), 413),
        (errors.ContentRejected("x", code="upload_too_large"), 413),
        (errors.ContentRejected("x", code="unsupported_media_type"), 415),
        (errors.ContentRejected("x", code="face_not_found"), 422),
        (errors.QuotaExceeded("x", retry_after_s=1), 429),
        (errors.EngineFailed("x"), 500),
        (errors.SpokesmodelError("x"), 500),
        (errors.Unavailable("x"), 503),
    ],
)
def test_every_branch_of_the_error_tree_has_its_status(error, status):
    assert status_of(error) == status


def test_quota_says_when_to_come_back():
    _, document, headers = problem(errors.QuotaExceeded("Too much.", retry_after_s=2.2), request_id="r")
    assert headers["Retry-After"] == "3"
    assert document["retryable"]


def test_store_that_does_not_answer_is_503(world, api, monkeypatch):
    def broken(*_, **__):
        raise errors.Unavailable("The store is busy.", code="store_unavailable")

    monkeypatch.setattr(world.jobs, "list", broken)
    answer = api.get("/v1/jobs")
    assert answer.problem == (503, "store_unavailable", None)
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("target", "param", "known"),
    [
        ("/v1/jobs?stat=failed", "stat", "state, kind, cursor, limit"),
        ("/v1/jobs?limit=5&LIMIT=5", "LIMIT", "limit"),
        ("/v1/avatars?kind=video", "kind", "cursor, limit"),
        ("/v1/voices?lang=en", "lang", "language"),
        ("/v1/usage?from=2026-01-01T00:00:00Z", "from", "since, until"),
        ("/v1/languages?x=", "x", "none"),
    ],
)
def test_unknown_query_parameter_is_refused_naming_the_known_ones(api, target, param, known):
    answer = api.get(target)
    assert answer.problem == (400, "unknown_parameter", param)
    assert known in answer.body["detail"]


def test_unknown_query_parameter_tells_nothing_without_a_key(world):
    assert Gateway().get("/v1/jobs?stat=failed").problem[0] == 401


def test_root_leads_to_the_docs(world):
    answer = Gateway().get("/")
    assert (answer.status, answer.headers["location"]) == (302, "/docs")
    assert Gateway().post("/").problem == (404, "route_not_found", None)


@pytest.mark.parametrize("path", ["/docs", "/v1/health", "/v1/openapi.json"])
def test_public_pages_answer_head_as_get(world, path):
    head, get = Gateway().call("HEAD", path), Gateway().get(path)
    assert (head.status, head.headers["content-type"]) == (200, get.headers["content-type"])


def test_head_of_what_needs_a_key_is_no_way_around_it(api):
    assert api.call("HEAD", "/v1/jobs").problem == (405, "method_not_allowed", None)
