"""Requests become storyboards of the job's own objects."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from services.domain import wire
from services.domain.brief import Brief, WriterKind
from services.domain.errors import NotFound, Unavailable
from services.domain.job import Job, JobState, JobStep
from services.domain.object_key import ObjectKey
from services.domain.storyboard import Storyboard
from services.domain.timeline import SpeechTimeline
from services.domain.video import (
    Background,
    BackgroundKind,
    Presenter,
    SpokenAudio,
    SpokenText,
    VideoRequest,
    VoiceSettings,
)
from services.ports.catalogue import Avatar
from tests.fakes.catalogue import ENGLISH, FakeVoiceCatalogue
from tests.fakes.managed_speech import FakeManagedSpeech
from tests.fakes.world import TENANT, World

VOICE = VoiceSettings(voice_id="en-us", speed=2.0)


def storyboard_of(world: World, job: Job) -> Storyboard:
    return wire.decode(Storyboard, world.objects.get(ObjectKey.parse(job.storyboard_key or "")))


@pytest.fixture
def request_1(world: World) -> VideoRequest:
    return VideoRequest(
        presenter=Presenter(upload_id=world.upload("image/png", b"face"), face=1),
        speech=SpokenText(voice=VOICE, text="Hello there, all of you."),
        seed=7,
    )


def test_prepared_job_waits_for_dispatch_with_its_storyboard(world, request_1):
    job = world.prepare(world.add_video(request_1).id)
    assert (job.state, job.step) == (JobState.QUEUED, JobStep.DISPATCH)
    assert job.storyboard_key == f"work/{TENANT}/{job.id}/0/storyboard.json"
    board = storyboard_of(world, job)
    assert (board.job_id, board.seed, board.presenter.face) == (job.id, 7, 1)
    assert board.frame == request_1.frame
    assert board.speech.voice == VOICE
    assert board.speech.script.text == "Hello there, all of you."
    assert board.speech.script.language == "en-US"
    assert board.speech.script.writer is WriterKind.CLIENT


def test_estimate_follows_the_voices_speed(world, request_1):
    estimates = []
    for speed in (1.0, 2.0):
        speech = SpokenText(voice=replace(VOICE, speed=speed), text="One two three four five six. " * 20)
        job = world.prepare(world.add_video(replace(request_1, speech=speech)).id)
        estimates.append(storyboard_of(world, job).speech.script.estimated_duration_s)
    assert estimates[0] == pytest.approx(2 * estimates[1], rel=0.01)
    assert 20 < estimates[0] < 60, "120 words are said in 40 seconds, give or take a half"


def test_every_reference_is_a_copy_under_the_job(world, request_1):
    request = replace(
        request_1,
        speech=SpokenAudio(upload_id=world.upload("audio/wav", b"sound"), transcript="Hi", language="de"),
        background=Background(kind=BackgroundKind.IMAGE, upload_id=world.upload("image/webp", b"beach")),
    )
    job = world.prepare(world.add_video(request).id)
    board = storyboard_of(world, job)
    keys = (board.presenter.key, board.speech.audio_key, board.background.key)
    assert keys == tuple(
        f"work/{TENANT}/{job.id}/0/{name}" for name in ("presenter.png", "audio.wav", "background.webp")
    )
    assert [world.objects.get(ObjectKey.parse(key)) for key in keys] == [b"face", b"sound", b"beach"]
    assert (board.speech.transcript, board.speech.language) == ("Hi", "de")
    world.objects.delete_owner(TENANT, request.presenter.upload_id)
    assert world.objects.exists(ObjectKey.parse(keys[0])), "the job no longer needs the upload"


def test_built_in_avatar_is_copied_from_the_shared_catalogue(world, request_1):
    key = ObjectKey.parse("catalogue/shared/avatar_1/0/file.jpg")
    world.objects.put(key, b"vera", media_type="image/jpeg")
    world.avatars.add(
        Avatar(
            id="avatar_1",
            tenant_id=None,
            name="Vera",
            kind="picture",
            object_key=str(key),
            media_type="image/jpeg",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
    )
    job = world.prepare(world.add_video(replace(request_1, presenter=Presenter(avatar_id="avatar_1"))).id)
    board = storyboard_of(world, job)
    assert board.presenter.key.endswith("/0/presenter.jpg")
    assert world.objects.get(ObjectKey.parse(board.presenter.key)) == b"vera"


def test_brief_becomes_a_script_of_its_own_facts(world, request_1):
    brief = Brief(product="Lumo Lamp", language="en", duration_s=15, benefits=("lights up a whole room",))
    job = world.prepare(world.add_video(replace(request_1, speech=SpokenText(voice=VOICE, brief=brief))).id)
    script = storyboard_of(world, job).speech.script
    assert script.writer is WriterKind.TEMPLATE
    assert "Lumo Lamp" in script.text


def test_brief_that_cannot_be_written_fails_the_job_with_the_field_as_the_client_named_it(world, request_1):
    brief = Brief(product="Lumo Lamp", language="de", duration_s=15)
    failed = world.prepare(world.add_video(replace(request_1, speech=SpokenText(voice=VOICE, brief=brief))).id)
    assert (failed.state, failed.failure.param) == (JobState.FAILED, "speech.brief.language")


def test_input_that_went_meanwhile_fails_the_job_by_name(world, request_1):
    job = world.add_video(request_1)
    world.uploads.delete(TENANT, request_1.presenter.upload_id)
    failed = world.prepare(job.id)
    assert (failed.state, failed.step) == (JobState.FAILED, JobStep.NONE)
    assert (failed.failure.code, failed.failure.param) == ("upload_not_found", "presenter.upload_id")
    assert not failed.failure.retryable
    assert failed.finished_at == world.clock.now()


def test_upload_whose_bytes_went_fails_the_job_by_name(world, request_1):
    job = world.add_video(request_1)
    world.objects.delete_owner(TENANT, request_1.presenter.upload_id)
    assert world.prepare(job.id).failure.code == "upload_not_found"


def test_failing_store_fails_the_message_and_not_the_job(world, request_1, monkeypatch):
    job = world.add_video(request_1)

    def refuse(*args: object, **kwargs: object) -> None:
        raise Unavailable("full", code="store_unavailable")

    monkeypatch.setattr(world.objects, "put", refuse)
    with pytest.raises(Unavailable):
        world.prepare(job.id)
    assert world.jobs.get(job.id) == job


def test_preparing_is_given_up_after_the_last_try(world, request_1):
    job = world.add_video(request_1, step_tries=world.settings.max_step_tries, callback_url="https://c.example/")
    failed = world.prepare(job.id)
    assert (failed.state, failed.step, failed.failure.code) == (JobState.FAILED, JobStep.NOTIFY, "prepare_failed")


def test_repeated_message_changes_nothing(world, request_1):
    job = world.prepare(world.add_video(request_1).id)
    assert world.prepare(job.id) == job


def test_canceled_job_is_not_prepared(world, request_1):
    job = world.add_video(request_1)
    canceled = world.cancel(job.id)
    assert world.prepare(job.id) == canceled
    assert not any(job.id in key for key in world.objects.stored_keys())


def test_job_canceled_while_it_is_prepared_stays_canceled(world, request_1, monkeypatch):
    job = world.add_video(request_1)
    put = world.objects.put

    def cancel_meanwhile(*args: object, **kwargs: object) -> None:
        put(*args, **kwargs)
        world.cancel(job.id)

    monkeypatch.setattr(world.objects, "put", cancel_meanwhile)
    assert world.prepare(job.id).state is JobState.CANCELED


def test_deleted_job_is_not_found(world):
    with pytest.raises(NotFound):
        world.prepare("job_gone")


@pytest.fixture
def managed(world) -> FakeManagedSpeech:
    """A managed voice that the world's catalogue lists beside the engine's own."""
    speech = FakeManagedSpeech()
    voice = replace(ENGLISH, id="polly-joanna", engine="polly")
    world.fit(managed_speech=speech, voices=FakeVoiceCatalogue(ENGLISH, voice))
    return speech


def asked_of(world: World, request: VideoRequest, text: str, **settings: Any) -> Job:
    """The stored job of a text for the managed voice."""
    speech = SpokenText(voice=VoiceSettings(voice_id="polly-joanna", **settings), text=text)
    return world.add_video(replace(request, speech=speech))


def test_managed_voice_speaks_while_the_job_is_prepared_and_leaves_sound_and_times(world, request_1, managed):
    job = world.prepare(asked_of(world, request_1, "Hello there.").id)
    speech = storyboard_of(world, job).speech
    assert managed.asked == ["Hello there."]
    assert speech.audio_key == f"work/{TENANT}/{job.id}/0/speech.wav"
    assert speech.timeline_key == f"work/{TENANT}/{job.id}/0/speech.json"
    assert world.objects.get(ObjectKey.parse(speech.audio_key)).startswith(b"RIFF")
    timeline = wire.decode(SpeechTimeline, world.objects.get(ObjectKey.parse(speech.timeline_key)))
    assert [word.text for word in timeline.words] == ["Hello", "there"]
    assert (speech.transcript, speech.language) == ("Hello there.", "en-US")


def test_voice_of_the_engine_is_not_spoken_before(world, request_1, managed):
    job = world.prepare(world.add_video(request_1).id)
    assert storyboard_of(world, job).speech.audio_key is None
    assert managed.asked == []


def test_managed_voice_that_does_not_answer_lets_the_message_come_again(world, request_1, managed):
    managed.is_reachable = False
    job = asked_of(world, request_1, "Hello.")
    with pytest.raises(Unavailable):
        world.prepare(job.id)
    assert world.jobs.get(job.id).step is JobStep.PREPARE
    managed.is_reachable = True
    assert world.prepare(job.id).step is JobStep.DISPATCH


@pytest.mark.parametrize(
    ("text", "settings", "code"),
    [("?!", {}, "nothing_to_say"), ("Hello.", {"pitch": 2.0}, "voice_setting_not_supported")],
)
def test_what_a_managed_voice_refuses_fails_the_job_by_name(world, request_1, managed, text, settings, code):
    job = world.prepare(asked_of(world, request_1, text, **settings).id)
    assert (job.state, job.failure.code) == (JobState.FAILED, code)


@pytest.mark.parametrize("is_used", [False, True])
def test_managed_voice_that_is_not_to_be_had_fails_the_job_by_name(world, request_1, managed, is_used):
    """One machine has no managed voices; a region of AWS has some of them."""
    managed.absent.add("polly-joanna")
    world.fit(managed_speech=managed if is_used else None)
    job = world.prepare(asked_of(world, request_1, "Hello.").id)
    assert (job.state, job.failure.code) == (JobState.FAILED, "voice_not_available")
