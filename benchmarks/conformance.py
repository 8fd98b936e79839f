"""20,000 requests that schemathesis makes of the OpenAPI document, each following from answers before, good and bad.

The server is the real one but for the engine: a thread answers attempts at random in place of workers that would
render videos. No answer may be a 5xx or break the document: status, media type, headers, body; and what was deleted
stays away. A bounded run is a test (tests/handlers/api/test_stateful.py).
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.stateful import run_state_machine_as_test
from schemathesis.specs.openapi.checks import positive_data_acceptance

from benchmarks.measure import Row
from services.adapters.local.engine import SqliteEngine
from services.domain.engine import AnswerState, EngineAnswer, Failure, Output
from services.settings import Settings
from services.usecases.manage_keys import issue_key
from spokesmodel.first_start import BUILT_IN_AVATARS
from spokesmodel.runner import LocalSystem

NUM_REQUESTS = 20_000
_STEPS = 25
# A rule between two fields, or an id that does not exist, refuses what a JSON Schema allows.
_NOT_PROMISED = [positive_data_acceptance]
_VIDEO = {
    "presenter": {"avatar_id": BUILT_IN_AVATARS[0].id},
    "speech": {"text": "Meet the Aurora.", "voice": {"voice_id": "en-us"}},
}


@dataclass
class Report:
    """What was asked and how it was answered."""

    statuses: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    transitions: int = 0
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
        while not self._ended.wait(0.02):
            while (claimed := engine.claim(lease_s=30)) is not None:
                request = claimed.request
                if random.random() < 0.25:
                    failure = Failure(code="face_not_found", detail="There is no face.", param="presenter")
                    state, outputs = AnswerState.FAILED, ()
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


def run(num_requests: int) -> Report:
    """Ask at least ``num_requests`` times."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(
            Settings(),
            state_dir=Path(folder) / "state",
            requests_per_s=1e6,
            request_burst=10**6,
            max_queued_jobs=10**6,
        )
        with LocalSystem(settings, with_workers=False, quiet=True) as system:
            answerer = Answerer(system)
            started = time.monotonic()
            machine = _machine(system, report)
            while report.num_requests < num_requests:
                chosen = hypothesis_settings(
                    max_examples=max(1, (num_requests - report.num_requests) // _STEPS),
                    stateful_step_count=_STEPS,
                    deadline=None,
                    database=None,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                )
                # What can follow depends on what the server answered: that is no flaw of the test.
                with contextlib.suppress(FlakyStrategyDefinition):
                    run_state_machine_as_test(machine, settings=chosen)
            report.wall_s = time.monotonic() - started
            answerer.close()
    return report


def _machine(system: LocalSystem, report: Report) -> Any:
    schema = schemathesis.openapi.from_url(f"{system.url}/v1/openapi.json")
    session = requests.Session()
    services = system.services
    [tenant] = services.tenants.list().items
    kept: Any = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
    keys = [issue_key(tenant.id, **kept).secret]

    class Machine(schema.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            # Of random words and ids hardly one becomes a job: each scenario finds one more in some state.
            headers = {"Authorization": f"Bearer {keys[-1]}"}
            session.post(f"{system.url}/v1/videos", json=_VIDEO, headers=headers)

        def before_call(self, case: Any) -> None:
            for name in list(case.headers or {}):
                if name.lower() == "prefer":
                    case.headers[name] = "wait=0"  # else most of the time is waiting

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {keys[-1]}"}, "session": session}

        def after_call(self, response: Any, case: Any) -> None:
            report.statuses[str(response.status_code)] += 1
            report.operations[case.operation.label] += 1
            if response.status_code == 401:  # a scenario revoked its own key
                for key in services.tenants.list_keys(tenant.id):  # as many were made; there is a limit
                    services.tenants.revoke_key(tenant.id, key.id, services.clock.now())
                keys.append(issue_key(tenant.id, **kept).secret)

        def validate_response(self, response: Any, case: Any, additional_checks: Any = None, **kwargs: Any) -> None:
            try:
                case.validate_response(response, excluded_checks=_NOT_PROMISED, transport_kwargs=kwargs)
            except FailureGroup as group:
                for failure in group.exceptions:
                    name = f"{case.operation.label}: {type(failure).__name__}"
                    report.failures.setdefault(name, f"{failure}\n{case.as_curl_command()}\n{response.text[:500]}")

    report.transitions = schema.statistic.transitions.total
    return Machine


def rows(num_requests: int = NUM_REQUESTS) -> list[Row]:
    """One run."""
    report = run(num_requests)
    for name, text in report.failures.items():
        print(f"{name}\n{text}\n", file=sys.stderr)
    server_errors = sum(number for status, number in report.statuses.items() if status.startswith("5"))
    statuses = ", ".join(f"{number} x {status}" for status, number in sorted(report.statuses.items()))
    from lambdas.api.openapi import document  # not before the runner has set the functions' environment

    num_operations = sum(len(methods) for methods in document()["paths"].values())
    note = (
        f"{len(report.operations)} of {num_operations} operations, those that answers lead to (the others one by one "
        f"in tests/handlers/api/test_conformance.py), {report.transitions} links between them; {statuses}"
    )
    asked = f"{report.num_requests} stateful requests"
    return [
        Row(what=f"{asked}: answers 5xx", value=str(server_errors), target="0", reached=not server_errors, note=note),
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
