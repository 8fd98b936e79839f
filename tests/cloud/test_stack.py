"""The deployed stack, driven as clients and operators drive it.

Lambda, API Gateway, SQS, DynamoDB with its streams, S3 and IAM's documents are the emulator's; the engine is our own
container as the work queue's worker. What the emulator has no clock for, the schedule, is called by hand.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks.webhooks import Webhook

from models import weights
from models.provenance.inspection import CredentialState, inspect_file
from services.adapters.aws.clients import Clients
from services.adapters.aws.dead_letters import SqsDeadLetters
from services.adapters.aws.step_queue import queue_urls
from services.domain.ids import new_id
from services.domain.job import Job, JobState
from services.usecases.manage_keys import create_tenant, issue_key
from services.usecases.submit_noop import submit_noop
from tests.cloud.stack import NAME, Stack, Workers
from tests.emulator import ROOT
from tests.waiting import until
from tests.web_server import WebServer, status

pytestmark = pytest.mark.slow
SHORT = {"text": "Good morning.", "voice": {"voice_id": "en-us"}}
BRIEF = {"product": "Aurora shoe", "benefits": ["weighs only 190 grams"], "language": "en-US", "duration_s": 4}
SMALL = {"aspect": "1:1", "height_px": 256}


class Client:
    """A tenant of the stack, with a key that its operator made."""

    def __init__(self, stack: Stack, name: str) -> None:
        services = stack.services
        self.stack = stack
        made = create_tenant(name, tenants=services.tenants, audit=services.audit, clock=services.clock)
        self.tenant = replace(made, monthly_output_s=3600.0)  # so that its jobs hold, by the functions' roles
        services.tenants.update(self.tenant)
        issued = issue_key(self.tenant.id, tenants=services.tenants, audit=services.audit, clock=services.clock)
        self.key = issued.secret

    def get(self, path: str) -> Any:
        answer = self.stack.call("GET", path, key=self.key)
        assert answer.status == 200, answer.body
        return answer.body

    def post(self, path: str, body: Any, status: int = 202) -> Any:
        answer = self.stack.call("POST", path, key=self.key, json=body)
        assert answer.status == status, answer.body
        return answer.body

    def ended(self, path: str) -> Any:
        """What is at ``path`` once it is final."""
        final = ("succeeded", "failed", "canceled")
        return until(lambda: body if (body := self.get(path))["state"] in final else None, 300)

    def noop(self, callback_url: str | None = None) -> str:
        """The id of a job of the no-op engine, which no route offers."""
        services = self.stack.services
        job_id = new_id("job")
        submit_noop(
            {"duration_s": 0.0},
            job_id=job_id,
            tenant_id=self.tenant.id,
            jobs=services.jobs,
            clock=services.clock,
            settings=services.settings,
            callback_url=callback_url,
        )
        return job_id

    def bill(self) -> list[dict[str, Any]]:
        totals: list[dict[str, Any]] = self.get("/v1/usage")["totals"]
        return totals


@pytest.fixture(scope="module")
def workers(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    running = Workers(stack, tmp_path_factory.mktemp("workers"), engines="video,noop")
    yield running
    running.close()


@pytest.fixture(scope="module")
def client(stack: Stack) -> Client:
    return Client(stack, "A client")


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    """A client's web server, which takes what it is sent at the second try."""
    receiver = WebServer()
    receiver.answers["/hook"] = [status(503), status(204)]
    yield receiver
    receiver.close()


def job_of(stack: Stack, job_id: str) -> Job:
    """The job once it is final."""
    jobs = stack.services.jobs
    return until(lambda: job if (job := jobs.get(job_id)).state.is_final else None, 300)


def assert_signed_by_the_stacks_key(stack: Stack, film: bytes, path: Path) -> None:
    """Intact, and by the key that only KMS has: the certificate in the film is for that one."""
    path.write_bytes(film)
    report = inspect_file(path)
    assert report.is_verified
    assert report.credentials.state is CredentialState.UNTRUSTED, "no authority vouches for a stack's own certificate"
    public = stack.emulator.client("kms").get_public_key(KeyId=stack.outputs["SigningKeyArn"])["PublicKey"]
    assert public in film


def test_api_answers_through_the_gateway(stack: Stack):
    health = stack.call("GET", "/v1/health")
    assert (health.status, health.body["status"]) == (200, "ok")
    assert stack.call("GET", "/v1/openapi.json").body["openapi"].startswith("3.")
    refused = stack.call("GET", "/v1/jobs")
    assert (refused.status, refused.body["code"]) == (401, "api_key_missing")
    nowhere = stack.call("GET", "/v1/nothing")
    assert (nowhere.status, nowhere.body["code"]) == (404, "route_not_found")


def test_brief_becomes_a_video_and_a_signed_webhook(
    stack: Stack, client: Client, workers: Workers, receiver: WebServer, tmp_path: Path
):
    """By uploaded portrait and signed link, to the film's bytes; the callback is signed and repeated until taken."""
    picture = weights.path("avatar-vera").read_bytes()
    upload = client.post(
        "/v1/uploads", {"file_name": "Vera.jpg", "media_type": "image/jpeg", "size_bytes": len(picture)}, 201
    )
    link = upload["request"]
    assert httpx.request(link["method"], link["url"], headers=link["headers"], content=picture).status_code == 200
    order = {
        "presenter": {"upload_id": upload["id"], "synthetic": True},
        "speech": {"brief": BRIEF, "voice": SHORT["voice"]},
        "frame": SMALL,
        "callback_url": receiver.url("/hook"),
        "callback_id": "spring-42",
    }
    job = client.ended(f"/v1/jobs/{client.post('/v1/videos', order)['id']}")
    assert job["state"] == "succeeded", job["failure"]
    outputs = {output["name"]: output for output in job["result"]["outputs"]}
    script = httpx.get(outputs["script"]["url"]).text
    assert "Aurora shoe" in script
    assert "190" in script
    film = httpx.get(outputs["video"]["url"]).content
    assert (len(film), hashlib.sha256(film).hexdigest()) == (outputs["video"]["size_bytes"], outputs["video"]["sha256"])
    assert film[4:8] == b"ftyp"
    assert_signed_by_the_stacks_key(stack, film, tmp_path / "film.mp4")
    assert [total["num_jobs"] for total in client.bill()] == [1]
    holdings = stack.services.jobs.holdings(client.tenant.id)
    made_s = client.bill()[0]["quantities"]["output_s"]
    assert (holdings.open_ms, holdings.made_ms) == (0, round(made_s * 1000))

    until(lambda: len(receiver.heard) == 2)
    first, again = receiver.heard
    event = Webhook(client.tenant.webhook_secret).verify(first.body, first.headers)
    assert event["data"]["id"] == job["id"]
    assert event["data"]["callback_id"] == "spring-42"
    assert json.loads(again.body)["data"]["state"] == "succeeded"


@pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "jq"))), reason="bash, curl or jq is not here")
def test_commands_of_the_deployment_guide_make_a_video(stack: Stack, workers: Workers, tmp_path: Path):
    """Steps 3 and 4 of docs/deploy.md: the operator's command with the functions' settings, then curl as it stands."""
    settings = stack.settings.to_environment()
    operator = [sys.executable, "-m", "spokesmodel", "admin", "tenants", "add", "Acme", "--json"]
    made = subprocess.run(operator, env={**os.environ, **settings}, capture_output=True, check=True, timeout=60)
    key = json.loads(made.stdout)["api_key"]
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    [command] = [block for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) if "/v1/videos" in block]
    assert "KEY=sk_...   # from step 3\n" in command
    (tmp_path / "portrait.jpg").write_bytes(weights.path("avatar-vera").read_bytes())
    done = subprocess.run(
        ["bash", "-euc", command.replace("KEY=sk_...   # from step 3\n", "")],
        cwd=tmp_path,
        env={**os.environ, "KEY": key, "URL": stack.outputs["ApiUrl"]},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "video.mp4").read_bytes()[4:8] == b"ftyp"


def test_forged_upload_link_is_refused(client: Client):
    upload = client.post("/v1/uploads", {"file_name": "a.png", "media_type": "image/png", "size_bytes": 3}, 201)
    link = upload["request"]
    other = link["url"].replace(client.tenant.id, "tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6")
    assert other != link["url"]
    assert httpx.request(link["method"], other, headers=link["headers"], content=b"abc").status_code == 403


def test_other_tenants_job_is_not_found(stack: Stack, client: Client, workers: Workers):
    job_id = client.noop()
    other = Client(stack, "Another client")
    answer = stack.call("GET", f"/v1/jobs/{job_id}", key=other.key)
    assert (answer.status, answer.body["code"]) == (404, "job_not_found")
    job_of(stack, job_id)


def test_batch_runs_its_good_rows_and_names_the_bad_ones(client: Client, workers: Workers):
    picture = weights.path("avatar-vera").read_bytes()
    upload = client.post(
        "/v1/uploads", {"file_name": "Vera.jpg", "media_type": "image/jpeg", "size_bytes": len(picture)}, 201
    )
    link = upload["request"]
    httpx.request(link["method"], link["url"], headers=link["headers"], content=picture).raise_for_status()
    rows = [
        {"id": "good", "speech": SHORT},
        {"id": "silent", "speech": {**SHORT, "text": "..."}},
        {"id": "no such voice", "speech": {**SHORT, "voice": {"voice_id": "nobody"}}},
    ]
    defaults = {"presenter": {"upload_id": upload["id"], "synthetic": True}, "frame": SMALL}
    made = client.post("/v1/batches", {"kind": "video", "rows": rows, "defaults": defaults})
    batch = client.ended(f"/v1/batches/{made['id']}")
    assert batch["state"] == "succeeded", batch["failure"]
    assert (batch["counts"]["succeeded"], batch["counts"]["invalid"]) == (1, 2)
    report = httpx.get(batch["report"]["json_url"]).text
    assert "nothing_to_say" in report
    assert "voice_not_found" in report


def test_many_jobs_each_end_once_with_one_charge(stack: Stack, workers: Workers):
    tenants = [Client(stack, f"Tenant {number}") for number in range(2)]
    ids = [client.noop() for _ in range(10) for client in tenants]
    jobs = [job_of(stack, job_id) for job_id in ids]
    assert {(job.state, job.attempt) for job in jobs} == {(JobState.SUCCEEDED, 1)}
    assert [[total["num_jobs"] for total in client.bill()] for client in tenants] == [[10], [10]]


@contextmanager
def denied(stack: Stack, role: str, action: str) -> Iterator[None]:
    """The function's role without a right, as after a bad release.

    By IAM, which is asked at every call: with another configuration the function would be a new process, and one that
    starts at that moment may keep the old configuration for as long as it lives.
    """
    iam = stack.emulator.client("iam")
    found = stack.emulator.client("cloudformation").describe_stack_resource(StackName=NAME, LogicalResourceId=role)
    name = found["StackResourceDetail"]["PhysicalResourceId"]
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": action, "Resource": "*"}]}
    iam.put_role_policy(RoleName=name, PolicyName="denied", PolicyDocument=json.dumps(document))
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=name, PolicyName="denied")


def test_answers_that_no_function_could_take_wait_as_dead_letters_and_are_replayed(stack: Stack, workers: Workers):
    """The function that hears the engine may not read jobs: messages end among the dead, count once when replayed."""
    client = Client(stack, "Unlucky")
    sqs, queue = stack.emulator.client("sqs"), stack.queue_url("engine")
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    policy = json.loads(attributes["RedrivePolicy"])
    hasty = {"RedrivePolicy": json.dumps({**policy, "maxReceiveCount": 2})}
    dead = SqsDeadLetters(Clients(), urls={**queue_urls(stack.settings), "engine": stack.settings.engine_queue_url})
    with denied(stack, "CompleteRole", "dynamodb:GetItem"):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes=hasty)
        job_id = client.noop()
        until(lambda: job_id in {letter.item_id for letter in dead.list()}, 180)
        until(lambda: stack.num_messages("engine") == 0, 180)  # what the engine said of it is all there
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": json.dumps(policy)})
        assert stack.services.jobs.get(job_id).state is JobState.PROCESSING
    assert dead.replay() >= 1
    assert job_of(stack, job_id).state is JobState.SUCCEEDED
    assert stack.num_messages("engine-dead") == 0
    assert [total["num_jobs"] for total in client.bill()] == [1]


def test_reaper_rings_again_for_a_job_whose_message_was_lost(stack: Stack, workers: Workers):
    client = Client(stack, "Forgotten")
    functions = stack.emulator.client("lambda")
    [mapping] = [
        one
        for one in functions.list_event_source_mappings()["EventSourceMappings"]
        if one["EventSourceArn"].partition("/")[2].startswith("spokes-jobs/")
    ]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    job_id = client.noop()
    called = functions.invoke(FunctionName=stack.function_name("ReaperFunction"), Payload=b"{}")
    assert "FunctionError" not in called, called["Payload"].read()
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    assert job_of(stack, job_id).state is JobState.SUCCEEDED


def test_update_of_the_stack_reaches_functions_and_leaves_what_there_is(stack: Stack, client: Client):
    before = stack.outputs
    job_id = client.noop()
    stack.update(RetentionDays="30")
    assert stack.settings.job_retention_days == 30
    assert stack.outputs == before, "address, bucket and queues stay"
    assert client.get(f"/v1/jobs/{job_id}")["id"] == job_id


def test_functions_log_no_text_link_or_key(stack: Stack, client: Client):
    """Whatever the tests above made the functions write."""
    logs = stack.emulator.client("logs")
    text = ""
    for group in logs.describe_log_groups()["logGroups"]:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
            text += "".join(event["message"] for event in page["events"])
    assert "job served" in text, "the functions' logs are there to be read"
    for secret in (client.key, SHORT["text"], BRIEF["product"], "X-Amz-Signature", client.tenant.webhook_secret):
        assert secret not in text
