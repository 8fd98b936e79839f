"""``template.yaml`` fits the code, and keeps the rules that its services set."""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.domain.job import JobStep
from services.settings import Settings

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
GATEWAY_LIMIT_S = 29


class _Loader(yaml.SafeLoader):
    """Reads ``!Tag value`` as ``{"Tag": value}``."""


def _intrinsic(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    match node:
        case yaml.ScalarNode():
            return {suffix: loader.construct_scalar(node)}
        case yaml.SequenceNode():
            return {suffix: loader.construct_sequence(node, deep=True)}
        case _:
            return {suffix: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)
DOCUMENT: dict[str, Any] = yaml.load(TEMPLATE.read_text(), _Loader)
RESOURCES: dict[str, Any] = DOCUMENT["Resources"]


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: resource.get("Properties", {}) for name, resource in RESOURCES.items() if resource["Type"] == kind}


FUNCTIONS = of_type("AWS::Serverless::Function")
QUEUES = of_type("AWS::SQS::Queue")


def timeout_s(function: str) -> int:
    return int(FUNCTIONS[function].get("Timeout", DOCUMENT["Globals"]["Function"]["Timeout"]))


def target(reference: dict[str, str]) -> str:
    """The resource that ``!GetAtt X.Arn`` or ``!Ref X`` names."""
    [value] = reference.values()
    return value.partition(".")[0]


SUBSCRIPTIONS = [
    (name, event["Properties"])
    for name, properties in FUNCTIONS.items()
    for event in properties.get("Events", {}).values()
    if event["Type"] == "SQS"
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_handler_can_be_imported(name):
    module, _, attribute = FUNCTIONS[name]["Handler"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_environment_names_are_settings():
    known = {f"SPOKESMODEL_{field.name.upper()}" for field in fields(Settings)}
    blocks = [DOCUMENT["Globals"]["Function"], *FUNCTIONS.values()]
    names = {name for block in blocks for name in block.get("Environment", {}).get("Variables", {})}
    assert "SPOKESMODEL_PROFILE" in names
    assert {name for name in names if name.startswith("SPOKESMODEL_")} <= known


def test_events_are_never_logged():
    variables = DOCUMENT["Globals"]["Function"]["Environment"]["Variables"]
    assert variables["POWERTOOLS_LOGGER_LOG_EVENT"] == "false"


def test_every_served_step_has_one_queue_with_one_function():
    steps = [RESOURCES[target(subscription["Queue"])]["Metadata"]["Spokesmodel"] for _, subscription in SUBSCRIPTIONS]
    served = {JobStep.PREPARE, JobStep.DISPATCH, JobStep.NOTIFY}
    assert sorted(step["Step"] for step in steps if "Step" in step) == sorted(served)
    assert sorted(step["Feed"] for step in steps if "Feed" in step) == ["batch", "engine"]


@pytest.mark.parametrize(("function", "subscription"), SUBSCRIPTIONS, ids=lambda value: str(value)[:20])
def test_message_stays_invisible_for_six_timeouts(function, subscription):
    """AWS's rule for SQS event sources; below it a message is served twice at the same time."""
    queue = QUEUES[target(subscription["Queue"])]
    assert queue["VisibilityTimeout"] >= 6 * timeout_s(function)


@pytest.mark.parametrize(("function", "subscription"), SUBSCRIPTIONS, ids=lambda value: str(value)[:20])
def test_one_bad_record_does_not_bring_its_batch_again(function, subscription):
    assert subscription["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@pytest.mark.parametrize(("function", "subscription"), SUBSCRIPTIONS, ids=lambda value: str(value)[:20])
def test_message_that_never_succeeds_ends_among_dead_letters(function, subscription):
    redrive = QUEUES[target(subscription["Queue"])]["RedrivePolicy"]
    dead = QUEUES[target(redrive["deadLetterTargetArn"])]
    assert redrive["maxReceiveCount"] >= 5
    assert dead["MessageRetentionPeriod"] == 14 * 86400, "as long as SQS allows"


def test_nothing_long_is_behind_the_gateway():
    integrations = of_type("AWS::ApiGatewayV2::Integration")
    for integration in integrations.values():
        assert integration["TimeoutInMillis"] <= GATEWAY_LIMIT_S * 1000
        function = target(integration["IntegrationUri"])
        assert timeout_s(function) < GATEWAY_LIMIT_S
        assert not FUNCTIONS[function].get("Events"), "a function behind the gateway serves no queue"
        assert Settings().max_wait_s + 5 <= timeout_s(function), "`Prefer: wait` leaves time to answer"
    for route in of_type("AWS::ApiGatewayV2::Route").values():
        assert route["Target"]["Sub"].removeprefix("integrations/").strip("${}") in integrations


def test_routes_are_those_of_the_api():
    keys = sorted(route["RouteKey"] for route in of_type("AWS::ApiGatewayV2::Route").values())
    assert keys == sorted(
        [
            "POST /v1/scripts",
            "POST /v1/uploads",
            "GET /v1/avatars",
            "POST /v1/avatars",
            "GET /v1/avatars/{id}",
            "DELETE /v1/avatars/{id}",
            "GET /v1/voices",
            "GET /v1/languages",
            "POST /v1/videos",
            "POST /v1/wig-previews",
            "POST /v1/garment-previews",
            "POST /v1/images",
            "GET /v1/wigs",
            "POST /v1/wigs",
            "GET /v1/wigs/{id}",
            "DELETE /v1/wigs/{id}",
            "GET /v1/garments",
            "POST /v1/garments",
            "GET /v1/garments/{id}",
            "DELETE /v1/garments/{id}",
            "GET /v1/models",
            "POST /v1/estimates",
            "GET /v1/jobs",
            "GET /v1/jobs/{id}",
            "DELETE /v1/jobs/{id}",
            "POST /v1/jobs/{id}/cancel",
            "POST /v1/batches",
            "GET /v1/batches",
            "GET /v1/batches/{id}",
            "DELETE /v1/batches/{id}",
            "GET /v1/batches/{id}/rows",
            "GET /v1/batches/{id}/results",
            "POST /v1/batches/{id}/pause",
            "POST /v1/batches/{id}/resume",
            "POST /v1/batches/{id}/cancel",
            "POST /v1/batches/{id}/retry",
            "GET /v1/usage",
            "GET /v1/account",
            "GET /v1/keys",
            "POST /v1/keys",
            "POST /v1/keys/{id}/rotate",
            "DELETE /v1/keys/{id}",
            "GET /v1/consents",
            "POST /v1/consents",
            "GET /v1/consents/{id}",
            "POST /v1/consents/{id}/revoke",
            "DELETE /v1/subjects/{subject}",
            "GET /v1/audit",
            "GET /v1/health",
            "GET /v1/openapi.json",
            "GET /docs",
            "$default",
        ]
    )


def test_reaper_runs_every_minute():
    schedules = [
        (name, event["Properties"]["Schedule"])
        for name, properties in FUNCTIONS.items()
        for event in properties.get("Events", {}).values()
        if event["Type"] == "Schedule"
    ]
    assert schedules == [("ReaperFunction", "rate(1 minute)")]
