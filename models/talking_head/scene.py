"""The presenter in the film's frame: a still picture brought to life, or a video whose mouth is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.perception.bounded import bounded
from models.perception.face import FaceBox, FaceLandmarks
from models.perception.faces import FaceFinder, choose_face
from models.perception.person import person_matte
from models.talking_head.face_track import FaceTrack, require_face, track_face
from models.talking_head.mesh.engine import MeshRenderer, MeshState
from models.talking_head.mesh.lips import is_wide_open
from models.talking_head.tracks import HeadTrack, MouthTrack
from models.video.background import BackgroundComposer
from models.video.framing import FramePlan, HeadBox, head_box, plan_frame
from models.video.label import face_mask
from models.video.picture import PictureSource
from models.video.source import SourceFrame, VideoSource, open_source
from models.video.subtitles import FaceRows
from models.video.surroundings import resized
from models.video.yuv import rgb_to_i420
from services.domain.errors import ContentRejected
from services.domain.storyboard import BackgroundShot
from services.domain.video import Aspect, Background, BackgroundKind, FrameSettings

Frame = NDArray[np.uint8]
Matte = NDArray[np.float32]

_HEAD_SEARCH_PX: Final = 1600  # long side; hair is measured to a pixel of it
_HAIR: Final = 0.5  # of a matte
_MATTE_MEMORY: Final = 0.4  # share of the frame before in a video's matte, against flicker
_LOWER_LIP: Final = 17  # of the mesh: the lower edge of the lower lip
_JAW_DROP: Final = 0.05  # how far lips and chin go down in speech, of the face's height
_CUT_SHARE: Final = 0.03  # of the film's longer side, over which a person whom the source cuts fades out
_MOST_SHARE: Final = 0.35  # of the source's area
_WIDE_SHARE: Final = 0.1  # of a video's frames; fewer are over before one looks
_WIDE_IN_VIDEO: Final = (
    "The mouth is wide open in {share} % of the source frames: a video of someone silent gives a better film."
)
_WARNINGS: Final[Mapping[str, str]] = {
    "turned_face": "The face is turned away by more than 25 degrees: its motion was softened.",
    "mouth_wide_open": "The mouth is wide open in the picture: a picture with a closed mouth gives a better film.",
}
# Faces are told small by their size in the source and in the film, not by the renderer, which sees the film alone.
_SMALL_FACE_PX: Final = 80
_SMALL_IN_SOURCE: Final = "The face is small: lips and teeth have few pixels. A closer picture gives a better film."
_SMALL_IN_FILM: Final = (
    "The face is small in a film of this size: lips and teeth have few pixels. Ask for a larger height_px."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmSettings:
    """What a scene is made of besides the presenter's file.

    Attributes:
        has_captions: Subtitles are drawn into the film and want room below the chin.
    """

    face: int | None
    frame: FrameSettings
    background: BackgroundShot
    background_file: Path | None
    max_picture_pixels: int
    max_source_video_s: float
    has_captions: bool = False


class Scene(Protocol):
    """A presenter who can speak.

    Attributes:
        kind: ``picture`` or ``video``.
        size: Width and height of the film.
        num_faces, face: How many faces were found, and which one speaks, from left to right.
        face_rows: Which rows of the film the face takes.
        faces: Where a face is at any time, as ``models.video.label.face_mask`` has it.
        hair: Where the speaker's head with its hair is, as ``faces``; None where it was not measured.
        notes: What the client should know.
    """

    kind: str
    size: tuple[int, int]
    face_rows: FaceRows
    faces: NDArray[np.bool_]
    hair: NDArray[np.bool_] | None
    num_faces: int
    face: int
    notes: tuple[str, ...]

    def frames(self, mouth: MouthTrack, head: HeadTrack) -> Iterator[Frame]:
        """The film's frames, I420, one a step of the tracks; the array is the caller's until the next is taken."""
        ...


def open_presenter(path: Path, settings: FilmSettings, *, check_canceled: Callable[[], None]) -> Callable[[int], Scene]:
    """The presenter at ``path`` with a face found in it; the scene follows once the number of frames is known.

    What cannot be used is refused here, before anybody speaks.

    Raises:
        ContentRejected: See ``models.video.source.open_source``, ``models.perception.faces.choose_face`` and
            ``models.video.background.BackgroundComposer``.
    """
    source = open_source(
        path,
        max_pixels=settings.max_picture_pixels,
        max_duration_s=settings.max_source_video_s,
        name="the presenter's file",
    )
    if isinstance(source, PictureSource):
        scene = _picture_scene(source, settings)
        return lambda num_frames: scene
    require_face(face_finder(), source.frames(), settings.face, check_canceled=check_canceled)
    return lambda num_frames: _video_scene(source, settings, num_frames, check_canceled)


def open_scene(path: Path, settings: FilmSettings, *, num_frames: int, check_canceled: Callable[[], None]) -> Scene:
    """The presenter at ``path``, found, framed and laid on the background; raises as ``open_presenter``."""
    return open_presenter(path, settings, check_canceled=check_canceled)(num_frames)


@cache
def face_finder() -> FaceFinder:
    """The process's finder; its networks load once."""
    return FaceFinder()


class PictureScene:
    """A still picture: head, eyes and mouth move; ``base_frame`` is the picture in the film's frame."""

    kind = "picture"

    def __init__(
        self,
        frame: Frame,
        landmarks: FaceLandmarks,
        *,
        num_faces: int,
        face: int,
        notes: tuple[str, ...],
        other_faces: Sequence[NDArray[np.float32]] = (),
        hair: NDArray[np.bool_] | None = None,
    ) -> None:
        """``other_faces``: outlines of those who do not speak, in film pixels; ``hair``: see ``Scene``."""
        self._renderer = MeshRenderer()
        self.base_frame = frame
        self._state = self._renderer.prepare(frame, landmarks)
        self.size = (frame.shape[1], frame.shape[0] * 2 // 3)
        self.face_rows = _rows([landmarks])
        self.faces = face_mask(self.size, [landmarks.points[:, :2], *other_faces])
        self.hair = hair
        self.num_faces, self.face = num_faces, face
        self.notes = (*notes, *(_WARNINGS[code] for code in self._state.warnings if code in _WARNINGS))

    @property
    def region(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom: pixels outside are the source's own in every frame."""
        return self._state.region

    def frames(self, mouth: MouthTrack, head: HeadTrack) -> Iterator[Frame]:
        """See ``Scene``."""
        out = np.empty_like(self.base_frame)
        for index in range(len(mouth)):
            out[:] = self.base_frame
            self._renderer.render(self._state, mouth, head, index, out)
            yield out


class VideoScene:
    """A video: its own head and eyes, a new mouth; frames without the face pass through untouched."""

    kind = "video"

    def __init__(
        self, source: VideoSource, track: FaceTrack, plan: FramePlan, composer: BackgroundComposer, fps: int
    ) -> None:
        self._source, self._track, self._plan, self._composer, self._fps = source, track, plan, composer, fps
        self._renderer = MeshRenderer()
        self.size = (plan.width, plan.height)
        seen = [_in_film(plan, landmarks) for landmarks in track.landmarks if landmarks is not None]
        self.face_rows = _rows(seen)
        self.faces = face_mask(self.size, [landmarks.points[:, :2] for landmarks in seen])
        self.hair: NDArray[np.bool_] | None = None
        self.num_faces, self.face = track.num_faces, track.face
        notes = [*source.notes, *plan.notes]
        if track.num_faces > 1:
            notes.append(_chosen(track.num_faces, track.face))
        notes += _size_notes(track.middle(), plan)
        if track.num_faceless:
            notes.append(f"{track.num_faceless} of {source.num_frames} source frames show no face and were left as is.")
        wide = sum(landmarks is not None and is_wide_open(landmarks) for landmarks in track.landmarks)
        if wide >= _WIDE_SHARE * len(track.landmarks):
            notes.append(_WIDE_IN_VIDEO.format(share=round(100 * wide / len(track.landmarks))))
        self.notes = tuple(notes)

    def frames(self, mouth: MouthTrack, head: HeadTrack) -> Iterator[Frame]:
        """See ``Scene``; ``head`` is not used."""
        base: Frame | None = None
        state: MeshState | None = None
        matte: Matte | None = None
        shown = -1
        for index, source_frame in enumerate(self._source.frames_at(self._fps, len(mouth))):
            if base is None or source_frame.index != shown:
                shown = source_frame.index
                base, matte = self._framed(source_frame, matte)
                landmarks = self._track.landmarks[shown]
                state = self._prepared(base, landmarks, state) if landmarks is not None else None
            out = base.copy()
            if state is not None:
                self._renderer.render(state, mouth, None, index, out)
            yield out

    def _framed(self, frame: SourceFrame, before: Matte | None) -> tuple[Frame, Matte | None]:
        rgb = self._plan.apply(frame.rgb)
        if not self._composer.needs_matte:
            return rgb_to_i420(rgb), None
        matte = _matte(rgb, self._plan, self._composer)
        if before is not None:
            matte = (matte + _MATTE_MEMORY * (before - matte)).astype(np.float32)
        return rgb_to_i420(self._composer.compose(rgb, matte)), matte

    def _prepared(self, base: Frame, landmarks: FaceLandmarks, before: MeshState | None) -> MeshState:
        return self._renderer.prepare(base, _in_film(self._plan, landmarks), previous=before, moving=True)


def _picture_scene(source: PictureSource, settings: FilmSettings) -> PictureScene:
    finder = face_finder()
    faces = finder.find(source.rgb)
    face = choose_face(faces, settings.face)
    landmarks = finder.landmarks(source.rgb, faces[face])
    head, matte = None, None
    if settings.frame.aspect is not Aspect.SOURCE:
        head, matte = _head_with_hair(source.rgb, landmarks)
    plan = _planned(source.size, head, settings)
    composer = _composer(settings, plan)
    rgb = plan.apply(source.rgb)
    notes = [*source.notes, *plan.notes]
    if len(faces) > 1:
        notes.append(_chosen(len(faces), face))
    notes += _size_notes(landmarks, plan)
    if composer.needs_matte:
        if source.alpha is not None:
            alpha = plan.apply_mask(np.divide(source.alpha, 255, dtype=np.float32))
            rgb = composer.compose(rgb, alpha, is_over_white=True)
        else:
            rgb = composer.compose(rgb, _picture_matte(source.rgb, rgb, plan, composer))
    others = [_outline(other, plan) for index, other in enumerate(faces) if index != face]
    return PictureScene(
        rgb_to_i420(rgb),
        _in_film(plan, landmarks),
        num_faces=len(faces),
        face=face,
        notes=tuple(notes),
        other_faces=others,
        hair=None if head is None or matte is None else _hair_in_film(plan, head, matte, source.size[0]),
    )


def _video_scene(
    source: VideoSource, settings: FilmSettings, num_frames: int, check_canceled: Callable[[], None]
) -> VideoScene:
    fps = settings.frame.fps
    needed = max(source.schedule(fps, num_frames)) + 1
    track = track_face(face_finder(), islice(source.frames(), needed), settings.face, check_canceled=check_canceled)
    head = None if settings.frame.aspect is Aspect.SOURCE else head_box(track.middle())
    plan = _planned(source.size, head, settings)
    return VideoScene(source, track, plan, _composer(settings, plan), fps)


def _chosen(num_faces: int, face: int) -> str:
    return f"{num_faces} faces were found; the one that speaks is number {face} from the left, from 0."


def _matte(rgb: Frame, plan: FramePlan, composer: BackgroundComposer) -> Matte:
    """Where people are in a film's frame; with a new background, in the part of it that shows the source."""
    if not composer.has_new_background:
        return person_matte(rgb)
    left, top, right, bottom = plan.window()
    matte = np.zeros(rgb.shape[:2], np.float32)
    matte[top:bottom, left:right] = person_matte(np.ascontiguousarray(rgb[top:bottom, left:right]))
    return np.asarray(matte * plan.edge_fade(_CUT_SHARE), np.float32)


def _picture_matte(source_rgb: Frame, rgb: Frame, plan: FramePlan, composer: BackgroundComposer) -> Matte:
    """As ``_matte``, seen in the whole picture where the film shows most of it: a cut person is harder to tell."""
    window = plan.window()
    shown = (window[2] - window[0]) * (window[3] - window[1]) / plan.scale**2
    if shown < _MOST_SHARE * source_rgb.shape[0] * source_rgb.shape[1] or (
        plan.is_extended and not composer.has_new_background
    ):
        return _matte(rgb, plan, composer)
    small, scale = bounded(source_rgb, _HEAD_SEARCH_PX)
    left, top, right, bottom = window
    x0, y0 = max(0, plan.left) * scale, max(0, plan.top) * scale
    x1 = min(plan.source_width, plan.left + plan.crop_width) * scale
    y1 = min(plan.source_height, plan.top + plan.crop_height) * scale
    part = person_matte(small)[round(y0) : round(y1), round(x0) : round(x1)]
    matte = np.zeros(rgb.shape[:2], np.float32)
    matte[top:bottom, left:right] = resized(part, right - left, bottom - top)
    return np.asarray(matte * plan.edge_fade(_CUT_SHARE), np.float32)


def _planned(source_size: tuple[int, int], head: HeadBox | None, settings: FilmSettings) -> FramePlan:
    return plan_frame(
        source_size,
        head,
        settings.frame,
        has_captions=settings.has_captions,
        stands_on_edge=settings.background.kind in (BackgroundKind.COLOR, BackgroundKind.IMAGE),
    )


def _rows(faces: Sequence[FaceLandmarks]) -> FaceRows:
    """Over all of a film's ``faces``, in its pixels; a chin that is half open reaches a little lower."""
    rows = [face.points[:, 1] for face in faces]
    drops = [_JAW_DROP * float(np.ptp(row)) for row in rows]
    return FaceRows(
        head_top=min(head_box(face).top for face in faces),
        lip_bottom=max(float(row[_LOWER_LIP]) + drop for row, drop in zip(rows, drops, strict=True)),
        chin=max(float(row.max()) + drop for row, drop in zip(rows, drops, strict=True)),
    )


def _size_notes(landmarks: FaceLandmarks, plan: FramePlan) -> list[str]:
    """What to do about a face of few pixels: in the source, or only because the film is small."""
    if landmarks.width < _SMALL_FACE_PX:
        return [_SMALL_IN_SOURCE]
    return [_SMALL_IN_FILM] if landmarks.width * plan.scale < _SMALL_FACE_PX else []


def _composer(settings: FilmSettings, plan: FramePlan) -> BackgroundComposer:
    shot = settings.background
    picture = None
    if settings.background_file is not None:
        opened = open_source(
            settings.background_file, max_pixels=settings.max_picture_pixels, name="the background's file"
        )
        if not isinstance(opened, PictureSource):
            raise ContentRejected(
                "The background's file is a video; send a picture.", code="unsupported_media", param="background"
            )
        picture = opened
    return BackgroundComposer(
        Background(kind=shot.kind, color=shot.color), width=plan.width, height=plan.height, picture=picture
    )


def _head_with_hair(rgb: Frame, landmarks: FaceLandmarks) -> tuple[HeadBox, Matte]:
    """Where the head is in a picture of any size, looked for in one of bounded size; and the matte of that one."""
    small, scale = bounded(rgb, _HEAD_SEARCH_PX)
    points = (landmarks.points * np.float32(scale)).astype(np.float32)
    matte = person_matte(small)
    head = head_box(replace(landmarks, points=points), matte)
    sides = ("left", "top", "right", "bottom", "eye_y")
    return HeadBox(**{side: getattr(head, side) / scale for side in sides}), matte


def _in_film(plan: FramePlan, landmarks: FaceLandmarks) -> FaceLandmarks:
    return replace(landmarks, points=plan.to_film(landmarks.points))


def _hair_in_film(plan: FramePlan, head: HeadBox, matte: Matte, source_width: int) -> NDArray[np.bool_]:
    """The part of ``matte`` (the whole source, small) that is in ``head``, as the film shows it, at a small size."""
    step = max(1, min(plan.width, plan.height) // 256)
    y, x = np.mgrid[0 : plan.height : step, 0 : plan.width : step]
    origin, unit = plan.to_film(np.array([(0, 0), (1, 1)], np.float32))
    source_x, source_y = (x - origin[0]) / (unit[0] - origin[0]), (y - origin[1]) / (unit[1] - origin[1])
    in_head = (source_x > head.left) & (source_x < head.right) & (source_y > head.top) & (source_y < head.bottom)
    scale = matte.shape[1] / source_width
    columns = (source_x * scale).astype(int).clip(0, matte.shape[1] - 1)
    rows = (source_y * scale).astype(int).clip(0, matte.shape[0] - 1)
    return np.asarray(in_head & (matte[rows, columns] > _HAIR), np.bool_)


def _outline(face: FaceBox, plan: FramePlan) -> NDArray[np.float32]:
    right, bottom = face.left + face.width, face.top + face.height
    corners = [(face.left, face.top), (right, face.top), (right, bottom), (face.left, bottom)]
    return plan.to_film(np.array(corners, np.float32))
