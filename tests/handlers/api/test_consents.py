"""Consents: recorded with evidence, needed for every uploaded or fetched face, ended by revocation and expiry."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest

from lambdas import runtime
from services.domain.consent import Likeness
from services.domain.errors import ContentRejected, Forbidden
from services.domain.job import JobState
from services.settings import Settings
from services.usecases.check_consent import LikenessClaim, check_claim
from services.usecases.register_consent import MAX_EVIDENCE_BYTES
from tests.fakes.world import OTHER_TENANT, STARTS, TENANT
from tests.handlers.api.gateway import Gateway

PDF = b"%PDF-1.7 signed"
URL = "https://media.example/face.png"


def order(world, **changes):
    return {
        "subject": "model 4711",
        "likenesses": ["face"],
        "purpose": "Spring campaign",
        "evidence_upload_id": world.upload("application/pdf", PDF),
        **changes,
    }


@pytest.fixture
def consent_id(world, api) -> str:
    return api.post("/v1/consents", order(world)).body["id"]


@pytest.fixture
def shown(world):
    """The ways in which a request can show somebody's face, by name."""

    def make(way: str) -> tuple[str, dict]:
        speech = {"text": "Hello.", "voice": {"voice_id": "en-us"}}
        if way == "avatar":
            return "/v1/avatars", {"name": "x", "upload_id": world.upload()}
        source = {"upload_id": world.upload()} if way == "upload" else {"source_url": URL}
        return "/v1/videos", {"presenter": source, "speech": speech}

    return make


def with_right(way: str, body: dict, **right) -> dict:
    return {**body, **right} if way == "avatar" else {**body, "presenter": {**body["presenter"], **right}}


WAYS = ["avatar", "upload", "source_url"]


def job_under(world, api, video, shown, consent_id: str, way: str) -> str:
    """A job's id, its presenter taken by ``way`` under the consent."""
    world.fetcher.answers[URL] = STARTS["image/png"] + b"..."
    path, body = shown(way)
    made = api.post(path, with_right(way, body, consent_id=consent_id)).body["id"]
    return api.post("/v1/videos", {**video, "presenter": {"avatar_id": made}}).body["id"] if way == "avatar" else made


def field(way: str) -> str:
    return "consent_id" if way == "avatar" else "presenter.consent_id"


def acts(world, action: str):
    return [entry for entry in world.audit.entries if entry.action == action]


def test_consent_is_kept_with_a_copy_of_its_evidence(world, api):
    body = order(world, likenesses=["voice", "face"], expires_at="2027-01-01T00:00:00+01:00")
    answer = api.post("/v1/consents", body)
    assert answer.status == 201
    made = answer.body
    assert answer.headers["location"] == f"/v1/consents/{made['id']}"
    assert (made["subject"], made["likenesses"], made["revoked_at"]) == ("model 4711", ["face", "voice"], None)
    assert made["expires_at"] == "2026-12-31T23:00:00.000Z"
    kept = f"catalogue/{TENANT}/{made['id']}/0/evidence.pdf"
    assert kept in made["evidence_url"]
    assert kept in world.objects.stored_keys()
    assert api.get(f"/v1/consents/{made['id']}").body == made
    [entry] = acts(world, "consent.registered")
    assert "model 4711" not in json.dumps(dict(entry.details))


def test_evidence_is_shown_to_managers_only(world, api, consent_id):
    reader = Gateway(api.post("/v1/keys", {"scopes": ["read"]}).body["secret"])
    assert reader.get(f"/v1/consents/{consent_id}").body["evidence_url"] is None
    assert api.get(f"/v1/consents/{consent_id}").body["evidence_url"] is not None


def test_consents_are_listed_by_subject(world, api, other_api):
    for subject in ("Ann", "Bob", "Ann"):
        api.post("/v1/consents", order(world, subject=subject))
    found = api.get("/v1/consents?subject=Ann").body["items"]
    assert [one["subject"] for one in found] == ["Ann", "Ann"]
    assert len(api.get("/v1/consents").body["items"]) == 3
    assert other_api.get("/v1/consents").body["items"] == []


def test_consent_of_another_tenant_is_not_there(world, api, other_api, consent_id, shown):
    assert other_api.get(f"/v1/consents/{consent_id}").problem == (404, "consent_not_found", None)
    assert other_api.post(f"/v1/consents/{consent_id}/revoke").problem == (404, "consent_not_found", None)
    body = {"name": "x", "upload_id": world.upload(tenant_id=OTHER_TENANT), "consent_id": consent_id}
    assert other_api.post("/v1/avatars", body).problem == (422, "consent_not_found", "consent_id")
    assert api.get(f"/v1/consents/{consent_id}").body["revoked_at"] is None


@pytest.mark.parametrize(
    ("changes", "status", "code", "param"),
    [
        ({"subject": " "}, 400, "malformed_subject", "subject"),
        ({"subject": "a/b"}, 400, "malformed_subject", "subject"),
        ({"subject": "100%"}, 400, "malformed_subject", "subject"),
        ({"subject": "a\x00"}, 400, "malformed_subject", "subject"),
        ({"subject": "a\u202eb"}, 400, "malformed_subject", "subject"),
        ({"likenesses": []}, 400, "invalid_request", "likenesses"),
        ({"likenesses": ["soul"]}, 400, "invalid_request", "likenesses.0"),
        ({"purpose": "   "}, 400, "out_of_range", "purpose"),
        ({"purpose": "a\x1b[2J"}, 422, "control_character", "purpose"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 400, "out_of_range", "expires_at"),
        ({"expires_at": "2030-01-01"}, 400, "invalid_request", "expires_at"),
        ({"evidence_upload_id": "upload_01JXXXXXXXXXXXXXXXXXXXXXXX"}, 422, "upload_not_found", "evidence_upload_id"),
    ],
)
def test_odd_consent_is_refused(world, api, changes, status, code, param):
    assert api.post("/v1/consents", order(world, **changes)).problem == (status, code, param)
    assert api.get("/v1/consents").body["items"] == []


@pytest.mark.parametrize(
    ("subject", "told"), [("a/b", "cannot have / (U+002F)"), ("100%", "cannot have % (U+0025)"), ("a\x00", " U+0000;")]
)
def test_subject_is_refused_with_the_character_that_no_address_carries(world, api, subject, told):
    detail = api.post("/v1/consents", order(world, subject=subject)).body["detail"]
    assert told in detail
    assert "an address" in detail
    assert detail.isprintable()


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        ("application/pdf", None, "upload_incomplete"),
        ("application/pdf", b"", "empty_file"),
        ("application/pdf", b"PK\x03\x04 zip", "unsupported_media"),
        ("application/pdf", b"<html>", "unsupported_media"),
        ("application/pdf", PDF + bytes(MAX_EVIDENCE_BYTES), "evidence_too_large"),
    ],
)
def test_evidence_is_a_document_or_medium_of_a_bounded_size(world, api, media_type, data, code):
    body = order(world, evidence_upload_id=world.upload(media_type, data))
    assert api.post("/v1/consents", body).problem == (422, code, "evidence_upload_id")


@pytest.mark.parametrize("media_type", ["image/jpeg", "audio/wav", "video/mp4"])
def test_evidence_may_be_a_picture_a_recording_or_a_film(world, api, media_type):
    assert api.post("/v1/consents", order(world, evidence_upload_id=world.upload(media_type))).status == 201


def test_document_is_no_presenter(world, api, video):
    upload_id = world.upload("application/pdf", PDF)
    body = {**video, "presenter": {"upload_id": upload_id, "synthetic": True}}
    assert api.post("/v1/videos", body).problem == (422, "wrong_media_type", "presenter.upload_id")
    body = {"name": "x", "upload_id": upload_id, "synthetic": True}
    assert api.post("/v1/avatars", body).problem == (422, "not_a_picture_or_video", "upload_id")


@pytest.mark.parametrize("way", WAYS)
def test_face_without_consent_or_declaration_is_refused_naming_both_ways(world, api, shown, way):
    path, body = shown(way)
    answer = api.post(path, body)
    assert answer.problem == (403, "consent_required", field(way))
    assert "POST /v1/consents" in answer.body["detail"]
    assert '"synthetic": true' in answer.body["detail"]
    assert api.get("/v1/jobs").body["items"] == []
    assert len(api.get("/v1/avatars").body["items"]) == 1
    assert not acts(world, "consent.used")


@pytest.mark.parametrize("way", WAYS)
def test_face_with_a_consent_is_taken_and_its_use_noted(world, api, shown, consent_id, way):
    path, body = shown(way)
    made = api.post(path, with_right(way, body, consent_id=consent_id))
    assert made.status in (201, 202)
    assert made.body["id"] in api.get(f"/v1/consents/{consent_id}").body["used_by"]
    [entry] = acts(world, "consent.used")
    assert (entry.target, entry.actor) == (consent_id, api.get("/v1/account").body["key_id"])
    assert made.body["id"] in entry.details["used_by"]


@pytest.mark.parametrize("way", WAYS)
def test_declaration_is_taken_and_kept_in_the_audit_log(world, api, shown, way):
    path, body = shown(way)
    made = api.post(path, with_right(way, body, synthetic=True))
    assert made.status in (201, 202)
    [entry] = acts(world, "likeness.declared_synthetic")
    assert entry.target == made.body["id"]


@pytest.mark.parametrize("way", WAYS)
def test_not_both_ways_at_once(api, shown, consent_id, way):
    path, body = shown(way)
    body = with_right(way, body, consent_id=consent_id, synthetic=True)
    assert api.post(path, body).problem == (400, "exactly_one", field(way))


@pytest.mark.parametrize("way", WAYS)
def test_consent_that_ended_is_refused(world, api, shown, way):
    path, body = shown(way)
    expires_at = (world.clock.now() + timedelta(hours=1)).isoformat()
    ended = api.post("/v1/consents", order(world, expires_at=expires_at)).body["id"]
    body = with_right(way, body, consent_id=ended)
    world.clock.advance(3600)
    assert api.post(path, body).problem == (403, "consent_expired", field(way))
    api.post(f"/v1/consents/{ended}/revoke")
    assert api.post(path, body).problem == (403, "consent_revoked", field(way))


@pytest.mark.parametrize("way", WAYS)
def test_consent_to_the_voice_shows_no_face(world, api, shown, way):
    path, body = shown(way)
    voice = api.post("/v1/consents", order(world, likenesses=["voice"])).body["id"]
    answer = api.post(path, with_right(way, body, consent_id=voice))
    assert answer.problem == (403, "consent_required", field(way))
    assert "face" in answer.body["detail"]


def test_built_in_avatars_need_nothing(api, video, world):
    assert api.post("/v1/videos", video).status == 202
    assert [entry.action for entry in world.audit.entries if "likeness" in entry.action] == []


def test_consent_is_not_asked_where_the_setting_says_so(world, api, shown):
    runtime.use_services(replace(world.services, settings=Settings(require_consent=False)))
    for way in WAYS:
        path, body = shown(way)
        assert api.post(path, body).status in (201, 202)


def test_named_consent_counts_even_where_none_is_asked(world, api, shown, consent_id):
    runtime.use_services(replace(world.services, settings=Settings(require_consent=False)))
    api.post(f"/v1/consents/{consent_id}/revoke")
    path, body = shown("upload")
    assert api.post(path, with_right("upload", body, consent_id=consent_id)).problem[1] == "consent_revoked"


def test_revocation_ends_the_use_of_avatars_made_under_it(world, api, video, consent_id):
    avatar = {"name": "x", "upload_id": world.upload(), "consent_id": consent_id}
    avatar_id = api.post("/v1/avatars", avatar).body["id"]
    made = {**video, "presenter": {"avatar_id": avatar_id}}
    job_id = api.post("/v1/videos", made).body["id"]
    assert job_id in api.get(f"/v1/consents/{consent_id}").body["used_by"]
    assert api.get(f"/v1/avatars/{avatar_id}").body["consent_id"] == consent_id
    api.post(f"/v1/consents/{consent_id}/revoke")
    assert api.post("/v1/videos", made).problem == (403, "consent_revoked", "presenter.consent_id")
    # Neither a declaration nor another person's consent helps the avatar.
    other = api.post("/v1/consents", order(world, subject="Bob")).body["id"]
    for right in ({"synthetic": True}, {"consent_id": other}):
        body = {**made, "presenter": {"avatar_id": avatar_id, **right}}
        assert api.post("/v1/videos", body).problem[:2] == (403, "consent_revoked")


def test_upload_used_under_a_consent_is_held_to_it_whatever_is_declared(world, api, video, consent_id):
    upload = world.upload()
    api.post("/v1/avatars", {"name": "x", "upload_id": upload, "consent_id": consent_id})
    again = api.post("/v1/avatars", {"name": "y", "upload_id": upload, "synthetic": True})
    assert again.body["consent_id"] == consent_id
    shown = {**video, "presenter": {"upload_id": upload, "synthetic": True}}
    job_id = api.post("/v1/videos", shown).body["id"]
    assert {job_id, again.body["id"]} <= set(world.consents.uses(consent_id)), "deletion of the person finds them"
    api.post(f"/v1/consents/{consent_id}/revoke")
    assert api.post("/v1/videos", shown).problem[:2] == (403, "consent_revoked")
    late = api.post("/v1/avatars", {"name": "z", "upload_id": upload, "synthetic": True})
    assert late.problem == (403, "consent_revoked", "consent_id")


def test_avatar_declared_synthetic_needs_nothing_more(world, api, video):
    avatar = {"name": "x", "upload_id": world.upload(), "synthetic": True}
    avatar_id = api.post("/v1/avatars", avatar).body["id"]
    assert api.post("/v1/videos", {**video, "presenter": {"avatar_id": avatar_id}}).status == 202
    assert len(acts(world, "likeness.declared_synthetic")) == 1


def test_consent_that_is_named_without_need_counts_all_the_same(world, api, video, consent_id):
    presenter = {**video["presenter"], "consent_id": consent_id}
    job_id = api.post("/v1/videos", {**video, "presenter": presenter}).body["id"]
    assert job_id in api.get(f"/v1/consents/{consent_id}").body["used_by"]
    api.post(f"/v1/consents/{consent_id}/revoke")
    assert api.post("/v1/videos", {**video, "presenter": presenter}).problem[:2] == (403, "consent_revoked")
    unknown = {**video["presenter"], "consent_id": "consent_01JXXXXXXXXXXXXXXXXXXXXXXX"}
    assert api.post("/v1/videos", {**video, "presenter": unknown}).problem[:2] == (422, "consent_not_found")


def test_avatar_from_before_consents_needs_a_right_with_each_use(world, api, video, consent_id):
    runtime.use_services(replace(world.services, settings=Settings(require_consent=False)))
    avatar_id = api.post("/v1/avatars", {"name": "x", "upload_id": world.upload()}).body["id"]
    runtime.use_services(world.services)
    presenter = {"avatar_id": avatar_id}
    assert api.post("/v1/videos", {**video, "presenter": presenter}).problem[:2] == (403, "consent_required")
    for right in ({"consent_id": consent_id}, {"synthetic": True}):
        assert api.post("/v1/videos", {**video, "presenter": {**presenter, **right}}).status == 202


@pytest.mark.parametrize(("end", "code"), [("revoke", "consent_revoked"), ("expire", "consent_expired")])
@pytest.mark.parametrize("step", ["prepare", "dispatch"])
@pytest.mark.parametrize("way", WAYS)
def test_job_that_waits_when_its_consent_ends_fails_by_name(world, api, video, shown, end, code, step, way):
    expires_at = (world.clock.now() + timedelta(hours=1)).isoformat()
    consent_id = api.post("/v1/consents", order(world, expires_at=expires_at)).body["id"]
    job_id = job_under(world, api, video, shown, consent_id, way)
    if step == "dispatch":
        world.prepare(job_id)
    if end == "revoke":
        world.consents.revoke(TENANT, consent_id, world.clock.now())  # as a revocation that has not seen this job
    else:
        world.clock.advance(3600)
    job = (world.prepare if step == "prepare" else world.dispatch)(job_id)
    assert (job.state, job.failure.code, job.failure.param) == (JobState.FAILED, code, "presenter.consent_id")
    assert world.engine.started == []


def test_job_under_a_consent_that_holds_runs(world, api, shown, consent_id):
    path, body = shown("upload")
    job_id = api.post(path, with_right("upload", body, consent_id=consent_id)).body["id"]
    world.prepare(job_id)
    assert world.dispatch(job_id).state is JobState.PROCESSING


@pytest.mark.parametrize("way", WAYS)
def test_attempt_that_runs_when_its_consent_is_revoked_is_stopped_and_costs_nothing(
    world, api, video, shown, consent_id, way
):
    job_id = job_under(world, api, video, shown, consent_id, way)
    world.prepare(job_id)
    world.dispatch(job_id)
    [request] = world.engine.started
    api.post(f"/v1/consents/{consent_id}/revoke")
    job = world.jobs.get(job_id)
    assert (job.state, job.failure.code, job.failure.param) == (
        JobState.FAILED,
        "consent_revoked",
        "presenter.consent_id",
    )
    assert world.objects.exists(request.cancel_key())
    world.complete(world.answer(job))  # the engine had finished already
    assert world.jobs.get(job_id) == job
    assert world.bill() == []


def test_revocation_leaves_other_jobs_as_they_are(world, api, video, shown, consent_id):
    other_consent = api.post("/v1/consents", order(world, subject="model 4712")).body["id"]
    other, done = (job_under(world, api, video, shown, one, "upload") for one in (other_consent, consent_id))
    for job_id in (other, done):
        world.prepare(job_id)
        world.dispatch(job_id)
    world.complete(world.answer(world.jobs.get(done)))
    api.post(f"/v1/consents/{consent_id}/revoke")
    assert world.jobs.get(other).state is JobState.PROCESSING
    assert world.jobs.get(done).state is JobState.SUCCEEDED


def test_revocation_that_was_interrupted_ends_the_rest_when_it_is_asked_again(world, api, video, shown, consent_id):
    job_id = job_under(world, api, video, shown, consent_id, "upload")
    world.consents.revoke(TENANT, consent_id, world.clock.now())  # and nothing after it
    api.post(f"/v1/consents/{consent_id}/revoke")
    assert world.jobs.get(job_id).failure.code == "consent_revoked"


def test_second_revocation_changes_nothing(world, api, consent_id):
    first = api.post(f"/v1/consents/{consent_id}/revoke").body
    world.clock.advance(60)
    assert api.post(f"/v1/consents/{consent_id}/revoke").body["revoked_at"] == first["revoked_at"]
    assert len(acts(world, "consent.revoked")) == 1


@pytest.mark.parametrize("likeness", list(Likeness))
@pytest.mark.parametrize("covered", list(Likeness))
def test_cloned_voices_are_held_to_the_same_rule(world, api, likeness, covered):
    """No route clones a voice yet; the rule is there for the one that will."""
    consent_id = api.post("/v1/consents", order(world, likenesses=[covered.value])).body["id"]

    def check(claim: LikenessClaim) -> None:
        check_claim(
            claim, likeness, tenant_id=TENANT, consents=world.consents, clock=world.clock, settings=world.settings
        )

    claim = LikenessClaim(consent_id=consent_id, param="voice")
    if likeness is covered:
        check(claim)
    else:
        with pytest.raises(Forbidden) as caught:
            check(claim)
        assert (caught.value.code, caught.value.param) == ("consent_required", "voice.consent_id")
    check(LikenessClaim(synthetic=True))
    with pytest.raises(Forbidden) as caught:
        check(LikenessClaim())
    assert likeness in caught.value.detail
    api.post(f"/v1/consents/{consent_id}/revoke")
    with pytest.raises(Forbidden) as caught:
        check(claim)
    assert caught.value.code == "consent_revoked"
    with pytest.raises(ContentRejected):
        check(LikenessClaim(consent_id="consent_01JXXXXXXXXXXXXXXXXXXXXXXX"))


@pytest.mark.parametrize(
    "subject", ["model 4711", "Zoë O'Brien", "图", "a@b.example", "Müller, A. (front)", "x&y=z*$!;:~+_-."]
)
@pytest.mark.parametrize("encoded", [True, False])
def test_subject_is_deleted_by_its_name_in_the_path(world, api, subject, encoded):
    api.post("/v1/consents", order(world, subject=subject))
    api.post("/v1/consents", order(world, subject="somebody else"))
    answer = api.delete(f"/v1/subjects/{quote(subject, safe='') if encoded else subject}")
    assert (answer.status, answer.body["num_consents"]) == (200, 1)
    assert [one["subject"] for one in api.get("/v1/consents").body["items"]] == ["somebody else"]


def test_name_is_found_however_its_accents_are_typed(world, api):
    api.post("/v1/consents", order(world, subject="Zoe\u0308"))
    composed = quote("Zo\u00eb")
    assert len(api.get(f"/v1/consents?subject={composed}").body["items"]) == 1


def test_avatar_whose_subject_is_deleted_while_it_is_made_does_not_stay(world, api, consent_id, monkeypatch):
    real = world.objects.copy

    def copy(source, target):
        real(source, target)
        if target.owner_id.startswith("avatar_"):
            assert api.delete("/v1/subjects/model 4711").status == 200

    monkeypatch.setattr(world.objects, "copy", copy)
    body = {"name": "x", "upload_id": world.upload(), "consent_id": consent_id}
    assert api.post("/v1/avatars", body).problem == (422, "consent_not_found", "consent_id")
    assert [one["built_in"] for one in api.get("/v1/avatars").body["items"]] == [True]
    assert not [key for key in world.objects.stored_keys() if "/avatar_" in key and TENANT in key]


def test_consent_of_many_uses_answers_a_thousand_and_their_number(world, api, consent_id):
    for number in range(1_200):
        world.consents.record_use(consent_id, f"job_{number:04d}")
    body = api.get(f"/v1/consents/{consent_id}").body
    assert (body["num_uses"], len(body["used_by"])) == (1_201, 1_000)  # and its evidence
