"""Speech: CPU time per second of sound by voice, normalisation, memory over length.

Engines run in helper processes; their CPU time is read from the processes themselves.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.measure import Row
from models import weights
from models.serving.cpu_time import cpu_seconds
from models.speech import piper, synthesizer
from models.speech.normalize import speakable
from models.speech.voices import sample
from services.domain.video import VoiceSettings

VOICES = {
    "en-us": "en",
    "en-us+f3": "en",
    "de": "de",
    "cmn": "zh",
    "ja": "ja",
    "ru": "ru",
    "hi": "hi",
    "piper-joe": "en",
}
NUMBERS = "On 11/30/2025 we sold 1,500 units at $19.99 each, 50% more than in 2024, says Dr. Smith in room 705A. "
MINUTE_OF_TEXT = "Meet the new spring collection, made for bold people and busy days, from Monday to Friday. " * 10


def cpu_per_second(voice_id: str, text: str, *, repetitions: int = 5, pitch: float = 0.0) -> tuple[float, float]:
    """Median CPU-seconds per second of sound, warm, and the seconds of sound."""
    voice = VoiceSettings(voice_id=voice_id, pitch=pitch)
    duration_s = synthesizer(voice_id).synthesize(text, voice).duration_s
    taken = []
    for _ in range(repetitions):
        before = cpu_seconds()
        synthesizer(voice_id).synthesize(text, voice)
        taken.append((cpu_seconds() - before) / duration_s)
    return statistics.median(taken), duration_s


def peak_of(minutes: int) -> float:
    """Peak memory in MB of a process that speaks so many minutes."""
    code = (
        "from benchmarks.measure import peak_memory_mb; from benchmarks.speech import MINUTE_OF_TEXT;"
        "from models.speech import synthesizer; from services.domain.video import VoiceSettings;"
        f"synthesizer('en-us').synthesize(MINUTE_OF_TEXT * {minutes}, VoiceSettings(voice_id='en-us'));"
        "print(peak_memory_mb())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def rows() -> list[Row]:
    """The figures."""
    figures = []
    for voice_id, language in VOICES.items():
        if voice_id.startswith("piper") and not (piper.is_installed() and weights.is_present(voice_id)):
            continue
        text = sample(language)
        assert text is not None
        each, duration_s = cpu_per_second(voice_id, text)
        figures.append(
            Row(
                what=f"CPU per second of sound, {voice_id}",
                value=f"{1000 * each:.1f} CPU-ms",
                note=f"{duration_s:.0f} s of sound, warm, normalisation and timeline included, median of 5",
            )
        )
    each, _ = cpu_per_second("en-us", sample("en") or "", pitch=4.0)
    figures.append(Row(what="the same, en-us four semitones up", value=f"{1000 * each:.1f} CPU-ms"))
    text = NUMBERS * 90
    speakable(text[:200], language="en-US", pronunciations={})
    before = time.process_time()
    speakable(text, language="en-US", pronunciations={})
    figures.append(
        Row(
            what="normalisation of text full of numbers",
            value=f"{1e6 * (time.process_time() - before) / len(text):.0f} CPU-ms",
            note=f"per 1,000 characters, of {len(text):,}",
        )
    )
    one, ten = peak_of(1), peak_of(10)
    figures.append(Row(what="peak memory, 10 minutes of speech", value=f"{ten:.0f} MB", note=f"1 minute: {one:.0f} MB"))
    return figures
