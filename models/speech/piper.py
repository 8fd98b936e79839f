"""Piper: a neural voice whose own durations are the times.

The only module that touches piper-tts, which is GPL-3.0: it comes with the extra ``speech`` and runs in a process of
its own. The network runs on one thread, which is what makes it safe to fork; see ``process.serve_forked``.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any, Final

from models.speech.process import HelperPool, serve_forked, write_frame
from models.speech.sentence import Sentence

# piper.patch_voice_with_alignment marks the network's Ceil tensor, the frames of each phoneme, as a second output. It
# needs the package onnx for that; a protobuf message can also be extended by appending bytes.
_DURATIONS: Final = b"/Ceil_output_0"
_GRAPH, _OUTPUT, _NAME = 7, 12, 1  # field numbers in onnx.proto: ModelProto, GraphProto, ValueInfoProto
_FRAME: Final = 256  # samples
_BEGIN, _END, _PAD = "^", "$", "_"
_STRESS: Final = "ˈˌ"
_PAUSES: Final = ".,;:?!—…"
_PAIRS: Final = frozenset(("tʃ", "dʒ", "eɪ", "aɪ", "ɔɪ", "aʊ", "oʊ", "əʊ"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PiperClip:
    """One sentence: float32 bytes, (IPA or "" for a pause, sample), (offset in the spoken text, sample)."""

    pcm: bytes
    sample_rate_hz: int
    phonemes: list[tuple[str, int]]
    marks: list[tuple[int, int]]


_pool: HelperPool | None = None


def is_installed() -> bool:
    return importlib.util.find_spec("piper") is not None


def speak(sentences: Sequence[Sentence], *, model: Path, config: Path, length_scale: float) -> Iterator[PiperClip]:
    """The sentences, one clip each, as they are ready.

    Args:
        length_scale: Factor on every duration.

    Raises:
        EngineFailed: ``speech_engine_crashed``.
    """
    global _pool
    if _pool is None:
        _pool = HelperPool("models.speech.piper", size=1)
    request = {
        "model": str(model),
        "config": str(config),
        "length_scale": length_scale,
        "texts": [sentence.spoken for sentence in sentences],
        "tokens": [[(token.spoken_start, token.spoken_end) for token in sentence.tokens] for sentence in sentences],
    }
    with _pool.helper() as helper:
        for header, payload in helper.call(request):
            yield PiperClip(
                pcm=payload,
                sample_rate_hz=header["sample_rate_hz"],
                phonemes=[(symbol, at) for symbol, at in header["phonemes"]],
                marks=[(offset, at) for offset, at in header["marks"]],
            )


# ---- what runs in the helper process ----


class _Voice:
    """The network, loaded once and never run in the parent: every fork draws the same noise."""

    def __init__(self, model: Path, config: Path) -> None:
        import onnxruntime
        from piper import PiperVoice
        from piper.config import PiperConfig

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        onnxruntime.set_seed(1)
        extended = model.read_bytes() + _field(_GRAPH, _field(_OUTPUT, _field(_NAME, _DURATIONS)))
        session = onnxruntime.InferenceSession(extended, options, providers=["CPUExecutionProvider"])
        self._voice = PiperVoice(session=session, config=PiperConfig.from_dict(json.loads(config.read_text("utf-8"))))
        self._voice.phonemize("a")  # loads its espeak-ng

    def speak(self, request: dict[str, Any], out: IO[bytes]) -> None:
        from piper import SynthesisConfig

        settings = SynthesisConfig(length_scale=request["length_scale"] * self._voice.config.length_scale)
        for text, tokens in zip(request["texts"], request["tokens"], strict=True):
            phonemes = list(chain.from_iterable(self._voice.phonemize(text)))
            ids = self._voice.phonemes_to_ids(phonemes)
            audio, durations = self._voice.phoneme_ids_to_audio(ids, settings, include_alignments=True)
            assert durations is not None
            starts = self._starts(phonemes, ids, [int(one) for one in durations])
            header = {
                "sample_rate_hz": self._voice.config.sample_rate,
                "phonemes": _sounds(starts),
                "marks": self._marks(text, tokens, starts),
            }
            write_frame(out, header, audio.astype("<f4").tobytes())

    def _starts(self, phonemes: Sequence[str], ids: Sequence[int], durations: Sequence[int]) -> list[tuple[str, int]]:
        """(sign, first sample) of every sign; what comes before the first and after the last is a pause."""
        table = self._voice.config.phoneme_id_map
        num_pads = len(table[_PAD])
        at, index, starts = 0, 0, []
        for sign in (_BEGIN, *phonemes, _END):
            if sign not in table:  # the network does not know it, and piper has left it out
                continue
            count = len(table[sign]) + (0 if sign == _END else num_pads)
            # What sounds in the blank before a phoneme is already that phoneme, and one frame earlier still: against a
            # forced alignment (pocketsphinx, 165 phonemes) this leaves the offset that espeak-ng's exact times have.
            ahead = durations[index - 1] + _FRAME if index else 0
            starts.append(("" if sign in (_BEGIN, _END) else sign, max(at - ahead, 0)))
            at += sum(durations[index : index + count])
            index += count
        assert index == len(ids)
        return starts

    def _marks(self, text: str, tokens: list[tuple[int, int]], starts: list[tuple[str, int]]) -> list[tuple[int, int]]:
        """Where each token starts, found by matching the tokens' own phonemes with those of the sentence."""
        alone: list[str] = []
        first_of = []
        for start, end in tokens:
            first_of.append(len(alone))
            alone += [sign for sign in chain.from_iterable(self._voice.phonemize(text[start:end])) if _is_sound(sign)]
        together = [(sign, at) for sign, at in starts if sign and _is_sound(sign)]
        matcher = difflib.SequenceMatcher(None, alone, [sign for sign, _ in together], autojunk=False)
        place_of = {}
        for block in matcher.get_matching_blocks():
            for index in range(block.size):
                place_of[block.a + index] = block.b + index
        marks = []
        for (start, _), first, last in zip(tokens, first_of, [*first_of[1:], len(alone)], strict=True):
            # the nearest matched phoneme of the token, moved back to where its first one should be
            found = next((index for index in range(first, last) if index in place_of), None)
            if found is not None:
                place = max(place_of[found] - (found - first), 0)
                marks.append((start, together[place][1]))
        return marks


def _is_sound(sign: str) -> bool:
    return sign not in _STRESS and sign not in _PAUSES and not sign.isspace() and sign not in "ː"


def _sounds(starts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Signs as phonemes: length and marks belong to what they follow, diphthongs are one."""
    out: list[tuple[str, int]] = []
    stress: int | None = None
    for sign, at in starts:
        if sign and sign in _STRESS:
            stress = at
        elif sign == "" or sign in _PAUSES:
            out.append(("", at))
        elif sign.isspace():
            continue  # the phoneme before it sounds on
        elif out and _continues(out[-1][0], sign, stressed=stress is not None):
            out[-1] = (out[-1][0] + sign, out[-1][1])
        elif stress is not None:  # half of its mark is sounded already, by the same alignment
            out.append((sign, min((stress + at) // 2 + _FRAME, at + _FRAME)))
            stress = None
        else:
            out.append((sign, at))
    return [one for one, after in pairwise([*out, ("", -1)]) if one[0] or after[0] or after[1] < 0]


def _continues(before: str, sign: str, *, stressed: bool) -> bool:
    if before == "":
        return False
    return sign == "ː" or bool(unicodedata.combining(sign)) or (not stressed and before + sign in _PAIRS)


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def serve() -> None:
    """The helper's main loop."""
    voices: dict[str, _Voice] = {}

    def answer(request: dict[str, Any], out: IO[bytes]) -> None:
        voices[request["model"]].speak(request, out)

    def prepare(request: dict[str, Any]) -> None:
        if request["model"] not in voices:
            voices[request["model"]] = _Voice(Path(request["model"]), Path(request["config"]))

    serve_forked(answer, prepare)
