"""POST /v1/videos."""

from __future__ import annotations

import pytest

from lambdas.api.schemas.jobs import JobDetailBody
from services.domain import wire
from services.domain.job import JobStep
from services.domain.video import SpokenAudio, SpokenText, VideoRequest
from tests.fakes.world import TENANT


def request_of(world, job_id) -> VideoRequest:
    return wire.from_values(VideoRequest, world.jobs.get(job_id).request)


def test_video_is_accepted_as_a_job_of_the_keys_tenant(world, api, video):
    answer = api.post("/v1/videos", {**video, "callback_url": "https://93.184.216.34/hook", "callback_id": "c-1"})
    assert answer.status == 202
    body = answer.body
    JobDetailBody.model_validate(body)
    assert answer.headers["location"] == f"/v1/jobs/{body['id']}"
    assert int(answer.headers["retry-after"]) > 0
    assert (body["state"], body["kind"], body["callback_id"]) == ("queued", "video", "c-1")
    job = world.jobs.get(body["id"])
    assert (job.tenant_id, job.step, job.callback_url) == (TENANT, JobStep.PREPARE, "https://93.184.216.34/hook")


def test_defaults_are_the_documented_ones(world, api, video):
    request = request_of(world, api.post("/v1/videos", video).body["id"])
    assert isinstance(request.speech, SpokenText)
    assert (request.frame.aspect, request.frame.fps, request.frame.height_px) == ("9:16", 25, None)
    assert (request.subtitles, request.background.kind, request.presenter.face) == ("file", "original", None)


def test_every_field_reaches_the_job(world, api):
    picture, backdrop = world.upload("image/png"), world.upload("image/jpeg")
    body = {
        "presenter": {"upload_id": picture, "face": 2, "synthetic": True},
        "speech": {
            "brief": {
                "product": "Aurora",
                "brand": "Northwind",
                "audience": "runners",
                "keywords": ["light"],
                "benefits": ["weighs 190 grams"],
                "offer": "20 % off",
                "price": "99 EUR",
                "call_to_action": "Order now",
                "tone": "calm",
                "language": "en-US",
                "duration_s": 12,
            },
            "voice": {
                "voice_id": "en-us",
                "speed": 1.25,
                "pitch": -2,
                "volume": 0.5,
                "pause_s": 0.4,
                "pronunciations": {"705A": "seven oh five A"},
            },
            "language": "en-GB",
        },
        "frame": {"aspect": "16:9", "fps": 60, "height_px": 720},
        "background": {"kind": "image", "upload_id": backdrop},
        "subtitles": "burn",
        "seed": 7,
    }
    answer = api.post("/v1/videos", body)
    assert answer.status == 202, answer.text
    request = request_of(world, answer.body["id"])
    assert (request.presenter.upload_id, request.presenter.face) == (picture, 2)
    assert isinstance(request.speech, SpokenText)
    brief, voice = request.speech.brief, request.speech.voice
    assert brief is not None
    assert (brief.product, brief.brand, brief.keywords, brief.benefits) == (
        "Aurora",
        "Northwind",
        ("light",),
        ("weighs 190 grams",),
    )
    assert (brief.audience, brief.offer, brief.price, brief.call_to_action, brief.tone) == (
        "runners",
        "20 % off",
        "99 EUR",
        "Order now",
        "calm",
    )
    assert (brief.language, brief.duration_s, request.speech.language) == ("en-US", 12, "en-GB")
    assert (voice.speed, voice.pitch, voice.volume, voice.pause_s) == (1.25, -2, 0.5, 0.4)
    assert voice.pronunciations == {"705A": "seven oh five A"}
    assert (request.frame.aspect, request.frame.fps, request.frame.height_px) == ("16:9", 60, 720)
    assert (request.background.kind, request.background.upload_id) == ("image", backdrop)
    assert (request.subtitles, request.seed) == ("burn", 7)


def test_recorded_speech_needs_no_voice(world, api, video):
    sound = world.upload("audio/wav")
    answer = api.post("/v1/videos", {**video, "speech": {"audio_upload_id": sound, "transcript": "Hello."}})
    assert answer.status == 202
    speech = request_of(world, answer.body["id"]).speech
    assert speech == SpokenAudio(upload_id=sound, transcript="Hello.")


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        ({"presenter": {}}, 400, "exactly_one", "presenter"),
        ({"presenter": None}, 400, "invalid_request", "presenter"),
        ({"presenter": {"avatar_id": "nobody"}}, 400, "invalid_request", "presenter.avatar_id"),
        (
            {"presenter": {"avatar_id": "avatar_01JXXXXXXXXXXXXXXXXXXXXXXX"}},
            422,
            "avatar_not_found",
            "presenter.avatar_id",
        ),
        (
            {"presenter": {"upload_id": "upload_01JXXXXXXXXXXXXXXXXXXXXXXX"}},
            422,
            "upload_not_found",
            "presenter.upload_id",
        ),
        ({"speech": {"voice": {"voice_id": "en-us"}}}, 400, "invalid_request", "speech"),
        ({"speech": {"text": "Hi."}}, 400, "invalid_request", "speech"),
        ({"speech": {"text": "?!…", "voice": {"voice_id": "en-us"}}}, 422, "nothing_to_say", "speech.text"),
        ({"speech": {"text": "Hi.", "voice": {"voice_id": "en-uk"}}}, 422, "voice_not_found", "speech.voice.voice_id"),
        (
            {"speech": {"text": "Hi.", "voice": {"voice_id": "en-us", "speed": 9}}},
            400,
            "invalid_request",
            "speech.voice.speed",
        ),
        (
            {"speech": {"text": "Hi.", "voice": {"voice_id": "en-us"}, "transcript": "Hi."}},
            400,
            "invalid_request",
            "speech",
        ),
        ({"frame": {"fps": 24}}, 400, "invalid_request", "frame.fps"),
        ({"frame": {"fps": "25"}}, 400, "invalid_request", "frame.fps"),
        ({"frame": {"fsp": 25}}, 400, "invalid_request", "frame.fsp"),
        ({"background": {"kind": "color"}}, 400, "missing", "background.color"),
        ({"background": {"kind": "color", "color": "red"}}, 400, "invalid_request", "background.color"),
        ({"background": {"kind": "blur", "color": "#ffffff"}}, 400, "not_used", "background.color"),
        ({"subtitles": "burned"}, 400, "invalid_request", "subtitles"),
        ({"seed": -1}, 400, "invalid_request", "seed"),
        ({"callback_url": "ftp://client.example"}, 422, "callback_url_refused", "callback_url"),
        ({"unknown": 1}, 400, "invalid_request", "unknown"),
        (
            {"presenter": {"avatar_id": "avatar_01JZZZZZZZZZZZZZZZZZZZZZZZ", "face": "left"}},
            400,
            "invalid_request",
            "presenter.face",
        ),
    ],
)
def test_bad_request_is_refused_naming_the_field(api, video, change, status, code, param):
    assert api.post("/v1/videos", {**video, **change}).problem == (status, code, param)


def test_every_fault_of_a_body_is_told(api, video):
    answer = api.post("/v1/videos", {**video, "frame": {"fps": 24, "height_px": 5}, "seed": "x"})
    assert {fault["param"] for fault in answer.body["errors"]} == {"frame.fps", "frame.height_px", "seed"}


def test_refused_request_makes_no_job(world, api, video):
    api.post("/v1/videos", {**video, "seed": -1})
    api.post("/v1/videos", {**video, "speech": {"text": "!", "voice": {"voice_id": "en-us"}}})
    assert world.jobs.list(TENANT).items == ()


def test_upload_of_another_tenant_is_not_found(world, api, video):
    foreign = world.upload(tenant_id="tenant_01JYYYYYYYYYYYYYYYYYYYYYYY")
    assert api.post("/v1/videos", {**video, "presenter": {"upload_id": foreign, "synthetic": True}}).problem == (
        422,
        "upload_not_found",
        "presenter.upload_id",
    )


def test_preferring_to_wait_for_an_unfinished_job_answers_202_after_that_time(world, api, video):
    before = world.clock.now()
    answer = api.post("/v1/videos", video, headers={"Prefer": "respond-async, wait=5"})
    assert answer.status == 202
    assert answer.headers["preference-applied"] == "wait=5"
    assert (world.clock.now() - before).total_seconds() == pytest.approx(5, abs=0.01)


def test_wait_is_cut_to_the_servers_limit_and_what_is_no_wait_is_ignored(api, video):
    assert api.post("/v1/videos", video, headers={"Prefer": "wait=9999"}).headers["preference-applied"] == "wait=20"
    for preference in ("wait", "wait=-1", "wait=soon", "respond-async", 'x="wait=3"'):
        assert "preference-applied" not in api.post("/v1/videos", video, headers={"Prefer": preference}).headers


def test_preferring_to_wait_answers_200_with_the_result_of_a_job_that_ends_in_time(world, api, video, monkeypatch):
    def finish_meanwhile(seconds: float) -> None:
        world.clock.advance(seconds)
        job = world.jobs.list(TENANT).items[0]
        if job.step is JobStep.PREPARE:
            world.avatars.get(TENANT, video["presenter"]["avatar_id"])
            world.objects.put(avatar_key(world, video), b"picture", media_type="image/jpeg")
            world.prepare(job.id)
        elif job.step is JobStep.DISPATCH:
            world.dispatch(job.id)
        elif job.step is JobStep.RUN:
            world.complete(world.answer(job))

    monkeypatch.setattr(world.clock, "sleep", finish_meanwhile)
    answer = api.post("/v1/videos", video, headers={"prefer": "wait=10"})
    assert (answer.status, answer.body["state"]) == (200, "succeeded")
    JobDetailBody.model_validate(answer.body)
    assert answer.headers["location"] == f"/v1/jobs/{answer.body['id']}"
    assert "retry-after" not in answer.headers
    assert answer.body["result"]["outputs"][0]["url"].startswith("fake://result/")


def avatar_key(world, video):
    from services.domain.object_key import ObjectKey

    return ObjectKey.parse(world.avatars.get(TENANT, video["presenter"]["avatar_id"]).object_key)
