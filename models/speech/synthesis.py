"""``SpeechSynthesizer`` on espeak-ng."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.speech import espeak
from models.speech.languages import NOT_OFFERED, tag_of
from models.speech.normalize import speakable
from models.speech.pitch import factor_of, median_f0_hz, shifted
from models.speech.scripts import is_readable, main_script, reader_of, scripts_of, with_foreign_runs
from models.speech.sentence import Sentence
from models.speech.utterance import Clip, join, nothing_to_say
from services.domain.errors import ContentRejected, InvalidRequest, NotFound, Unavailable
from services.domain.video import VoiceSettings
from services.ports.speech import Speech

INSTALL: Final = "pip install 'spokesmodel[speech]'"
_NATIVE_GAIN: Final = 1.25  # brings the engine's sound near -22 dBFS
_SLOWEST, _FASTEST = 80, 450  # words per minute that the engine accepts
_NUM_NAMED: Final = 6
_PROBE_SENTENCES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedVoice:
    """A voice by its id: espeak-ng's language name.

    Attributes:
        identifier: The library's own file name for it.
    """

    id: str
    name: str
    identifier: str
    language: str


@cache
def offered() -> dict[str, OfferedVoice]:
    """Every espeak-ng voice that speaks its language, by id; every name that espeak-ng has for it is an id.

    Raises:
        Unavailable: ``voice_not_installed``.
    """
    require_installed()
    voices: dict[str, OfferedVoice] = {}
    rows = [(voice, voice.identifier.rsplit("/", 1)[-1].lower()) for voice in espeak.voices()]
    for pick in ("file", "names"):  # a file's own name first: "en" is en-GB's, and several list it
        for voice, file in rows:
            if file in NOT_OFFERED:
                continue
            for name in (file,) if pick == "file" else voice.names:
                voices.setdefault(
                    name,
                    OfferedVoice(
                        id=name, name=voice.name.strip(), identifier=voice.identifier, language=tag_of(voice.names[0])
                    ),
                )
    return voices


def require_installed() -> None:
    """Raises:
    Unavailable: ``voice_not_installed``.
    """
    if not espeak.is_installed():
        raise Unavailable(
            f"The espeak-ng voices are not installed; run `{INSTALL}`.", code="voice_not_installed", retryable=False
        )


def find(voice_id: str) -> tuple[OfferedVoice, str | None]:
    """The voice and its variant (``f3`` of ``en-us+f3``).

    Raises:
        NotFound: ``voice_not_found``, naming near ones.
        Unavailable: ``voice_not_installed``.
    """
    name, _, variant = voice_id.partition("+")
    voice = offered().get(name) or offered().get(name.lower())
    if voice is None:
        if (reason := NOT_OFFERED.get(name)) is not None:
            raise NotFound(
                f"The voice {name} is not offered: espeak-ng {reason}.", code="voice_not_found", param="voice.voice_id"
            )
        near = difflib.get_close_matches(name, [*offered(), "piper-joe"], n=4, cutoff=0.5)
        raise NotFound(_no_such("voice", voice_id, near), code="voice_not_found", param="voice.voice_id")
    if variant and variant not in espeak.variants():
        near = difflib.get_close_matches(variant, espeak.variants(), n=4, cutoff=0.4) or ["f3", "m3"]
        detail = _no_such("variant", variant, [f"{name}+{one}" for one in near])
        raise NotFound(detail, code="voice_not_found", param="voice.voice_id")
    return voice, variant or None


def _no_such(kind: str, name: str, near: Sequence[str]) -> str:
    hint = f"; near are {', '.join(near)}" if near else ""
    return f"There is no {kind} {name}{hint}."


class EspeakSynthesizer:
    """``services.ports.speech.SpeechSynthesizer``; safe to share between threads."""

    def synthesize(self, text: str, voice: VoiceSettings, *, language: str | None = None) -> Speech:
        check_ranges(voice)
        found, variant = find(voice.voice_id)
        check_language(text, found.language, asked=language, voice_id=voice.voice_id)
        sentences = sentences_of(text, found.language, voice)
        foreign = {run.language: self._voice_of(run.language) for one in sentences for run in one.foreign}
        factor = factor_of(voice.pitch)
        pitch, pitch_range, rest = self._pitched(sentences, found.identifier, variant, foreign, factor)
        rate = min(max(round(espeak.NORMAL_RATE * voice.speed / rest), _SLOWEST), _FASTEST)
        clips = espeak.speak(
            sentences,
            voice=found.identifier,
            variant=variant,
            foreign_voices=foreign,
            rate=rate,
            pitch=pitch,
            pitch_range=pitch_range,
        )
        sample_rate_hz = 0

        def spoken() -> Iterator[tuple[Sentence, Clip]]:
            nonlocal sample_rate_hz
            for sentence, clip in zip(sentences, clips, strict=True):
                sample_rate_hz = clip.sample_rate_hz
                yield sentence, _stretched(clip, rest)

        parts = spoken()
        first = next(parts)

        def all_parts() -> Iterator[tuple[Sentence, Clip]]:
            yield first
            yield from parts

        samples, timeline = join(
            text,
            all_parts(),
            sample_rate_hz=sample_rate_hz,
            speed=voice.speed,
            pause_s=voice.pause_s,
            gain=_NATIVE_GAIN * voice.volume,
            bursts=True,
        )
        return Speech(samples=samples, sample_rate_hz=sample_rate_hz, timeline=timeline, language=found.language)

    def _voice_of(self, language: str) -> str:
        """Voice for words in another script."""
        name = {"zh": "cmn", "en": "en-us"}.get(language, language)
        if name not in offered():
            raise ContentRejected(
                "The text has words in a script that no built-in voice reads; "
                "write in `pronunciations` how they sound, or leave them out.",
                code="language_not_spoken",
                param="text",
            )
        return offered()[name].identifier

    def _pitched(
        self,
        sentences: Sequence[Sentence],
        identifier: str,
        variant: str | None,
        foreign: dict[str, str],
        factor: float,
    ) -> tuple[int, int, float]:
        """espeak-ng's pitch and range for a factor on the fundamental, and what is left for resampling.

        The engine shifts pitch without moving formants, but in a scale of its own that differs between voices and
        ends before an octave: what it reaches on this text is measured, the rest is made by resampling.
        """
        if factor == 1:
            return 50, 50, 1.0
        reach = min(max(factor, 0.62), 1.75)
        # voices.c: base * table[pitch] / 128 - (range - normal range) * 18, where table spans an octave each way
        wanted = reach + (reach - 1) * 0.23
        pitch = min(max(round(50 + 50 * np.log2(wanted)), 0), 100)
        pitch_range = min(round(50 * reach), 100)
        probe = sentences[:_PROBE_SENTENCES]
        heights = []
        for one_pitch, one_range in ((50, 50), (pitch, pitch_range)):
            clips = espeak.speak(
                probe, voice=identifier, variant=variant, foreign_voices=foreign, pitch=one_pitch, pitch_range=one_range
            )
            sounds = [(np.frombuffer(clip.pcm, np.int16), clip.sample_rate_hz) for clip in clips]
            heights.append(median_f0_hz(np.concatenate([sound for sound, _ in sounds]), sounds[0][1]))
        before, after = heights
        if before is None or after is None:  # a whisper has no pitch
            return pitch, pitch_range, 1.0
        return pitch, pitch_range, float(np.clip(factor * before / after, 0.6, 1.7))


def sentences_of(text: str, language: str, voice: VoiceSettings) -> tuple[Sentence, ...]:
    """What is to be said.

    Raises:
        ContentRejected: ``nothing_to_say``; ``language_not_spoken`` for words that no voice reads.
    """
    sentences = speakable(text, language=language, pronunciations=voice.pronunciations)
    if not sentences:
        raise nothing_to_say()
    return tuple(with_foreign_runs(sentence, language) for sentence in sentences)


def check_ranges(voice: VoiceSettings) -> None:
    """Raises:
    InvalidRequest: ``out_of_range``, naming the field and its limits.
    """
    for name, value, low, high in (
        ("speed", voice.speed, 0.5, 2.0),
        ("pitch", voice.pitch, -12.0, 12.0),
        ("volume", voice.volume, 0.0, 2.0),
        ("pause_s", voice.pause_s, 0.0, 3.0),
    ):
        if not low <= value <= high:
            raise InvalidRequest(
                f"voice.{name} is {value}; it must be {low:g} to {high:g}.", code="out_of_range", param=f"voice.{name}"
            )


def check_language(text: str, language: str, *, asked: str | None, voice_id: str) -> None:
    """Raises:
    ContentRejected: ``language_not_spoken``.
    """
    if asked is not None and _primary(asked) != _primary(language):
        raise ContentRejected(
            f"The voice {voice_id} speaks {language}, not {asked}.{_would_do(_primary(asked))}",
            code="language_not_spoken",
            param="language",
        )
    if not is_readable(text, language):
        raise not_spoken(text, voice_id)


def not_spoken(text: str, voice_id: str) -> ContentRejected:
    """The refusal of a text in a script that the voice does not read, with voices that do."""
    script = main_script(text) or "Zzzz"
    reader = reader_of(script)
    return ContentRejected(
        f"The voice {voice_id} does not read this text, which has words in another script.{_would_do(reader, script)}",
        code="language_not_spoken",
        param="voice.voice_id",
    )


def _would_do(language: str | None, script: str | None = None) -> str:
    if language is None:
        return " No built-in voice reads that script."
    listed = [voice for voice in offered().values() if voice.id == voice.identifier.rsplit("/", 1)[-1].lower()]
    matches = [
        voice
        for voice in listed
        if _primary(voice.language) == _primary(language) or (script and script in scripts_of(voice.language))
    ]
    if not matches:
        return " No built-in voice speaks that language."
    matches.sort(key=lambda voice: (_primary(voice.language) != _primary(language), len(voice.id)))
    named = ", ".join(f"{voice.id} ({voice.language})" for voice in matches[:_NUM_NAMED])
    return f" Voices that would do: {named}."


def _primary(tag: str) -> str:
    primary = tag.replace("_", "-").split("-")[0].lower()
    return {"cmn": "zh", "no": "nb"}.get(primary, primary)


def _stretched(clip: espeak.EspeakClip, rest: float) -> Clip:
    samples: NDArray[np.int16] | NDArray[np.float32] = np.frombuffer(clip.pcm, np.int16)
    if rest == 1:
        return Clip(samples=samples, phonemes=clip.phonemes, marks=clip.marks)
    return Clip(
        samples=shifted(samples, rest),
        phonemes=[(symbol, round(at / rest)) for symbol, at in clip.phonemes],
        marks=[(offset, round(at / rest)) for offset, at in clip.marks],
    )
