"""Polly's requests by their exact shapes, texts as SSML, marks as a timeline, long texts joined."""

from __future__ import annotations

import io
import json
import struct
import wave
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from services.adapters.aws.ogg import ogg_duration_s
from services.adapters.aws.polly import POLLY_VOICES, PollySpeech, polly_language, polly_name
from services.adapters.aws.polly_text import MAX_BILLED, parts_of
from services.adapters.local.voices import LOCAL_VOICES, LocalVoiceCatalogue
from services.domain.errors import ContentRejected, SpokesmodelError, Unavailable
from services.domain.timeline import TimelineSource
from services.domain.video import VoiceSettings
from tests.unit.aws.test_attempt_session import OneClient

VOICES = LocalVoiceCatalogue(LOCAL_VOICES, POLLY_VOICES)
JOANNA = VOICES.get("polly-joanna")
PLAIN = VoiceSettings(voice_id=JOANNA.id)
# The answer in "Speech mark examples" of Polly's developer guide.
LAMB = """\
{"time":0,"type":"sentence","start":0,"end":23,"value":"Mary had a little lamb."}
{"time":6,"type":"word","start":7,"end":11,"value":"Mary"}
{"time":6,"type":"viseme","value":"p"}
{"time":73,"type":"viseme","value":"E"}
{"time":180,"type":"viseme","value":"r"}
{"time":292,"type":"viseme","value":"i"}
{"time":373,"type":"word","start":12,"end":15,"value":"had"}
{"time":373,"type":"viseme","value":"k"}
{"time":460,"type":"viseme","value":"a"}
{"time":521,"type":"viseme","value":"t"}
{"time":604,"type":"word","start":16,"end":17,"value":"a"}
{"time":604,"type":"viseme","value":"@"}
{"time":643,"type":"word","start":18,"end":24,"value":"little"}
{"time":643,"type":"viseme","value":"t"}
{"time":739,"type":"viseme","value":"i"}
{"time":769,"type":"viseme","value":"t"}
{"time":882,"type":"word","start":25,"end":29,"value":"lamb"}
{"time":882,"type":"viseme","value":"t"}
{"time":964,"type":"viseme","value":"a"}
{"time":1082,"type":"viseme","value":"p"}
{"time":1180,"type":"viseme","value":"sil"}
"""


def a_polly() -> Any:
    return boto3.client("polly", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")


def vorbis(duration_s: float, rate_hz: int = 24_000) -> bytes:
    """First and last page of an Ogg Vorbis file, as RFC 3533 and the Vorbis specification lay them out."""
    header = b"\x01vorbis" + struct.pack("<IBI", 0, 1, rate_hz) + bytes(14)
    first = b"OggS" + struct.pack("<BBqIIIB", 0, 2, 0, 1, 0, 0, 1) + bytes([len(header)]) + header
    last = b"OggS" + struct.pack("<BBqIIIB", 0, 4, round(duration_s * rate_hz), 1, 2, 0, 1) + bytes([4]) + b"data"
    return first + last


def body(data: bytes) -> dict[str, Any]:
    return {"AudioStream": StreamingBody(io.BytesIO(data), len(data))}


def request(ssml: str, **output: Any) -> dict[str, Any]:
    return {
        "Engine": "neural",
        "VoiceId": "Joanna",
        "LanguageCode": "en-US",
        "Text": ssml,
        "TextType": "ssml",
        **output,
    }


MARKS = {"OutputFormat": "json", "SpeechMarkTypes": ["word", "sentence", "viseme"]}
SOUND = {"OutputFormat": "ogg_vorbis", "SampleRate": "24000"}


def test_text_is_asked_for_as_sound_and_as_marks_and_becomes_words_and_phonemes() -> None:
    polly, ssml = a_polly(), "<speak>Mary had a little lamb.</speak>"
    with Stubber(polly) as stub:
        stub.add_response("synthesize_speech", body(vorbis(1.25)), request(ssml, **SOUND))
        stub.add_response("synthesize_speech", body(LAMB.encode()), request(ssml, **MARKS))
        spoken = PollySpeech(OneClient(polly)).speak("Mary had a little lamb.", JOANNA, PLAIN)
        stub.assert_no_pending_responses()
    timeline = spoken.timeline
    assert (spoken.media_type, spoken.name) == ("audio/ogg", "speech.ogg")
    assert (timeline.duration_s, timeline.source) == (1.25, TimelineSource.SYNTHESIS)
    assert [(word.text, word.start_s, word.end_s) for word in timeline.words] == [
        ("Mary", 0.006, 0.373),
        ("had", 0.373, 0.604),
        ("a", 0.604, 0.643),
        ("little", 0.643, 0.882),
        ("lamb", 0.882, 1.18),
    ]
    assert "".join(phoneme.symbol for phoneme in timeline.phonemes) == "pɛɹikatətittap"
    assert (timeline.phonemes[-1].symbol, timeline.phonemes[-1].end_s) == ("", 1.25)
    assert all(a.end_s == b.start_s for a, b in pairwise(timeline.phonemes))


@pytest.mark.parametrize(
    ("code", "status", "raised", "known_as", "retryable"),
    [
        ("ThrottlingException", 400, Unavailable, "aws_throttled", True),
        ("ServiceFailureException", 500, Unavailable, "speech_unavailable", True),
        ("AccessDeniedException", 403, Unavailable, "aws_denied", False),
        ("EngineNotSupportedException", 400, Unavailable, "voice_not_available", False),
        ("LanguageNotSupportedException", 400, Unavailable, "voice_not_available", False),
        ("TextLengthExceededException", 400, ContentRejected, "text_too_long", False),
        ("InvalidSsmlException", 400, Unavailable, "speech_unavailable", False),
    ],
)
def test_errors_are_told_in_our_words(
    code: str, status: int, raised: type[SpokesmodelError], known_as: str, retryable: bool
) -> None:
    polly = a_polly()
    with Stubber(polly) as stub:
        stub.add_client_error("synthesize_speech", code, "the customer's text", http_status_code=status)
        with pytest.raises(raised) as caught:
            PollySpeech(OneClient(polly)).speak("Hello.", JOANNA, PLAIN)
    assert (caught.value.code, caught.value.retryable) == (known_as, retryable)
    assert "customer" not in caught.value.detail


@pytest.mark.parametrize(
    ("sound", "marks"),
    [(b"", LAMB), (b"OggS", LAMB), (vorbis(1), ""), (vorbis(1), "{}"), (vorbis(1), "not json"), (vorbis(0), LAMB)],
    ids=["no sound", "half a page", "no marks", "a mark of nothing", "no JSON", "no samples"],
)
def test_answers_that_cannot_be_used_are_unavailable(sound: bytes, marks: str) -> None:
    polly = a_polly()
    with Stubber(polly) as stub:
        stub.add_response("synthesize_speech", body(sound))
        stub.add_response("synthesize_speech", body(marks.encode()))
        with pytest.raises(Unavailable) as caught:
            PollySpeech(OneClient(polly)).speak("Mary had a little lamb.", JOANNA, PLAIN)
    assert caught.value.code == "speech_unavailable"


def test_pitch_is_refused_by_name_before_anything_is_asked() -> None:
    polly = a_polly()
    with Stubber(polly), pytest.raises(ContentRejected) as caught:
        PollySpeech(OneClient(polly)).speak("Hi.", JOANNA, VoiceSettings(voice_id=JOANNA.id, pitch=2))
    assert (caught.value.code, caught.value.param) == ("voice_setting_not_supported", "speech.voice.pitch")


@pytest.mark.parametrize("text", ["", "?!", "🌿", "**"])
def test_nothing_to_say_is_refused(text: str) -> None:
    with pytest.raises(ContentRejected) as caught:
        PollySpeech(OneClient(a_polly())).speak(text, JOANNA, PLAIN)
    assert caught.value.code == "nothing_to_say"


def ssml_of(text: str, **settings: Any) -> str:
    (part,) = parts_of(text, VoiceSettings(voice_id=JOANNA.id, **settings))
    return part.ssml


@pytest.mark.parametrize(
    ("settings", "text", "ssml"),
    [
        ({}, "Fish & <chips> \"now\"", "<speak>Fish &amp;  \"now\"</speak>"),
        ({}, "5 < 6 & 7 > 2", "<speak>5 &lt; 6 &amp; 7 &gt; 2</speak>"),
        ({"speed": 1.5}, "Hi.", '<speak><prosody rate="150%">Hi.</prosody></speak>'),
        ({"volume": 2.0}, "Hi.", '<speak><prosody volume="+6.0dB">Hi.</prosody></speak>'),
        ({"volume": 0.5}, "Hi.", '<speak><prosody volume="-6.0dB">Hi.</prosody></speak>'),
        ({"volume": 0.0}, "Hi.", '<speak><prosody volume="silent">Hi.</prosody></speak>'),
        ({"pause_s": 1.5}, "One. Two.", '<speak>One. <break time="1500ms"/>Two.</speak>'),
        ({"pause_s": 0.5}, "你好。再见。", '<speak>你好。<break time="500ms"/>再见。</speak>'),
        ({"pronunciations": {"Lumo": "Loo & mo"}}, "Lumo, Lumos!",
         '<speak><sub alias="Loo &amp; mo">Lumo</sub>, Lumos!</speak>'),
        ({"pronunciations": {"Lumo": "a", "Lumo Plus": "b"}}, "Lumo Plus.",
         '<speak><sub alias="b">Lumo Plus</sub>.</speak>'),
        ({}, "**Soft** and [light](http://x.example) <b>now</b>", "<speak>Soft and light now</speak>"),
        ({}, "Hi\x0b there 🌿!", "<speak>Hi  there  !</speak>"),
        ({}, '</speak><speak>"/>x', '<speak>"/&gt;x</speak>'),
    ],
)  # fmt: skip
def test_text_becomes_ssml(settings: dict[str, Any], text: str, ssml: str) -> None:
    assert ssml_of(text, **settings) == ssml
    ElementTree.fromstring(ssml)


def test_places_lead_back_to_the_text_as_it_was_given() -> None:
    text = "Grüße & **Lumo** 🌿 für 5 €."
    (part,) = parts_of(text, VoiceSettings(voice_id=JOANNA.id, pronunciations={"Lumo": "Luhmo"}))
    for word in ("Grüße", "Lumo", "für", "5", "€"):
        at = part.ssml.encode().index(word.encode())
        start, end = part.span(at, at + len(word.encode()))
        assert text[start:end] == word


def long_text(num_sentences: int) -> str:
    return " ".join(
        f"Sentence number {n} tells what the lamp does & why, in some more words." for n in range(num_sentences)
    )


@pytest.mark.parametrize(
    "text",
    [long_text(200), "word " * 3000, "字" * 9000 + "。", long_text(3), "a&&&&&&&&&" * 400, "nospaces" * 900],
    ids=["sentences", "one sentence", "no marks", "short", "escapes", "one word"],
)
def test_parts_keep_pollys_limits_and_lose_nothing(text: str) -> None:
    parts = parts_of(text, VoiceSettings(voice_id=JOANNA.id, pause_s=1.0, pronunciations={"lamp": "lamb" * 10}))
    for part in parts:
        assert part.end - part.start <= 3000
        assert len(part.ssml) <= 6000
        ElementTree.fromstring(part.ssml)
    spans = [(part.start, part.end) for part in parts]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    kept = "".join(text[a:b] for a, b in spans)
    assert sum(map(str.isalnum, kept)) == sum(map(str.isalnum, text))


def test_long_text_is_joined_with_right_times() -> None:
    text = long_text(60)
    parts = parts_of(text, PLAIN)
    assert len(parts) == 2
    polly = TwoParts([part.ssml for part in parts])
    spoken = PollySpeech(OneClient(polly)).speak(text, JOANNA, PLAIN)
    with wave.open(io.BytesIO(spoken.data)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16_000, 1, 2)
        duration_s = sound.getnframes() / 16_000
        frames = sound.readframes(sound.getnframes())
    assert (spoken.name, spoken.media_type) == ("speech.wav", "audio/wav")
    assert duration_s == pytest.approx(1.0 + 0.25 + 2.0)
    assert spoken.timeline.duration_s == pytest.approx(duration_s)
    assert frames[: 2 * 16_000] == b"\x01\x00" * 16_000
    assert frames[2 * 20_000 :] == b"\x02\x00" * 32_000
    starts = [word.start_s for word in spoken.timeline.words]
    assert starts == [0.5, 1.25 + 0.5]
    assert [text[word.char_start : word.char_end] for word in spoken.timeline.words] == ["Sentence", "Sentence"]
    assert spoken.timeline.words[1].char_start == parts[1].start


class TwoParts:
    """Polly with a second of ones for the first part and two seconds of twos for the second."""

    class meta:  # noqa: N801  botocore's name
        class service_model:  # noqa: N801
            service_name = "polly"

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def synthesize_speech(self, **asked: Any) -> dict[str, Any]:
        number = self._texts.index(asked["Text"]) + 1
        if asked["OutputFormat"] == "pcm":
            assert asked["SampleRate"] == "16000"
            return {"AudioStream": io.BytesIO(bytes([number, 0]) * 16_000 * number)}
        start = asked["Text"].index("Sentence")
        marks = [
            {"time": 500, "type": "word", "start": start, "end": start + 8, "value": "Sentence"},
            {"time": 500, "type": "viseme", "value": "s"},
        ]
        return {"AudioStream": io.BytesIO("\n".join(map(json.dumps, marks)).encode())}


def test_marks_of_tags_are_no_words_and_unknown_visemes_open_the_mouth_half() -> None:
    ssml = '<speak>One. <break time="500ms"/>Two.</speak>'
    marks = [
        {"time": 0, "type": "viseme", "value": "w_of_a_later_table"},
        {"time": 0, "type": "word", "start": 7, "end": 10, "value": "One"},
        {"time": 400, "type": "word", "start": 12, "end": 33, "value": '<break time="500ms"/>'},
        {"time": 900, "type": "word", "start": ssml.index("Two"), "end": ssml.index("Two") + 3, "value": "Two"},
    ]
    polly = a_polly()
    with Stubber(polly) as stub:
        stub.add_response("synthesize_speech", body(vorbis(1.2)))
        stub.add_response("synthesize_speech", body("\n".join(map(json.dumps, marks)).encode()))
        settings = VoiceSettings(voice_id=JOANNA.id, pause_s=0.5)
        timeline = PollySpeech(OneClient(polly)).speak("One. Two.", JOANNA, settings).timeline
    assert [word.text for word in timeline.words] == ["One", "Two"]
    assert timeline.phonemes[0].symbol == "ə"


def test_duration_of_opus_leaves_its_pre_skip_out() -> None:
    header = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 312, 48_000, 0, 0)
    first = b"OggS" + struct.pack("<BBqIIIB", 0, 2, 0, 1, 0, 0, 1) + bytes([len(header)]) + header
    last = b"OggS" + struct.pack("<BBqIIIB", 0, 4, 48_312, 1, 2, 0, 1) + bytes([1]) + b"d"
    assert ogg_duration_s(first + last) == 1.0


def test_every_offered_voice_is_one_that_the_sdk_knows() -> None:
    model = a_polly().meta.service_model
    names, languages = model.shape_for("VoiceId").enum, model.shape_for("LanguageCode").enum
    offered = [voice for voice in VOICES.list() if voice.engine == "polly"]
    assert len(offered) > 60
    for voice in offered:
        assert polly_name(voice) in names
        assert polly_language(voice) in languages
        assert voice.characters_per_s > 0
    assert polly_name(VOICES.get("polly-kajal-hi")) == "Kajal"
    assert MAX_BILLED < 3000


def test_polly_voices_are_listed_by_language_and_told_apart() -> None:
    assert {"polly-vicki", "polly-daniel"} <= {voice.id for voice in VOICES.list(language="de-DE")}
    assert {"polly-zhiyu", "cmn"} <= {voice.id for voice in VOICES.list(language="zh")}
    assert {language.tag: language.name for language in VOICES.languages()}["ar-AE"] == "Arabic (United Arab Emirates)"


def test_many_pronunciations_do_not_cut_a_short_text() -> None:
    words = {f"word{number}": f"spoken form {number}" for number in range(500)}
    text = " ".join(f"Sentence {number} says word{number}." for number in range(20))
    (part,) = parts_of(text, VoiceSettings(voice_id=JOANNA.id, pronunciations=words))
    assert part.ssml.count("<sub ") == 20
    assert len(part.ssml) < 6000
