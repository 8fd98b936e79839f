"""What the runner reads of a template."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from services.domain.errors import InvalidRequest
from spokesmodel.template import load

ROOT = Path(__file__).parents[3]
TEXT = """
    Transform: AWS::Serverless-2016-10-31
    Parameters:
      Inference: {Type: String, Default: sagemaker, AllowedValues: [sagemaker, queue]}
      Stage: {Type: String, Default: prod}
    Conditions:
      OnQueue: !Equals [!Ref Inference, queue]
      OnSageMaker: !Not [!Condition OnQueue]
      ProdOnQueue: !And [!Condition OnQueue, !Equals [!Ref Stage, prod]]
    Globals:
      Function:
        Timeout: 20
        Environment: {Variables: {COMMON: yes-please, STAGE: !Ref Stage}}
    Resources:
      Table: {Type: AWS::DynamoDB::Table}
      Integration:
        Type: AWS::ApiGatewayV2::Integration
        Properties: {IntegrationUri: !GetAtt Api.Arn}
      Route1:
        Type: AWS::ApiGatewayV2::Route
        Properties: {RouteKey: "GET /a/{id}", Target: !Sub "integrations/${Integration}"}
      Route2:
        Type: AWS::ApiGatewayV2::Route
        Properties: {RouteKey: "GET /a/fixed", Target: !Join ["/", [integrations, !Ref Integration]]}
      Route3:
        Type: AWS::ApiGatewayV2::Route
        Properties: {RouteKey: "ANY /b/{rest+}", Target: !Sub "integrations/${Integration}"}
      Route4:
        Type: AWS::ApiGatewayV2::Route
        Properties: {RouteKey: "POST /b/{one}", Target: !Sub "integrations/${Integration}"}
      Api:
        Type: AWS::Serverless::Function
        Properties:
          Handler: some.module.handler
          Environment: {Variables: {TABLE: !Ref Table, URL: !Sub "https://${Stage}.example/${Table.Arn}"}}
      Queue:
        Type: AWS::SQS::Queue
        Metadata: {Spokesmodel: {Step: prepare}}
        Properties: {VisibilityTimeout: 120}
      Worker:
        Type: AWS::Serverless::Function
        Condition: OnQueue
        Properties:
          Handler: worker.handler
          Timeout: !If [ProdOnQueue, 60, 5]
          Events:
            Work:
              Type: SQS
              Properties:
                Queue: !GetAtt Queue.Arn
                BatchSize: 7
                FunctionResponseTypes: [ReportBatchItemFailures]
                ScalingConfig: {MaximumConcurrency: 4}
            Tick: {Type: Schedule, Properties: {Schedule: rate(5 minutes)}}
"""


@pytest.fixture
def template_path(tmp_path: Path) -> Path:
    path = tmp_path / "template.yaml"
    path.write_text(textwrap.dedent(TEXT))
    return path


def test_conditions_choose_what_exists(template_path):
    assert set(load(template_path).functions) == {"Api"}
    assert set(load(template_path, {"Inference": "queue"}).functions) == {"Api", "Worker"}


def test_environment_comes_from_globals_and_the_function_with_references_resolved(template_path):
    environment = load(template_path).functions["Api"].environment
    assert environment == {
        "COMMON": "yes-please",
        "STAGE": "prod",
        "TABLE": "Table",
        "URL": "https://prod.example/Table.Arn",
    }


def test_queue_binding_says_step_batch_and_how_failures_come_back(template_path):
    [binding] = load(template_path, {"Inference": "queue"}).queue_bindings
    assert (binding.function, binding.queue, binding.step, binding.feed) == ("Worker", "Queue", "prepare", None)
    assert (binding.batch_size, binding.partial_failures, binding.max_concurrency) == (7, True, 4)
    assert binding.visibility_timeout_s == 120


def test_schedule_is_in_seconds(template_path):
    [schedule] = load(template_path, {"Inference": "queue"}).schedules
    assert (schedule.function, schedule.every_s) == ("Worker", 300)


def test_timeout_is_the_functions_or_the_globals(template_path):
    assert load(template_path, {"Inference": "queue", "Stage": "test"}).functions["Worker"].timeout_s == 5
    assert load(template_path, {"Inference": "queue"}).functions["Worker"].timeout_s == 60
    assert load(template_path).functions["Api"].timeout_s == 20


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/a/fixed", ("GET /a/fixed", {})),
        ("GET", "/a/other", ("GET /a/{id}", {"id": "other"})),
        ("POST", "/a/other", None),
        ("GET", "/a/other/more", None),
        ("GET", "/a/", None),
        ("POST", "/b/x", ("POST /b/{one}", {"one": "x"})),
        ("GET", "/b/x", ("ANY /b/{rest+}", {"rest": "x"})),
        ("POST", "/b/x/y", ("ANY /b/{rest+}", {"rest": "x/y"})),
        ("GET", "/a/fixed\n", ("GET /a/{id}", {"id": "fixed\n"})),
    ],
)
def test_most_specific_route_takes_the_request(template_path, method, path, expected):
    found = load(template_path).match(method, path)
    assert (found and (found[0].key, found[1])) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate(5 minutes)", "cron(0 * * * ? *)"),
        ("!If [ProdOnQueue, 60, 5]", "!Select [0, [5]]"),
        ("Handler: worker.handler", ""),
        ("Type: AWS::SQS::Queue", "Type: ["),
    ],
)
def test_what_is_not_understood_is_told(template_path, old, new):
    template_path.write_text(template_path.read_text().replace(old, new))
    with pytest.raises(InvalidRequest) as caught:
        load(template_path, {"Inference": "queue"})
    assert caught.value.code == "malformed_template"


def test_unknown_parameter_is_told(template_path):
    with pytest.raises(InvalidRequest, match="Infernece"):
        load(template_path, {"Infernece": "queue"})


def test_own_template_serves_every_step_with_time_to_spare():
    template = load(ROOT / "template.yaml")
    assert {binding.step or binding.feed for binding in template.queue_bindings} == {
        "prepare",
        "dispatch",
        "notify",
        "engine",
        "batch",
    }
    for binding in template.queue_bindings:
        assert binding.partial_failures
        assert binding.visibility_timeout_s >= 6 * template.functions[binding.function].timeout_s


def test_nothing_long_is_behind_the_gateway():
    template = load(ROOT / "template.yaml")
    assert all(template.functions[route.function].timeout_s < 29 for route in template.routes)
