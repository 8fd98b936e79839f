"""What is refused before any work, and what is stored."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from services.domain import wire
from services.domain.brief import Brief
from services.domain.errors import Conflict, ContentRejected, InvalidRequest, SpokesmodelError
from services.domain.ids import new_id
from services.domain.job import JobState, JobStep
from services.domain.video import (
    Aspect,
    Background,
    BackgroundKind,
    FrameSettings,
    Presenter,
    SpokenAudio,
    SpokenText,
    VideoRequest,
    VoiceSettings,
)
from services.ports.catalogue import Avatar, Voice
from services.settings import Settings
from services.usecases.submit_video import submit_video
from tests.fakes.catalogue import ENGLISH, FakeVoiceCatalogue
from tests.fakes.world import OTHER_TENANT, STARTS, TENANT, World

VOICE = VoiceSettings(voice_id="en-us")
BRIEF = Brief(product="Lamp", language="en", duration_s=20)


def submit(world: World, request: VideoRequest, **more: Any):
    arguments = {
        "job_id": new_id("job"),
        "tenant_id": TENANT,
        "jobs": world.jobs,
        "uploads": world.uploads,
        "avatars": world.avatars,
        "voices": world.voices,
        "objects": world.objects,
        "consents": world.consents,
        "audit": world.audit,
        "clock": world.clock,
        "settings": world.settings,
        "actor": "key_1",
    }
    return submit_video(request, **{**arguments, **more})


@pytest.fixture
def request_1(world: World) -> VideoRequest:
    speech = SpokenText(voice=VOICE, text="Hello.")
    return VideoRequest(presenter=Presenter(upload_id=world.upload(), synthetic=True), speech=speech)


def refusal(world: World, request: VideoRequest, **more: Any) -> SpokesmodelError:
    with pytest.raises(SpokesmodelError) as raised:
        submit(world, request, **more)
    assert not world.jobs.list(TENANT).items, "a refused request leaves no job"
    return raised.value


def test_accepted_video_is_queued_and_stored(world, request_1):
    job = submit(world, request_1, callback_url="https://client.example/hook", callback_id="mine")
    assert world.jobs.get(job.id) == job
    assert (job.state, job.step, job.attempt, job.tenant_id) == (JobState.QUEUED, JobStep.PREPARE, 0, TENANT)
    assert wire.from_values(VideoRequest, job.request) == request_1
    assert job.callback_id == "mine"


def test_same_id_again_answers_the_job_there_is(world, request_1):
    job_id = new_id("job")
    first = submit(world, request_1, job_id=job_id)
    world.clock.advance(5)
    assert submit(world, request_1, job_id=job_id) == first
    with pytest.raises(Conflict):
        submit(
            world,
            replace(request_1, presenter=Presenter(upload_id=world.upload(tenant_id=OTHER_TENANT), synthetic=True)),
            job_id=job_id,
            tenant_id=OTHER_TENANT,
        )


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"presenter": Presenter()}, "presenter"),
        ({"presenter": Presenter(avatar_id="a", upload_id="b")}, "presenter"),
        ({"speech": SpokenText(voice=VOICE)}, "speech"),
        ({"speech": SpokenText(voice=VOICE, text="Hi", brief=BRIEF)}, "speech"),
    ],
)
def test_exactly_one_of_alternatives_is_needed(world, request_1, change, param):
    error = refusal(world, replace(request_1, **change))
    assert isinstance(error, InvalidRequest)
    assert (error.code, error.param) == ("exactly_one", param)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"frame": FrameSettings(fps=24)}, "frame.fps"),
        ({"frame": FrameSettings(height_px=127)}, "frame.height_px"),
        ({"frame": FrameSettings(height_px=3841)}, "frame.height_px"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"speech": SpokenText(voice=replace(VOICE, speed=0.49), text="Hi")}, "speech.voice.speed"),
        ({"speech": SpokenText(voice=replace(VOICE, speed=2.01), text="Hi")}, "speech.voice.speed"),
        ({"speech": SpokenText(voice=replace(VOICE, speed=float("nan")), text="Hi")}, "speech.voice.speed"),
        ({"speech": SpokenText(voice=replace(VOICE, pitch=13), text="Hi")}, "speech.voice.pitch"),
        ({"speech": SpokenText(voice=replace(VOICE, volume=-0.1), text="Hi")}, "speech.voice.volume"),
        ({"speech": SpokenText(voice=replace(VOICE, pause_s=3.5), text="Hi")}, "speech.voice.pause_s"),
        ({"speech": SpokenText(voice=VOICE, brief=replace(BRIEF, duration_s=0.5))}, "speech.brief.duration_s"),
        ({"speech": SpokenText(voice=VOICE, brief=replace(BRIEF, duration_s=1801))}, "speech.brief.duration_s"),
    ],
)
def test_value_outside_its_range_is_refused_with_range_and_value(world, request_1, change, param):
    error = refusal(world, replace(request_1, **change))
    assert (type(error), error.code, error.param) == (InvalidRequest, "out_of_range", param)


def test_face_index_is_checked(world, request_1):
    error = refusal(world, replace(request_1, presenter=replace(request_1.presenter, face=-1)))
    assert (error.code, error.param) == ("out_of_range", "presenter.face")


@pytest.mark.parametrize(
    "accepted",
    [
        {"frame": FrameSettings(aspect=Aspect.SOURCE, fps=60, height_px=3840)},
        {"background": Background(kind=BackgroundKind.BLUR)},
        {"background": Background(kind=BackgroundKind.COLOR, color="#00ffAA")},
        {"speech": SpokenText(voice=replace(VOICE, speed=2, pitch=-12, volume=0, pause_s=3), text="7")},
        {"speech": SpokenText(voice=VOICE, text="Hi", language="en-Latn-AU")},
        {"speech": SpokenText(voice=VOICE, brief=BRIEF)},
    ],
)
def test_edges_of_what_is_allowed_are_accepted(world, request_1, accepted):
    assert submit(world, replace(request_1, **accepted)).state is JobState.QUEUED


@pytest.mark.parametrize("text", ["", "  \n\t", "...!?", "🙂🎉", "—«»—", "\u200b\u00ad"])
def test_text_without_letter_or_digit_has_nothing_to_say(world, request_1, text):
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, text=text)))
    assert (type(error), error.code, error.param) == (ContentRejected, "nothing_to_say", "speech.text")


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x0b", "\x7f", "\x9b", "\ud800"])
def test_control_character_is_refused_by_its_number(world, request_1, character):
    text = f"Hello{character}there."
    spoken = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, text=text)))
    assert (type(spoken), spoken.code, spoken.param) == (ContentRejected, "control_character", "speech.text")
    assert f"U+{ord(character):04X}" in spoken.detail
    recorded = SpokenAudio(upload_id=world.upload("audio/wav"), transcript=text)
    error = refusal(world, replace(request_1, speech=recorded))
    assert (error.code, error.param) == ("control_character", "speech.transcript")
    said = replace(VOICE, pronunciations={"Lumo": f"Loo{character}mo"})
    error = refusal(world, replace(request_1, speech=SpokenText(voice=said, text="Hi")))
    assert (error.code, error.param) == ("control_character", "speech.voice.pronunciations")


def test_text_may_have_lines_and_tabs(world, request_1):
    assert submit(world, replace(request_1, speech=SpokenText(voice=VOICE, text="One.\r\n\tTwo.\n\u2028Three.")))


@pytest.mark.parametrize(
    ("aspect", "most"), [(Aspect.LANDSCAPE, 2160), (Aspect.SQUARE, 3840), (Aspect.PORTRAIT, 3840), (Aspect.TALL, 3840)]
)
def test_no_side_of_the_frame_may_be_over_3840_pixels(world, request_1, aspect, most):
    assert submit(world, replace(request_1, frame=FrameSettings(aspect=aspect, height_px=most)))
    if most < 3840:
        with pytest.raises(InvalidRequest) as caught:
            submit(world, replace(request_1, frame=FrameSettings(aspect=aspect, height_px=most + 1)))
        assert (caught.value.code, caught.value.param) == ("frame_size", "frame.height_px")
        assert str(most) in caught.value.detail


def test_too_long_text_is_refused_naming_limit_and_length(world, request_1):
    settings = Settings(max_text_characters=10)
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, text="eleven char")), settings=settings)
    assert (error.code, error.param) == ("text_too_long", "speech.text")
    assert "11" in error.detail
    assert "10" in error.detail


def test_brief_counts_all_its_facts(world, request_1):
    brief = replace(BRIEF, keywords=("four", "five5"), offer="six666")
    settings = Settings(max_text_characters=18)
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, brief=brief)), settings=settings)
    assert (error.code, error.param) == ("text_too_long", "speech.brief")
    assert "19" in error.detail


@pytest.mark.parametrize("language", ["english!", "e", "", "de_DE", "x" * 9])
def test_language_is_a_bcp47_tag(world, request_1, language):
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, text="Hi", language=language)))
    assert (error.code, error.param) == ("malformed_language", "speech.language")


@pytest.mark.parametrize(
    ("background", "code", "param"),
    [
        (Background(kind=BackgroundKind.COLOR), "missing", "background.color"),
        (Background(kind=BackgroundKind.IMAGE), "missing", "background.upload_id"),
        (Background(kind=BackgroundKind.BLUR, color="#112233"), "not_used", "background.color"),
        (Background(kind=BackgroundKind.COLOR, color="red"), "malformed_color", "background.color"),
        (Background(kind=BackgroundKind.COLOR, color="#1122334"), "malformed_color", "background.color"),
    ],
)
def test_background_has_what_its_kind_needs_and_no_more(world, request_1, background, code, param):
    error = refusal(world, replace(request_1, background=background))
    assert (error.code, error.param) == (code, param)


def test_unknown_voice_is_refused(world, request_1):
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VoiceSettings(voice_id="xx"), text="Hi")))
    assert (type(error), error.code, error.param) == (ContentRejected, "voice_not_found", "speech.voice.voice_id")


def test_brief_in_a_language_that_the_voice_does_not_speak_is_refused(world, request_1):
    brief = replace(BRIEF, language="zh-CN")
    error = refusal(world, replace(request_1, speech=SpokenText(voice=VOICE, brief=brief)))
    assert (error.code, error.param) == ("language_not_spoken", "speech.brief.language")


FRENCH = Voice(id="fr", name="French", language="fr", engine="espeak", gender=None, characters_per_s=15.0)
MANDARIN = replace(FRENCH, id="cmn", language="zh")
GERMAN = replace(FRENCH, id="de", language="de")


@pytest.fixture
def many_voices(world) -> FakeVoiceCatalogue:
    return FakeVoiceCatalogue(ENGLISH, FRENCH, MANDARIN, GERMAN)


@pytest.mark.parametrize(
    ("voice_id", "text"),
    [
        ("cmn", "Hello my friends"),
        ("en-us", "大家好"),
        ("en-us", "Привет"),
        ("fr", "こんにちは"),
        ("cmn", "ＦＵＬＬ ＷＩＤＴＨ"),
    ],
)
def test_text_in_letters_that_the_voice_cannot_read_is_refused(world, request_1, many_voices, voice_id, text):
    speech = SpokenText(voice=VoiceSettings(voice_id=voice_id), text=text)
    error = refusal(world, replace(request_1, speech=speech), voices=many_voices)
    assert (type(error), error.code, error.param) == (ContentRejected, "language_not_spoken", "speech.voice.voice_id")


@pytest.mark.parametrize(
    ("voice_id", "text"),
    [
        ("cmn", "我们的 USB-C 充电器"),
        ("en-us", "Say 你好."),
        ("cmn", "2026"),
        ("en-us", "Ｈｅｌｌｏ"),
        ("fr", "Ça va à l’été ?"),
    ],
)
def test_text_with_letters_of_the_voice_is_accepted(world, request_1, many_voices, voice_id, text):
    speech = SpokenText(voice=VoiceSettings(voice_id=voice_id), text=text)
    assert submit(world, replace(request_1, speech=speech), voices=many_voices)


def test_other_language_than_the_voices_is_refused_naming_voices_that_would_do(world, request_1, many_voices):
    speech = SpokenText(voice=VOICE, text="Bonjour", language="fr-CA")
    error = refusal(world, replace(request_1, speech=speech), voices=many_voices)
    assert (type(error), error.code, error.param) == (ContentRejected, "language_not_spoken", "speech.language")
    assert "Voices that would do: fr." in error.detail
    error = refusal(world, replace(request_1, speech=replace(speech, language="ar")), voices=many_voices)
    assert "No voice speaks that language" in error.detail


def test_brief_that_no_writer_here_writes_is_refused(world, request_1, many_voices):
    speech = SpokenText(voice=VoiceSettings(voice_id="de"), brief=replace(BRIEF, language="de"))
    error = refusal(world, replace(request_1, speech=speech), voices=many_voices)
    assert (type(error), error.code, error.param) == (ContentRejected, "language_not_written", "speech.brief.language")
    assert submit(world, replace(request_1, speech=speech), voices=many_voices, has_language_model=True)


def test_brief_whose_facts_are_in_another_writing_is_refused(world, request_1, many_voices):
    speech = SpokenText(voice=VOICE, brief=replace(BRIEF, benefits=("轻便防水",)))
    error = refusal(world, replace(request_1, speech=speech), voices=many_voices)
    assert (error.code, error.param) == ("facts_in_other_language", "speech.brief.language")


def test_avatar_of_another_tenant_is_not_found(world, request_1):
    avatar = Avatar(
        id=new_id("avatar"),
        tenant_id=OTHER_TENANT,
        name="Vera",
        kind="picture",
        object_key="catalogue/x/y/0/file.png",
        media_type="image/png",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    world.avatars.add(avatar)
    error = refusal(world, replace(request_1, presenter=Presenter(avatar_id=avatar.id)))
    assert (error.code, error.param) == ("avatar_not_found", "presenter.avatar_id")
    world.avatars.add(replace(avatar, id="avatar_shared", tenant_id=None))
    assert submit(world, replace(request_1, presenter=Presenter(avatar_id="avatar_shared")))


def upload_changes(upload_id: str) -> list[tuple[dict[str, Any], str]]:
    return [
        ({"presenter": Presenter(upload_id=upload_id, synthetic=True)}, "presenter.upload_id"),
        ({"speech": SpokenAudio(upload_id=upload_id)}, "speech.audio_upload_id"),
        ({"background": Background(kind=BackgroundKind.IMAGE, upload_id=upload_id)}, "background.upload_id"),
    ]


@pytest.mark.parametrize("which", range(3))
def test_referred_uploads_are_checked_one_by_one(world, request_1, which):
    cases = [
        ("upload_not_found", new_id("upload")),
        ("upload_not_found", world.upload(tenant_id=OTHER_TENANT)),
        ("wrong_media_type", world.upload("text/plain")),
        ("upload_incomplete", world.upload(("image/png", "audio/wav", "image/png")[which], data=None)),
        ("empty_file", world.upload(("video/mp4", "video/mp4", "image/webp")[which], data=b"")),
        ("unsupported_media", world.upload(("video/mp4", "video/mp4", "image/webp")[which], data=b"words")),
        ("unsupported_media", world.upload(("image/png", "audio/wav", "image/png")[which], data=b"%PDF-1.7")),
    ]
    for code, upload_id in cases:
        change, param = upload_changes(upload_id)[which]
        error = refusal(world, replace(request_1, **change))
        assert (type(error), error.code, error.param) == (ContentRejected, code, param)


def test_sound_may_come_in_any_container_but_a_picture_is_no_sound(world, request_1):
    sound = world.upload("audio/mpeg", data=STARTS["video/mp4"])
    assert submit(world, replace(request_1, speech=SpokenAudio(upload_id=sound)))
    picture = world.upload("audio/mpeg", data=STARTS["image/png"])
    with pytest.raises(ContentRejected, match="is a PNG file") as caught:
        submit(world, replace(request_1, speech=SpokenAudio(upload_id=picture)))
    assert (caught.value.code, caught.value.param) == ("unsupported_media", "speech.audio_upload_id")


def test_refusal_names_the_file_as_the_client_named_it(world, request_1):
    error = refusal(world, replace(request_1, presenter=Presenter(upload_id=world.upload(data=b""), synthetic=True)))
    assert 'my "file" 图.png' in error.detail


@pytest.mark.parametrize(
    "url",
    [
        "ftp://client.example/",
        "https://",
        "//client.example",
        "https://user:secret@client.example/",
        "https://localhost/",
        "https://a.localhost/",
        "http://127.0.0.1:8000/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fd00:ec2::254]/",
        "http://[64:ff9b::a00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
        "http://[::]/",
        "http://0.0.0.0/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://0X7F000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://10.65793/",
        "http://0/",
        "http://127.0.0.1./",
        "https://localhost./",
        "https://LocalHost/",
        "https://a.localhost./",
        "http://127\u30020\u30020\u30021/",
        "http://127\uff0e0\uff0e0\uff0e1/",
        "http://127\uff610\uff610\uff611/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/",
        "http://loc\u00adalhost/",
        "http://[fe80::1%25eth0]/",
        "https://./",
        "https://client.example:99999/",
        "https://client.example/a b",
        "https://client.example\\@127.0.0.1/",
        "https://client.example/" + "x" * 2048,
    ],
)
def test_callback_into_a_private_network_or_of_a_strange_form_is_refused(world, request_1, url):
    error = refusal(world, request_1, callback_url=url)
    assert (type(error), error.code, error.param) == (ContentRejected, "callback_url_refused", "callback_url")


@pytest.mark.parametrize(
    "url",
    [
        "https://client.example./hook",
        "http://93.184.216.34/",
        "http://0x5db8d822/",
        "https://b\u00fccher.example/",
        "https://7.example/",
        "https://notlocalhost/",
    ],
)
def test_callback_to_the_open_internet_is_accepted(world, request_1, url):
    assert submit(world, request_1, callback_url=url).callback_url == url


def test_private_callback_is_accepted_where_the_setting_allows(world, request_1):
    settings = Settings(allow_private_callbacks=True)
    assert submit(world, request_1, callback_url="http://127.0.0.1:9/", settings=settings)


def test_long_callback_id_is_refused(world, request_1):
    error = refusal(world, request_1, callback_url="https://client.example/", callback_id="x" * 257)
    assert (error.code, error.param) == ("out_of_range", "callback_id")
