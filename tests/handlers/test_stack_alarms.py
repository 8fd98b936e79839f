"""Who is told of what: the alarms, and the dashboard that shows the same figures."""

from __future__ import annotations

import ast
import inspect
import json
import re

import pytest

from lambdas import metrics
from tests.handlers.test_stack_rules import ALARMS, SCALING_DIMENSIONS
from tests.handlers.test_template import DOCUMENT, RESOURCES, of_type

TELLING = {name: alarm for name, alarm in ALARMS.items() if alarm["AlarmActions"] == [{"Ref": "AlarmTopic"}]}
SCALING = {
    "EngineHasBacklogWithoutCapacity": "EngineWakes",
    "EngineIsIdle": "EngineRests",
    "PreviewIsIdle": "PreviewRests",
}
ENDPOINT = {"Name": "EndpointName", "Value": {"Sub": "${AWS::StackName}-video"}}
OF_PREVIEWS = {"Name": "EndpointName", "Value": {"Sub": "${AWS::StackName}-preview"}}
VARIANT = {"Name": "VariantName", "Value": "main"}
METRICS_OF_AWS = {  # each is in AWS's list of what its service publishes
    "AWS/SQS": {"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"},
    "AWS/Lambda": {"Errors", "Throttles"},
    "AWS/ApiGateway": {"Count", "4xx", "5xx", "Latency"},
    "AWS/SageMaker": {
        *("InvocationsProcessed", "InvocationFailures", "ExpiredRequests", "HasBacklogWithoutCapacity"),
        *("ApproximateBacklogSize", "ApproximateBacklogSizePerInstance"),
    },
}


def metrics_of_ours() -> set[str]:
    """Names that the source of ``lambdas.metrics`` writes."""
    tree = ast.parse(inspect.getsource(metrics))
    keys = [key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys]
    return {str(key.value) for key in keys if isinstance(key, ast.Constant)}


def is_published(namespace: str, name: str) -> bool:
    return name in (metrics_of_ours() if namespace == metrics.NAMESPACE else METRICS_OF_AWS[namespace])


@pytest.mark.parametrize("name", ALARMS)
def test_alarm_tells_the_operator_or_scales_the_endpoint(name):
    alarm = ALARMS[name]
    if name in SCALING:
        assert alarm["AlarmActions"] == [{"Ref": SCALING[name]}]
    else:
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": "AlarmTopic"}]
    assert is_published(alarm["Namespace"], alarm["MetricName"])
    assert "ActionsEnabled" not in alarm


def test_everything_that_can_go_wrong_by_itself_has_an_alarm():
    """Queues, dead letters and functions one by one are in test_stack_rules.py."""
    watched = {(alarm["Namespace"], alarm["MetricName"]) for alarm in TELLING.values()}
    assert watched == {
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        ("AWS/Lambda", "Errors"),
        ("AWS/Lambda", "Throttles"),
        ("AWS/ApiGateway", "5xx"),
        ("AWS/SageMaker", "InvocationFailures"),
        ("AWS/SageMaker", "ExpiredRequests"),
        ("Spokesmodel", "Backlog"),
        ("Spokesmodel", "StepsFailed"),
    }


def test_alarms_look_at_this_stack():
    for config in of_type("AWS::SageMaker::EndpointConfig").values():
        assert config["ProductionVariants"][0]["VariantName"] == VARIANT["Value"]
    for prefix, resource, endpoint in (("", "EngineEndpoint", ENDPOINT), ("Preview", "PreviewEndpoint", OF_PREVIEWS)):
        assert of_type("AWS::SageMaker::Endpoint")[resource]["EndpointName"] == endpoint["Value"]
        for name in ("EndpointInvocationsFail", "EndpointRequestsExpire"):
            assert ALARMS[prefix + name]["Dimensions"] == [endpoint, VARIANT]
    assert ALARMS["PreviewIsIdle"]["Dimensions"] == [OF_PREVIEWS], "AWS publishes it without a variant"
    assert ALARMS["EngineHasBacklogWithoutCapacity"]["Dimensions"] == [ENDPOINT], "AWS publishes it without a variant"
    assert ALARMS["ApiAnswers5xx"]["Dimensions"] == [{"Name": "ApiId", "Value": {"Ref": "Api"}}]
    assert ALARMS["StepsFail"]["Dimensions"] == SCALING_DIMENSIONS


def test_alarms_of_the_endpoint_are_there_only_with_it_and_of_the_work_queue_only_with_that():
    for name, alarm in ALARMS.items():
        needs = {"AWS/SageMaker": "OnSageMaker"}.get(alarm["Namespace"])
        needs = "OnSageMaker" if name in SCALING else "OnQueue" if name.startswith("Work") else needs
        needs = "WithPreviews" if name.startswith("Preview") else needs
        assert RESOURCES[name].get("Condition") == needs, name


def test_dashboard_shows_metrics_and_resources_that_there_are():
    [dashboard] = of_type("AWS::CloudWatch::Dashboard").values()
    text = dashboard["DashboardBody"]["Sub"]
    for name in re.findall(r"\$\{(\w+)[.}]", text):
        assert name in RESOURCES, name
        assert "Condition" not in RESOURCES[name], "a dashboard of either kind of inference shows it"
    widgets = json.loads(text)["widgets"]
    assert len({widget["properties"]["title"] for widget in widgets}) == len(widgets)
    shown = set()
    for widget in widgets:
        row: list[str] = []
        for metric in widget["properties"]["metrics"]:
            given = [part for part in metric if isinstance(part, str)]
            if given[0] == "...":  # all but the last as in the row before
                row = [*row[: len(row) - len(given) + 1], *given[1:]]
            else:
                row = [row[place] if part == "." else part for place, part in enumerate(given)]
            assert is_published(row[0], row[1]), row
            assert len(row) % 2 == 0, row
            shown.add((row[0], row[1], row[-1] if row[0] in ("AWS/SQS", "AWS/Lambda") else ""))
    functions = of_type("AWS::Serverless::Function")
    assert {("AWS/Lambda", "Errors", f"${{{name}}}") for name in functions} <= shown
    conditional = {name for name, resource in RESOURCES.items() if "Condition" in resource}
    for queue in set(of_type("AWS::SQS::Queue")) - conditional:
        metric = (
            "ApproximateNumberOfMessagesVisible" if queue.endswith("DeadLetters") else "ApproximateAgeOfOldestMessage"
        )
        assert ("AWS/SQS", metric, f"${{{queue}.QueueName}}") in shown
    assert ("Spokesmodel", "Backlog", "") in shown


def test_alarms_of_queues_wait_for_minutes_not_days():
    ages = [alarm for alarm in ALARMS.values() if alarm["MetricName"] == "ApproximateAgeOfOldestMessage"]
    kept_s = min(queue["MessageRetentionPeriod"] for queue in of_type("AWS::SQS::Queue").values())
    for alarm in ages:
        assert alarm["Threshold"] <= 3600 < kept_s
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


def test_whoever_is_named_is_told():
    [subscription] = [one for one in of_type("AWS::SNS::Subscription").values() if one["Protocol"] == "email"]
    assert subscription["TopicArn"] == {"Ref": "AlarmTopic"}
    assert subscription["Endpoint"] == {"Ref": "AlarmEmail"}
    assert DOCUMENT["Outputs"]["AlarmTopicArn"]["Value"] == {"Ref": "AlarmTopic"}
