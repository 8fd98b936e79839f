"""Do the lips do what is said? Judged by an independent detector in the decoded file, and beside a real speaker."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lips import Curve, best_lag, correlation, pictures_of, seen_lips
from benchmarks.measure import Row
from models.speech.acoustics import levels_db
from models.speech.recording import timeline_of_recording
from models.talking_head.film import FilmInputs, make_video, speak
from models.talking_head.mouth_curve import plan_mouth
from models.talking_head.tracks import MouthTrack
from models.video.audio import load_audio
from services.domain.brief import Script, WriterKind
from services.domain.storyboard import BackgroundShot, PresenterShot, SpeechShot, Storyboard
from services.domain.video import Aspect, BackgroundKind, FrameSettings, SubtitleMode, VoiceSettings

DATA = Path(os.environ.get("SPOKESMODEL_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

PORTRAITS = (
    "man_shirt_ai.png",
    "man_beard_bald.jpg",
    "woman_smile_tilt.jpg",
    "asian_woman_ai.png",
    "dark_woman_afro.png",
    "old_woman.png",
)
TEXTS = {
    "en-us": "Bold people make a perfect pair. Please bring my mother a big blue bag of apples, from Monday to Friday.",
    "de": "Meine Damen und Herren, bitte probieren Sie unser bestes Brot. Am Abend kommt Papa mit dem Baby.",
    "fr": "Bonjour Madame, voici un beau pull blanc pour bébé. Maman prépare un bon repas pour Paul.",
    "cmn": "爸爸妈妈买了白色的苹果，明天办公室门口没有人，我们慢慢跑步吧。",
}
# Its sound comes 0.28 s after its picture: every measure of the sound fits best there, and the mouth is visibly
# open before anything is heard.
SPEAKER = "man_speaking_25fps.mp4"
SPEAKER_REACH_S = 0.4

_SEEN_CLOSED = 0.045  # mouth widths over the gap that the detector reports of the same face at rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """How a decoded video follows its plan; lag in seconds, positive when late."""

    r: float
    lag_s: float
    closures: int
    closures_seen: int


def rows() -> list[Row]:
    """Plan against picture, and both against a person; nothing where the real data is absent."""
    if not DATA.is_dir():
        return [Row(what="lip sync", value="not measured", note=f"{DATA} is absent")]
    return [*_plan_rows(), *_human_rows()]


def sync_of(portrait: Path, text: str, voice: str, *, fps: int = 25, height_px: int = 512) -> Sync:
    """Make the video, decode it and compare the lips that dlib sees with the plan."""
    language = {"cmn": "zh-CN", "en-us": "en-US"}.get(voice, voice)
    board = _storyboard(
        SpeechShot(
            script=Script(text=text, language=language, writer=WriterKind.CLIENT, estimated_duration_s=0),
            voice=VoiceSettings(voice_id=voice),
        ),
        fps=fps,
        height_px=height_px,
    )
    inputs = FilmInputs(storyboard=board, presenter=portrait)
    seen, num_frames = _film_gap(inputs)
    sound = speak(inputs)
    plan = plan_mouth(sound.timeline, sound.samples, sound.sample_rate_hz, num_frames=num_frames, fps=fps)
    lag_s, _ = best_lag(seen, plan.aperture.astype(float), fps=fps, reach_s=0.16)
    closures, closures_seen = _closures(seen, plan)
    r = correlation(seen, plan.aperture.astype(float))
    return Sync(r=r, lag_s=lag_s, closures=closures, closures_seen=closures_seen)


def _plan_rows() -> list[Row]:
    found = {
        (name, voice): sync_of(DATA / "portraits" / name, text, voice)
        for name in PORTRAITS
        for voice, text in TEXTS.items()
    }
    worst = min(found, key=lambda key: found[key].r)
    latest = max(found, key=lambda key: abs(found[key].lag_s))
    r = [one.r for one in found.values()]
    lags = [one.lag_s for one in found.values()]
    closures = sum(one.closures for one in found.values())
    seen = sum(one.closures_seen for one in found.values())
    clips = f"{len(PORTRAITS)} portraits x {len(TEXTS)} languages"
    missed = ", ".join(
        f"{name} {voice} {one.closures_seen}/{one.closures}"
        for (name, voice), one in found.items()
        if one.closures_seen < one.closures
    )
    return [
        Row(
            what="lip aperture in the decoded mp4 against the plan, r",
            value=f"least {min(r):.3f}, median {np.median(r):.3f}",
            target=">= .95 each",
            reached=min(r) >= 0.95,
            note=f"dlib-68; {clips}; least: {worst[0]}, {worst[1]}",
        ),
        Row(
            what="lag of the picture behind the plan",
            value=f"{1000 * min(lags):+.0f} to {1000 * max(lags):+.0f} ms, median {1000 * np.median(lags):+.0f} ms",
            target="within 20 ms",
            reached=max(abs(lag) for lag in lags) <= 0.02 + 1e-9,
            note=f"{clips}; furthest: {latest[0]}, {latest[1]}",
        ),
        Row(
            what="bilabial closures (p, b, m) seen closed",
            value=f"{seen} of {closures}",
            target="all",
            reached=seen == closures,
            note=f"within {_SEEN_CLOSED} mouth widths of the gap at rest, one frame each side"
            + "; " * bool(missed)
            + missed,
        ),
    ]


def _human_rows() -> list[Row]:
    video = DATA / "videos" / SPEAKER
    own = seen_lips(pictures_of(video))
    fps = 25
    audio = load_audio(video, max_duration_s=60, name="the clip")
    num_frames = len(own.gap)
    loudness = _loudness(audio.samples, audio.sample_rate_hz, num_frames, fps)
    timeline = timeline_of_recording(audio.samples, audio.sample_rate_hz, language=None, transcript=None)
    plan = plan_mouth(timeline, audio.samples, audio.sample_rate_hz, num_frames=num_frames, fps=fps)
    board = _storyboard(SpeechShot(audio_key="unused"), fps=fps, height_px=512)
    inputs = FilmInputs(storyboard=board, presenter=DATA / "portraits" / PORTRAITS[0], audio=video)
    rendered, _ = _film_gap(inputs)
    # The baseline chooses the clip's offset, the method under test does not.
    offset_s, by_loudness = best_lag(own.gap, loudness, fps=fps, reach_s=SPEAKER_REACH_S)
    offset = offset_s * fps
    by_plan = correlation(own.gap, plan.aperture.astype(float), offset)
    by_picture = correlation(own.gap, rendered[:num_frames], offset)
    by_width = correlation(own.width, plan.width.astype(float), offset)
    note = (
        f"{SPEAKER}, source of the times: {timeline.source.value}; the file's sound is {-1000 * offset_s:.0f} ms late "
        "by the loudness's own best fit, which all rows use"
    )
    return [
        Row(
            what="against a human: planned aperture and the speaker's own, r",
            value=f"{by_plan:.2f}",
            target=f"> {by_loudness:.2f}, the loudness envelope's r",
            reached=by_plan > by_loudness,
            note=note,
        ),
        Row(
            what="against a human: aperture in the rendered mp4 and the speaker's own, r",
            value=f"{by_picture:.2f}",
            target=f"> {by_loudness:.2f}, the loudness envelope's r",
            reached=by_picture > by_loudness,
            note=f"portrait {PORTRAITS[0]}, both lips measured by dlib-68",
        ),
        Row(what="against a human: planned mouth width and the speaker's own, r", value=f"{by_width:.2f}"),
    ]


def _storyboard(speech: SpeechShot, *, fps: int, height_px: int) -> Storyboard:
    return Storyboard(
        job_id="job_bench",
        presenter=PresenterShot(key="unused"),
        speech=speech,
        frame=FrameSettings(aspect=Aspect.SQUARE, fps=fps, height_px=height_px),
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        subtitles=SubtitleMode.NONE,
    )


def _film_gap(inputs: FilmInputs) -> tuple[Curve, int]:
    """The gap between the lips in each frame of the decoded film."""
    with tempfile.TemporaryDirectory() as folder:
        film = make_video(inputs, out_dir=Path(folder))
        gap = seen_lips(pictures_of(film.files["video"])).gap
    return gap, int(film.facts["num_frames"])


def _closures(seen: Curve, plan: MouthTrack) -> tuple[int, int]:
    """Runs of frames that must be closed during speech, and how many of them the detector sees closed."""
    rest = float(np.median(seen[~plan.speaking])) if (~plan.speaking).any() else float(seen.min())
    must = plan.closed & plan.speaking
    edges = np.flatnonzero(np.diff(np.concatenate([[0], must.astype(np.int8), [0]]))).reshape(-1, 2)
    shut = [seen[max(a - 1, 0) : b + 1].min() <= rest + _SEEN_CLOSED for a, b in edges]
    return len(shut), int(sum(shut))


def _loudness(samples: Curve, sample_rate_hz: int, num_frames: int, fps: float) -> Curve:
    """Root mean square of the sound around each frame's centre."""
    levels = levels_db(samples, sample_rate_hz, rate_hz=200, smooth_s=0.06)
    centres = (np.arange(num_frames) + 0.5) / fps
    return 10 ** (np.interp(centres, (np.arange(len(levels)) + 0.5) / 200, levels) / 20)
