"""``spokesmodel admin`` on a state folder."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from services.bootstrap import bootstrap
from services.domain.engine import EngineKind, Failure
from services.domain.errors import Unauthenticated
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from services.domain.pricing import Cost
from services.ports.usage import UsageRecord
from services.settings import Settings
from services.usecases.authenticate import authenticate
from spokesmodel.cli.app import app


@pytest.fixture
def services(tmp_path, monkeypatch):
    """The stores of a state folder that a server made."""
    monkeypatch.delenv("SPOKESMODEL_STATE_DIR", raising=False)
    return bootstrap(Settings(state_dir=tmp_path / "state"))


@pytest.fixture
def admin(services):
    """Runs a command; its JSON document, or the problem it told."""

    def run(*arguments, status=0):
        command = ["admin", *arguments, "--state-dir", str(services.settings.state_dir), "--json"]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == status, done.output + done.stderr
        text = done.stdout if status == 0 else done.stderr
        return json.loads(text) if text.strip() else None

    return run


@pytest.fixture
def tenant(admin):
    return admin("tenants", "add", "Acme")


def job_of(services, tenant_id, **fields):
    now = services.clock.now()
    job = Job(
        id=new_id("job"),
        tenant_id=tenant_id,
        kind=EngineKind.NOOP,
        request={"text": "a private text"},
        created_at=now,
        updated_at=now,
        available_at=now,
    )
    job = replace(job, **fields)
    services.jobs.add(job)
    return job


def works(services, secret):
    try:
        return authenticate(secret, tenants=services.tenants, clock=services.clock) is not None
    except Unauthenticated:
        return False


def acts(services, tenant_id):
    return [(one.action, one.actor) for one in services.audit.list(tenant_id).items]


def test_added_tenant_has_a_key_that_works_and_is_on_record(services, admin, tenant):
    assert works(services, tenant["api_key"])
    assert [one["name"] for one in admin("tenants", "list")["tenants"]] == ["Acme"]
    assert set(acts(services, tenant["id"])) == {("tenant.created", "operator"), ("key.issued", "operator")}


def test_shown_tenant_has_its_limits_and_no_secret(services, admin, tenant):
    job_of(services, tenant["id"])
    shown = admin("tenants", "show", tenant["id"])
    assert (shown["name"], shown["num_open_jobs"], shown["num_keys"]) == ("Acme", 1, 1)
    assert tenant["webhook_secret"] not in json.dumps(shown)


def test_limits_are_changed_and_the_rest_stays(services, admin, tenant):
    admin("tenants", "set", tenant["id"], "--max-outstanding", "2", "--monthly-output-s", "600")
    stored = services.tenants.get(tenant["id"])
    assert (stored.max_outstanding, stored.monthly_output_s, stored.name) == (2, 600.0, "Acme")
    assert stored.webhook_secret == tenant["webhook_secret"]
    assert ("tenant.changed", "operator") in acts(services, tenant["id"])


def test_tenant_is_deleted_only_when_confirmed(services, admin, tenant, tmp_path):
    command = ["admin", "tenants", "delete", tenant["id"], "--state-dir", str(services.settings.state_dir)]
    assert CliRunner().invoke(app, command, input="n\n").exit_code == 1
    assert works(services, tenant["api_key"])
    admin("tenants", "delete", tenant["id"], "--yes")
    assert admin("tenants", "list")["tenants"] == []
    assert not works(services, tenant["api_key"])


def test_keys_are_issued_listed_rotated_and_revoked(services, admin, tenant):
    issued = admin("keys", "issue", tenant["id"], "--name", "ci", "--scopes", "read,create", "--days", "7")
    assert issued["scopes"] == ["create", "read"]
    assert works(services, issued["api_key"])
    rotated = admin("keys", "rotate", tenant["id"], issued["id"], "--grace-h", "0")
    assert works(services, rotated["api_key"])
    assert not works(services, issued["api_key"])
    admin("keys", "revoke", tenant["id"], rotated["id"])
    assert not works(services, rotated["api_key"])
    listed = admin("keys", "list", tenant["id"])["keys"]
    assert {one["id"] for one in listed} >= {issued["id"], rotated["id"]}
    assert "sha256" not in json.dumps(listed)
    assert rotated["api_key"] not in json.dumps(listed)


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        (("tenants", "show", "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ"), 3, "tenant_not_found"),
        (("keys", "list", "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ"), 3, "tenant_not_found"),
        (("keys", "issue", "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ", "--scopes", "everything"), 2, "out_of_range"),
        (("jobs", "show", "job_01JZZZZZZZZZZZZZZZZZZZZZZZ"), 3, "job_not_found"),
        (("jobs", "replay", "job_01JZZZZZZZZZZZZZZZZZZZZZZZ"), 3, "job_not_found"),
        (("usage", "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ"), 3, "tenant_not_found"),
    ],
)
def test_what_is_not_there_is_told_by_code(admin, command, status, code):
    assert admin(*command, status=status)["error"]["code"] == code


def test_folder_that_no_server_made_is_refused_and_not_made(tmp_path):
    command = ["admin", "tenants", "list", "--state-dir", str(tmp_path / "none"), "--json"]
    done = CliRunner().invoke(app, command)
    assert json.loads(done.stderr)["error"]["code"] == "state_dir_not_found"
    assert not (tmp_path / "none").exists()


def test_job_is_shown_without_what_the_client_wrote(services, admin, tenant):
    job = job_of(services, tenant["id"], callback_url="https://client.example/hook?token=secret")
    shown = admin("jobs", "show", job.id)
    assert (shown["id"], shown["state"], shown["deliveries"]) == (job.id, "queued", [])
    assert "private" not in json.dumps(shown)
    assert "secret" not in json.dumps(shown)


def test_failed_job_is_replayed(services, admin, tenant):
    failure = Failure(code="attempt_timed_out", detail="x", retryable=True)
    ended = {"state": JobState.FAILED, "step": JobStep.NONE, "finished_at": services.clock.now()}
    job = job_of(services, tenant["id"], failure=failure, attempt=3, **ended)
    assert admin("jobs", "replay", job.id) == {"id": job.id, "state": "queued", "step": "prepare", "attempt": 3}
    assert ("job.replayed", "operator") in acts(services, tenant["id"])
    refused = job_of(services, tenant["id"], failure=Failure(code="face_not_found", detail="x"), **ended)
    assert admin("jobs", "replay", refused.id, status=3)["error"]["code"] == "job_not_replayable"
    assert admin("jobs", "replay", refused.id, "--force")["state"] == "queued"


def test_dead_letters_of_one_machine_are_given_up_and_stuck_jobs(services, admin, tenant):
    ended = {"state": JobState.FAILED, "step": JobStep.NONE, "finished_at": services.clock.now()}
    given_up = job_of(services, tenant["id"], failure=Failure(code="prepare_failed", detail="x"), **ended)
    stuck = job_of(services, tenant["id"], step_tries=5, available_at=services.clock.now() + timedelta(hours=1))
    job_of(services, tenant["id"])
    listed = admin("dead-letters", "list")["dead_letters"]
    assert {(one["id"], one["reason"]) for one in listed} == {
        (given_up.id, "prepare_failed"),
        (stuck.id, "tried_in_vain"),
    }
    assert admin("dead-letters", "replay") == {"num_messages": 0, "num_jobs": 2, "refused": []}
    assert admin("dead-letters", "list")["dead_letters"] == []
    due = {job.id for job in services.jobs.claim(JobStep.PREPARE, limit=9, lease_s=1)}
    assert {given_up.id, stuck.id} <= due
    assert acts(services, "operator") == [("dead_letters.replayed", "operator")]


def test_usage_shows_quantities_and_cost(services, admin, tenant):
    services.usage.record(
        UsageRecord(
            job_id=new_id("job"),
            tenant_id=tenant["id"],
            kind="video",
            quantities={"output_s": 60.0},
            at=services.clock.now() - timedelta(minutes=1),
            cost=Cost(amount=0.15, currency="USD"),
        )
    )
    [total] = admin("usage", tenant["id"])["totals"]
    assert (total["num_jobs"], total["quantities"]) == (1, {"output_s": 60.0})
    assert total["costs"] == [{"amount": 0.15, "currency": "USD"}]
    assert admin("usage", tenant["id"], "--until", "2026-01-01")["totals"] == []


def test_audit_log_and_consents_are_listed(services, admin, tenant):
    entries = admin("audit", tenant["id"])["entries"]
    assert [one["action"] for one in entries] == ["key.issued", "tenant.created"]
    assert admin("consents", tenant["id"]) == {"consents": []}


@pytest.mark.parametrize(
    "command",
    [
        ("tenants", "list"),
        ("dead-letters", "list"),
        ("dead-letters", "replay"),
    ],
)
def test_people_get_lines(services, tenant, command):
    done = CliRunner().invoke(app, ["admin", *command, "--state-dir", str(services.settings.state_dir)])
    assert done.exit_code == 0, done.output
    assert not done.stdout.startswith("{")
