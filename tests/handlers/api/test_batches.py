"""Batches over REST: from a file to a result table, and everything that steers it."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest

from lambdas import batch as batch_function
from lambdas.api.openapi import document
from services.domain.errors import NotFound
from services.domain.object_key import ObjectKey
from services.usecases.batch_file import CSV, JSONL
from tests.fakes.world import CALLBACK_URL, TENANT
from tests.handlers.api.conftest import AVATAR_ID

DEFAULTS = {"presenter": {"avatar_id": AVATAR_ID}, "speech": {"voice": {"voice_id": "en-us"}}}
TABLE = "id,speech.text,frame.fps\nsku-1,Meet the Aurora.,25\nsku-2,Meet the Borealis.,24\nsku-3,Meet the Comet.,\n"


def serve(world, sqs, batch_id):
    """One step of the batch, as SQS asks for it."""
    answer = batch_function.lambda_handler(sqs({"batch_id": batch_id}), None)
    assert answer == {"batchItemFailures": []}


def run_jobs(world):
    for job in world.jobs.list(TENANT, limit=100).items:
        if not job.state.is_final:
            world.prepare(job.id)
            world.complete(world.answer(world.dispatch(job.id)))


def run(world, sqs, batch_id):
    for _ in range(5):
        serve(world, sqs, batch_id)
        run_jobs(world)
        world.clock.advance(10)


def stored(world, url):
    """The bytes at a signed link of the fake store."""
    return world.objects.get(ObjectKey.parse(url.removeprefix("fake://").partition("?")[0]))


@pytest.fixture
def created(world, api):
    picture = ObjectKey.parse(f"catalogue/shared/{AVATAR_ID}/0/picture.jpg")
    world.objects.put(picture, b"...", media_type="image/jpeg")
    upload_id = world.upload(CSV, TABLE.encode())
    answer = api.post("/v1/batches", {"upload_id": upload_id, "defaults": DEFAULTS, "name": "Spring"})
    assert answer.status == 202, answer.text
    assert answer.headers["location"] == f"/v1/batches/{answer.body['id']}"
    return answer.body


def conforms(name, value):
    schemas = document()["components"]["schemas"]
    jsonschema.Draft202012Validator({**schemas[name], "components": {"schemas": schemas}}).validate(value)


def test_file_becomes_jobs_and_a_table_of_results_with_the_bad_row_by_row_and_column(world, api, sqs, created):
    assert (created["state"], created["num_rows"], created["report"]) == ("queued", 0, None)
    run(world, sqs, created["id"])
    batch = api.get(f"/v1/batches/{created['id']}").body
    conforms("BatchDetail", batch)
    assert (batch["state"], batch["num_rows"]) == ("succeeded", 3)
    assert batch["counts"] == {"invalid": 1, "pending": 0, "submitted": 0, "succeeded": 2, "failed": 0, "canceled": 0}
    assert batch["estimate"]["quantities"]["output_s"] > 0
    assert batch["estimate"]["cost"]["amount"] > 0
    report = json.loads(stored(world, batch["report"]["json_url"]))
    [fault] = report["faults"]
    assert (fault["row"], fault["id"], fault["column"]) == (2, "sku-2", "frame.fps")
    assert "25" in fault["reason"]
    assert (report["num_rows"], report["num_invalid_rows"]) == (3, 1)

    part = api.get(f"/v1/batches/{created['id']}/results?format=csv").body
    conforms("BatchResults", part)
    assert (part["num_rows"], part["next_cursor"]) == (3, None)
    rows = list(csv.DictReader(io.StringIO(stored(world, part["url"]).decode("utf-8-sig"), newline="")))
    assert [(row["row"], row["id"], row["state"]) for row in rows] == [
        ("1", "sku-1", "succeeded"),
        ("2", "sku-2", "invalid"),
        ("3", "sku-3", "succeeded"),
    ]
    assert rows[1]["column"] == "frame.fps"
    assert json.loads(rows[0]["facts"]) == {"duration_s": 1.5}
    part = api.get(f"/v1/batches/{created['id']}/results?format=jsonl").body
    lines = [json.loads(line) for line in stored(world, part["url"]).decode().splitlines()]
    assert lines[0]["result"]["outputs"][0]["url"].startswith("fake://result/")
    assert lines[1]["result"] is None
    job = api.get(f"/v1/jobs/{lines[0]['job_id']}").body
    assert (job["state"], job["batch_id"]) == ("succeeded", created["id"])


def test_tables_about_a_batch_have_the_delimiter_of_its_own(world, api, sqs, created):
    upload_id = world.upload(CSV, TABLE.replace(",", ";").encode())
    created = api.post("/v1/batches", {"upload_id": upload_id, "defaults": DEFAULTS, "dry_run": True}).body
    serve(world, sqs, created["id"])
    part = api.get(f"/v1/batches/{created['id']}/results?format=csv").body
    report = api.get(f"/v1/batches/{created['id']}").body["report"]
    for url, header in (
        (part["url"], b"row;id;state;job_id;column;code;reason;"),
        (report["csv_url"], b"row;id;column;code;reason"),
    ):
        assert stored(world, url).removeprefix(b"\xef\xbb\xbf").startswith(header)


def test_rows_within_the_request_are_checked_as_requests_are(world, api, sqs, video):
    bad = {**video, "frame": {"fps": 24}, "nonesuch": 1, "id": "bad"}
    body = {"rows": [{**video, "id": "good"}, bad]}
    created = api.post("/v1/batches", body).body
    serve(world, sqs, created["id"])
    problem = api.post("/v1/videos", {name: value for name, value in bad.items() if name != "id"}).body
    rows = api.get(f"/v1/batches/{created['id']}/rows").body
    conforms("BatchRows", rows)
    assert [(row["row"], row["id"], row["state"]) for row in rows["items"]] == [
        (1, "good", "pending"),
        (2, "bad", "invalid"),
    ]
    assert [(fault["column"], fault["reason"]) for fault in rows["items"][1]["faults"]] == [
        (fault["param"], fault["detail"]) for fault in problem["errors"]
    ]


@pytest.mark.parametrize(
    ("change", "column", "code"),
    [
        ({"presenter": {"avatar_id": "avatar_01JXXXXXXXXXXXXXXXXXXXXXXX"}}, "presenter.avatar_id", "avatar_not_found"),
        ({"speech": {"text": "Hello.", "voice": {"voice_id": "en-uk"}}}, "speech.voice.voice_id", "voice_not_found"),
        ({"speech": {"text": "...", "voice": {"voice_id": "en-us"}}}, "speech.text", "nothing_to_say"),
        ({"background": {"kind": "color"}}, "background.color", "missing"),
        ({"callback_url": "http://10.0.0.1/"}, "callback_url", "callback_url_refused"),
        ({"speech": None}, "speech", "invalid_request"),
        ({"presenter": {}}, "presenter", "exactly_one"),
    ],
)
def test_row_is_refused_for_what_a_request_is_refused_for(world, api, sqs, video, change, column, code):
    created = api.post("/v1/batches", {"rows": [{**video, **change}]}).body
    serve(world, sqs, created["id"])
    [row] = api.get(f"/v1/batches/{created['id']}/rows?state=invalid").body["items"]
    assert [(fault["column"], fault["code"]) for fault in row["faults"]] == [(column, code)]


def test_wrong_form_is_told_without_the_words_of_our_language(world, api, sqs, video):
    rows = [{**video, "speech": "Hello."}, {**video, "presenter": {**video["presenter"], "synthetic": "perhaps"}}]
    created = api.post("/v1/batches", {"rows": rows}).body
    serve(world, sqs, created["id"])
    told = [row["faults"][0] for row in api.get(f"/v1/batches/{created['id']}/rows").body["items"]]
    assert [(fault["column"], fault["reason"]) for fault in told] == [
        ("speech", "Input should be an object with fields"),
        ("presenter.synthetic", "Input should be true or false"),
    ]


def test_dry_run_answers_report_and_estimate_and_makes_nothing(world, api, sqs, video):
    created = api.post("/v1/batches", {"rows": [video], "dry_run": True}).body
    serve(world, sqs, created["id"])
    batch = api.get(f"/v1/batches/{created['id']}").body
    assert (batch["state"], batch["dry_run"], batch["counts"]["pending"]) == ("succeeded", True, 1)
    assert batch["estimate"]["cost"]["currency"]
    assert not world.jobs.list(TENANT).items


def test_repeat_with_the_same_key_is_the_same_batch(world, api, video):
    headers = {"Idempotency-Key": "k1"}
    first = api.post("/v1/batches", {"rows": [video]}, headers=headers)
    second = api.post("/v1/batches", {"rows": [video]}, headers=headers)
    assert first.body["id"] == second.body["id"]
    assert second.headers["idempotent-replayed"] == "true"
    assert len(api.get("/v1/batches").body["items"]) == 1


def test_listing_pages_through_batches_and_rows(world, api, sqs, video):
    ids = [api.post("/v1/batches", {"rows": [video] * 3}).body["id"] for _ in range(3)]
    page = api.get("/v1/batches?limit=2").body
    conforms("Batches", page)
    rest = api.get(f"/v1/batches?limit=2&cursor={page['next_cursor']}").body
    assert [item["id"] for item in page["items"] + rest["items"]] == sorted(ids, reverse=True)
    serve(world, sqs, ids[0])
    page = api.get(f"/v1/batches/{ids[0]}/rows?limit=2").body
    rest = api.get(f"/v1/batches/{ids[0]}/rows?limit=2&cursor={page['next_cursor']}").body
    assert [item["row"] for item in page["items"] + rest["items"]] == [1, 2, 3]
    assert rest["next_cursor"] is None


def test_results_of_many_rows_come_in_parts_that_put_together_are_one_table(world, api, sqs, monkeypatch, created):
    from services.usecases import tabulate_results

    monkeypatch.setattr(tabulate_results, "MAX_PART_ROWS", 2)
    run(world, sqs, created["id"])
    text, cursor = b"", ""
    for expected in (2, 1):
        part = api.get(f"/v1/batches/{created['id']}/results?format=csv{cursor}").body
        assert part["num_rows"] == expected
        text += stored(world, part["url"])
        cursor = f"&cursor={part['next_cursor']}"
    assert part["next_cursor"] is None
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline="")))
    assert [row["row"] for row in rows] == ["1", "2", "3"]


def test_batch_is_paused_resumed_retried_canceled_and_deleted(world, api, sqs, created):
    path = f"/v1/batches/{created['id']}"
    assert api.post(f"{path}/pause").body["state"] == "paused"
    assert api.post(f"{path}/resume").body["state"] == "queued"
    assert api.post(f"{path}/retry").problem[:2] == (409, "nothing_to_retry")
    assert api.delete(path).problem[:2] == (409, "batch_active")
    assert api.post(f"{path}/cancel").body["state"] == "canceled"
    assert api.post(f"{path}/pause").problem[:2] == (409, "batch_is_final")
    run(world, sqs, created["id"])
    assert api.get(path).body["finished_at"] is not None
    assert api.delete(path).status == 204
    assert world.batches.get(created["id"]), "what it holds may be more than a request has time for"
    for verb in ("", "/rows", "/results"):
        assert api.get(f"{path}{verb}").problem[:2] == (404, "batch_not_found")
    assert api.delete(path).problem[:2] == (404, "batch_not_found")
    assert api.get("/v1/batches").body == {"items": [], "next_cursor": None}
    serve(world, sqs, created["id"])
    with pytest.raises(NotFound):
        world.batches.get(created["id"])


@pytest.mark.parametrize("verb", ["", "/rows", "/results"])
def test_other_tenants_batch_is_404(created, other_api, verb):
    assert other_api.get(f"/v1/batches/{created['id']}{verb}").problem[:2] == (404, "batch_not_found")
    assert other_api.post(f"/v1/batches/{created['id']}/cancel").problem[:2] == (404, "batch_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({}, 400, "exactly_one", "upload_id"),
        ({"rows": [], "kind": "video"}, 400, "invalid_request", "rows"),
        ({"rows": [{}] * 101}, 400, "invalid_request", "rows"),
        ({"rows": [{}], "kind": "noop"}, 400, "invalid_request", "kind"),
        ({"rows": [{}], "on_invalid": "ignore"}, 400, "invalid_request", "on_invalid"),
        ({"rows": [{}], "callback_url": "http://127.0.0.1/"}, 422, "callback_url_refused", "callback_url"),
        ({"upload_id": "upload_01JXXXXXXXXXXXXXXXXXXXXXXX"}, 422, "upload_not_found", "upload_id"),
        ({"rows": [{}], "name": "a\u0007"}, 422, "control_character", "name"),
    ],
)
def test_wrong_order_is_refused_by_name(api, body, status, code, param):
    assert api.post("/v1/batches", body).problem == (status, code, param)


@pytest.mark.parametrize("cursor", ["x", "-1", "1e3", "١", "99999999999"])
def test_foreign_cursor_is_refused(api, created, cursor):
    from urllib.parse import quote

    target = f"/v1/batches/{created['id']}/rows?cursor={quote(cursor)}"
    assert api.get(target).problem == (400, "malformed_cursor", "cursor")


def test_tables_and_lines_of_json_can_be_uploaded_and_serve_as_nothing_else(world, api, video):
    for announced, kept in (("text/csv; charset=utf-8", CSV), ("application/x-ndjson", JSONL)):
        answer = api.post("/v1/uploads", {"file_name": "rows", "media_type": announced, "size_bytes": 5})
        assert (answer.status, answer.body["media_type"]) == (201, kept)
    upload_id = world.upload(CSV, b"id\n")
    request = {**video, "presenter": {"upload_id": upload_id, "synthetic": True}}
    assert api.post("/v1/videos", request).problem == (422, "wrong_media_type", "presenter.upload_id")
    assert api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True}).status == 422


def test_end_is_called_back_once_and_keeps_to_its_schema(world, api, sqs, video):
    created = api.post("/v1/batches", {"rows": [video], "callback_url": CALLBACK_URL, "callback_id": "c1"}).body
    run(world, sqs, created["id"])
    [sent] = [one for one in world.sender.posted if b'"batch.' in one.body]
    event = json.loads(sent.body)
    conforms("BatchEvent", event)
    assert (event["type"], event["data"]["id"]) == ("batch.succeeded", created["id"])
    [delivery] = api.get(f"/v1/batches/{created['id']}").body["deliveries"]
    assert 200 <= delivery["status"] < 300


def test_message_that_names_no_batch_comes_again_and_a_deleted_batchs_does_not(world, sqs):
    answer = batch_function.lambda_handler(sqs("{}", {"batch_id": 1}, {"batch_id": "batch_unknown"}), None)
    assert [item["itemIdentifier"] for item in answer["batchItemFailures"]] == ["m0", "m1"]
