"""A managed voice from request to film: prepare has it spoken, the engine makes the film, a detector watches the lips.

Polly's client is replaced by one that speaks with the embedded voice and gives marks in Polly's form. What the lips
should do is taken from that voice's own phonemes, which neither the marks' visemes nor our reading of them touch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lips import best_lag, correlation, pictures_of, seen_lips
from models import weights
from models.serving.engine import InferenceEngine
from models.serving.events import NoEvents
from models.serving.tasks.video import VideoTask
from models.talking_head.mouth_curve import plan_mouth
from services.adapters.aws.polly import POLLY_VOICES, PollySpeech
from services.adapters.local.clock import SystemClock
from services.adapters.local.voices import LOCAL_VOICES, LocalVoiceCatalogue
from services.domain.engine import AnswerState, EngineKind, EngineRequest
from services.domain.errors import ContentRejected, Unavailable
from services.domain.job import JobStep
from services.domain.object_key import ObjectKey
from services.domain.storyboard import Storyboard
from services.domain.timeline import SpeechTimeline, TimelineSource
from services.domain.video import FrameSettings, Presenter, SpokenText, SubtitleMode, VideoRequest, VoiceSettings
from services.domain.wire import decode
from services.settings import Settings
from services.usecases.check_voice import check_voice
from tests.fakes.world import World

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")
pytest.importorskip("dlib")

from tests.fakes.polly import FakePolly, spoken

TEXT = "Bold people make a perfect pair. Please bring my mother a big blue bag of apples, from Monday to Friday."


@pytest.fixture
def polly() -> FakePolly:
    return FakePolly()


@pytest.fixture
def world(polly: FakePolly) -> World:
    world = World()
    world.fit(voices=LocalVoiceCatalogue(LOCAL_VOICES, POLLY_VOICES), managed_speech=PollySpeech(polly))
    return world


def request(world: World, text: str = TEXT, **voice: object) -> VideoRequest:
    portrait = world.upload("image/jpeg", weights.path("avatar-ellen").read_bytes())
    return VideoRequest(
        presenter=Presenter(upload_id=portrait),
        speech=SpokenText(text=text, voice=VoiceSettings(voice_id="polly-joanna", **voice)),  # type: ignore[arg-type]
        frame=FrameSettings(height_px=512, fps=25),
        subtitles=SubtitleMode.FILE,
    )


def prepared(world: World, job_id: str) -> Storyboard:
    job = world.prepare(job_id)
    assert job.failure is None
    assert job.step is JobStep.DISPATCH
    return decode(Storyboard, world.objects.get(ObjectKey.parse(job.storyboard_key or "")))


def test_prepare_leaves_sound_and_times_under_the_job(world: World, polly: FakePolly) -> None:
    job = world.add_video(request(world))
    speech = prepared(world, job.id).speech
    audio, times = ObjectKey.parse(speech.audio_key or ""), ObjectKey.parse(speech.timeline_key or "")
    assert {(key.tenant_id, key.owner_id) for key in (audio, times)} == {(job.tenant_id, job.id)}
    assert world.objects.get(audio).startswith(b"OggS")
    timeline = decode(SpeechTimeline, world.objects.get(times))
    reference, _ = spoken(polly.asked[0]["Text"])
    assert timeline.source is TimelineSource.SYNTHESIS
    assert timeline.duration_s == pytest.approx(reference.duration_s, abs=0.02)
    assert [word.text for word in timeline.words] == [word.strip(".,") for word in TEXT.split()]
    assert (speech.transcript, speech.language) == (TEXT, "en-US")


@pytest.mark.slow
def test_lips_of_the_film_do_what_the_managed_voice_says(world: World, polly: FakePolly, tmp_path: Path) -> None:
    job = world.add_video(request(world))
    prepared(world, job.id)
    engine = InferenceEngine(
        store_for=lambda _: world.objects,
        events=NoEvents(),
        tasks={EngineKind.VIDEO: VideoTask(Settings(state_dir=tmp_path))},
        clock=SystemClock(),
        scratch_dir=tmp_path / "scratch",
    )
    engine.load()
    engine.admit()
    answer = engine.run(
        EngineRequest(
            kind=EngineKind.VIDEO,
            tenant_id=job.tenant_id,
            job_id=job.id,
            attempt=1,
            storyboard_key=world.jobs.get(job.id).storyboard_key or "",
            deadline_at=datetime.now(UTC) + timedelta(minutes=10),
        )
    )
    assert answer.failure is None
    assert answer.state is AnswerState.SUCCEEDED
    assert (answer.facts["timeline_source"], answer.facts["voice_id"]) == ("synthesis", "polly-joanna")
    assert answer.usage["characters"] == len(TEXT)
    files = {output.name: world.objects.get(ObjectKey.parse(output.key)) for output in answer.outputs}
    assert b"Bold people make" in files["subtitles_srt"]
    video = tmp_path / "film.mp4"
    video.write_bytes(files["video"])
    seen = seen_lips(pictures_of(video)).gap
    reference, _ = spoken(polly.asked[0]["Text"])
    plan = plan_mouth(reference.timeline, reference.samples, reference.sample_rate_hz, num_frames=len(seen), fps=25)
    lag_s, r = best_lag(seen, plan.aperture.astype(float), fps=25, reach_s=0.16)
    assert r > 0.9
    assert abs(lag_s) <= 0.04
    assert correlation(seen, plan.aperture.astype(float)) > 0.9
    rest = float(np.median(seen[~plan.speaking]))
    must_close = plan.closed & plan.speaking
    assert must_close.sum() >= 15
    assert np.mean(seen[must_close] <= rest + 0.08) > 0.9  # lips that meet, in widths of the mouth


def test_pitch_is_refused_when_the_video_is_submitted(world: World) -> None:
    with pytest.raises(ContentRejected) as caught:
        check_voice(request(world, pitch=3.0).speech, world.voices, has_language_model=False)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.param) == ("voice_setting_not_supported", "speech.voice.pitch")


def test_silent_answer_is_tried_again_and_not_made_a_film_of(world: World) -> None:
    world.fit(managed_speech=PollySpeech(FakePolly(silent=True)))
    job = world.add_video(request(world, "Hello."))
    with pytest.raises(Unavailable) as caught:
        world.prepare(job.id)
    assert caught.value.code == "speech_unavailable"
    assert world.jobs.get(job.id).step is JobStep.PREPARE
