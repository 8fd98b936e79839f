"""The engine's lines."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from models.serving import log
from services.adapters import tracing
from services.domain.engine import EngineKind, EngineRequest
from services.domain.ids import new_id
from services.settings import Settings


@pytest.fixture
def logged():
    """A logger that writes as the engine's does, and what it wrote."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(log.JsonLines())
    logger = logging.getLogger("spokesmodel.engine.test")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger, lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)


def request_of() -> EngineRequest:
    return EngineRequest(
        kind=EngineKind.NOOP,
        tenant_id="tenant_x",
        job_id=new_id("job"),
        attempt=2,
        storyboard_key="work/x",
        deadline_at=datetime(2030, 1, 1, tzinfo=UTC),
    )


def test_line_of_an_attempt_names_job_tenant_attempt_request_and_stage(logged):
    logger, lines = logged
    request = request_of()
    with log.serving(request):
        logger.info("half %s", "way")
    logger.info("afterwards")
    first, second = lines()
    assert (first["message"], first["level"], first["stage"]) == ("half way", "INFO", "run")
    assert (first["job_id"], first["tenant_id"], first["attempt"]) == (request.job_id, "tenant_x", 2)
    assert first["request_id"] == request.inference_id
    assert not {"job_id", "tenant_id", "attempt", "stage"} & set(second)


def test_values_of_a_line_are_fields(logged):
    logger, lines = logged
    logger.info("ended", extra={"values": {"state": "succeeded", "engine_cpu_s": 1.5}})
    assert (lines()[0]["state"], lines()[0]["engine_cpu_s"]) == ("succeeded", 1.5)


def test_exception_is_told_by_class_and_place_and_stays_one_line(logged):
    logger, lines = logged
    try:
        raise RuntimeError("a\nprivate" + " text")
    except RuntimeError:
        logger.exception("broke")
    [line] = lines()
    assert line["error"] == "RuntimeError"
    assert "test_log.py" in line["frames"]
    assert "private text" not in json.dumps(line)


def test_engine_tells_how_an_attempt_ended(caplog, make_engine, order):
    engine = make_engine()
    engine.load()
    request = order()
    with caplog.at_level(logging.INFO, logger="spokesmodel.engine"):
        engine.admit()
        engine.run(request)
    [record] = [one for one in caplog.records if one.message == "attempt ended"]
    assert record.values["state"] == "succeeded"
    assert record.values["engine_cpu_s"] >= 0


def test_attempt_joins_the_trace_of_its_job(make_engine, order):
    exporter = InMemorySpanExporter()
    tracing.start(replace(Settings(), tracing=True), exporter=exporter)
    try:
        engine = make_engine()
        engine.load()
        engine.admit()
        request = replace(order(), traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        engine.run(request)
    finally:
        tracing.stop()
    [span] = exporter.get_finished_spans()
    assert (span.name, span.attributes["state"]) == ("attempt", "succeeded")
    assert f"{span.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert span.attributes["job_id"] == request.job_id
