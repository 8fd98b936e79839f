"""20,000 requests that schemathesis makes of the whole OpenAPI document, one after another, good and bad.

Its state machine follows links that it finds between operations. Three things are added: a rule for each operation,
so that those come, too, to which no answer leads; a tenant that has one of everything; and, for most requests that
the document permits, ids and bodies that can succeed with it (``benchmarks.seeded_tenant``).

The server is the real one but for the engine: a thread answers attempts at random in place of workers that would
render videos. No answer may be a 5xx or break the document: status, media type, headers, body; and what was deleted
stays away. Names are looked up on this machine only. A bounded run is a test (tests/handlers/api/test_stateful.py).
"""

from __future__ import annotations

import contextlib
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import Bundle
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.stateful import run_state_machine_as_test
from schemathesis.generation.stateful.state_machine import StepInput
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.stateful import transition

from benchmarks.measure import Row
from benchmarks.seeded_tenant import CHANCE, SeededTenant
from services.adapters.local.engine import SqliteEngine
from services.domain.engine import AnswerState, EngineAnswer, Failure, Output
from services.settings import Settings
from spokesmodel.runner import LocalSystem

NUM_REQUESTS = 20_000
_STEPS = 25
_SCENARIOS = 40  # of one tenant: its lists stay short
_PAUSE_S = 0.3  # between answers: jobs wait and can be canceled
_AIMED = 0.8  # of the requests that the document permits
_TIMEOUT_S = 60.0
_LIMIT_S = 3600.0
# A rule between two fields, or an id that does not exist, refuses what a JSON Schema allows.
_NOT_PROMISED = [positive_data_acceptance]


@dataclass
class Report:
    """What was asked and how it was answered."""

    statuses: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    successes: Counter[str] = field(default_factory=Counter)
    transitions: int = 0
    num_creations: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    wall_s: float = 0.0

    @property
    def num_requests(self) -> int:
        return sum(self.statuses.values())


class Answerer:
    """Ends attempts in place of workers: three of four succeed with a small file."""

    def __init__(self, system: LocalSystem) -> None:
        self._system = system
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="answers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._ended.set()
        self._thread.join(10)

    def _loop(self) -> None:
        engine, objects = self._system.services.engine, self._system.services.objects
        assert isinstance(engine, SqliteEngine)
        while not self._ended.wait(_PAUSE_S):
            while (claimed := engine.claim(lease_s=30)) is not None:
                request = claimed.request
                if CHANCE.random() < 0.25:
                    failure = Failure(code="face_not_found", detail="There is no face.", param="presenter")
                    state, outputs = AnswerState.FAILED, tuple[Output, ...]()
                else:
                    state, failure = AnswerState.SUCCEEDED, None
                    key = request.output_key("video.mp4")
                    objects.put(key, b"film", media_type="video/mp4")
                    info = objects.head(key)
                    outputs = (
                        Output(
                            name="video",
                            key=str(key),
                            media_type="video/mp4",
                            size_bytes=info.size_bytes,
                            sha256=info.sha256 or "",
                        ),
                    )
                facts = {"duration_s": 4.0, "width_px": 256, "height_px": 256}
                engine.answer(
                    EngineAnswer(
                        job_id=request.job_id,
                        attempt=request.attempt,
                        state=state,
                        outputs=outputs,
                        facts=facts if outputs else {},
                        usage={"output_s": 4.0} if outputs else {},
                        failure=failure,
                    )
                )


def run(num_requests: int, *, limit_s: float = _LIMIT_S) -> Report:
    """Ask at least ``num_requests`` times; fewer only where that takes longer than ``limit_s``."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder, _names_of_this_machine_only():
        settings = replace(
            Settings(),
            state_dir=Path(folder) / "state",
            requests_per_s=1e6,
            request_burst=10**6,
            max_queued_jobs=10**6,
            allow_private_callbacks=True,
        )
        with LocalSystem(settings, with_workers=False, quiet=True) as system:
            answerer = Answerer(system)
            started = time.monotonic()
            try:
                machine = _Machine(system, report)
                while report.num_requests < num_requests and time.monotonic() - started < limit_s:
                    machine.run(min(_SCENARIOS, 1 + (num_requests - report.num_requests) // _STEPS))
            finally:
                report.wall_s = time.monotonic() - started
                answerer.close()
    return report


@contextlib.contextmanager
def _names_of_this_machine_only() -> Iterator[None]:
    """Generated URLs have hosts, too; no test asks a name server for them."""
    look_up = socket.getaddrinfo

    def local(host: Any, *rest: Any, **named: Any) -> Any:
        if host not in (None, "", "127.0.0.1", "localhost"):
            raise socket.gaierror(socket.EAI_NONAME, "not of this machine")
        return look_up(host, *rest, **named)

    socket.getaddrinfo = local
    try:
        yield
    finally:
        socket.getaddrinfo = look_up


class _Machine:
    """schemathesis's state machine for a running system."""

    def __init__(self, system: LocalSystem, report: Report) -> None:
        self._system = system
        self._report = report
        self._schema = schemathesis.openapi.from_url(f"{system.url}/v1/openapi.json")
        self._session = requests.Session()

    def run(self, num_scenarios: int) -> None:
        """So many sequences of requests, of a new tenant."""
        chosen = hypothesis_settings(
            max_examples=num_scenarios,
            stateful_step_count=_STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        # What can follow depends on what the server answered: that is no flaw of the test.
        with contextlib.suppress(FlakyStrategyDefinition):
            run_state_machine_as_test(self._class(), settings=chosen)

    def _class(self) -> Any:
        system, report, session = self._system, self._report, self._session
        tenant = SeededTenant(system.url, system.services, callback_url=f"{system.url}/v1/health")
        base = self._schema.as_state_machine()  # finds the links, too
        report.transitions = self._schema.statistic.transitions.total

        class Machine(base):  # type: ignore[misc, valid-type]
            def before_call(self, case: Any) -> None:
                if _is_permitted(case) and CHANCE.random() < _AIMED:
                    tenant.aim(case)
                for name in list(case.headers or {}):
                    if name.lower() == "prefer":
                        case.headers[name] = "wait=0"  # else most of the time is waiting

            def get_call_kwargs(self, case: Any) -> dict[str, Any]:
                return {"headers": tenant.headers, "session": session, "timeout": _TIMEOUT_S}

            def after_call(self, response: Any, case: Any) -> None:
                super().after_call(response, case)
                status, label = response.status_code, case.operation.label
                report.statuses[str(status)] += 1
                report.operations[label] += 1
                if 200 <= status < 300:
                    report.successes[label] += 1
                    report.num_creations += status in (201, 202)
                tenant.learn(case, response)
                if status == 401:  # a scenario revoked its own key
                    tenant.renew_key()

            def validate_response(self, response: Any, case: Any, additional_checks: Any = None, **kwargs: Any) -> None:
                try:
                    case.validate_response(
                        response, excluded_checks=_NOT_PROMISED, transport_kwargs=kwargs, recorder=self.recorder
                    )
                except FailureGroup as group:
                    for failure in group.exceptions:
                        name = f"{case.operation.label}: {type(failure).__name__}"
                        report.failures.setdefault(name, f"{failure}\n{case.as_curl_command()}\n{response.text[:500]}")

        return type("Machine", (Machine,), dict(self._rules()))

    def _rules(self) -> Iterator[tuple[str, Any]]:
        """One for each operation, whether or not an answer leads there."""
        for found in self._schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]
            modes = [GenerationMode.POSITIVE] * 4 + [GenerationMode.NEGATIVE] * bool(operation.body or operation.query)
            cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])
            name = f"any_{operation.definition.raw['operationId']}"
            yield (
                name,
                transition(
                    name=name,
                    target=Bundle("catch_all"),
                    input=cases.map(StepInput.initial),
                    precondition=lambda machine: True,
                ),
            )


def _is_permitted(case: Any) -> bool:
    return case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE


def rows(num_requests: int = NUM_REQUESTS) -> list[Row]:
    """One run."""
    report = run(num_requests)
    for name, text in report.failures.items():
        print(f"{name}\n{text}\n", file=sys.stderr)
    server_errors = sum(number for status, number in report.statuses.items() if status.startswith("5"))
    statuses = ", ".join(f"{number} x {status}" for status, number in sorted(report.statuses.items()))
    from lambdas.api.openapi import document  # not before the runner has set the functions' environment

    num_operations = sum(len(methods) for methods in document()["paths"].values())
    asked = f"{report.num_requests} stateful requests"
    created = f"{report.num_creations} things created, {report.transitions} links between operations"
    return [
        Row(
            what=f"{asked}: operations asked, and answered with success",
            value=f"{len(report.operations)}, {len(report.successes)}",
            target=f"all {num_operations}",
            reached=len(report.successes) == num_operations and report.num_requests >= num_requests,
            note=f"seldomest success: {min(report.successes.values(), default=0)} times; {created}",
        ),
        Row(
            what=f"{asked}: answers 5xx",
            value=str(server_errors),
            target="0",
            reached=not server_errors,
            note=statuses,
        ),
        Row(
            what=f"{asked}: kinds of broken promises",
            value=str(len(report.failures)),
            target="0",
            reached=not report.failures,
            note=f"{'; '.join(report.failures) or 'status, media type, headers, body, use after free'}; "
            f"{report.wall_s:.0f} s",
        ),
    ]


if __name__ == "__main__":
    print(*rows(int(sys.argv[1]) if len(sys.argv) > 1 else NUM_REQUESTS), sep="\n")
