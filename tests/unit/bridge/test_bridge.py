"""API Gateway on one machine."""

from __future__ import annotations

import base64
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from spokesmodel.bridge import ApiBridge
from spokesmodel.template import FunctionSpec, RouteSpec, Template


@pytest.fixture
def module(monkeypatch):
    """A module of handlers; the events that they got are in ``events``."""
    made = ModuleType("handlers_of_test")
    made.events = []

    def echo(event, context):
        made.events.append((event, context))
        return {"statusCode": 200, "headers": {"Content-Type": "text/plain", "X-One": "1"}, "body": "ok"}

    made.echo = echo
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def client_for(handler: str = "echo", *, timeout_s: int = 5, num_threads: int = 4, num_waiting: int = 2) -> TestClient:
    function = FunctionSpec(
        name="Fn", handler=f"handlers_of_test.{handler}", timeout_s=timeout_s, memory_mb=256, environment={}
    )
    routes = (
        RouteSpec(method="GET", path="/v1/jobs/{id}", function="Fn"),
        RouteSpec(method="POST", path="/v1/videos", function="Fn"),
    )
    template = Template(functions={"Fn": function}, routes=routes, queue_bindings=(), schedules=())
    app = Starlette()
    app.router.default = ApiBridge(template, num_threads=num_threads, num_waiting=num_waiting)
    return TestClient(app)


def test_event_has_the_gateways_form(module):
    with client_for() as client:
        client.get(
            "/v1/jobs/a%20b?x=1&x=2&empty=",
            headers=[("X-Two", "a"), ("X-Two", "b"), ("Cookie", "c=1; d=2"), ("User-Agent", "me")],
        )
    [(event, context)] = module.events
    assert event["version"] == "2.0"
    assert event["routeKey"] == event["requestContext"]["routeKey"] == "GET /v1/jobs/{id}"
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/v1/jobs/a b"
    assert event["rawQueryString"] == "x=1&x=2&empty="
    assert event["queryStringParameters"] == {"x": "1,2", "empty": ""}
    assert event["pathParameters"] == {"id": "a b"}
    assert event["headers"]["x-two"] == "a,b"
    assert event["cookies"] == ["c=1", "d=2"]
    assert "cookie" not in event["headers"]
    assert event["requestContext"]["http"]["method"] == "GET"
    assert event["requestContext"]["http"]["userAgent"] == "me"
    assert event["requestContext"]["http"]["sourceIp"]
    assert event["requestContext"]["stage"] == "$default"
    assert "body" not in event
    assert context.aws_request_id == event["requestContext"]["requestId"]
    assert 0 < context.get_remaining_time_in_millis() <= 5000
    assert (context.function_name, context.memory_limit_in_mb) == ("Fn", 256)


def test_each_request_has_its_own_id(module):
    with client_for() as client:
        for _ in range(2):
            client.get("/v1/jobs/a")
    ids = {event["requestContext"]["requestId"] for event, _ in module.events}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("content_type", "body", "in_base64"),
    [
        ("application/json", '{"a": "图"}'.encode(), False),
        ("Application/JSON; charset=utf-8", b"{}", False),
        ("application/vnd.x+json", b"{}", False),
        ("text/csv", b"a,b", False),
        ("application/json", b"\xff\xfe", True),
        ("image/png", b"\x89PNG", True),
        (None, b"{}", True),
    ],
)
def test_text_bodies_come_as_text_and_others_in_base64(module, content_type, body, in_base64):
    with client_for() as client:
        headers = {} if content_type is None else {"content-type": content_type}
        client.post("/v1/videos", content=body, headers=headers)
    [(event, _)] = module.events
    assert event["isBase64Encoded"] is in_base64
    assert (base64.b64decode(event["body"]) if in_base64 else event["body"].encode()) == body


def test_answer_passes_status_headers_cookies_and_bytes(module):
    module.binary = lambda event, context: {
        "statusCode": 201,
        "headers": {"Content-Type": "image/png", "X-Id": "7"},
        "cookies": ["a=1; HttpOnly", "b=2"],
        "body": base64.b64encode(b"\x89PNG").decode(),
        "isBase64Encoded": True,
    }
    with client_for("binary") as client:
        answer = client.get("/v1/jobs/a")
    assert (answer.status_code, answer.content, answer.headers["x-id"]) == (201, b"\x89PNG", "7")
    assert answer.headers["content-length"] == "4"
    assert answer.headers.get_list("set-cookie") == ["a=1; HttpOnly", "b=2"]


def test_answer_without_a_body_has_none(module):
    module.empty = lambda event, context: {"statusCode": 204, "headers": {}, "body": None}
    with client_for("empty") as client:
        answer = client.get("/v1/jobs/a")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-length" not in answer.headers


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/videos"), ("GET", "/other"), ("POST", "/v1/jobs/a")])
def test_what_the_template_does_not_route_is_a_404_problem(module, method, path):
    with client_for() as client:
        answer = client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (404, "route_not_found")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
    assert module.events == []


def test_handler_that_raises_is_a_plain_500_problem(module):
    def broken(event, context):
        raise RuntimeError("secret")

    module.broken = broken
    with client_for("broken") as client:
        answer = client.get("/v1/jobs/a")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "secret" not in answer.text


def test_body_over_the_payload_limit_never_reaches_the_handler(module):
    with client_for() as client:
        answer = client.post("/v1/videos", content=b"x" * (6 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "request_too_large")
    assert "/v1/uploads" in answer.json()["detail"]
    assert module.events == []


def test_handler_over_its_time_is_a_503_problem(module):
    released = threading.Event()
    module.slow = lambda event, context: released.wait(10) and {"statusCode": 200}
    with client_for("slow", timeout_s=0) as client:
        answer = client.get("/v1/jobs/a")
        released.set()
    assert (answer.status_code, answer.json()["code"]) == (503, "gateway_timeout")


def test_handlers_run_at_once_up_to_the_limit(module):
    running, most, lock = 0, 0, threading.Lock()

    def count(event, context):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return {"statusCode": 200}

    module.count = count
    with client_for("count", num_threads=3) as client, ThreadPoolExecutor(12) as pool:
        statuses = [call.status_code for call in pool.map(lambda _: client.get("/v1/jobs/a"), range(24))]
    assert set(statuses) == {200}
    assert most == 3


def test_waiting_requests_leave_threads_for_others(module):
    released, waiting = threading.Event(), threading.Semaphore(0)

    def handler(event, context):
        if "prefer" in event["headers"]:
            waiting.release()
            released.wait(10)
            return {"statusCode": 200, "body": "waited"}
        return {"statusCode": 200, "body": "at once"}

    module.waits = handler
    with client_for("waits", num_threads=1, num_waiting=2) as client, ThreadPoolExecutor(8) as pool:
        prefer = {"Prefer": "wait=20"}
        held = [pool.submit(client.get, "/v1/jobs/a", headers=prefer) for _ in range(2)]
        for _ in held:
            assert waiting.acquire(timeout=5)
        assert client.get("/v1/jobs/a").text == "at once"
        assert client.get("/v1/jobs/a", headers=prefer).text == "at once"
        released.set()
        assert [call.result().text for call in held] == ["waited", "waited"]
