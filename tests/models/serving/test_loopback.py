"""What the container gives its workers: an ear, and credentials for the attempt that each runs."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from models.serving.loopback import Loopback
from services.domain.engine import EngineEvent, EngineRequest
from services.domain.errors import Unavailable
from services.domain.wire import encode
from tests.fakes.events import FakeEventSink
from tests.models.serving.test_pool import a_request

OWN = {"AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "own", "AWS_SESSION_TOKEN": "own", "AWS_REGION": "eu-x-1"}


def credentials_for(request: EngineRequest) -> Mapping[str, str]:
    return {
        "AccessKeyId": f"key-of-{request.job_id}",
        "SecretAccessKey": "secret",
        "Token": "token",
        "Expiration": (datetime.now(UTC) + timedelta(hours=1)).isoformat(),
    }


@pytest.fixture
def loopback(heard: FakeEventSink) -> Iterator[Loopback]:
    server = Loopback(heard, credentials=credentials_for)
    yield server
    server.close()


def ask(loopback: Loopback, method: str, path: str, token: str, body: bytes = b"") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(loopback.url).netloc, timeout=10)
    try:
        connection.request(method, path, body, {"Authorization": token})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_worker_gets_none_of_the_containers_credentials(loopback: Loopback) -> None:
    given = loopback.environment_of("worker-0", OWN | {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/own"})
    assert "own" not in "".join(given.values())
    assert given["AWS_REGION"] == "eu-x-1"
    assert given["AWS_EC2_METADATA_DISABLED"] == "true"


def test_without_a_role_a_worker_keeps_what_the_container_has(heard: FakeEventSink) -> None:
    server = Loopback(heard)
    try:
        given = server.environment_of("worker-0", OWN)
    finally:
        server.close()
    assert OWN.items() <= given.items()
    assert "AWS_CONTAINER_CREDENTIALS_FULL_URI" not in given


def test_boto3_in_a_worker_finds_the_credentials_of_its_attempt(loopback: Loopback, monkeypatch) -> None:
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    environment = loopback.environment_of("worker-0", {})
    other = loopback.environment_of("worker-1", {})
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    import boto3

    request = a_request()
    with loopback.attempt("worker-0", request), loopback.attempt("worker-1", a_request()):
        found = boto3.Session().get_credentials().get_frozen_credentials()
    assert found.access_key == f"key-of-{request.job_id}"
    assert found.token == "token"
    assert environment["ENGINE_EVENTS_TOKEN"] != other["ENGINE_EVENTS_TOKEN"]


def test_boto3_asks_again_before_a_session_ends_so_that_attempts_may_take_longer(heard, monkeypatch) -> None:
    asked: list[str] = []

    def sessions(request: EngineRequest) -> Mapping[str, str]:
        asked.append(request.job_id)
        lasts = timedelta(minutes=5) if len(asked) == 1 else timedelta(hours=1)
        number = {"AccessKeyId": f"key-{len(asked)}"}
        return {**credentials_for(request), **number, "Expiration": (datetime.now(UTC) + lasts).isoformat()}

    server = Loopback(heard, credentials=sessions)
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    for name, value in server.environment_of("worker-0", {}).items():
        monkeypatch.setenv(name, value)
    import boto3

    try:
        with server.attempt("worker-0", a_request()):
            session = boto3.Session()
            keys = [session.get_credentials().get_frozen_credentials().access_key for _ in range(3)]
    finally:
        server.close()
    assert keys == ["key-2", "key-2", "key-2"]  # the first was too near its end
    assert len(asked) == 2


def test_credentials_only_during_an_attempt_and_only_with_the_token(loopback: Loopback) -> None:
    token = loopback.environment_of("worker-0", {})["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
    assert ask(loopback, "GET", "/credentials", token)[0] == 404
    with loopback.attempt("worker-0", a_request()):
        assert ask(loopback, "GET", "/credentials", "Bearer guess")[0] == 401
        assert ask(loopback, "GET", "/elsewhere", token)[0] == 404
        status, body = ask(loopback, "GET", "/credentials", token)
    assert status == 200
    assert json.loads(body)["SecretAccessKey"] == "secret"
    assert ask(loopback, "GET", "/credentials", token)[0] == 404


def test_no_session_is_told_as_such(heard: FakeEventSink) -> None:
    def fail(_: EngineRequest) -> Mapping[str, str]:
        raise Unavailable("no", code="session_not_given")

    server = Loopback(heard, credentials=fail)
    try:
        token = server.environment_of("worker-0", {})["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        with server.attempt("worker-0", a_request()):
            assert ask(server, "GET", "/credentials", token)[0] == 503
    finally:
        server.close()


def event_of(request: EngineRequest) -> EngineEvent:
    return EngineEvent(job_id=request.job_id, attempt=request.attempt, sequence=0, stage="rendering", fraction=0.5)


def test_events_of_the_own_attempt_are_passed_on_and_no_others(loopback: Loopback, heard: FakeEventSink) -> None:
    token = f"Bearer {loopback.environment_of('worker-0', {})['ENGINE_EVENTS_TOKEN']}"
    request, other = a_request(), a_request()
    with loopback.attempt("worker-0", request):
        assert ask(loopback, "POST", "/events", token, encode(event_of(request)))[0] == 204
        assert ask(loopback, "POST", "/events", token, encode(event_of(other)))[0] == 409
        assert ask(loopback, "POST", "/events", token, b"{}")[0] == 400
        assert ask(loopback, "POST", "/events", token, b" " * 5000)[0] == 413
        assert ask(loopback, "POST", "/events", "Bearer guess", encode(event_of(request)))[0] == 401
    assert [event.job_id for event in heard.events] == [request.job_id]
