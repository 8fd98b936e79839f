"""Sources named by URL: checked when the job is accepted, read when it is prepared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain import wire
from services.domain.errors import ContentRejected, InvalidRequest, Unavailable
from services.domain.ids import new_id
from services.domain.job import JobState, JobStep
from services.domain.object_key import ObjectKey
from services.domain.storyboard import Storyboard
from services.domain.video import (
    Background,
    BackgroundKind,
    Presenter,
    SpokenAudio,
    SpokenText,
    VideoRequest,
    VoiceSettings,
)
from services.settings import Settings
from services.usecases.submit_video import submit_video
from tests.fakes.world import STARTS, TENANT, World

URL = "https://media.example/"
SPEECH = SpokenText(text="Hello.", voice=VoiceSettings(voice_id="en-us"))
EVERYWHERE = VideoRequest(
    presenter=Presenter(source_url=URL + "face", synthetic=True),
    speech=SpokenAudio(source_url=URL + "sound"),
    background=Background(kind=BackgroundKind.IMAGE, source_url=URL + "beach"),
)
FACE = STARTS["image/jpeg"] + b"face"


@pytest.fixture
def served(world: World) -> World:
    world.fetcher.answers = {
        URL + "face": FACE,
        URL + "sound": STARTS["audio/wav"] + b"sound",
        URL + "beach": STARTS["image/png"] + b"beach",
    }
    return world


def submit(world: World, request: VideoRequest):
    return submit_video(
        request,
        job_id=new_id("job"),
        tenant_id=TENANT,
        jobs=world.jobs,
        uploads=world.uploads,
        avatars=world.avatars,
        voices=world.voices,
        objects=world.objects,
        consents=world.consents,
        audit=world.audit,
        clock=world.clock,
        settings=world.settings,
        actor="key_1",
    )


def test_sources_become_objects_of_the_job(served):
    job = submit(served, EVERYWHERE)
    assert served.fetcher.fetched == [], "nothing is read within the request"
    prepared = served.prepare(job.id)
    assert prepared.step is JobStep.DISPATCH
    board = wire.decode(Storyboard, served.objects.get(ObjectKey.parse(prepared.storyboard_key)))
    keys = (board.presenter.key, board.speech.audio_key, board.background.key)
    for key, name in zip(keys, ("face", "sound", "beach"), strict=True):
        parsed = ObjectKey.parse(key)
        assert (parsed.tenant_id, parsed.owner_id) == (TENANT, job.id)
        assert served.objects.get(parsed) == served.fetcher.answers[URL + name]


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (
            replace(EVERYWHERE, presenter=Presenter(source_url="http://10.0.0.1/", synthetic=True)),
            "presenter.source_url",
        ),
        (replace(EVERYWHERE, speech=SpokenAudio(source_url="file:///etc/passwd")), "speech.audio_source_url"),
        (
            replace(
                EVERYWHERE, background=Background(kind=BackgroundKind.IMAGE, source_url="https://a:b@media.example/")
            ),
            "background.source_url",
        ),
    ],
)
def test_url_is_checked_when_the_job_is_submitted(world, request_, param):
    with pytest.raises(ContentRejected) as caught:
        submit(world, request_)
    assert (caught.value.code, caught.value.param) == ("source_url_refused", param)


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (replace(EVERYWHERE, presenter=Presenter(source_url=URL, upload_id="upload_1", synthetic=True)), "presenter"),
        (replace(EVERYWHERE, presenter=Presenter(source_url=URL, avatar_id="avatar_1")), "presenter"),
        (replace(EVERYWHERE, speech=SpokenAudio(source_url=URL, upload_id="upload_1")), "speech"),
        (replace(EVERYWHERE, speech=SpokenAudio()), "speech"),
        (
            replace(EVERYWHERE, background=Background(kind=BackgroundKind.IMAGE, source_url=URL, upload_id="upload_1")),
            "background",
        ),
    ],
)
def test_one_source_of_each_thing(world, request_, param):
    with pytest.raises(InvalidRequest) as caught:
        submit(world, request_)
    assert (caught.value.code, caught.value.param) == ("exactly_one", param)


def test_background_source_is_for_pictures_only(world):
    request = replace(EVERYWHERE, background=Background(kind=BackgroundKind.BLUR, source_url=URL))
    with pytest.raises(InvalidRequest) as caught:
        submit(world, request)
    assert (caught.value.code, caught.value.param) == ("not_used", "background.source_url")


@pytest.mark.parametrize(
    ("name", "param"),
    [("face", "presenter.source_url"), ("sound", "speech.audio_source_url"), ("beach", "background.source_url")],
)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "empty_file"),
        (b"<html>Not found</html>", "unsupported_media"),
        (b"PK\x03\x04archive", "unsupported_media"),
        (b"%PDF-1.7", "unsupported_media"),
        (b"#EXTM3U\nhttp://10.0.0.1/", "unsupported_media"),
        (None, "source_not_found"),
        (ContentRejected("Refused.", code="source_url_refused", param="source_url"), "source_url_refused"),
    ],
)
def test_source_that_is_no_such_medium_fails_the_job_by_name(served, name, param, answer, code):
    served.fetcher.answers[URL + name] = answer
    job = served.prepare(submit(served, EVERYWHERE).id)
    assert (job.state, job.failure.code, job.failure.param) == (JobState.FAILED, code, param)


def test_sound_is_no_presenter_and_a_picture_no_speech(served):
    served.fetcher.answers[URL + "face"] = STARTS["audio/wav"]
    assert served.prepare(submit(served, EVERYWHERE).id).failure.code == "unsupported_media"
    served.fetcher.answers[URL + "face"] = FACE
    served.fetcher.answers[URL + "sound"] = FACE
    assert served.prepare(submit(served, EVERYWHERE).id).failure.param == "speech.audio_source_url"


def test_size_is_bounded_as_an_uploads_is(served):
    served.settings = Settings(max_upload_bytes=len(FACE) - 1)
    assert served.prepare(submit(served, EVERYWHERE).id).failure.code == "source_too_large"


def test_host_that_does_not_answer_is_asked_again_and_given_up_by_name(served):
    served.fetcher.answers[URL + "face"] = Unavailable("No answer.", code="source_unreachable")
    job = submit(served, replace(EVERYWHERE, speech=SPEECH))
    for tries in range(4):
        assert served.jobs.get(job.id).step_tries == tries
        served.jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
        with pytest.raises(Unavailable):
            served.prepare(job.id)
        served.jobs.release(job.id, delay_s=0)
    failed = served.prepare(job.id)
    assert (failed.state, failed.failure.code) == (JobState.FAILED, "source_unreachable")
    assert failed.failure.param == "presenter.source_url"


def test_sources_share_one_budget_of_time(served, monkeypatch):
    budgets = []
    real = served.fetcher.fetch

    def slow(url, target, *, max_bytes, timeout_s):
        budgets.append(timeout_s)
        served.clock.advance(15)
        return real(url, target, max_bytes=max_bytes, timeout_s=timeout_s)

    monkeypatch.setattr(served.fetcher, "fetch", slow)
    served.prepare(submit(served, EVERYWHERE).id)
    assert budgets == [25, 10, 1]
