"""Each function's policy allows what its code asks of AWS, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cloud.reach import needed, ports_of_handler, uses_of_method
from tests.handlers.test_template import DOCUMENT, FUNCTIONS, RESOURCES, target

TABLES = {
    name: resource["Properties"]["TableName"]["Sub"].removeprefix("${AWS::StackName}-")
    for name, resource in RESOURCES.items()
    if resource["Type"] == "AWS::DynamoDB::Table"
}
OF_THE_EVENT_SOURCE = {
    "SQS": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
    "DynamoDB": {
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "sqs:SendMessage",  # to where records go that are given up
    },
}
OF_EVERY_FUNCTION = {"logs:CreateLogStream", "logs:PutLogEvents"}


def statements(role: str) -> Iterator[dict[str, Any]]:
    """A role's statements, both branches of those under a condition."""
    for policy in RESOURCES[role]["Properties"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            branches = (statement.get("Fn::If") or statement.get("If") or [None, statement])[1:]
            yield from (branch for branch in branches if "Effect" in branch)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def allowed(role: str) -> set[tuple[str, str]]:
    """Actions of a role, each with the table it is on; ``NAME/index`` for a table's indexes."""
    found = set()
    for statement in statements(role):
        for action in listed(statement["Action"]):
            if not action.startswith("dynamodb:") or "Stream" in action or action.endswith(("Records", "Iterator")):
                found.add((action, ""))
                continue
            for resource in listed(statement["Resource"]):
                name = target(resource).strip("${}").partition(".")[0]
                is_index = "Sub" in resource
                assert not is_index or resource["Sub"] == f"${{{name}.Arn}}/index/*"
                if not is_index or action == "dynamodb:Query":
                    found.add((action, TABLES[name] + ("/index" if is_index else "")))
    return found


def role_of(function: str) -> str:
    return target(FUNCTIONS[function]["Role"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_may_do_what_its_code_asks_for_and_no_more(function):
    module = FUNCTIONS[function]["Handler"].rpartition(".")[0]
    kinds = {event["Type"] for event in FUNCTIONS[function].get("Events", {}).values()}
    lent = OF_EVERY_FUNCTION.union(*(OF_THE_EVENT_SOURCE.get(kind, set()) for kind in kinds))
    given, wanted = allowed(role_of(function)), needed(module)
    assert {action for action, _ in given} >= lent
    beyond = {use for use in given - wanted if use[0] not in lent}
    assert (sorted(wanted - given), sorted(beyond)) == ([], [])


def test_the_reading_of_the_source_finds_what_is_plainly_there():
    """So that an analysis gone blind does not pass for least privilege."""
    assert ("jobs", "claim") in ports_of_handler("lambdas.dispatch")
    assert ("step_queue", "send") in ports_of_handler("lambdas.outbox")
    assert ("dynamodb:PutItem", "audit") in uses_of_method("DynamoAuditLog", "add")
    assert ("dynamodb:Query", "jobs/index") in uses_of_method("DynamoJobStore", "list")
    assert ("s3:PutObject", "") in uses_of_method("SageMakerEngine", "start")
    assert {table for _, table in needed("lambdas.webhooks") if table} == {"jobs", "turns", "tenants", "deliveries"}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_role_is_the_functions_own_and_its_actions_are_written_out(function):
    role = role_of(function)
    assert [name for name in FUNCTIONS if role_of(name) == role] == [function]
    assert "ManagedPolicyArns" not in RESOURCES[role]["Properties"]
    for statement in statements(role):
        for action in listed(statement["Action"]):
            assert "*" not in action
        if statement["Resource"] == "*":
            assert statement["Action"] == "polly:SynthesizeSpeech", "the one that AWS knows no resource for"


def test_no_policy_of_the_stack_allows_a_wildcard_action():
    allowing = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if value.get("Effect") == "Allow" and "*" in str(value.get("Action")):
                allowing.append(path)
            for name, part in value.items():
                walk(part, f"{path}/{name}")
        elif isinstance(value, list):
            for part in value:
                walk(part, path)

    walk(DOCUMENT["Resources"], "")
    # A key without this statement can never be managed again; IAM's policies decide who in the account may.
    assert allowing == ["/SigningKey/Properties/KeyPolicy/Statement"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_logs_into_a_group_of_its_own_that_ends(function):
    group = target(FUNCTIONS[function]["LoggingConfig"]["LogGroup"])
    assert RESOURCES[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    [statement] = [one for one in statements(role_of(function)) if "logs:PutLogEvents" in listed(one["Action"])]
    assert target(statement["Resource"]) == group
    assert [name for name in FUNCTIONS if target(FUNCTIONS[name]["LoggingConfig"]["LogGroup"]) == group] == [function]


# The engine opens strangers' files: what its roles may do is written here once more, and any change is a decision.
BUCKET, KEY = "${Bucket.Arn}", "SigningKey"
SECRET = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${CertificateSecret}-??????"
SIGNING = {("kms:Sign", KEY), ("kms:GetPublicKey", KEY), ("secretsmanager:GetSecretValue", SECRET)}
RIGHTS_OF_THE_ENGINE = {
    "EngineAttemptRole": SIGNING
    | {
        (action, f"{BUCKET}/{retention}/*")
        for action in ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload")
        for retention in ("upload", "work", "result")
    },
    "EngineAccess": SIGNING
    | {("sts:AssumeRole", "EngineAttemptRole"), ("sqs:SendMessage", "EngineQueue")}
    | {
        (f"sqs:{action}", "WorkQueue")
        for action in ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes")
    },
    "EngineRole": {
        ("s3:GetObject", f"{BUCKET}/work/*"),
        ("s3:PutObject", f"{BUCKET}/async/*"),
        ("s3:AbortMultipartUpload", f"{BUCKET}/async/*"),
        ("s3:ListBucket", "Bucket"),
        ("sns:Publish", "EngineSuccessTopic"),
        ("sns:Publish", "EngineErrorTopic"),
        *(
            (
                f"logs:{action}",
                "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:"
                f"/aws/sagemaker/Endpoints/${{AWS::StackName}}-{name}*",
            )
            for name in ("video", "preview")
            for action in ("CreateLogGroup", "CreateLogStream", "PutLogEvents", "DescribeLogStreams")
        ),
        ("cloudwatch:PutMetricData", "*"),
        *(
            (f"ecr:{action}", "arn:${AWS::Partition}:ecr:${AWS::Region}:${AWS::AccountId}:repository/*")
            for action in ("BatchGetImage", "GetDownloadUrlForLayer", "BatchCheckLayerAvailability")
        ),
        ("ecr:GetAuthorizationToken", "*"),
        *(
            (f"ec2:{action}", "*")
            for action in (
                *("CreateNetworkInterface", "CreateNetworkInterfacePermission", "DescribeNetworkInterfaces"),
                *("DeleteNetworkInterface", "DeleteNetworkInterfacePermission", "DescribeVpcs"),
                *("DescribeDhcpOptions", "DescribeSubnets", "DescribeSecurityGroups"),
            )
        ),
    },
}


def rights(statements: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Action, resource and condition of each right; statements under a condition count, too."""
    for statement in statements:
        condition, one = "", statement
        if "Fn::If" in statement:
            condition, one, otherwise = statement["Fn::If"]
            assert otherwise == {"Ref": "AWS::NoValue"}
        assert one["Effect"] == "Allow"
        assert set(one) <= {"Effect", "Action", "Resource", "Condition"}, "neither NotAction nor NotResource"
        for action in listed(one["Action"]):
            for resource in listed(one["Resource"]):
                named = resource if isinstance(resource, str) else resource.get("Sub") or target(resource)
                yield action, named, condition


@pytest.mark.parametrize("name", RIGHTS_OF_THE_ENGINE)
def test_engine_may_do_this_and_no_more(name):
    properties = RESOURCES[name]["Properties"]
    documents = [properties["PolicyDocument"]] if "PolicyDocument" in properties else []
    documents += [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
    found = list(rights([one for document in documents for one in document["Statement"]]))
    assert {(action, resource) for action, resource, _ in found} == RIGHTS_OF_THE_ENGINE[name]
    conditions = {"ec2": "InVpc", "secretsmanager": "WithCertificate"}
    for action, resource, condition in found:
        needs = "OnQueue" if resource == "WorkQueue" else conditions.get(action.partition(":")[0], "")
        assert condition == needs, action
    assert properties.get("ManagedPolicyArns", []) == ([{"Ref": "EngineAccess"}] if name == "EngineRole" else [])


def test_engines_roles_are_taken_by_whom_they_are_for():
    trusted = {
        name: [
            one["Principal"] for one in listed(RESOURCES[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"])
        ]
        for name in ("EngineRole", "EngineAttemptRole")
    }
    assert trusted == {
        "EngineRole": [{"Service": "sagemaker.amazonaws.com"}],
        "EngineAttemptRole": [{"AWS": {"Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}],
    }
