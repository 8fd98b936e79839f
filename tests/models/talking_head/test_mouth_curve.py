"""The planned mouth against what the phonetics of the spoken sounds demand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.talking_head.mouth_curve import plan_mouth
from models.talking_head.tracks import MouthTrack
from services.domain.timeline import Phoneme, SpeechTimeline, TimelineSource

RATE_HZ = 16_000
ALL_FPS = (12, 23.976, 24, 25, 29.97, 30, 50, 60, 120)


def spoken(symbols: Sequence[str], *, lead_s: float = 0.5, each_s: float = 0.08, tail_s: float = 0.6) -> SpeechTimeline:
    """A pause, the symbols one after the other, a pause."""
    edges = lead_s + each_s * np.arange(len(symbols) + 1)
    end = float(edges[-1])
    return SpeechTimeline(
        duration_s=end + tail_s,
        source=TimelineSource.SYNTHESIS,
        phonemes=(
            Phoneme(symbol="", start_s=0, end_s=lead_s),
            *(
                Phoneme(symbol=symbol, start_s=float(a), end_s=float(b))
                for symbol, a, b in zip(symbols, edges, edges[1:], strict=False)
            ),
            Phoneme(symbol="", start_s=end, end_s=end + tail_s),
        ),
    )


def buzz(timeline: SpeechTimeline, *, rate_hz: int = RATE_HZ, level: float = 0.1) -> NDArray[np.float32]:
    """Noise where something is said, digital silence elsewhere."""
    samples = np.random.default_rng(1).normal(0, level, round(timeline.duration_s * rate_hz)).astype(np.float32)
    for phoneme in timeline.phonemes:
        if not phoneme.symbol:
            samples[round(phoneme.start_s * rate_hz) : round(phoneme.end_s * rate_hz)] = 0
    return samples


def plan(timeline: SpeechTimeline, samples: NDArray[np.float32] | None = None, *, fps: float = 25) -> MouthTrack:
    sound = buzz(timeline) if samples is None else samples
    return plan_mouth(timeline, sound, RATE_HZ, num_frames=int(timeline.duration_s * fps), fps=fps)


def at(track: MouthTrack, seconds: float) -> int:
    return round(seconds * track.fps - 0.5)


@pytest.mark.parametrize("fps", ALL_FPS)
def test_every_bilabial_has_a_closed_frame_within_half_a_frame_of_its_middle(fps: float) -> None:
    timeline = spoken(["m", "a", "p", "a", "b", "a", "m", "i", "p", "o"] * 3, each_s=0.07)
    track = plan(timeline, fps=fps)
    for phoneme in timeline.phonemes:
        if phoneme.symbol in ("p", "b", "m"):
            middle = (phoneme.start_s + phoneme.end_s) / 2
            index = int(np.argmin(np.abs((np.arange(len(track)) + 0.5) / fps - middle)))
            assert track.closed[index]
            assert track.aperture[index] <= 0


@pytest.mark.parametrize("fps", [25, 30, 50, 60])
def test_vowels_between_bilabials_are_seen_open(fps: float) -> None:
    timeline = spoken(["m", "a"] * 6, each_s=0.1)
    track = plan(timeline, fps=fps)
    for phoneme in timeline.phonemes:
        if phoneme.symbol == "a":
            inside = slice(at(track, phoneme.start_s + 0.02), at(track, phoneme.end_s - 0.02) + 1)
            assert track.aperture[inside].max() > 0.1


@pytest.mark.parametrize("fps", ALL_FPS)
def test_silence_is_closed_and_does_not_move_at_all(fps: float) -> None:
    timeline = spoken(["t", "a", "s", "o"] * 4, lead_s=1.0, tail_s=1.0)
    track = plan(timeline, fps=fps)
    centres = (np.arange(len(track)) + 0.5) / fps
    still = (centres < 0.85) | (centres > timeline.duration_s - 0.8)
    assert still.sum() > fps
    for name, rest in (("aperture", 0), ("width", 1), ("pucker", 0), ("teeth", 0), ("tongue", 0)):
        assert np.all(getattr(track, name)[still] == rest)
    assert track.closed[still].all()
    assert not track.speaking[still].any()


def test_a_pause_inside_speech_closes_the_mouth() -> None:
    first = spoken(["t", "a"] * 5, tail_s=0.6)
    moved = [
        Phoneme(symbol=p.symbol, start_s=p.start_s + first.duration_s - 0.5, end_s=p.end_s + first.duration_s - 0.5)
        for p in first.phonemes[1:]
    ]
    timeline = SpeechTimeline(
        duration_s=moved[-1].end_s, source=TimelineSource.SYNTHESIS, phonemes=(*first.phonemes, *moved)
    )
    track = plan(timeline)
    middle = first.duration_s - 0.3
    assert not track.speaking[at(track, middle)]
    assert track.aperture[at(track, middle)] == 0
    assert track.speaking[at(track, first.duration_s + 0.2)]


def test_digital_silence_wins_over_a_timeline_that_claims_speech() -> None:
    timeline = spoken(["a"] * 20)
    samples = buzz(timeline)
    samples[int(1.0 * RATE_HZ) : int(1.6 * RATE_HZ)] = 0
    track = plan(timeline, samples)
    assert track.aperture[at(track, 1.35)] == 0
    assert not track.speaking[at(track, 1.35)]
    assert track.speaking[at(track, 0.8)]


def test_a_voice_muted_on_purpose_still_moves_its_lips() -> None:
    timeline = spoken(["t", "a"] * 5)
    track = plan(timeline, np.zeros(round(timeline.duration_s * RATE_HZ), np.float32))
    assert track.aperture.max() > 0.1


def test_lips_are_rounded_before_a_rounded_vowel_is_heard() -> None:
    rounded = plan(spoken(["t", "s", "t", "u", "t"], each_s=0.1))
    spread = plan(spoken(["t", "s", "t", "i", "t"], each_s=0.1))
    before = at(rounded, 0.75)  # in the consonant before the vowel
    assert rounded.width[before] < spread.width[before] - 0.05
    assert rounded.pucker[before] > 0.3


def test_a_stressed_vowel_opens_wider_than_the_same_vowel_said_softly() -> None:
    timeline = spoken(["t", "a", "t", "a", "t", "a", "t"], each_s=0.12)
    samples = buzz(timeline)
    loud, soft = timeline.phonemes[2], timeline.phonemes[6]
    for phoneme, gain in ((loud, 1.6), (soft, 0.5)):
        samples[int(phoneme.start_s * RATE_HZ) : int(phoneme.end_s * RATE_HZ)] *= gain
    track = plan(timeline, samples)
    wide, narrow = (track.aperture[at(track, (p.start_s + p.end_s) / 2)] for p in (loud, soft))
    assert wide > 1.15 * narrow


def test_vowel_openings_are_ordered_as_the_vowels_are() -> None:
    timeline = spoken(["t", "i", "t", "e", "t", "a", "t"], each_s=0.14)
    track = plan(timeline, fps=50)
    i, e, a = (track.aperture[at(track, (p.start_s + p.end_s) / 2)] for p in timeline.phonemes[2:8:2])
    assert i < e < a


def test_lower_lip_reaches_the_teeth_in_f_and_v() -> None:
    timeline = spoken(["a", "f", "a", "v", "a"], each_s=0.1)
    track = plan(timeline)
    for phoneme in (timeline.phonemes[2], timeline.phonemes[4]):
        assert track.teeth[at(track, (phoneme.start_s + phoneme.end_s) / 2)] > 0.5
    assert track.teeth[at(track, 0.52)] < 0.3


@pytest.mark.parametrize("fps", [25, 30, 60])
def test_frame_rates_agree_on_the_same_mouth(fps: float) -> None:
    timeline = spoken(["t", "a", "l", "e", "k", "o"] * 4, each_s=0.1)
    fine = plan(timeline, fps=100)
    coarse = plan(timeline, fps=fps)
    same = np.interp((np.arange(len(coarse)) + 0.5) / fps, (np.arange(len(fine)) + 0.5) / 100, fine.aperture)
    assert np.abs(coarse.aperture - same).max() < 0.02


def test_values_stay_within_their_ranges() -> None:
    symbols = ["m", "ɑ", "u", "ʃ", "f", "θ", "aɪ", "w", "i", "ɡb", "tʃ", "ɯᵝ", "y", "", "5"]
    track = plan(spoken(symbols * 5, each_s=0.06), fps=30)
    assert np.isfinite(track.aperture).all()
    assert track.aperture.min() >= -0.05
    assert track.aperture.max() < 0.8
    for curve in (track.pucker, track.teeth, track.tongue):
        assert curve.min() >= 0
        assert curve.max() <= 1
    assert track.width.min() > 0.6
    assert track.width.max() < 1.25


@pytest.mark.parametrize("num_frames", [0, 1, 7, 200])
def test_as_many_frames_as_asked_whatever_the_sound(num_frames: int) -> None:
    timeline = spoken(["m", "a"])
    track = plan_mouth(timeline, buzz(timeline), RATE_HZ, num_frames=num_frames, fps=25)
    assert len(track) == len(track.closed) == len(track.speaking) == num_frames


def test_nothing_said_is_a_mouth_at_rest() -> None:
    timeline = SpeechTimeline(duration_s=2, source=TimelineSource.SYNTHESIS)
    track = plan_mouth(timeline, np.zeros(0, np.float32), RATE_HZ, num_frames=50, fps=25)
    assert not track.aperture.any()
    assert track.closed.all()


def test_speech_of_which_only_words_are_known_is_listened_to(shared_data: Path) -> None:
    from models.video.audio import load_audio

    audio = load_audio(shared_data / "speech" / "en_libri_16k.wav", max_duration_s=60, name="speech")
    timeline = SpeechTimeline(duration_s=7.1, source=TimelineSource.SYNTHESIS)
    track = plan_mouth(timeline, audio.samples, audio.sample_rate_hz, num_frames=177, fps=25)
    assert track.aperture.max() > 0.15


def test_the_time_axis_does_not_drift_over_half_an_hour() -> None:
    each_s = 0.1
    timeline = spoken(["m", "a"] * 9000, each_s=each_s)
    rate_hz = 2000
    track = plan_mouth(timeline, buzz(timeline, rate_hz=rate_hz), rate_hz, num_frames=45_027, fps=25)
    for phoneme in (timeline.phonemes[1], timeline.phonemes[17_999]):
        middle = (phoneme.start_s + phoneme.end_s) / 2
        assert phoneme.symbol == "m"
        assert track.closed[at(track, middle)]
        assert track.aperture[at(track, middle + each_s)] > 0.1


def test_a_dog_does_not_move_the_mouth(shared_data: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the voice network needs the extra `speech`")
    from models.speech.recording import timeline_of_recording
    from models.video.audio import load_audio

    audio = load_audio(shared_data / "speech" / "nospeech_dog_44k.wav", max_duration_s=60, name="the dog")
    for language in (None, "en", "de"):
        timeline = timeline_of_recording(audio.samples, audio.sample_rate_hz, language=language, transcript=None)
        track = plan_mouth(timeline, audio.samples, audio.sample_rate_hz, num_frames=125, fps=25)
        assert not track.aperture.any()


@pytest.mark.parametrize("name", ["en_libri_16k.wav", "zh_bus_48k_stereo.wav", "en_prompt_8k.wav", "singing_24k.wav"])
@pytest.mark.parametrize("with_recogniser", [True, False])
def test_recorded_speech_moves_the_mouth_without_any_text(
    shared_data: Path, name: str, with_recogniser: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models.speech import sphinx
    from models.video.audio import load_audio

    if not with_recogniser:
        monkeypatch.setattr(sphinx, "is_installed", lambda: False)
    audio = load_audio(shared_data / "speech" / name, max_duration_s=60, name=name)
    duration_s = len(audio.samples) / audio.sample_rate_hz
    timeline = SpeechTimeline(duration_s=duration_s, source=TimelineSource.ENVELOPE)
    track = plan_mouth(
        timeline, audio.samples, audio.sample_rate_hz, num_frames=int(duration_s * 25), fps=25
    )  # fmt: skip
    opened = track.aperture[track.speaking]
    assert np.percentile(opened, 90) > 0.15
    assert np.percentile(opened, 10) < 0.1
    assert opened.max() < 0.8


@pytest.mark.parametrize("name", ["silence_8k.wav"])
def test_recorded_silence_is_still(shared_data: Path, name: str) -> None:
    from models.video.audio import load_audio

    audio = load_audio(shared_data / "speech" / name, max_duration_s=60, name=name)
    timeline = SpeechTimeline(duration_s=5, source=TimelineSource.ENVELOPE)
    track = plan_mouth(timeline, audio.samples, audio.sample_rate_hz, num_frames=125, fps=25)
    assert not track.aperture.any()
    assert not track.speaking.any()
