"""Times against an ear that knows nothing of the synthesiser: PocketSphinx' forced alignment, and energy."""

from __future__ import annotations

import numpy as np
import pytest
import soxr

from models import weights

pocketsphinx = pytest.importorskip("pocketsphinx")

SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "People keep talking about the price of paper cups.",
    "Take a good look at this picture before you buy another camera.",
    "Some men run very fast along the river every morning.",
    "She sells sea shells while he reads nine small letters.",
)


def aligned_starts(speech, words: list[str]) -> list[float]:
    """Where PocketSphinx hears each word begin, seconds."""
    sound = soxr.resample(speech.samples, speech.sample_rate_hz, 16000)
    sound = sound + np.random.default_rng(0).normal(0, 3e-4, len(sound))  # it has never heard digital silence
    decoder = pocketsphinx.Decoder(loglevel="FATAL", lm=None, beam=1e-300, wbeam=1e-300, pbeam=1e-300, bestpath=False)
    decoder.set_align_text(" ".join(words))
    decoder.start_utt()
    decoder.process_raw(np.clip(sound * 32767, -32768, 32767).astype("<i2").tobytes(), full_utt=True)
    decoder.end_utt()
    return [segment.start_frame / 100 for segment in decoder.seg() if segment.word[0] not in "<["]


@pytest.mark.parametrize("voice_id", ["en-us", "en-us+f3", "piper-joe"])
def test_words_start_where_an_independent_aligner_hears_them(say, voice_id):
    if voice_id == "piper-joe" and not weights.is_present("piper-joe"):
        pytest.skip("run `python -m models.weights` first")
    differences = []
    for sentence in SENTENCES:
        speech = say(sentence, voice_id)
        words = speech.timeline.words
        starts = aligned_starts(speech, [word.text.lower() for word in words])
        assert len(starts) == len(words)
        differences += [heard - word.start_s for heard, word in zip(starts, words, strict=True)]
    assert np.median(np.abs(differences)) < 0.04
    assert np.percentile(np.abs(differences), 90) < 0.12


@pytest.mark.parametrize("voice_id", ["en-us", "de", "cmn", "ru"])
def test_vowels_are_loud_and_pauses_silent(say, voice_id):
    text = {
        "en-us": SENTENCES[1],
        "de": "Guten Morgen, kaufen Sie heute.",
        "cmn": "你好，今天买一个。",
        "ru": "Привет, купите сегодня.",
    }
    speech = say(text[voice_id], voice_id)
    rate = speech.sample_rate_hz

    def level(phoneme) -> float:
        part = speech.samples[round(phoneme.start_s * rate) : round(phoneme.end_s * rate)]
        return float(np.sqrt(np.mean(part**2)))

    vowels = [level(one) for one in speech.timeline.phonemes if one.symbol and one.symbol[0] in "aeiouɑɒæɐəɛɪɔʊʌyøœ"]
    pauses = [level(one) for one in speech.timeline.phonemes if one.symbol == ""]
    assert len(vowels) > 4
    assert len(pauses) >= 2
    assert np.median(vowels) > 0.05
    assert max(pauses) < 0.25 * np.median(vowels)


def test_p_t_and_k_begin_with_their_closure(say):
    """The first half of a stop is silent: the lips are shut before the burst."""
    speech = say("Paper cups, a happy copper kettle, a tidy attic.")
    rate = speech.sample_rate_hz
    inner = [
        one
        for before, one in zip(speech.timeline.phonemes, speech.timeline.phonemes[1:], strict=False)
        if one.symbol in ("p", "t", "k") and before.symbol
    ]
    assert len(inner) >= 8
    starts = [speech.samples[round(one.start_s * rate) + 20 : round((one.start_s + 0.012) * rate)] for one in inner]
    silent = [np.abs(start).max() < 0.01 for start in starts]
    assert np.mean(silent) > 0.8
