"""espeak-ng: about 120 languages, exact phoneme times, 2.5 s of sound in milliseconds.

The only module that touches espeak-ng, which is GPL-3.0: it comes with the extra ``speech`` and runs in a process of
its own. The library is not thread-safe and keeps state between calls, so the helper process forks for every request:
the same text always gives the same samples, and a crash in the library costs one request.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

from models.speech.phonemes import ipa
from models.speech.process import HelperPool, serve_forked, write_frame
from models.speech.sentence import Sentence
from services.domain.errors import EngineFailed

# speak_lib.h
_SYNCHRONOUS: Final = 2
_PHONEME_EVENTS_IN_IPA_WITHOUT_EXIT: Final = 0x1 | 0x2 | 0x8000
_RATE, _VOLUME, _PITCH, _RANGE = 1, 2, 3, 4
_UTF8: Final = 1
_SSML: Final = 0x10
_EVENT_END_OF_LIST, _EVENT_WORD, _EVENT_PHONEME = 0, 1, 7

_QUIET: Final = 70  # of 100: at 100 some languages reach full scale and are clipped
NORMAL_RATE: Final = 175  # words per minute at speed 1, espeak-ng's own default
_MAX_TEXT_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EspeakVoice:
    """A language that the library can read. ``identifier`` is its file, ``names`` every name espeak-ng gives it."""

    name: str
    names: tuple[str, ...]
    identifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EspeakClip:
    """One sentence as espeak-ng spoke it: int16 bytes, and (IPA or "" for a pause, sample), (offset, sample).

    Attributes:
        num_switches: How often it went over to another language's voice, because it could not read a word.
    """

    pcm: bytes
    sample_rate_hz: int
    phonemes: list[tuple[str, int]]
    marks: list[tuple[int, int]]
    num_switches: int


_pool: HelperPool | None = None


def is_installed() -> bool:
    return importlib.util.find_spec("espeakng_loader") is not None


@cache
def voices() -> tuple[EspeakVoice, ...]:
    """Every voice of the library, in its order."""
    with _helpers().helper() as helper:
        header, _ = next(iter(list(helper.call({"op": "voices"}))))
    return tuple(
        EspeakVoice(name=row["name"], names=tuple(row["names"]), identifier=row["identifier"])
        for row in header["voices"]
    )


@cache
def variants() -> tuple[str, ...]:
    """Names that can follow a voice after ``+``."""
    with _helpers().helper() as helper:
        header, _ = next(iter(list(helper.call({"op": "voices"}))))
    return tuple(header["variants"])


def speak(
    sentences: Sequence[Sentence],
    *,
    voice: str,
    variant: str | None = None,
    foreign_voices: dict[str, str] | None = None,
    rate: int = NORMAL_RATE,
    pitch: int = 50,
    pitch_range: int = 50,
) -> Iterator[EspeakClip]:
    """The sentences, one clip each, as they are ready.

    Args:
        voice: ``EspeakVoice.identifier``.
        foreign_voices: Voice name for each language of the sentences' foreign runs.
        rate: Words per minute, 80 to 450.
        pitch: espeak-ng's own scale, 0 to 100.

    Raises:
        EngineFailed: ``speech_engine_crashed``, ``voice_not_loaded``.
    """
    suffix = f"+{variant}" if variant else ""
    marked = [_marked_up(sentence, foreign_voices or {}, suffix) for sentence in sentences]
    request = {
        "op": "speak",
        "voice": voice + suffix,
        "parameters": {_RATE: rate, _VOLUME: _QUIET, _PITCH: pitch, _RANGE: pitch_range},
        "texts": [text for text, _ in marked],
        "ssml": [bool(sentence.foreign) for sentence in sentences],
    }
    with _helpers().helper() as helper:
        # The answer comes first: its end must be read before the helper serves the next request.
        for (header, payload), (_, inserted) in zip(helper.call(request), marked, strict=True):
            yield EspeakClip(
                pcm=payload,
                sample_rate_hz=header["sample_rate_hz"],
                phonemes=[(ipa(name), at) for name, at in header["phonemes"] if not name.startswith("(")],
                marks=[(_without(inserted, offset), at) for offset, at in header["marks"]],
                num_switches=sum(name.startswith("(") for name, _ in header["phonemes"]),
            )


def _helpers() -> HelperPool:
    global _pool
    if _pool is None:
        _pool = HelperPool("models.speech.espeak", size=min(os.cpu_count() or 1, 4))
    return _pool


def _marked_up(sentence: Sentence, voices_of: dict[str, str], suffix: str) -> tuple[str, list[tuple[int, int]]]:
    """The text with voice changes around foreign runs, and (offset in it, characters inserted up to there)."""
    out, at, inserted = "", 0, [(0, 0)]
    plain = sentence.spoken.replace("&", " ") if sentence.foreign else sentence.spoken  # it is SSML then
    for run in sentence.foreign:
        tag = f'<voice name="{voices_of[run.language]}{suffix}">'
        for upto, mark in ((run.spoken_start, tag), (run.spoken_end, "</voice>")):
            out += plain[at:upto] + mark
            at = upto
            inserted.append((len(out), inserted[-1][1] + len(mark)))
    return out + plain[at:], inserted


def _without(inserted: list[tuple[int, int]], offset: int) -> int:
    return offset - inserted[bisect_right(inserted, (offset, 1 << 30)) - 1][1]


# ---- what runs in the helper process ----


class _Id(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Id),
    ]


class _Voice(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_void_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("unused", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    ]


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


class _Library:
    """The library, initialised."""

    def __init__(self) -> None:
        import espeakng_loader

        self._data = Path(espeakng_loader.get_data_path())
        self._lib = ctypes.CDLL(espeakng_loader.get_library_path())
        self._lib.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_Voice))
        self.sample_rate_hz = self._lib.espeak_Initialize(
            _SYNCHRONOUS, 0, os.fsencode(self._data), _PHONEME_EVENTS_IN_IPA_WITHOUT_EXIT
        )
        self._pcm = bytearray()
        self._phonemes: list[tuple[str, int]] = []
        self._marks: list[tuple[int, int]] = []
        self._callback = _CALLBACK(self._receive)  # kept: the library holds a bare pointer to it
        self._lib.espeak_SetSynthCallback(self._callback)

    def _receive(self, samples: Any, num_samples: int, events: Any) -> int:
        if samples and num_samples:
            self._pcm += ctypes.string_at(samples, num_samples * 2)
        index = 0
        while (event := events[index]).type != _EVENT_END_OF_LIST:
            if event.type == _EVENT_WORD:
                self._marks.append((event.text_position - 1, event.sample))
            elif event.type == _EVENT_PHONEME:  # eight bytes, not always with an end
                name = ctypes.string_at(ctypes.addressof(event.id), 8).split(b"\0")[0]
                self._phonemes.append((name.decode(errors="ignore"), event.sample))
            index += 1
        return 0

    def voices(self) -> dict[str, Any]:
        rows = []
        table, index = self._lib.espeak_ListVoices(None), 0
        while table[index]:
            voice, names = table[index].contents, []
            at = voice.languages
            while ctypes.string_at(at, 1) != b"\0":  # one byte of priority before each name
                names.append(ctypes.string_at(at + 1).decode())
                at += len(names[-1].encode()) + 2
            rows.append({"name": voice.name.decode(), "names": names, "identifier": voice.identifier.decode()})
            index += 1
        return {
            "voices": rows,
            "variants": sorted(path.name for path in (self._data / "voices" / "!v").iterdir()),
        }

    def speak(self, request: dict[str, Any], out: IO[bytes]) -> None:
        if self._lib.espeak_SetVoiceByName(request["voice"].encode()) != 0:
            raise EngineFailed(f"espeak-ng cannot load its voice {request['voice']}.", code="voice_not_loaded")
        self._lib.espeak_ng_SetRandSeed(ctypes.c_long(1))  # breath noise; else seeded by the clock
        for parameter, value in request["parameters"].items():
            self._lib.espeak_SetParameter(int(parameter), value, 0)
        for text, ssml in zip(request["texts"], request["ssml"], strict=True):
            self._pcm.clear()
            self._phonemes.clear()
            self._marks.clear()
            encoded = text.encode() + b"\0"
            flags = _UTF8 | (_SSML if ssml else 0)
            self._lib.espeak_Synth(encoded, len(encoded), 0, 1, 0, flags, None, None)
            header = {"sample_rate_hz": self.sample_rate_hz, "phonemes": self._phonemes, "marks": self._marks}
            write_frame(out, header, bytes(self._pcm))


def serve() -> None:
    """The helper's main loop."""
    library = _Library()

    def answer(request: dict[str, Any], out: IO[bytes]) -> None:
        if request["op"] == "voices":
            write_frame(out, library.voices())
        else:
            library.speak(request, out)

    serve_forked(answer)
