"""The OpenAPI document and the docs page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from lambdas.api.app import app
from lambdas.api.openapi import document
from lambdas.api.routes.meta import PUBLIC_PATHS
from spokesmodel.first_start import BUILT_IN_AVATARS
from spokesmodel.template import DEFAULT_ROUTE, load
from tests.handlers.api.gateway import Gateway

TEMPLATE = Path(__file__).parents[3] / "template.yaml"
UNDOCUMENTED = {"/v1/openapi.json", "/docs"}


@pytest.fixture
def served(world):
    answer = Gateway().get("/v1/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    return answer.body


def operations(served):
    for path, methods in served["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_document_is_valid_openapi_3_1(served):
    assert served["openapi"].startswith("3.1.")
    OPENAPI_31_VALIDATOR.validate(served)


def test_every_schema_is_valid_and_every_reference_leads_somewhere(served):
    for schema in served["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(served))):
        target = served
        for part in reference.split("/"):
            target = target[part]


@pytest.mark.parametrize(
    "name",
    [
        "Video",
        "ScriptRequest",
        "UploadRequest",
        "AvatarRequest",
        "BatchRequest",
        "Batch",
        "BatchDetail",
        "Job",
        "JobDetail",
        "Problem",
    ],
)
def test_examples_keep_to_their_schemas(served, name):
    schema = {**served["components"]["schemas"][name], "components": served["components"]}
    example = schema.get("example") or served["components"]["schemas"]["Brief"]["example"]
    if name == "ScriptRequest":
        example = {"brief": example}
    jsonschema.Draft202012Validator(schema).validate(example)


def test_every_route_is_documented_and_in_the_template_and_the_other_way_round(served):
    handled = {(route.method, route.openapi_path) for route in app._static_routes + app._dynamic_routes}
    documented = {(method.upper(), path) for path, method, _ in operations(served)}
    assert documented == {(method, path) for method, path in handled if path not in UNDOCUMENTED}
    plain = {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in handled}
    routed = {
        (route.method, re.sub(r"\{\w+\}", "{}", route.path))
        for route in load(TEMPLATE).routes
        if route.path != DEFAULT_ROUTE
    }
    assert routed == plain


def test_operations_are_named_once_summed_up_and_tagged(served):
    ids = [operation["operationId"] for _, _, operation in operations(served)]
    assert len(ids) == len(set(ids))
    tags = {tag["name"] for tag in served["tags"]}
    for _, _, operation in operations(served):
        assert operation["summary"]
        assert set(operation["tags"]) <= tags


def test_problems_are_documented_as_problem_json_and_nothing_else(served):
    for path, _, operation in operations(served):
        for status, response in operation["responses"].items():
            if not status.startswith("2"):
                assert list(response["content"]) == ["application/problem+json"]
                assert response["content"]["application/problem+json"]["schema"] == {
                    "$ref": "#/components/schemas/Problem"
                }
        if path not in PUBLIC_PATHS:
            assert {"401", "429", "503"} <= set(operation["responses"])


def test_keys_are_needed_except_where_said(served):
    assert served["security"] == [{"bearer": []}, {"apiKey": []}]
    assert set(served["components"]["securitySchemes"]) == {"bearer", "apiKey"}
    open_paths = {path for path, _, operation in operations(served) if operation.get("security") == []}
    assert open_paths == PUBLIC_PATHS - UNDOCUMENTED


def test_ends_of_jobs_are_documented_as_webhooks(served):
    ends = {f"{what}.{end}" for what in ("job", "batch") for end in ("succeeded", "failed", "canceled")}
    assert set(served["webhooks"]) == ends
    body = served["webhooks"]["job.succeeded"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/JobEvent"}


def test_sent_webhook_keeps_to_its_schema(world, served):
    job = world.start(callback_url="https://client.example/hook")
    world.complete(world.answer(job))
    world.notify(job.id)
    [sent] = world.sender.posted
    schema = {**served["components"]["schemas"]["JobEvent"], "components": served["components"]}
    jsonschema.Draft202012Validator(schema).validate(json.loads(sent.body))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("href", "src") if name in values]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_docs_page_shows_every_operation_and_loads_nothing_from_elsewhere(world):
    answer = Gateway().get("/docs")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = _Page()
    page.feed(answer.text)
    assert page.open == []
    names = {operation["operationId"] for _, _, operation in operations(document())}
    assert names <= set(page.ids)
    assert {link.removeprefix("#") for link in page.links if link.startswith("#")} <= set(page.ids)
    assert {link for link in page.links if not link.startswith("#")} == {"/v1/openapi.json"}
    assert "url(" not in answer.text
    assert "curl" in answer.text


def test_presenters_in_examples_are_ones_that_every_server_has(served):
    built_in = {avatar.id for avatar in BUILT_IN_AVATARS}
    named = set(re.findall(r"avatar_[0-9A-Z]{26}", json.dumps(served["components"]["schemas"]["Video"])))
    named |= set(re.findall(r"avatar_[0-9A-Z]{26}", json.dumps(served["components"]["schemas"]["Presenter"])))
    assert named
    assert named <= built_in


def test_every_field_of_a_brief_is_described(served):
    fields = served["components"]["schemas"]["Brief"]["properties"]
    assert [name for name, schema in fields.items() if "description" not in schema] == []


def test_document_says_the_version_that_health_says(served):
    assert served["info"]["version"] == Gateway().get("/v1/health").body["version"]
