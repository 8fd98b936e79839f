"""What the stack owes its operator: nothing open, nothing lost in silence, nothing scaled in at work."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest

from lambdas import metrics
from lambdas.api.openapi import document
from services.adapters.aws import wiring
from services.adapters.aws.work_queue import SqsWorkQueue
from services.bootstrap import Services
from services.domain.object_key import Retention
from services.settings import Settings
from services.usecases.measure_backlog import Backlog
from spokesmodel.template import load
from tests.handlers.test_template import (
    DOCUMENT,
    FUNCTIONS,
    QUEUES,
    RESOURCES,
    SUBSCRIPTIONS,
    TEMPLATE,
    of_type,
    target,
)

ALARMS = of_type("AWS::CloudWatch::Alarm")
DEAD = {name for name in QUEUES if name.endswith("DeadLetters")}
TABLES = {name: resource for name, resource in RESOURCES.items() if resource["Type"] == "AWS::DynamoDB::Table"}
SCALING_DIMENSIONS = [
    {"Name": "service", "Value": "spokesmodel"},
    {"Name": "stack", "Value": {"Ref": "AWS::StackName"}},
]


def alarms_on(metric: str, resource: str) -> list[str]:
    return [
        name
        for name, alarm in ALARMS.items()
        if alarm.get("MetricName") == metric
        and any(isinstance(d["Value"], dict) and target(d["Value"]) == resource for d in alarm.get("Dimensions", ()))
    ]


def policy_statements(kind: str) -> list[dict[str, Any]]:
    return [one for policy in of_type(kind).values() for one in policy["PolicyDocument"]["Statement"]]


@pytest.mark.parametrize("inference", ["sagemaker", "queue"])
def test_environment_of_every_function_makes_complete_settings(inference):
    parameters = {"Inference": inference, "EngineImage": "repository:tag"}
    for function in load(TEMPLATE, parameters).functions.values():
        settings = Settings.from_environment(function.environment)
        assert wiring.complete(settings, {}).inference == inference
        assert settings.profile == "aws"
        assert bool(settings.endpoint_name) is (inference == "sagemaker")
        assert bool(settings.work_queue_url) is (inference == "queue")


def test_one_machine_reads_the_same_template():
    here = load(TEMPLATE, {"Profile": "local"})
    there = load(TEMPLATE)
    assert (here.routes, here.queue_bindings, here.schedules) == (there.routes, there.queue_bindings, there.schedules)


def test_routes_are_those_of_the_openapi_document():
    def unnamed(route: str) -> str:
        return re.sub(r"\{\w+\}", "{}", route)

    described = {unnamed(f"{verb.upper()} {path}") for path, verbs in document()["paths"].items() for verb in verbs}
    routed = {unnamed(route["RouteKey"]) for route in of_type("AWS::ApiGatewayV2::Route").values()}
    assert routed - described == {"$default", "GET /docs", "GET /v1/openapi.json"}
    assert described <= routed


@pytest.mark.parametrize("queue", sorted(set(QUEUES) - DEAD))
def test_queue_is_encrypted_watched_and_has_dead_letters_of_its_own(queue):
    properties = QUEUES[queue]
    assert properties["SqsManagedSseEnabled"] is True
    assert alarms_on("ApproximateAgeOfOldestMessage", queue)
    dead = target(properties["RedrivePolicy"]["deadLetterTargetArn"])
    assert dead in DEAD
    allow = QUEUES[dead]["RedriveAllowPolicy"]
    [source] = allow["sourceQueueArns"]
    assert allow["redrivePermission"] == "byQueue"
    assert source["Sub"].endswith(":" + properties["QueueName"]["Sub"])
    owners = [
        name for name in set(QUEUES) - DEAD if target(QUEUES[name]["RedrivePolicy"]["deadLetterTargetArn"]) == dead
    ]
    assert owners == [queue]


@pytest.mark.parametrize("queue", sorted(DEAD))
def test_dead_letters_are_kept_as_long_as_can_be_and_raise_an_alarm(queue):
    assert QUEUES[queue]["MessageRetentionPeriod"] == 14 * 86400
    assert QUEUES[queue]["SqsManagedSseEnabled"] is True
    assert alarms_on("ApproximateNumberOfMessagesVisible", queue)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_failing_function_raises_an_alarm(function):
    [name] = alarms_on("Errors", function)
    assert ALARMS[name]["AlarmActions"] == [{"Ref": "AlarmTopic"}]


def test_stream_records_that_cannot_be_sent_on_are_kept_and_told():
    events = FUNCTIONS["OutboxFunction"]["Events"].values()
    assert {target(event["Properties"]["Stream"]) for event in events} == {"JobsTable", "BatchesTable"}
    for event in events:
        properties = event["Properties"]
        assert properties["BisectBatchOnFunctionError"] is True
        assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert target(properties["DestinationConfig"]["OnFailure"]["Destination"]) in DEAD
        pattern = json.loads(properties["FilterCriteria"]["Filters"][0]["Pattern"])
        assert pattern["eventName"] == ["INSERT", "MODIFY"], "what expires or is deleted rings nothing"


def test_every_queue_takes_messages_over_tls_only():
    denied = set()
    for policy in of_type("AWS::SQS::QueuePolicy").values():
        [deny] = [one for one in policy["PolicyDocument"]["Statement"] if one.get("Effect") == "Deny"]
        assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for queue in policy["Queues"]:
            denied.add(target(queue) if "Ref" in queue else target(queue["If"][1]))
    assert denied == set(QUEUES)


def test_bucket_is_closed_encrypted_and_spoken_to_over_tls_only():
    [bucket] = of_type("AWS::S3::Bucket").values()
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    [deny] = policy_statements("AWS::S3::BucketPolicy")
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    [cors] = bucket["CorsConfiguration"]["CorsRules"]
    assert {"PUT", "GET"} <= set(cors["AllowedMethods"])


def test_every_class_of_objects_ends_by_its_retention():
    [bucket] = of_type("AWS::S3::Bucket").values()
    rules = bucket["LifecycleConfiguration"]["Rules"]
    days = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "Prefix" in rule}
    kept_until_deleted = {Retention.CATALOGUE}
    assert {f"{retention}/" for retention in set(Retention) - kept_until_deleted} | {"async/"} == set(days)
    assert days["work/"] == days["result/"] == {"Ref": "RetentionDays"}
    assert any("AbortIncompleteMultipartUpload" in rule for rule in rules)


# What cannot be made again, and what ends by itself. What is in both ends as late as jobs do.
KEPT = {
    *("JobsTable", "TenantsTable", "AvatarsTable", "UsageTable", "ConsentsTable", "ConsentUsesTable", "AuditTable"),
    *("BatchesTable", "BatchRowsTable", "ProductsTable"),
}
ENDING = {
    *("JobsTable", "TurnsTable", "UploadsTable", "IdempotencyTable", "DeliveriesTable", "RatesTable"),
    *("BatchesTable", "BatchRowsTable"),
}


def test_every_table_is_kept_or_ends_by_itself():
    assert set(TABLES) == KEPT | ENDING


@pytest.mark.parametrize("table", TABLES)
def test_table_is_on_demand_encrypted_and_kept_when_it_cannot_be_made_again(table):
    resource, properties = TABLES[table], TABLES[table]["Properties"]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["SSESpecification"]["SSEEnabled"] is True
    # A creation that is rolled back leaves no table in the next one's way.
    is_kept = table in KEPT
    assert (resource.get("DeletionPolicy") == "RetainExceptOnCreate") is is_kept
    assert (resource.get("UpdateReplacePolicy") == "Retain") is is_kept
    recovery = properties.get("PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": False})
    assert recovery["PointInTimeRecoveryEnabled"] is is_kept
    ends = {"AttributeName": "expires_at", "Enabled": True} if table in ENDING else None
    assert properties.get("TimeToLiveSpecification") == ends


def test_bucket_outlives_the_stack():
    [bucket] = [resource for resource in RESOURCES.values() if resource["Type"] == "AWS::S3::Bucket"]
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_what_only_sagemaker_needs_is_there_only_with_it():
    for name, resource in RESOURCES.items():
        if resource["Type"].startswith(("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")):
            assert resource.get("Condition") == ("WithPreviews" if name.startswith("Preview") else "OnSageMaker"), name
    on_sagemaker = DOCUMENT["Conditions"]["WithPreviews"]["And"][0]
    assert on_sagemaker == {"Condition": "OnSageMaker"}


def test_endpoint_is_asynchronous_with_notices_and_places_for_both_outcomes():
    videos, previews = of_type("AWS::SageMaker::EndpointConfig").values()
    inference = videos["AsyncInferenceConfig"]
    assert previews["AsyncInferenceConfig"] == inference
    output = inference["OutputConfig"]
    assert {"S3OutputPath", "S3FailurePath"} <= set(output)
    topics = {target(topic) for topic in output["NotificationConfig"].values()}
    heard = {
        target(one["TopicArn"])
        for one in of_type("AWS::SNS::Subscription").values()
        if one["Protocol"] == "sqs" and target(one["Endpoint"]) == "EngineQueue"
    }
    assert topics == heard
    assert topics == {"EngineSuccessTopic", "EngineErrorTopic"}
    assert output["NotificationConfig"]["SuccessTopic"] != output["NotificationConfig"]["ErrorTopic"]
    assert inference["ClientConfig"]["MaxConcurrentInvocationsPerInstance"] == {"Ref": "EngineConcurrency"}
    assert Settings().attempt_timeout_s <= 3600, "SageMaker lets no invocation run longer"


def test_sagemakers_notices_may_enter_the_engine_queue_and_nobody_elses():
    """Without it no job would end but by its deadline."""
    [policy] = [
        policy for policy in of_type("AWS::SQS::QueuePolicy").values() if policy["Queues"] == [{"Ref": "EngineQueue"}]
    ]
    conditional = [one["Fn::If"] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
    assert [(condition, target(otherwise)) for condition, _, otherwise in conditional] == [
        ("OnSageMaker", "AWS::NoValue")
    ]
    topics = [{"Ref": "EngineSuccessTopic"}, {"Ref": "EngineErrorTopic"}]
    assert conditional[0][1] == {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": {"GetAtt": "EngineQueue.Arn"},
        "Condition": {"ArnEquals": {"aws:SourceArn": topics}},
    }
    others = policy_statements("AWS::SQS::QueuePolicy")
    assert [one for one in others if one.get("Effect") == "Allow"] == [], "the one above is the only one"


def test_engine_in_a_vpc_spans_two_zones():
    model, of_previews = of_type("AWS::SageMaker::Model").values()
    assert of_previews["VpcConfig"] == model["VpcConfig"]
    condition, vpc, otherwise = model["VpcConfig"]["Fn::If"]
    assert (condition, otherwise) == ("InVpc", {"Ref": "AWS::NoValue"})
    assert vpc["Subnets"] == [{"Ref": "EngineSubnetA"}, {"Ref": "EngineSubnetB"}]
    assert vpc["SecurityGroupIds"] == [{"Ref": "EngineSecurityGroup"}]
    rule = DOCUMENT["Rules"]["EngineSpansTwoZones"]
    named = {
        text
        for text in re.findall(r"\w+", json.dumps([one["Assert"] for one in rule["Assertions"]]))
        if text in DOCUMENT["Parameters"]
    }
    assert named == {"EngineSubnetB", "EngineSecurityGroup"}
    configs = of_type("AWS::SageMaker::EndpointConfig")
    [variant] = configs["EngineEndpointConfig"]["ProductionVariants"]
    assert variant["InitialInstanceCount"] == {"If": ["FloorIsZero", 1, {"Ref": "MinInstances"}]}
    [variant] = configs["PreviewEndpointConfig"]["ProductionVariants"]
    assert variant["InitialInstanceCount"] == {"Ref": "PreviewInstances"}


def test_scaling_follows_the_metric_that_the_reaper_sends(capsys):
    metrics.backlog(Backlog(num_waiting=3, num_running=1, num_instances=2), stack="prod")
    sent = json.loads(capsys.readouterr().out)
    [directive] = sent["_aws"]["CloudWatchMetrics"]
    policies = of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = policies["EngineFollowsBacklog"]["TargetTrackingScalingPolicyConfiguration"]
    followed = tracking["CustomizedMetricSpecification"]
    for asked in (followed, ALARMS["EngineIsIdle"], ALARMS["BacklogIsUnknown"]):
        assert asked["Namespace"] == directive["Namespace"]
        assert asked["MetricName"] in {metric["Name"] for metric in directive["Metrics"]}
        assert asked["Dimensions"] == SCALING_DIMENSIONS
        assert sorted(d["Name"] for d in asked["Dimensions"]) == sorted(directive["Dimensions"][0])
    assert followed["MetricName"] == "BacklogPerInstance"


def test_endpoint_wakes_by_sagemakers_word_and_rests_only_when_idle():
    """An instance taken away at work loses its attempt, so no measure means busy and tracking only adds."""
    policies = of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = policies["EngineFollowsBacklog"]["TargetTrackingScalingPolicyConfiguration"]
    assert tracking["DisableScaleIn"] == {"If": ["KeepWhileBusy", True, False]} or tracking["DisableScaleIn"] == {
        "If": ["KeepWhileBusy", "true", "false"]
    }
    wake, rest = ALARMS["EngineHasBacklogWithoutCapacity"], ALARMS["EngineIsIdle"]
    assert (wake["MetricName"], wake["AlarmActions"]) == ("HasBacklogWithoutCapacity", [{"Ref": "EngineWakes"}])
    assert (rest["MetricName"], rest["Threshold"], rest["TreatMissingData"]) == ("Backlog", 0, "notBreaching")
    assert rest["AlarmActions"] == [{"Ref": "EngineRests"}]
    assert rest["EvaluationPeriods"] == {"Ref": "IdleMinutes"}
    waking = policies["EngineWakes"]["StepScalingPolicyConfiguration"]
    assert waking["AdjustmentType"] == "ChangeInCapacity"
    [step] = waking["StepAdjustments"]
    assert (step["MetricIntervalLowerBound"], step["ScalingAdjustment"]) == (0, 1)
    resting = policies["EngineRests"]["StepScalingPolicyConfiguration"]
    assert resting["AdjustmentType"] == "ExactCapacity"
    assert resting["StepAdjustments"] == [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": {"Ref": "MinInstances"}}]
    for name, policy in policies.items():
        assert target(policy["ScalingTargetId"]) == (
            "PreviewScaling" if name.startswith("Preview") else "EngineScaling"
        )
    scalable = of_type("AWS::ApplicationAutoScaling::ScalableTarget")["EngineScaling"]
    assert (scalable["MinCapacity"], scalable["MaxCapacity"]) == ({"Ref": "MinInstances"}, {"Ref": "MaxInstances"})


def test_endpoint_of_previews_keeps_its_floor_and_rests_there_only_when_idle():
    """Nobody waits for an instance to wake; and none is taken away at work, as tracking only adds."""
    policies = of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = policies["PreviewFollowsBacklog"]["TargetTrackingScalingPolicyConfiguration"]
    followed = tracking["CustomizedMetricSpecification"]
    assert (followed["Namespace"], followed["MetricName"]) == ("AWS/SageMaker", "ApproximateBacklogSizePerInstance")
    of_videos = policies["EngineFollowsBacklog"]["TargetTrackingScalingPolicyConfiguration"]
    assert tracking["DisableScaleIn"] == of_videos["DisableScaleIn"]
    rest = ALARMS["PreviewIsIdle"]
    assert (rest["MetricName"], rest["Threshold"], rest["TreatMissingData"]) == (
        "ApproximateBacklogSize",
        0,
        "notBreaching",
    )
    resting = policies["PreviewRests"]["StepScalingPolicyConfiguration"]
    floor = {"Ref": "PreviewInstances"}
    assert resting["StepAdjustments"] == [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": floor}]
    scalable = of_type("AWS::ApplicationAutoScaling::ScalableTarget")["PreviewScaling"]
    assert (scalable["MinCapacity"], scalable["MaxCapacity"]) == (floor, {"Ref": "MaxPreviewInstances"})
    assert DOCUMENT["Parameters"]["PreviewInstances"]["Default"] == 1


def test_functions_that_lean_on_others_are_bounded():
    """2 is the least that AWS takes. More at once than this, and what each leans on would feel it."""
    most = {
        "PrepareFunction": 10,  # Bedrock and Polly: their quotas
        "DispatchFunction": 2,  # admission looks before it leaps; more of them would admit beside each other
        "CompleteFunction": 10,  # the tables' rows of single tenants
        "WebhooksFunction": 20,  # clients' servers
        "BatchFunction": 5,  # submits for ten minutes at a time
    }
    bounds = {name: subscription["ScalingConfig"]["MaximumConcurrency"] for name, subscription in SUBSCRIPTIONS}
    assert set(bounds) == set(most)
    for function, bound in bounds.items():
        assert 2 <= bound <= most[function], function
    reserved = FUNCTIONS["ApiFunction"]["ReservedConcurrentExecutions"]
    assert reserved == {"If": ["ReserveApi", {"Ref": "ApiConcurrency"}, {"Ref": "AWS::NoValue"}]}
    stage = of_type("AWS::ApiGatewayV2::Stage")["ApiStage"]["DefaultRouteSettings"]
    assert stage["ThrottlingRateLimit"] == {"Ref": "ApiRequestsPerSecond"}


def test_whoever_else_receives_from_the_work_queue_hides_a_message_as_long_as_our_workers():
    ours = inspect.signature(SqsWorkQueue.__init__).parameters["visibility_s"].default
    assert QUEUES["WorkQueue"]["VisibilityTimeout"] >= ours


def test_deployment_guide_tells_every_parameter_with_its_default():
    page = (TEMPLATE.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
    told: dict[str, str] = {}
    for names, defaults in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", page, re.MULTILINE):
        names, defaults = re.findall(r"`(\w+)`", names), [text.strip(" `") for text in defaults.split(",")]
        told |= dict(zip(names, defaults if len(defaults) == len(names) else defaults * len(names), strict=True))
    declared = {name: str(parameter.get("Default", "")) for name, parameter in DOCUMENT["Parameters"].items()}
    assert {name: told.get(name) for name in declared} == declared


def test_permissions_are_read_with_the_ports_that_services_has():
    assert set(wiring.adapters(Settings(), {})) <= set(Services.__dataclass_fields__)
