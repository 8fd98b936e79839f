"""A storyboard becomes files: the stages of the talking head in their order.

face -> speech -> face track -> mouth curve and head motion -> face renderer -> label and subtitles -> encoder. Frames
stream: one frame is in memory at a time, whatever the length. Each stage is replaceable; a neural renderer takes the
place of ``MeshRenderer`` and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.provenance.marks import GENERATOR, Marks
from models.talking_head.disclosure import FilmDisclosure
from models.talking_head.head_motion import plan_head
from models.talking_head.mouth_curve import plan_mouth
from models.talking_head.scene import FilmSettings, Scene, open_presenter
from models.talking_head.tracks import HeadTrack, MouthTrack
from models.video.audio import load_audio
from models.video.poster import write_poster
from models.video.subtitles import (
    NO_WORD_TIMES,
    CaptionPlace,
    Cue,
    CueLimits,
    SubtitleBurner,
    caption_rows,
    cues_from_timeline,
    place_captions,
    to_srt,
    to_vtt,
)
from models.video.writer import VideoFacts, VideoWriter
from services.domain.errors import ContentRejected
from services.domain.storyboard import SpeechShot, Storyboard
from services.domain.timeline import SpeechTimeline
from services.domain.video import SubtitleMode

Samples = NDArray[np.float32]

_NO_SPEECH: Final = "No speech was heard in the sound: the mouth stays closed."
_NOTHING_HEARD: Final = (
    "There are no subtitles: no speech was heard in the recording that the transcript could be laid on."
)
_TAIL_S: Final = 0.2  # after the voice's own silence: a film that ends with its last sound looks cut off
_PROGRESS_EVERY: Final = 10  # frames
# Where an attempt's time goes, for a progress bar that moves evenly.
_FACE_SHARE: Final = 0.05
_SPEECH_SHARE: Final = 0.1
_PREPARED_SHARE: Final = 0.2  # with a video's face followed through it


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """Most that a source may hold; the message of a refusal names the limit."""

    max_picture_pixels: int = 64_000_000
    max_source_video_s: float = 120.0
    max_audio_s: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmInputs:
    """A storyboard with its objects as files.

    Attributes:
        timeline: For sound whose times are known because a managed voice made it.
        producer: Who the files' metadata say made them; a name or registered code of the service.
    """

    storyboard: Storyboard
    presenter: Path
    audio: Path | None = None
    background: Path | None = None
    timeline: SpeechTimeline | None = None
    limits: MediaLimits = field(default_factory=MediaLimits)
    producer: str = GENERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmResult:
    """What was made: files by role, and facts and quantities as ``EngineAnswer`` has them.

    Attributes:
        marks: What the files that carry a metadata label say, by role; they are not signed yet.
    """

    files: Mapping[str, Path]
    marks: Mapping[str, Marks]
    facts: Mapping[str, Any]
    usage: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSound:
    """The sound of a film and what is known about it.

    Attributes:
        samples: float32 mono; a little silence follows the last word of synthesised speech.
        text: What is said, for subtitles; None when nobody wrote it down.
    """

    samples: Samples
    sample_rate_hz: int
    timeline: SpeechTimeline
    text: str | None
    language: str | None
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.sample_rate_hz


def make_video(
    inputs: FilmInputs,
    *,
    out_dir: Path,
    on_progress: Callable[[str, float], None] = lambda stage, fraction: None,
    check_canceled: Callable[[], None] = lambda: None,
) -> FilmResult:
    """The storyboard's video, subtitles and poster in ``out_dir``.

    Args:
        on_progress: Told the stage and the fraction of the whole, 0 to 1.
        check_canceled: Called between frames; what it raises ends the work.

    Raises:
        ContentRejected: A source cannot be used; the codes are those of ``models.video``, ``models.perception`` and
            ``models.speech``.
        NotFound, Unavailable: ``voice_not_found``, ``voice_not_installed``, ``weights_missing``.
        EngineFailed: ``empty_output``, ``damaged_output``.
    """
    storyboard = inputs.storyboard
    # The presenter first: a picture that cannot be used is told before a long speech is made for it.
    on_progress("face", 0.0)
    scene_of = open_presenter(inputs.presenter, _film_settings(inputs), check_canceled=check_canceled)
    check_canceled()

    on_progress("speech", _FACE_SHARE)

    def heard(fraction: float) -> None:
        check_canceled()
        on_progress("speech", _FACE_SHARE + fraction * _SPEECH_SHARE)

    sound = speak(inputs, on_progress=heard)
    check_canceled()

    on_progress("face", _FACE_SHARE + _SPEECH_SHARE)
    fps = storyboard.frame.fps
    num_frames = max(1, ceil(sound.duration_s * fps - 1e-6))
    scene = scene_of(num_frames)
    check_canceled()

    mouth = plan_mouth(sound.timeline, sound.samples, sound.sample_rate_hz, num_frames=num_frames, fps=fps)
    head = plan_head(sound.timeline, num_frames=num_frames, fps=fps, seed=storyboard.seed)
    is_burnt = storyboard.subtitles is SubtitleMode.BURN
    place = place_captions(*scene.size, scene.face_rows if is_burnt else None)
    cues = _cues(storyboard, sound, scene.size, place)
    burner = (
        SubtitleBurner(cues, size=scene.size, language=sound.language or "und", place=place)
        if cues and is_burnt
        else None
    )
    captions = caption_rows(place, *scene.size) if burner else None
    disclosure = FilmDisclosure(storyboard, scene, sound.language, captions=captions, producer=inputs.producer)

    def progress(done: int) -> None:
        check_canceled()
        on_progress("render", _PREPARED_SHARE + (1 - _PREPARED_SHARE) * done / num_frames)

    files = {"video": out_dir / "video.mp4", "poster": out_dir / "poster.jpg"}
    facts = _render(files, scene, sound, mouth, head, disclosure, burner, fps=fps, progress=progress)
    disclosure.finish_video(files["video"])
    marks = {role: disclosure.marks(role) for role in files}
    files |= _write_subtitles(out_dir, cues)
    if sound.text:
        files["script"] = out_dir / "script.txt"
        files["script"].write_text(sound.text, encoding="utf-8", newline="")
    return FilmResult(
        files=files,
        marks=marks,
        facts=_facts(storyboard, scene, sound, mouth, facts, cues, disclosure),
        usage=_usage(storyboard, facts),
    )


def speak(inputs: FilmInputs, *, on_progress: Callable[[float], None] = lambda fraction: None) -> SpokenSound:
    """The film's sound: synthesised from the script, or the recording with its times found.

    ``on_progress`` is told the fraction of a recording that was listened to; what it raises ends the work.
    """
    shot = inputs.storyboard.speech
    return _synthesized(shot) if inputs.audio is None else _recorded(shot, inputs, inputs.audio, on_progress)


def _synthesized(shot: SpeechShot) -> SpokenSound:
    from models.speech import synthesizer

    if shot.script is None or shot.voice is None:
        raise ContentRejected("The storyboard has neither a script with a voice nor sound.", code="nothing_to_say")
    speech = synthesizer(shot.voice.voice_id).synthesize(shot.script.text, shot.voice, language=shot.script.language)
    tail = np.zeros(round(_TAIL_S * speech.sample_rate_hz), np.float32)
    return SpokenSound(
        samples=np.concatenate([speech.samples, tail]),
        sample_rate_hz=speech.sample_rate_hz,
        timeline=speech.timeline,
        text=shot.script.text,
        language=speech.language,
    )


def _recorded(shot: SpeechShot, inputs: FilmInputs, path: Path, on_progress: Callable[[float], None]) -> SpokenSound:
    from models.speech.recording import timeline_of_recording

    audio = load_audio(path, max_duration_s=inputs.limits.max_audio_s, name="the recording")
    timeline = inputs.timeline or timeline_of_recording(
        audio.samples,
        audio.sample_rate_hz,
        language=shot.language,
        transcript=shot.transcript,
        on_progress=on_progress,
    )
    return SpokenSound(
        samples=audio.samples,
        sample_rate_hz=audio.sample_rate_hz,
        timeline=timeline,
        text=shot.transcript,
        language=shot.language,
        notes=audio.notes,
    )


def _film_settings(inputs: FilmInputs) -> FilmSettings:
    storyboard = inputs.storyboard
    return FilmSettings(
        face=storyboard.presenter.face,
        frame=storyboard.frame,
        background=storyboard.background,
        background_file=inputs.background,
        max_picture_pixels=inputs.limits.max_picture_pixels,
        max_source_video_s=inputs.limits.max_source_video_s,
        has_captions=storyboard.subtitles is SubtitleMode.BURN,
    )


def _cues(storyboard: Storyboard, sound: SpokenSound, size: tuple[int, int], place: CaptionPlace) -> list[Cue]:
    if storyboard.subtitles is SubtitleMode.NONE or not sound.text or not sound.timeline.words:
        return []
    limits = CueLimits.for_frame(*size, place.style, max_lines=place.max_lines)
    return cues_from_timeline(sound.timeline, sound.text, language=sound.language or "und", limits=limits)


def _render(
    files: Mapping[str, Path],
    scene: Scene,
    sound: SpokenSound,
    mouth: MouthTrack,
    head: HeadTrack,
    disclosure: FilmDisclosure,
    burner: SubtitleBurner | None,
    *,
    fps: int,
    progress: Callable[[int], None],
) -> VideoFacts:
    num_frames = len(mouth)
    poster_index = _poster_index(mouth, head)
    width, height = scene.size
    with VideoWriter(
        files["video"],
        width=width,
        height=height,
        fps=fps,
        samples=sound.samples,
        sample_rate_hz=sound.sample_rate_hz,
        metadata=disclosure.marks("video").container_tags(),
    ) as writer:
        for index, frame in enumerate(scene.frames(mouth, head)):
            disclosure.draw(frame)
            if index == poster_index:
                write_poster(files["poster"], frame, xmp=disclosure.marks("poster").xmp())
            if burner is not None:
                burner.draw(frame, (index + 0.5) / fps)
            writer.write(frame)
            if index % _PROGRESS_EVERY == 0:
                progress(index)
        progress(num_frames)
        return writer.close()


def _poster_index(mouth: MouthTrack, head: HeadTrack) -> int:
    """A frame in the first seconds with open eyes and a slightly opened mouth: mid-word, not mid-shout."""
    end = min(len(mouth), round(4 * mouth.fps)) or 1
    cost = np.abs(mouth.aperture[:end] - 0.1) + 2 * head.blink[:end] + 0.2 * ~mouth.speaking[:end]
    return int(np.argmin(cost))


def _write_subtitles(out_dir: Path, cues: list[Cue]) -> dict[str, Path]:
    if not cues:
        return {}
    files = {"subtitles_srt": out_dir / "subtitles.srt", "subtitles_vtt": out_dir / "subtitles.vtt"}
    files["subtitles_srt"].write_text(to_srt(cues), encoding="utf-8", newline="")
    files["subtitles_vtt"].write_text(to_vtt(cues), encoding="utf-8", newline="")
    return files


def _facts(
    storyboard: Storyboard,
    scene: Scene,
    sound: SpokenSound,
    mouth: MouthTrack,
    video: VideoFacts,
    cues: list[Cue],
    disclosure: FilmDisclosure,
) -> dict[str, Any]:
    warnings = [*scene.notes, *sound.notes, *disclosure.notes()]
    if not mouth.speaking.any():
        warnings.append(_NO_SPEECH)
    if storyboard.subtitles is not SubtitleMode.NONE and not cues:
        warnings.append(_NOTHING_HEARD if sound.text else NO_WORD_TIMES)
    script = storyboard.speech.script
    warnings += script.warnings if script else ()
    return {
        "duration_s": round(video.duration_s, 3),
        "width_px": video.width,
        "height_px": video.height,
        "fps": storyboard.frame.fps,
        "num_frames": video.num_frames,
        "timeline_source": sound.timeline.source.value,
        "language": sound.language,
        "voice_id": storyboard.speech.voice.voice_id if storyboard.speech.voice else None,
        "writer": script.writer.value if script else None,
        "source_kind": scene.kind,
        "num_faces": scene.num_faces,
        "face": scene.face,
        "warnings": warnings,
        **disclosure.facts(),
    }


def _usage(storyboard: Storyboard, video: VideoFacts) -> dict[str, float]:
    script = storyboard.speech.script
    usage = {"output_s": round(video.duration_s, 3), "output_frames": float(video.num_frames)}
    if script is not None:
        usage["characters"] = float(len(script.text))
    elif storyboard.speech.timeline_key is not None and storyboard.speech.transcript:  # a managed voice spoke it
        usage["characters"] = float(len(storyboard.speech.transcript))
    return usage
