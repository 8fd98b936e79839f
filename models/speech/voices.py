"""The list of voices that speak: ``python -m models.speech.voices`` writes it for the catalogue.

Every voice that espeak-ng lists speaks a text of its language; it is offered if it neither falls silent nor spells nor
drops vowels, and its rate is what was measured then.
"""

from __future__ import annotations

import json
import sys
import tomllib
import unicodedata
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

from babel import Locale, UnknownLocaleError

from models.speech import espeak, synthesizer
from models.speech.languages import NOT_OFFERED, tag_of
from models.speech.normalize import speakable
from models.speech.piper_synthesis import VOICES as PIPER_VOICES
from models.speech.utterance import LEAD_S, TAIL_S
from services.domain.copywriting import spoken_characters
from services.domain.errors import EngineFailed
from services.domain.video import VoiceSettings
from services.ports.catalogue import Voice
from services.ports.speech import Speech

TARGET: Final = Path(__file__).parents[2] / "services" / "adapters" / "local" / "voices.json"
_SAMPLES: Final = Path(__file__).with_name("samples.toml")

_VARIANTS: Final = ("f1", "f2", "f3", "f4", "f5", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8")
_FEW_VARIANTS: Final = ("f2", "f3", "m3", "m7")
_GENDER: Final = {"f": "female", "m": "male"}

_LEAST_LETTERS: Final = 150  # of its own, for a text to say anything about a voice
_SYLLABIC: Final = ("CJK", "HANGUL", "HIRAGANA", "ETHIOPIC")
_VOWELS: Final = frozenset("aeiouyɑɒæɐəɚɛɜɪɨɔʊʌøœʏʉɯɤɞɘɵɶᵻɝ")


def all_voices() -> list[Voice]:
    """Every voice on offer, measured now."""
    rows = []
    for voice in espeak.voices():
        file = voice.identifier.rsplit("/", 1)[-1].lower()
        if file in NOT_OFFERED:
            continue
        ids = (file, *(name for name in voice.names if name == "en-gb" and file == "en"))
        language = tag_of(voice.names[0])
        names = _VARIANTS if language.split("-")[0] in _samples() else _FEW_VARIANTS
        for voice_id in ids:
            rows.append(_measured(voice_id, voice.name.strip(), language, "espeak", "male"))
            rows += [
                _measured(
                    f"{voice_id}+{name}",
                    f"{voice.name.strip()}, {_GENDER[name[0]]} {name[1:]}",
                    language,
                    "espeak",
                    _GENDER[name[0]],
                )
                for name in names
            ]
    rows += [
        _measured(voice_id, voice_id.removeprefix("piper-").capitalize(), language, "piper", "male")
        for voice_id, language in PIPER_VOICES.items()
    ]
    return rows


def failure_of(voice: espeak.EspeakVoice) -> str | None:
    """Why a voice does not speak, as far as that can be measured; None if it does."""
    language = tag_of(voice.names[0])
    text = sample(language)
    if text is None:
        return "there is no text to check it with"
    try:
        clips = list(espeak.speak(speakable(text, language=language, pronunciations={}), voice=voice.identifier))
    except EngineFailed as error:
        return error.detail
    phonemes = [symbol for clip in clips for symbol, _ in clip.phonemes if symbol]
    signs = sum(unicodedata.category(sign)[0] in "LM" for sign in text)
    syllabic = any(unicodedata.name(sign, "").startswith(_SYLLABIC) for sign in text)
    vowels = sum(any(sign in _VOWELS for sign in symbol) for symbol in phonemes) / max(len(phonemes), 1)
    switches = sum(clip.num_switches for clip in clips) / len(text.split())
    rate = len(phonemes) / signs
    if not 0.5 <= rate <= (2.6 if syllabic else 1.5):
        return f"{rate:.2f} phonemes a sign: it spells or drops"
    if not 0.3 <= vowels <= 0.65:
        return f"{vowels:.0%} vowels"
    if switches > 0.2:
        return "it reads in another language"
    return None


@cache
def _samples() -> dict[str, str]:
    return tomllib.loads(_SAMPLES.read_text("utf-8"))


@cache
def sample(language: str) -> str | None:
    """Text of a language with the pauses of ordinary text; None if there is none."""
    primary = language.split("-")[0]
    if primary in _samples():
        return _samples()[primary]
    try:
        locale = Locale.parse({"hyw": "hy"}.get(primary, primary))
    except (UnknownLocaleError, ValueError):
        return None
    names = [name for code, name in sorted(locale.territories.items()) if code.isalpha()]
    names += [name for _, name in sorted(locale.languages.items())][:60]
    words = " ".join(names[:150]).replace("(", "").replace(")", "").split()
    if sum(unicodedata.category(sign).startswith("L") for sign in "".join(words)) < _LEAST_LETTERS:
        return None
    sentences = (words[at : at + 12] for at in range(0, len(words), 12))
    return " ".join(f"{' '.join(part[:6])}, {' '.join(part[6:])}." for part in sentences)


def _measured(voice_id: str, name: str, language: str, engine: str, gender: str) -> Voice:
    text = sample(language)
    assert text is not None
    speech: Speech = synthesizer(voice_id).synthesize(text, VoiceSettings(voice_id=voice_id))
    rate = spoken_characters(text, language) / (speech.duration_s - LEAD_S - TAIL_S)
    return Voice(
        id=voice_id, name=name, language=language, engine=engine, gender=gender, characters_per_s=round(rate, 1)
    )


def main() -> None:
    """Write the list to where the catalogue reads it, or to the file named on the command line."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    rows = ",\n".join(f"  {json.dumps(asdict(voice), ensure_ascii=False)}" for voice in all_voices())
    target.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    sys.stdout.write(f"{target}: {rows.count(chr(10)) + 1} voices\n")


if __name__ == "__main__":
    main()
