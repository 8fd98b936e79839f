"""The lips in the decoded film, as a detector sees them that shares nothing with the renderer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.lips import best_lag, correlation, pictures_of, seen_lips
from benchmarks.lipsync import SPEAKER, SPEAKER_REACH_S, TEXTS, loudness, sync_of
from models import weights
from models.speech.recording import timeline_of_recording
from models.talking_head.mouth_curve import plan_mouth
from models.video.audio import load_audio

pytest.importorskip("dlib")
pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")
needs_detector = pytest.mark.skipif(
    not weights.is_present("dlib-68"), reason="the detector's file is not here: python -m models.weights test"
)


@needs_detector
@pytest.mark.slow
@pytest.mark.parametrize("voice", ["en-us", "cmn"])
def test_lips_in_the_film_do_what_was_planned_when_it_was_planned(voice: str) -> None:
    sync = sync_of(weights.path("avatar-ellen"), TEXTS[voice], voice)
    assert sync.r > 0.95
    assert abs(sync.lag_s) <= 0.02
    assert sync.closures >= 15
    assert sync.closures_seen == sync.closures


@needs_detector
@pytest.mark.slow
def test_planned_lips_follow_a_real_speaker_better_than_the_loudness_of_his_voice(shared_data: Path) -> None:
    video = shared_data / "videos" / SPEAKER
    own = seen_lips(pictures_of(video))
    audio = load_audio(video, max_duration_s=60, name="the clip")
    num_frames = len(own.gap)
    by_loudness = loudness(audio.samples, audio.sample_rate_hz, num_frames, 25)
    offset_s, r_of_loudness = best_lag(own.gap, by_loudness, fps=25, reach_s=SPEAKER_REACH_S)
    for language in (None, "zh"):
        timeline = timeline_of_recording(audio.samples, audio.sample_rate_hz, language=language, transcript=None)
        plan = plan_mouth(timeline, audio.samples, audio.sample_rate_hz, num_frames=num_frames, fps=25)
        assert correlation(own.gap, plan.aperture.astype(float), offset_s * 25) > r_of_loudness
        assert correlation(own.width, plan.width.astype(float), offset_s * 25) > 0.4
    assert np.isfinite(own.gap).all()
