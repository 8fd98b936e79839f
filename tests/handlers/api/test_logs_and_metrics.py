"""What functions log and measure while they serve jobs."""

from __future__ import annotations

import io
import json
import logging
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lambdas import batch, complete, dispatch, metrics, outbox, prepare, reaper, runtime, webhooks
from services.adapters import tracing
from services.adapters.aws.job_items import item_of
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, Failure
from services.domain.errors import Unavailable
from tests.fakes.world import CALLBACK_URL
from tests.handlers.api.gateway import LambdaContext

CONTEXT = LambdaContext(aws_request_id="request-7")


@pytest.fixture
def lines(monkeypatch):
    """What was logged since, as values."""
    stream = io.StringIO()
    monkeypatch.setattr(runtime.logger.handlers[0], "stream", stream)

    def read():
        found = [json.loads(line) for line in stream.getvalue().splitlines()]
        stream.seek(0)
        stream.truncate()
        return found

    return read


@pytest.fixture
def measured(world, capsys):
    """Metrics written since, as ``{(name, dimension values ...): value}``; the profile is AWS's."""
    runtime.use_services(replace(world.services, settings=replace(world.settings, profile="aws")))

    def read():
        found = {}
        for line in capsys.readouterr().out.splitlines():
            document = json.loads(line)
            [directive] = document["_aws"]["CloudWatchMetrics"]
            assert directive["Namespace"] == metrics.NAMESPACE
            [dimensions] = directive["Dimensions"]
            values = tuple(document[name] for name in dimensions if name != "service")
            assert not any(value.startswith(("job_", "tenant_")) for value in values)
            for metric in directive["Metrics"]:
                value = document[metric["Name"]]
                key = (metric["Name"], *values)
                found[key] = found.get(key, 0) + (value if isinstance(value, float) else sum(value))
        return found

    return read


def test_every_line_of_a_served_job_names_job_tenant_attempt_request_and_stage(world, sqs, lines):
    job = world.submit(callback_url=CALLBACK_URL)
    message = sqs({"job_id": job.id})
    prepare.lambda_handler(message, CONTEXT)
    dispatch.lambda_handler(message, CONTEXT)
    answer = world.answer(world.jobs.get(job.id))
    complete.lambda_handler(sqs({"type": "answer", "answer": wire.to_values(answer)}), CONTEXT)
    webhooks.lambda_handler(message, CONTEXT)
    logged = lines()
    assert [line["stage"] for line in logged] == ["prepare", "dispatch", "complete", "notify"]
    assert [line["attempt"] for line in logged] == [0, 1, 1, 1]
    for line in logged:
        assert (line["job_id"], line["tenant_id"], line["request_id"]) == (job.id, job.tenant_id, "request-7")


def test_line_of_a_failure_names_them_too(world, sqs, lines):
    world.engine.is_reachable = False
    job = world.prepare(world.submit().id)
    dispatch.lambda_handler(sqs({"job_id": job.id}), CONTEXT)
    [line] = [line for line in lines() if line["message"] == "record failed"]
    assert (line["job_id"], line["tenant_id"], line["attempt"]) == (job.id, job.tenant_id, 0)
    assert (line["stage"], line["code"], line["request_id"]) == ("dispatch", "engine_unavailable", "request-7")


def test_lines_of_other_modules_are_json_with_the_same_keys(world, sqs, lines, monkeypatch):
    put = world.objects.put

    def told(*args, **kwargs):
        logging.getLogger("spokesmodel.anything").warning("from %s", "below")
        return put(*args, **kwargs)

    monkeypatch.setattr(world.objects, "put", told)
    job = world.submit()
    prepare.lambda_handler(sqs({"job_id": job.id}), CONTEXT)
    [line] = [line for line in lines() if line["message"] == "from below"]
    assert (line["job_id"], line["stage"]) == (job.id, "prepare")


def test_keys_end_with_their_record(world, sqs, lines):
    prepare.lambda_handler(sqs({"job_id": world.submit().id}, "{"), CONTEXT)
    bad = next(line for line in lines() if line["message"] == "record failed")
    assert bad["message_id"] == "m1"
    assert not {"job_id", "tenant_id", "attempt", "stage"} & set(bad)
    runtime.logger.warning("afterwards")
    [line] = lines()
    assert not {"job_id", "request_id", "message_id"} & set(line)


def test_threads_keep_their_keys_apart(world, sqs, lines, monkeypatch):
    both_are_inside = threading.Barrier(2, timeout=10)
    put = world.objects.put

    def meet(*args, **kwargs):
        both_are_inside.wait()
        return put(*args, **kwargs)

    monkeypatch.setattr(world.objects, "put", meet)
    jobs = [world.submit() for _ in range(2)]
    threads = [
        threading.Thread(target=prepare.lambda_handler, args=(sqs({"job_id": job.id}), LambdaContext("f", job.id)))
        for job in jobs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted((line["job_id"], line["request_id"]) for line in lines()) == sorted((job.id, job.id) for job in jobs)


def test_tenant_comes_from_the_message_group_before_the_body_is_read(world, sqs, lines):
    event = sqs("{")
    event["Records"][0]["attributes"]["MessageGroupId"] = "tenant_x"
    prepare.lambda_handler(event, CONTEXT)
    assert lines()[0]["tenant_id"] == "tenant_x"


def test_accepted_video_is_a_line_with_its_job_and_request(world, api, video, lines):
    job_id = api.post("/v1/videos", video).body["id"]
    [line] = [line for line in lines() if line["message"] == "job accepted"]
    assert (line["job_id"], line["tenant_id"], line["stage"]) == (job_id, world.jobs.get(job_id).tenant_id, "submit")
    assert line["request_id"]


def test_each_stage_is_measured_once(world, sqs, measured):
    job = world.submit(callback_url=CALLBACK_URL)
    message = sqs({"job_id": job.id})
    prepare.lambda_handler(message, CONTEXT)
    assert set(measured()) == {("StageDuration", "prepare")}
    world.clock.advance(3)
    dispatch.lambda_handler(message, CONTEXT)
    found = measured()
    assert set(found) == {("StageDuration", "dispatch"), ("QueueWait", "noop")}
    assert found["QueueWait", "noop"] == 3.0
    world.clock.advance(5)
    answer = replace(world.answer(world.jobs.get(job.id)), usage={"output_s": 1.5, "engine_cpu_s": 0.25})
    notice = sqs({"type": "answer", "answer": wire.to_values(answer)})
    complete.lambda_handler(notice, CONTEXT)
    found = measured()
    assert found.pop(("StageDuration", "complete")) >= 0
    assert found == {
        ("StageDuration", "run"): 5.0,
        ("JobsSucceeded", "noop"): 1.0,
        ("OutputSeconds", "noop"): 1.5,
        ("EngineCpuSeconds", "noop"): 0.25,
    }
    complete.lambda_handler(notice, CONTEXT)
    assert measured() == {}, "a repeated notice is no second success"
    world.sender.answers = [500]
    webhooks.lambda_handler(message, CONTEXT)
    assert measured()["WebhookTries", "again"] == 1.0


def test_batch_is_logged_and_each_of_its_steps_measured(world, api, video, sqs, measured, lines):
    video["presenter"] = {"avatar_id": "avatar_unknown"}
    created = api.post("/v1/batches", {"rows": [video], "callback_url": CALLBACK_URL}).body
    lines(), measured()
    message = sqs({"batch_id": created["id"]})
    batch.lambda_handler(message, CONTEXT)
    batch.lambda_handler(message, CONTEXT)
    logged = lines()
    assert [(line["stage"], line["state"], line["step"]) for line in logged] == [
        ("batch", "succeeded", "notify"), ("batch", "succeeded", "none"),
    ]  # fmt: skip
    for line in logged:
        assert (line["message"], line["batch_id"], line["request_id"]) == ("batch served", created["id"], "request-7")
        assert line["tenant_id"] == world.batches.get(created["id"]).tenant_id
    found = measured()
    assert set(found) == {("StageDuration", "batch_validate"), ("StageDuration", "batch_notify")}
    batch.lambda_handler(message, CONTEXT)
    assert not measured(), "nothing was due"


def test_failures_are_counted_by_code_and_repeated_attempts_apart(world, sqs, measured):
    job = world.start()
    answers = [world.failed(job, retryable=True)]
    complete.lambda_handler(sqs({"type": "answer", "answer": wire.to_values(answers[0])}), CONTEXT)
    found = measured()
    assert found["AttemptsRepeated", "noop"] == 1.0
    assert ("JobsFailed", "noop") not in found
    job = world.start()
    failed = EngineAnswer(
        job_id=job.id, attempt=1, state=AnswerState.FAILED, failure=Failure(code="memory_exceeded", detail="x")
    )
    complete.lambda_handler(sqs({"type": "answer", "answer": wire.to_values(failed)}), CONTEXT)
    found = measured()
    assert (found["JobsFailed", "noop"], found["JobsFailedByCode", "memory_exceeded"]) == (1.0, 1.0)


def test_jobs_are_counted_when_their_row_comes_and_when_it_is_canceled(world, measured):
    def image(job):
        packed = item_of(job, retention=timedelta(days=1))
        return {name: {"N": str(it)} if isinstance(it, int) else {"S": it} for name, it in packed.items() if it}

    job = world.submit()
    canceled = world.cancel(job.id)
    for old, new in ((None, job), (job, job), (job, canceled), (canceled, canceled), (canceled, None)):
        images = {name: image(one) for name, one in (("OldImage", old), ("NewImage", new)) if one is not None}
        record = {"dynamodb": {**images, "SequenceNumber": "1"}}
        assert outbox.lambda_handler({"Records": [record]}, CONTEXT) == {"batchItemFailures": []}
    assert measured() == {("JobsSubmitted", "noop"): 1.0, ("JobsCanceled", "noop"): 1.0}


def test_attempts_given_up_are_counted(world, measured):
    job = world.start()
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    reaper.lambda_handler({}, CONTEXT)
    assert measured()["AttemptsRepeated", "noop"] == 1.0
    world.jobs.save(replace(world.jobs.get(job.id), attempt=world.settings.max_attempts - 1))
    world.clock.advance(60)
    world.dispatch(job.id)
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    reaper.lambda_handler({}, CONTEXT)
    assert measured()["JobsFailedByCode", "attempt_timed_out"] == 1.0


def test_keys_of_a_job_end_with_it_within_its_record(world, lines):
    with runtime.log_keys(request_id="request-7"):
        runtime.serve_job(world.submit().id, world.prepare, stage="prepare")
        runtime.logger.warning("between")
    line = lines()[-1]
    assert (line["message"], line["request_id"]) == ("between", "request-7")
    assert not {"job_id", "attempt", "stage"} & set(line)


def test_line_of_a_progress_event_that_fails_names_its_job(world, sqs, lines, monkeypatch):
    job = world.start()

    def fail(job_id):
        raise Unavailable("x", code="store_unavailable")

    monkeypatch.setattr(world.jobs, "get", fail)
    event = {"job_id": job.id, "attempt": 1, "sequence": 0, "stage": "render", "fraction": 0.5}
    complete.lambda_handler(sqs({"type": "event", "event": event}), CONTEXT)
    [line] = lines()
    assert (line["job_id"], line["attempt"], line["stage"]) == (job.id, 1, "complete")


def test_one_machine_writes_no_metrics_on_standard_output(world, sqs, api, video, capsys):
    capsys.readouterr()
    api.post("/v1/videos", video)
    prepare.lambda_handler(sqs({"job_id": world.submit().id}), CONTEXT)
    reaper.lambda_handler({}, CONTEXT)
    assert '"_aws"' not in capsys.readouterr().out


def test_request_joins_the_callers_trace_and_hands_it_to_its_job(world, api, video):
    exporter = InMemorySpanExporter()
    tracing.start(replace(world.settings, tracing=True), exporter=exporter)
    try:
        caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        job_id = api.post("/v1/videos", video, headers={"traceparent": caller}).body["id"]
        api.get("/v1/account")
    finally:
        tracing.stop()
    created, other = exporter.get_finished_spans()
    assert (created.name, created.attributes["status"]) == ("POST api", 202)
    assert created.attributes["tenant_id"] == world.jobs.get(job_id).tenant_id
    assert f"{created.context.trace_id:032x}" == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert f"{created.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert world.jobs.get(job_id).traceparent.split("-")[1:3] == [
        f"{created.context.trace_id:032x}",
        f"{created.context.span_id:016x}",
    ]
    assert other.context.trace_id != created.context.trace_id
