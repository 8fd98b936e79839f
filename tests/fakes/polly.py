"""Amazon Polly as boto3's client shows it, speaking with our own voice: real sound, marks in Polly's own form."""

from __future__ import annotations

import io
import json
import re
import threading
from functools import cache
from typing import Any
from xml.sax.saxutils import unescape

import av
import numpy as np
import soxr

from models.speech import synthesizer
from services.adapters.aws.clients import Clients
from services.domain.video import VoiceSettings
from services.ports.speech import Speech

_TAG = re.compile(r"<[^>]*>")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos);")
# From "English (US)" of "Phoneme and viseme tables for supported languages", Polly's developer guide.
_VISEMES = {
    **dict.fromkeys("bpm", "p"), **dict.fromkeys("dntɾ", "t"), "ð": "T", "θ": "T", **dict.fromkeys("fv", "f"),
    **dict.fromkeys("ɡkhŋ", "k"), **dict.fromkeys("jiɪ", "i"), "l": "l", "ɹ": "r", **dict.fromkeys("sz", "s"),
    **dict.fromkeys("ʃʒ", "S"), **dict.fromkeys("wuʊ", "u"), **dict.fromkeys("əɚɐᵻ", "@"),
    **dict.fromkeys("æɑa", "a"), "e": "e", **dict.fromkeys("ɛɜɝʌ", "E"), "o": "o", **dict.fromkeys("ɔɒ", "O"),
}  # fmt: skip


class FakePolly(Clients):
    """A set of clients whose ``polly`` is this one.

    Attributes:
        asked: The parameters of every request.
    """

    def __init__(self, *, silent: bool = False) -> None:
        super().__init__()
        self.asked: list[dict[str, Any]] = []
        self._silent = silent
        self._lock = threading.Lock()

    def get(self, service: str) -> Any:
        assert service == "polly"
        return self

    def synthesize_speech(self, **parameters: Any) -> dict[str, Any]:
        with self._lock:
            self.asked.append(parameters)
            speech, marks = spoken(parameters["Text"])
        if parameters["OutputFormat"] == "json":
            data = "\n".join(json.dumps(mark) for mark in marks).encode()
        elif self._silent:
            data = b""
        elif parameters["OutputFormat"] == "pcm":
            rate_hz = int(parameters["SampleRate"])
            samples = soxr.resample(speech.samples, speech.sample_rate_hz, rate_hz)
            data = (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
        else:
            data = ogg(speech.samples, speech.sample_rate_hz)
        return {
            "AudioStream": io.BytesIO(data),
            "ContentType": "x",
            "RequestCharacters": len(plain(parameters["Text"])[0]),
        }


@cache
def spoken(ssml: str) -> tuple[Speech, list[dict[str, Any]]]:
    """What is heard, and every mark in order of time."""
    text, places = plain(ssml)
    rate = re.search(r'rate="(\d+)%"', ssml)
    voice = VoiceSettings(voice_id="en-us", speed=int(rate[1]) / 100 if rate else 1.0)
    speech = synthesizer("en-us").synthesize(text, voice)
    marks: list[dict[str, Any]] = [{"time": 0, "type": "sentence", "start": 0, "end": len(ssml.encode()), "value": "x"}]
    marks += [
        {
            "time": round(word.start_s * 1000),
            "type": "word",
            "start": places[word.char_start],
            "end": places[word.char_end - 1] + len(text[word.char_end - 1].encode()),
            "value": word.text,
        }
        for word in speech.timeline.words
    ]
    marks += [
        {"time": round(phoneme.start_s * 1000), "type": "viseme", "value": _viseme(phoneme.symbol)}
        for phoneme in speech.timeline.phonemes
    ]
    for match in re.finditer(r"<break[^>]*>", ssml):  # Polly gives a tag as a word
        start = len(ssml[: match.start()].encode())
        marks.append({"time": 1, "type": "word", "start": start, "end": start + len(match[0]), "value": match[0]})
    return speech, sorted(marks, key=lambda mark: mark["time"])


def plain(ssml: str) -> tuple[str, list[int]]:
    """The text inside SSML, aliases not applied, and the byte at which each of its characters stands."""
    text, places, at = "", [], 0
    while at < len(ssml):
        tag, entity = _TAG.match(ssml, at), _ENTITY.match(ssml, at)
        if tag:
            at = tag.end()
            continue
        piece = entity[0] if entity else ssml[at]
        text += unescape(piece, {"&quot;": '"', "&apos;": "'"})
        places.append(len(ssml[:at].encode()))
        at += len(piece)
    return text, places


def ogg(samples: np.ndarray, rate_hz: int) -> bytes:
    """Ogg with Opus: PyAV has no good encoder of Vorbis."""
    file = io.BytesIO()
    with av.open(file, "w", format="ogg") as container:
        stream = container.add_stream("libopus", rate=48_000, layout="mono")
        sound = soxr.resample(samples, rate_hz, 48_000).astype(np.float32)[None]
        frame = av.AudioFrame.from_ndarray(sound, format="flt", layout="mono")
        frame.sample_rate = 48_000
        fifo = av.AudioFifo()
        fifo.write(frame)
        while (piece := fifo.read(960, partial=True)) is not None:
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return file.getvalue()


def _viseme(symbol: str) -> str:
    return next((_VISEMES[letter] for letter in symbol if letter in _VISEMES), "sil" if not symbol else "@")
