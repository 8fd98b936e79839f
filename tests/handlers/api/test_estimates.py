"""POST /v1/estimates."""

from __future__ import annotations

from lambdas.api.schemas.estimates import EstimateBody
from lambdas.api.schemas.videos import VideoBody
from tests.handlers.api.conftest import AVATAR_ID
from tests.handlers.api.gateway import Gateway

VIDEO = {
    "presenter": {"avatar_id": AVATAR_ID},
    "speech": {"text": "Meet the Aurora: 190 grams, made for wet streets.", "voice": {"voice_id": "en-us"}},
}


def test_estimate_tells_duration_quantities_cost_and_how_sure(world, api):
    answer = api.post("/v1/estimates", {"kind": "video", "body": VIDEO})
    assert answer.status == 200, answer.text
    EstimateBody.model_validate(answer.body)
    assert 2 < answer.body["duration_s"] < 6
    assert answer.body["basis"] == "text"
    assert answer.body["quantities"]["characters"] == len(VIDEO["speech"]["text"])
    assert answer.body["cost"] == {"amount": round(answer.body["duration_s"] * 0.0025, 6), "currency": "USD"}
    assert world.jobs.list(world.tenants.get(api.get("/v1/account").body["id"]).id).items == ()


def test_faults_are_named_inside_the_body(api):
    wrong = {**VIDEO, "frame": {"fps": 24}}
    assert api.post("/v1/estimates", {"kind": "video", "body": wrong}).problem == (
        400,
        "invalid_request",
        "body.frame.fps",
    )
    wrong = {**VIDEO, "speech": {"text": "Hi", "voice": {"voice_id": "none"}}}
    refused = api.post("/v1/estimates", {"kind": "video", "body": wrong}).problem
    assert refused == (422, "voice_not_found", "body.speech.voice.voice_id")
    assert api.post("/v1/estimates", {"kind": "poem", "body": VIDEO}).problem == (400, "invalid_request", "kind")


def test_estimates_need_a_key(world):
    assert Gateway().post("/v1/estimates", {"kind": "video", "body": VIDEO}).status == 401


def test_body_is_the_creations_own():
    VideoBody.model_validate(VIDEO)


def test_what_the_creation_would_not_find_is_refused(api):
    wrong = {**VIDEO, "presenter": {"avatar_id": "avatar_01JYYYYYYYYYYYYYYYYYYYYYYY"}}
    refused = api.post("/v1/estimates", {"kind": "video", "body": wrong}).problem
    assert refused == (422, "avatar_not_found", "body.presenter.avatar_id")
