"""The espeak-ng voices through the port."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.speech import espeak, synthesizer
from models.speech.utterance import LEAD_S, SENTENCE_GAP_S, TAIL_S
from services.domain.errors import ContentRejected, InvalidRequest, NotFound
from services.domain.timeline import TimelineSource
from services.domain.video import VoiceSettings

TEXT = "Pick of the café, it's $19.99. Room 705A is open!"
SAMPLES = {
    "en-us": TEXT,
    "de": "Schöne Grüße, 10 Äpfel für 5 Männer.",
    "fr": "L'été arrive le 1er mars à 9h30.",
    "es": "Hola señor, son 21 euros.",
    "pt-br": "Olá, são R$ 19,90 por mês.",
    "it": "Ciao, costa 19,99 € alle 9:30.",
    "ru": "Привет, это 2 недели и 5 км.",
    "cmn": "你好，价格是¥19.99，房间705A。",
    "ja": "今日はiPhoneを3本買いました。",
    "ko": "안녕하세요, 사과 3개를 샀어요.",
    "vi": "Xin chào, giá 1.005 ₫.",
    "hi": "नमस्ते, ₹500 में 25 लोग।",
}


def check_timeline(speech, text: str) -> None:
    timeline = speech.timeline
    assert timeline.source is TimelineSource.SYNTHESIS
    assert timeline.duration_s == pytest.approx(len(speech.samples) / speech.sample_rate_hz)
    at = 0.0
    for phoneme in timeline.phonemes:
        assert phoneme.start_s == pytest.approx(at)
        assert phoneme.end_s > phoneme.start_s
        at = phoneme.end_s
    assert at == pytest.approx(timeline.duration_s)
    at, char = 0.0, 0
    for word in timeline.words:
        assert at <= word.start_s < word.end_s <= timeline.duration_s
        assert char <= word.char_start < word.char_end
        assert text[word.char_start : word.char_end] == word.text
        at, char = word.end_s, word.char_end


@pytest.mark.parametrize("voice_id", SAMPLES)
def test_every_language_has_sound_words_and_phonemes_in_order(say, voice_id):
    text = SAMPLES[voice_id]
    speech = say(text, voice_id)
    check_timeline(speech, text)
    letters = {index for index, sign in enumerate(text) if sign.isalnum()}
    covered = {index for word in speech.timeline.words for index in range(word.char_start, word.char_end)}
    assert letters <= covered
    assert speech.samples.dtype == np.float32
    assert 0.2 < np.abs(speech.samples).max() <= 1


def test_words_are_what_the_viewer_reads(say):
    assert [word.text for word in say(TEXT).timeline.words] == [
        "Pick", "of", "the", "café", "it's", "$19.99", "Room", "705A", "is", "open",
    ]  # fmt: skip


def test_german_umlauts_are_front_rounded_vowels(say):
    """IPA of Schöne Grüße in any dictionary: ʃøːnə ɡʁyːsə."""
    phonemes = "".join(phoneme.symbol for phoneme in say("Schöne Grüße", "de").timeline.phonemes)
    assert "ʃøː" in phonemes
    assert "yːs" in phonemes


def test_ten_in_german_text_is_german(say):
    assert "tseːn" in "".join(phoneme.symbol for phoneme in say("10", "de").timeline.phonemes)


def test_chinese_characters_have_their_pinyin_sounds(say):
    """你好世界 nǐ hǎo shì jiè; 银行 yínháng, where 行 is not xíng."""
    assert "".join(one.symbol for one in say("你好", "cmn").timeline.phonemes) == "niχɑu"
    assert "iŋ" not in "".join(one.symbol for one in say("银行", "cmn").timeline.phonemes).replace("jin", "")


def test_japanese_kanji_are_words_not_chinese_letters(say):
    phonemes = "".join(one.symbol for one in say("東京", "ja").timeline.phonemes)
    assert phonemes.startswith("to̞")
    assert "tʃaɪniːz" not in phonemes


def test_silence_around_and_between_sentences_is_digital(say):
    speech = say("One. Two.", pause_s=1.0)
    rate = speech.sample_rate_hz
    pauses = [one for one in speech.timeline.phonemes if one.symbol == ""]
    assert len(pauses) == 3
    lengths = [pause.end_s - pause.start_s for pause in pauses]
    assert lengths[0] == pytest.approx(LEAD_S, abs=0.06)
    assert lengths[1] == pytest.approx(SENTENCE_GAP_S + 1, abs=0.12)
    assert lengths[2] == pytest.approx(TAIL_S + 1, abs=0.1)
    middle = pauses[1]
    gap = speech.samples[round((middle.start_s + 0.07) * rate) : round((middle.end_s - 0.07) * rate)]
    assert not gap.any()
    assert not speech.samples[: round((LEAD_S - 0.01) * rate)].any()
    assert not speech.samples[-round(TAIL_S * rate) :].any()


def test_sentences_join_without_a_seam(say):
    """Sound fades in from and out to the silence around it, without a jump that would click."""
    speech = say("Ah! Oh! Ah! Oh!")
    sounding = np.flatnonzero(speech.samples)
    gaps = np.flatnonzero(np.diff(sounding) > 0.1 * speech.sample_rate_hz)
    assert len(gaps) == 3
    edges = np.concatenate([sounding[gaps], sounding[gaps + 1], sounding[[0, -1]]])
    assert np.abs(speech.samples[edges]).max() < 0.003


def test_speed_is_a_factor_on_the_duration(say):
    def spoken_s(speed: float) -> float:
        return say("This is a fairly long sentence that shows the rate.", speed=speed).duration_s - LEAD_S - TAIL_S

    assert spoken_s(2) == pytest.approx(spoken_s(1) / 2, rel=0.08)
    assert spoken_s(0.5) == pytest.approx(spoken_s(1) * 2, rel=0.08)


def fundamental_hz(speech) -> float:
    """Median over frames of the strongest autocorrelation peak between 30 and 600 Hz."""
    rate, heights = speech.sample_rate_hz, []
    for at in range(0, len(speech.samples) - 2048, 512):
        frame = speech.samples[at : at + 2048].astype(float)
        if frame.std() < 0.02:
            continue
        likeness = np.correlate(frame, frame, "full")[2047:] / (1 - np.arange(2048) / 2200)
        lag = rate // 600 + int(np.argmax(likeness[rate // 600 : rate // 30]))
        heights.append(rate / lag)
    return float(np.median(heights))


@pytest.mark.parametrize("voice_id", ["en-us", "en-us+f3", "de"])
@pytest.mark.parametrize("semitones", [-7, -3, 4, 7])
def test_pitch_is_in_semitones(say, voice_id, semitones):
    text = "Now we know many more women and men will win."
    shift = 12 * np.log2(fundamental_hz(say(text, voice_id, pitch=semitones)) / fundamental_hz(say(text, voice_id)))
    assert shift == pytest.approx(semitones, abs=0.7)


def test_pitch_keeps_the_speed(say):
    assert say(TEXT, pitch=10).duration_s == pytest.approx(say(TEXT).duration_s, rel=0.05)


def test_volume_is_a_factor_that_never_exceeds_full_scale(say):
    normal, soft, loud = say(TEXT), say(TEXT, volume=0.5), say(TEXT, volume=2)
    assert np.allclose(soft.samples, normal.samples / 2, atol=0.02)
    assert np.abs(loud.samples).max() <= 1
    assert np.sqrt(np.mean(loud.samples**2)) > 1.6 * np.sqrt(np.mean(normal.samples**2))
    assert not say(TEXT, volume=0).samples.any()


def test_same_text_gives_the_same_samples_in_any_process(say):
    first = say(TEXT, "en-us+f3").samples
    espeak._helpers().close()
    assert np.array_equal(first, say(TEXT, "en-us+f3").samples)


def test_words_of_another_script_are_read_by_their_own_voice(say):
    text = "Welcome to 北京 and Москва, friends."
    speech = say(text)
    check_timeline(speech, text)
    phonemes = "".join(one.symbol for one in speech.timeline.phonemes)
    assert "tʃaɪniːz" not in phonemes
    assert "tɕi" in phonemes  # běijīng
    assert "mʌskv" in phonemes


def test_text_in_another_script_is_refused_with_voices_that_would_do(say):
    with pytest.raises(ContentRejected, match="cmn") as caught:
        say("你好世界，欢迎光临。")
    assert caught.value.code == "language_not_spoken"
    with pytest.raises(ContentRejected, match="en-us"):
        say("Hello world", "cmn")


def test_a_script_that_no_voice_reads_is_refused(say):
    with pytest.raises(ContentRejected) as caught:
        say("Welcome to our little shop, שלום and good morning")
    assert caught.value.code == "language_not_spoken"


def test_another_language_than_the_voices_is_refused(say):
    with pytest.raises(ContentRejected) as caught:
        say("Guten Tag", "en-us", language="de-AT")
    assert (caught.value.code, caught.value.param) == ("language_not_spoken", "language")
    assert say("Hello", "en-us", language="en-GB").language == "en-US"


@pytest.mark.parametrize(
    ("voice_id", "near"), [("en-uk", "en-us"), ("en-us+f33", "f3"), ("piper-jo", "piper-joe"), ("ar", "Arabic")]
)
def test_unknown_voice_names_near_ones(voice_id, near):
    with pytest.raises(NotFound, match=near) as caught:
        synthesizer(voice_id)
    assert caught.value.code == "voice_not_found"


@pytest.mark.parametrize("setting", [{"speed": 3.0}, {"pitch": 13.0}, {"volume": -1.0}, {"pause_s": 4.0}])
def test_settings_out_of_range_are_named(say, setting):
    name = next(iter(setting))
    with pytest.raises(InvalidRequest, match=name) as caught:
        say("Hello", **setting)
    assert caught.value.param == f"voice.{name}"


def test_names_and_files_of_a_voice_are_its_ids(say):
    assert np.array_equal(say("Hello", "en-gb").samples, say("Hello", "en").samples)
    assert say("Bonjour", "fr-fr").language == say("Bonjour", "fr").language == "fr"


def test_a_killed_helper_costs_one_call_at_most(say):
    say("Hello")
    for helper in espeak._helpers()._all:
        if helper._process is not None:
            os.kill(helper._process.pid, signal.SIGKILL)
            helper._process.wait()
    assert say("Hello").duration_s > 0.5


def test_threads_share_a_synthesizer(say):
    expected = say(TEXT).samples
    same = []

    def speak() -> None:
        voice = VoiceSettings(voice_id="en-us")
        same.append(np.array_equal(synthesizer("en-us").synthesize(TEXT, voice).samples, expected))

    threads = [threading.Thread(target=speak) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 8


def test_ten_minutes_are_one_piece_without_drift(say):
    sentence = "This is the sentence that says the same thing again and again. "
    one = say(sentence.strip()).duration_s - LEAD_S - TAIL_S
    speech = say(sentence * 175)
    check_timeline(speech, sentence * 175)
    assert speech.duration_s > 600
    assert speech.duration_s == pytest.approx(175 * (one + SENTENCE_GAP_S), rel=0.02)
    assert len(speech.timeline.words) == 175 * 12


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["en-us", "cmn", "ja", "ru", "hi"]),
    st.text(alphabet="abc 12 $5.99 你好 日本 です привет नमस्ते .,!?\n-\"'", min_size=1, max_size=60),
    st.floats(0.5, 2),
)
def test_any_text_is_spoken_in_order_or_refused_by_name(voice_id, text, speed):
    voice = VoiceSettings(voice_id=voice_id, speed=speed)
    refusal = speech = None
    try:
        speech = synthesizer(voice_id).synthesize(text, voice)
    except ContentRejected as error:
        refusal = error.code
    if speech is not None:
        check_timeline(speech, text)
    else:
        assert refusal in ("nothing_to_say", "language_not_spoken")
