"""Traces, with OpenTelemetry's own exporter in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lambdas import complete, dispatch, prepare, runtime
from services.adapters import tracing
from services.domain import wire
from services.domain.errors import NotFound, Unavailable
from services.settings import Settings
from tests.architecture.repository import ROOT
from tests.fakes.world import World


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    tracing.start(replace(Settings(), tracing=True), exporter=exporter)
    yield exporter.get_finished_spans
    tracing.stop()


def test_off_nothing_of_it_is_imported_and_there_is_no_trace():
    script = (
        "import sys; from services.adapters import tracing; from services.settings import Settings\n"
        "tracing.start(Settings())\n"
        "with tracing.span('x', number=1):\n"
        "    tracing.note(more=2); print(tracing.traceparent())\n"
        "tracing.flush(); tracing.stop(); print([name for name in sys.modules if 'opentelemetry' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["None", "[]"]


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(Unavailable) as refused:
        tracing.start(replace(Settings(), tracing=True))
    assert refused.value.code == "tracing_not_installed"


def test_spans_nest_and_carry_their_attributes(spans):
    with tracing.span("outer", job_id="job_1", nothing=None), tracing.span("inner"):
        tracing.note(state="done")
    inner, outer = spans()
    assert inner.parent.span_id == outer.context.span_id
    assert dict(outer.attributes) == {"job_id": "job_1"}
    assert dict(inner.attributes) == {"state": "done"}


def test_trace_goes_on_from_what_was_carried(spans):
    with tracing.span("request"):
        carried = tracing.traceparent()
    with tracing.span("step", parent=carried):
        pass
    request, step = spans()
    assert carried.startswith(f"00-{request.context.trace_id:032x}-{request.context.span_id:016x}-")
    assert (step.context.trace_id, step.parent.span_id) == (request.context.trace_id, request.context.span_id)


@pytest.mark.parametrize("broken", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_broken_parent_begins_a_trace(spans, broken):
    with tracing.span("step", parent=broken):
        pass
    assert spans()[0].parent is None


def test_error_is_told_by_code_and_never_by_its_text(spans):
    with pytest.raises(NotFound), tracing.span("step"):
        raise NotFound("a private text", code="job_not_found")
    with pytest.raises(RuntimeError), tracing.span("step"):
        raise RuntimeError("a private text")
    known, foreign = spans()
    assert (known.status.description, foreign.status.description) == ("job_not_found", "RuntimeError")
    assert "private" not in known.to_json() + foreign.to_json()


def test_steps_of_a_job_are_one_trace_that_begins_with_its_request(spans, sqs_body):
    world = World()
    runtime.use_services(world.services)
    try:
        with tracing.span("POST api"):
            job = replace(world.submit(), traceparent=tracing.traceparent())
        job = world.jobs.save(job)
        prepare.lambda_handler(sqs_body({"job_id": job.id}), None)
        dispatch.lambda_handler(sqs_body({"job_id": job.id}), None)
        [request] = world.engine.started
        with tracing.span("attempt", parent=request.traceparent):  # as an engine elsewhere does
            pass
        answer = world.answer(world.jobs.get(job.id))
        complete.lambda_handler(sqs_body({"type": "answer", "answer": wire.to_values(answer)}), None)
    finally:
        runtime.use_services(None)
    found = spans()
    assert [span.name for span in found] == ["POST api", "prepare", "dispatch", "attempt", "complete"]
    assert len({span.context.trace_id for span in found}) == 1
    assert found[-1].attributes["state"] == "succeeded"
    assert {span.attributes["job_id"] for span in found if span.name == "complete"} == {job.id}


@pytest.fixture
def sqs_body():
    def event(body):
        record = {"messageId": "m0", "receiptHandle": "r", "body": json.dumps(body), "attributes": {}}
        return {"Records": [{**record, "messageAttributes": {}, "eventSource": "aws:sqs", "eventSourceARN": "a"}]}

    return event
