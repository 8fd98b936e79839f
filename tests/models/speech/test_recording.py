"""What is said when in a recording, against times that a synthesiser reports of its own sound."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.speech import sphinx, synthesizer
from models.speech.recording import timeline_of_recording
from models.speech.voice_activity import network_is_usable, speech_spans
from models.video.audio import load_audio
from services.domain.timeline import SpeechTimeline, TimelineSource
from services.domain.video import VoiceSettings
from services.ports.speech import Speech

pytest.importorskip("pocketsphinx", reason="the extra `speech` is not installed")
pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")

ENGLISH = "Bold people make a perfect pair. Please bring my mother a big blue bag of apples, from Monday to Friday."
TEXTS = {
    "de+f2": "Guten Morgen, meine Damen und Herren. Am 3. Mai kostet das Brot nur 4,50 Euro, bitte probieren Sie.",
    "fr+m3": "Bonjour Madame, voici un beau pull blanc pour bébé. Maman prépare un bon repas pour Paul.",
    "es+f2": "Buenos días a todos. Hoy les presentamos nuestra nueva colección, ligera y cómoda.",
    "cmn+f2": "大家好。今天我们给您介绍新的产品，它非常轻，也很舒服，适合全家人使用。",
    "ru+f2": "Доброе утро. Сегодня мы покажем вам нашу новую коллекцию.",
    "hi+f2": "नमस्ते दोस्तों। आज हम आपको अपना नया संग्रह दिखाएंगे।",
}


def spoken(voice: str, text: str) -> Speech:
    return synthesizer(voice).synthesize(text, VoiceSettings(voice_id=voice))


def found(speech: Speech, *, language: str | None = None, transcript: str | None = None) -> SpeechTimeline:
    return timeline_of_recording(speech.samples, speech.sample_rate_hz, language=language, transcript=transcript)


def start_errors_s(timeline: SpeechTimeline, truth: SpeechTimeline) -> NDArray[np.float64]:
    times = {word.char_start: word.start_s for word in timeline.words}
    return np.array(
        [times[word.char_start] - word.start_s for word in truth.words if word.char_start in times]
    )  # fmt: skip


def load(folder: Path, name: str) -> tuple[NDArray[np.float32], int]:
    audio = load_audio(folder / "speech" / name, max_duration_s=120, name=name)
    return audio.samples, audio.sample_rate_hz


def assert_in_order(timeline: SpeechTimeline) -> None:
    for items in (timeline.words, timeline.phonemes):
        for item in items:
            assert 0 <= item.start_s <= item.end_s <= timeline.duration_s + 1e-6
        for first, second in pairwise(items):
            assert first.end_s <= second.start_s + 1e-6


@pytest.mark.parametrize("voice", TEXTS)
def test_a_transcript_in_any_spoken_language_is_aligned(voice: str) -> None:
    speech = spoken(voice, TEXTS[voice])
    timeline = found(speech, transcript=TEXTS[voice])
    assert timeline.source is TimelineSource.ALIGNMENT
    errors = start_errors_s(timeline, speech.timeline)
    assert len(errors) >= 0.9 * len(speech.timeline.words)
    assert np.median(np.abs(errors)) < 0.05
    assert_in_order(timeline)


def test_an_independent_voice_is_aligned_within_two_frames() -> None:
    pytest.importorskip("piper", reason="the extra `speech` is not installed")
    speech = spoken("piper-joe", ENGLISH)
    timeline = found(speech, language="en", transcript=ENGLISH)
    errors = start_errors_s(timeline, speech.timeline)
    assert timeline.source is TimelineSource.ALIGNMENT
    assert len(errors) == len(speech.timeline.words)
    assert np.mean(np.abs(errors)) < 0.06
    assert [ENGLISH[word.char_start : word.char_end] for word in timeline.words] == [w.text for w in timeline.words]


def test_there_is_no_seam_where_windows_meet() -> None:
    text = " ".join(ENGLISH.replace("Monday", day) for day in ("Monday", "Tuesday", "Sunday") * 4)
    speech = spoken("en-us+f3", text)
    assert speech.duration_s > 70
    timeline = found(speech, transcript=text)
    errors = np.abs(start_errors_s(timeline, speech.timeline))
    assert timeline.source is TimelineSource.ALIGNMENT
    assert len(errors) == len(speech.timeline.words)
    assert np.mean(errors) < 0.06
    near_30_s = [error for error, word in zip(errors, speech.timeline.words, strict=True) if 26 < word.start_s < 34]
    assert np.mean(near_30_s) < 0.08
    assert_in_order(timeline)


def test_a_transcript_of_something_else_is_not_forced_onto_the_sound() -> None:
    wrong = "Nobody walked through empty streets while seven quiet horses were looking at yellow windows. " * 2
    timeline = found(spoken("en-us+f3", ENGLISH), language="en", transcript=wrong)
    assert timeline.source is TimelineSource.PHONE_RECOGNITION
    assert [word.text for word in timeline.words] == wrong.split()  # subtitles still have their words
    assert_in_order(timeline)


@pytest.mark.parametrize("transcript", ["", "   \n", "...", "🎉🎉"], ids=["empty", "blank", "punctuation", "emoji"])
def test_a_transcript_without_words_is_no_transcript(transcript: str) -> None:
    timeline = found(spoken("en-us", ENGLISH), language="en", transcript=transcript)
    assert timeline.source is TimelineSource.PHONE_RECOGNITION


def test_other_languages_without_transcript_get_an_envelope() -> None:
    timeline = found(spoken("de", TEXTS["de+f2"]), language="de")
    assert timeline.source is TimelineSource.ENVELOPE
    assert timeline.phonemes == ()


@pytest.mark.parametrize("name", ["en_libri_16k.wav", "en_lj_22k.wav", "en_lj.m4a", "en_prompt_8k.wav", "en_libri.mp3"])
def test_english_of_any_format_is_recognised_without_being_told(shared_data: Path, name: str) -> None:
    samples, rate_hz = load(shared_data, name)
    timeline = timeline_of_recording(samples, rate_hz, language=None, transcript=None)
    assert timeline.source is TimelineSource.PHONE_RECOGNITION
    assert sum(bool(phoneme.symbol) for phoneme in timeline.phonemes) > 5 * timeline.duration_s
    assert_in_order(timeline)


def test_recognised_phones_agree_with_the_aligned_transcript(shared_data: Path) -> None:
    from models.talking_head.mouth_curve import plan_mouth

    samples, rate_hz = load(shared_data, "en_libri_16k.wav")
    transcript = (
        "and mister john dashwood had then leisure to consider how much there might be prudently in his power "
        "to do for them"
    )
    aligned = timeline_of_recording(samples, rate_hz, language="en", transcript=transcript)
    heard = timeline_of_recording(samples, rate_hz, language="en", transcript=None)
    assert aligned.source is TimelineSource.ALIGNMENT
    curves = [plan_mouth(one, samples, rate_hz, num_frames=175, fps=25).aperture for one in (aligned, heard)]
    assert np.corrcoef(*curves)[0, 1] > 0.7


def test_real_words_are_where_they_are_said(shared_data: Path) -> None:
    """The pauses of the inaugural address are unmistakable: "... Americans | ask | not | what ..."."""
    samples, rate_hz = load(shared_data, "en_jfk_44k_stereo.flac")
    transcript = (
        "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
    )
    timeline = timeline_of_recording(samples, rate_hz, language="en-US", transcript=transcript)
    assert timeline.source is TimelineSource.ALIGNMENT
    words = {(word.text, index): word for index, word in enumerate(timeline.words)}
    spans = speech_spans(samples, rate_hz)
    onsets = [start for start, _ in spans]
    for word in (words["ask", 5], words["not", 6], words["what", 7]):
        assert min(abs(word.start_s - onset) for onset in onsets) < 0.1
    assert words["ask", 5].start_s - words["Americans", 4].end_s > 0.7


@pytest.mark.parametrize("name", ["silence_8k.wav", "nospeech_dog_44k.wav"])
@pytest.mark.parametrize("transcript", [None, "Hello to everybody."])
def test_where_nobody_speaks_nothing_is_said(shared_data: Path, name: str, transcript: str | None) -> None:
    if "dog" in name and not network_is_usable():
        pytest.skip("the voice network is not here")
    samples, rate_hz = load(shared_data, name)
    timeline = timeline_of_recording(samples, rate_hz, language="en", transcript=transcript)
    assert timeline.phonemes == ()
    assert timeline.words == ()


def test_no_phonemes_in_long_pauses() -> None:
    speech = spoken("en-us+f3", ENGLISH)
    gap = np.zeros(2 * speech.sample_rate_hz, np.float32)
    samples = np.concatenate([gap, speech.samples, gap, speech.samples, gap])
    for transcript in (None, f"{ENGLISH} {ENGLISH}"):
        timeline = timeline_of_recording(samples, speech.sample_rate_hz, language="en", transcript=transcript)
        second = 4 + speech.duration_s
        for phoneme in timeline.phonemes:
            if phoneme.symbol:
                assert 1.9 < phoneme.start_s < 2.1 + speech.duration_s or second - 0.1 < phoneme.start_s
                assert phoneme.end_s < len(samples) / speech.sample_rate_hz - 1.9


def test_without_a_recogniser_the_words_are_spread_over_the_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sphinx, "is_installed", lambda: False)
    speech = spoken("en-us", ENGLISH)
    timeline = found(speech, language="en", transcript=ENGLISH)
    assert timeline.source is TimelineSource.ENVELOPE
    assert [word.text for word in timeline.words] == ENGLISH.split()
    assert np.median(np.abs(start_errors_s(timeline, speech.timeline))) < 0.5
    assert_in_order(timeline)


def test_noise_behind_the_voice_does_not_hide_it() -> None:
    speech = spoken("en-us+f3", ENGLISH)
    noise = np.random.default_rng(0).normal(0, 0.01, len(speech.samples)).astype(np.float32)
    timeline = timeline_of_recording(
        speech.samples + noise, speech.sample_rate_hz, language="en", transcript=ENGLISH
    )  # fmt: skip
    assert timeline.source is TimelineSource.ALIGNMENT
    assert np.median(np.abs(start_errors_s(timeline, speech.timeline))) < 0.06


@pytest.mark.parametrize("num_samples", [0, 1, 100, 1600])
def test_sounds_too_short_to_hold_a_word(num_samples: int) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, num_samples).astype(np.float32)
    timeline = timeline_of_recording(samples, 16_000, language=None, transcript="Hello to all of you out there.")
    assert timeline.duration_s == num_samples / 16_000
    assert_in_order(timeline)
