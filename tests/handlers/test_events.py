"""``events`` holds what each function was called with on the emulator; its handler takes it."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from services.domain.job import JobStep
from spokesmodel.template import load

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "events"
FUNCTIONS = load(ROOT / "template.yaml").functions
JOB_ID = "job_01JDV3M0Q8T2A4B6C8D0E2F4G6"


def called(function: str):
    module, _, name = FUNCTIONS[function].handler.rpartition(".")
    event = json.loads((EVENTS / f"{function}.json").read_text(encoding="utf-8"))
    return getattr(importlib.import_module(module), name)(event, None)


def test_there_is_one_event_for_each_function():
    assert {path.stem for path in EVENTS.glob("*.json")} == set(FUNCTIONS)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in ("ApiFunction", "ReaperFunction")])
def test_records_of_what_is_gone_do_not_come_again(world, function):
    assert called(function) == {"batchItemFailures": []}


def test_api_refuses_the_events_key(world):
    assert called("ApiFunction")["statusCode"] == 401


def test_reaper_takes_its_schedule(world):
    assert called("ReaperFunction")["num_reaped"] == 0


def test_prepare_serves_the_events_job(world):
    world.jobs.add(replace(world.submit(), id=JOB_ID))
    called("PrepareFunction")
    assert world.jobs.get(JOB_ID).step is JobStep.DISPATCH


@pytest.mark.parametrize("path", sorted(EVENTS.glob("*.json")), ids=lambda path: path.stem)
def test_nothing_of_the_recording_machine_is_left(path):
    text = path.read_text(encoding="utf-8")
    for trace in ("127.0.0.1", "localhost", "000000000000", "sk_live", "/tmp", "/root"):
        assert trace not in text
