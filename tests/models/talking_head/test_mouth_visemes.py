"""Lip targets for the phonemes of every language that the voices speak."""

from __future__ import annotations

import pytest

from models.speech import espeak
from models.talking_head.visemes import unknown_letters, visemes_of


def aperture(symbol: str) -> float:
    return visemes_of(symbol)[0].aperture


@pytest.mark.parametrize("symbol", ["p", "b", "m", "pʰ", "bʲ", "mː", "m̩", "ɓ", "p͈", "kp", "ɡb", "mb", "ʘ"])
def test_lips_close_for_every_bilabial_stop_and_nasal(symbol: str) -> None:
    assert any(viseme.closure for viseme in visemes_of(symbol))


@pytest.mark.parametrize("symbol", ["f", "v", "β", "ɸ", "w", "t", "n", "ŋ", "l", "k", "u", "a", "ɥ", "ʋ"])
def test_lips_need_not_close_for_anything_else(symbol: str) -> None:
    assert not any(viseme.closure for viseme in visemes_of(symbol))


def test_open_vowels_open_wider_than_close_ones_in_every_series() -> None:
    for series in ("iɪeɛæa", "yøœɶ", "uʊoɔɒ", "ɯɤʌɑ"):
        assert [aperture(vowel) for vowel in series] == sorted(aperture(vowel) for vowel in series)


def test_rounded_vowels_are_narrower_than_their_spread_partners() -> None:
    for spread, rounded in ("iy", "eø", "ɛœ", "ɯu", "ɤo", "ʌɔ", "ɑɒ"):
        assert visemes_of(rounded)[0].width < visemes_of(spread)[0].width
        assert visemes_of(rounded)[0].pucker > visemes_of(spread)[0].pucker


def test_diphthongs_and_affricates_have_two_targets() -> None:
    first, second = visemes_of("aɪ")
    assert first.aperture > second.aperture
    stop, hiss = visemes_of("tʃ")
    assert hiss.pucker > stop.pucker
    assert len(visemes_of("t͡s")) == 2


@pytest.mark.parametrize(
    ("marked", "plain"), [("ã", "a"), ("aː", "a"), ("a˥", "a"), ("a5", "a"), ("n̪", "n"), ("tʼ", "t"), ("tʰ", "t")]
)
def test_marks_that_nobody_sees_change_nothing(marked: str, plain: str) -> None:
    assert visemes_of(marked) == visemes_of(plain)


def test_labialised_consonants_round_the_lips() -> None:
    assert visemes_of("kʷ")[0].pucker > 0.5 > visemes_of("k")[0].pucker


def test_lower_lip_goes_to_the_teeth_for_labiodentals_and_tongue_for_dentals() -> None:
    assert visemes_of("f")[0].teeth == 1
    assert visemes_of("θ")[0].tongue == 1
    assert visemes_of("ɱ")[0].teeth == 1


@pytest.mark.parametrize("symbol", ["", "˥", "5", "ː"])
def test_pauses_and_bare_tones_have_no_target(symbol: str) -> None:
    assert visemes_of(symbol) == ()


def test_every_phoneme_of_every_voice_has_a_target() -> None:
    pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")
    from babel import Locale, UnknownLocaleError

    from models.speech.sentence import Sentence
    from models.speech.synthesis import offered

    missing: dict[str, set[str]] = {}
    num_symbols = 0
    for voice in {voice.identifier: voice for voice in offered().values()}.values():
        words = [str(number) for number in (*range(13), 20, 30, 50, 100, 1000)]
        try:
            locale = Locale.parse(voice.language.split("-")[0])
            words += [*locale.months["format"]["wide"].values(), *locale.days["format"]["wide"].values()]
            words += list(locale.languages.values())[:40]
        except (UnknownLocaleError, ValueError):
            pass
        sentence = Sentence(spoken=", ".join(words), tokens=())
        for clip in espeak.speak([sentence], voice=voice.identifier):
            symbols = {symbol for symbol, _ in clip.phonemes if symbol}
            num_symbols += len(symbols)
            for symbol in symbols:
                if unknown_letters(symbol):
                    missing.setdefault(symbol, set()).add(voice.id)
    assert num_symbols > 2000
    assert missing == {}


def test_a_letter_without_target_is_told() -> None:
    assert unknown_letters("ʭa") == "ʭ"
