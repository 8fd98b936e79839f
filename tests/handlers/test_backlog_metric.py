"""The metric that the endpoint's scaling follows, as CloudWatch reads it from a line of the log."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lambdas import reaper, runtime
from services.domain.errors import Unavailable


@pytest.fixture
def on_aws(world):
    settings = replace(world.services.settings, profile="aws", table_prefix="prod-")
    runtime.use_services(replace(world.services, settings=settings))
    return world


def emitted(text: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if "Backlog" in line]


def test_reaper_reports_what_waits_and_runs_per_instance(on_aws, capsys):
    on_aws.engine.num_instances = 2
    for _ in range(3):
        on_aws.prepare(on_aws.submit().id)
    reaper.lambda_handler({}, None)
    [line] = emitted(capsys.readouterr().out)
    assert (line["Backlog"], line["BacklogPerInstance"], line["EngineInstances"]) == ([3.0], [1.5], [2.0])
    [directive] = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Spokesmodel"
    assert sorted(directive["Dimensions"][0]) == ["service", "stack"]
    assert (line["service"], line["stack"]) == ("spokesmodel", "prod"), "as template.yaml's scaling policies ask"


def test_reaper_says_nothing_where_it_does_not_know(on_aws, capsys, monkeypatch):
    """Silence is "busy": an instance that may be at work is not taken away, nor one added."""

    def capacity(kind):
        raise Unavailable("The endpoint cannot be asked.", code="engine_unavailable")

    monkeypatch.setattr(on_aws.engine, "capacity", capacity)
    assert reaper.lambda_handler({}, None)["num_reaped"] == 0
    assert emitted(capsys.readouterr().out) == []


def test_one_machine_emits_nothing(world, capsys):
    reaper.lambda_handler({}, None)
    assert emitted(capsys.readouterr().out) == []
