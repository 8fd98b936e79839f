"""``spokesmodel admin`` on the stores of AWS, which it finds by the settings that the functions have."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from services.bootstrap import bootstrap
from services.usecases.authenticate import authenticate
from spokesmodel.cli.app import app
from tests.emulator import table_properties


@pytest.fixture
def admin(aws, monkeypatch):
    """Runs a command in the environment of a function; its JSON document."""
    dead = aws.queue("prepare-dead")
    arn = aws.client("sqs").get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    settings = {
        "PROFILE": "aws",
        "TABLE_PREFIX": aws.tables(*table_properties()),
        "BUCKET": aws.bucket,
        "PREPARE_QUEUE_URL": aws.queue("prepare", RedrivePolicy=redrive),
        "WORK_QUEUE_URL": aws.queue("work"),
        "ENGINE_QUEUE_URL": aws.queue("engine"),
    }
    settings |= {f"{step.upper()}_QUEUE_URL": aws.queue(step) for step in ("dispatch", "notify", "batch")}
    for name, value in settings.items():
        monkeypatch.setenv(f"SPOKESMODEL_{name}", value)

    def run(*arguments):
        done = CliRunner().invoke(app, ["admin", *arguments, "--json"])
        assert done.exit_code == 0, done.output + done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


def test_tenant_that_the_operator_adds_can_call_and_is_gone_when_deleted(admin):
    tenant = admin("tenants", "add", "Acme")
    services = bootstrap()
    assert authenticate(tenant["api_key"], tenants=services.tenants, clock=services.clock) is not None
    assert admin("tenants", "show", tenant["id"])["num_open_jobs"] == 0
    assert {one["action"] for one in admin("audit", tenant["id"])["entries"]} == {"tenant.created", "key.issued"}
    admin("tenants", "delete", tenant["id"], "--yes")
    assert admin("tenants", "list")["tenants"] == []
    assert [one["target"] for one in admin("audit", "operator")["entries"]] == [tenant["id"]]


def test_dead_letters_are_listed_and_sent_back(admin, aws):
    dead, source = aws.queue("prepare-dead"), aws.queue("prepare")
    aws.client("sqs").send_message(QueueUrl=dead, MessageBody='{"job_id": "job_1"}', MessageGroupId="tenant_a")
    [letter] = admin("dead-letters", "list")["dead_letters"]
    assert (letter["what"], letter["queue"], letter["id"]) == ("message", "prepare", "job_1")
    assert admin("dead-letters", "replay") == {"num_messages": 1, "num_jobs": 0, "refused": []}
    assert [json.loads(message["Body"]) for message in aws.received(source)] == [{"job_id": "job_1"}]
    assert admin("dead-letters", "list")["dead_letters"] == []
