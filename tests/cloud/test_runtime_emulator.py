"""Staged functions as Lambda runs them: each one cold, with its recorded event; the API's warm, too slow and killed."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.usecases.manage_keys import create_tenant, issue_key
from tests.cloud.runtime_emulator import RuntimeEmulator, binary
from tests.cloud.stack import Stack
from tests.emulator import ROOT
from tests.handlers.test_template import FUNCTIONS
from tests.waiting import until

EVENT = json.loads((ROOT / "events" / "ApiFunction.json").read_text(encoding="utf-8"))
Start = Callable[..., RuntimeEmulator]


def request(method: str, path: str, *, key: str = "", query: str = "", prefer: str = "") -> dict[str, Any]:
    """The recorded event, for another request."""
    headers = {"host": EVENT["headers"]["host"], **({"authorization": f"Bearer {key}"} if key else {})}
    if prefer:
        headers["prefer"] = prefer
    context = EVENT["requestContext"]
    http = {**context["http"], "method": method, "path": path}
    return {
        **{name: value for name, value in EVENT.items() if name != "body"},
        "headers": headers,
        "rawPath": path,
        "rawQueryString": query,
        "requestContext": {**context, "http": http, "routeKey": f"{method} {path}"},
    }


@pytest.fixture
def start(stack: Stack, staged: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a function on the stack's tables, with the environment that the template gives it."""
    if binary() is None:
        pytest.skip("the runtime interface emulator is not installed; `make tools` does it")
    running: list[RuntimeEmulator] = []
    functions = stack.emulator.client("lambda")

    def make(name: str = "ApiFunction", *, timeout_s: int = 28) -> RuntimeEmulator:
        configuration = functions.get_function_configuration(FunctionName=stack.function_name(name))
        function = RuntimeEmulator(
            staged,
            configuration["Handler"],
            log=tmp_path / f"function-{len(running)}.log",
            timeout_s=timeout_s,
            environment={**configuration["Environment"]["Variables"], **stack.emulator.environment},
        )
        running.append(function)
        return function

    yield make
    for function in running:
        function.close()


@pytest.fixture
def key(stack: Stack) -> str:
    services = stack.services
    tenant = create_tenant("RIE", tenants=services.tenants, audit=services.audit, clock=services.clock)
    return issue_key(tenant.id, tenants=services.tenants, audit=services.audit, clock=services.clock).secret


def test_cold_function_answers_and_a_warm_one_is_the_same_process(start: Start, key: str):
    function = start()
    first = function.call(request("GET", "/v1/account", key=key))
    assert first["statusCode"] == 200, (first, function.output()[-2000:])
    pid = function.pid()
    assert pid is not None
    for _ in range(20):
        assert function.call(request("GET", "/v1/account", key=key))["statusCode"] == 200
    assert function.pid() == pid


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_starts_cold_and_takes_its_recorded_event(start: Start, name: str):
    """Records of jobs that are gone do not come again; the API knows no such key; the reaper finds what there is."""
    event = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    function = start(name, timeout_s=60)
    assert function.pid() is None, "nothing runs before the first call"
    answer = function.call(event)
    if name == "ApiFunction":
        assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (401, "api_key_unknown"), answer
    elif name == "ReaperFunction":
        assert answer["num_reaped"] == 0, (answer, function.output()[-2000:])
    else:
        assert answer == {"batchItemFailures": []}, function.output()[-2000:]
    assert "record failed" not in function.output()


def _waiting_job(stack: Stack, key: str) -> str:
    """A video of the key's tenant that nobody will make: there are no workers."""
    picture = b"\x89PNG\r\n\x1a\n" + b"0" * 100
    upload = stack.call(
        "POST",
        "/v1/uploads",
        key=key,
        json={"file_name": "a.png", "media_type": "image/png", "size_bytes": len(picture)},
    ).body
    link = upload["request"]
    httpx.request(link["method"], link["url"], headers=link["headers"], content=picture).raise_for_status()
    order = {
        "presenter": {"upload_id": upload["id"], "synthetic": True},
        "speech": {"text": "Good morning.", "voice": {"voice_id": "en-us"}},
    }
    made = stack.call("POST", "/v1/videos", key=key, json=order)
    assert made.status == 202, made.body
    return str(made.body["id"])


def test_call_beyond_the_timeout_ends_and_the_next_one_is_served(start: Start, stack: Stack, key: str):
    """The wait for a job is cut by Lambda; job and function are none the worse."""
    job_id = _waiting_job(stack, key)
    function = start(timeout_s=6)
    assert function.call(request("GET", "/v1/health"))["statusCode"] == 200
    read = request("GET", f"/v1/jobs/{job_id}", key=key)
    late = function.call({**read, "headers": {**read["headers"], "prefer": "wait=20"}})
    assert "timed out" in str(late), late
    after = until(
        lambda: answer if isinstance(answer := function.call(read), dict) else None
    )  # a slow machine's cold one
    assert after["statusCode"] == 200
    assert json.loads(after["body"])["state"] in ("queued", "processing")


def test_killed_function_fails_its_call_and_the_next_one_starts_anew(start: Start, stack: Stack, key: str):
    job_id = _waiting_job(stack, key)
    function = start()
    function.call(request("GET", "/v1/health"))
    before = function.pid()
    assert before is not None
    answers: list[Any] = []

    def call() -> None:
        with suppress(httpx.HTTPError):
            answers.append(function.call(request("GET", f"/v1/jobs/{job_id}", key=key, prefer="wait=20")))

    calling = threading.Thread(target=call)
    calling.start()
    until(lambda: "/v1/jobs" in function.output() or not calling.is_alive() or _sleeping(before), 5)
    os.kill(before, signal.SIGKILL)
    calling.join(30)
    assert not any(isinstance(answer, dict) and answer.get("statusCode") == 200 for answer in answers)
    answer = function.call(request("GET", f"/v1/jobs/{job_id}", key=key))
    assert answer["statusCode"] == 200
    assert function.pid() != before


def _sleeping(pid: int) -> bool:
    """Whether the function holds a connection to the tables: it has begun to look for the job."""
    links = Path(f"/proc/{pid}/fd")
    return sum("socket" in str(link.readlink()) for link in links.iterdir() if link.is_symlink()) >= 2
