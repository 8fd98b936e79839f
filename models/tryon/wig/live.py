"""A wig on a moving head: frames in, frames with the wig out.

The first frame that shows the face is analysed in full, as a portrait is: its own hair, the head below it, the wig's
place and light. Every further frame costs little: the face's mesh is followed and steadied, the layers of the first
frame are turned in space as far as the head has turned and laid on by a similarity, and own hair that the wig does not
cover is found again by its colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox, FaceLandmarks
from models.perception.faces import MIN_FACE_WIDTH_PX, FaceFinder
from models.perception.tracking import FaceTracker
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.filling import push_pull
from models.tryon.wig.fit import similarity
from models.tryon.wig.light import face_light
from models.tryon.wig.live_hair import HairColours, place_of
from models.tryon.wig.turntable import TurnedHair, Turntable
from services.domain.errors import ContentRejected

if TYPE_CHECKING:
    from models.tryon.wig.preview import Fitting

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

# What of the mesh moves with the skull alone: forehead, temples, nose bridge, cheekbones; not brows, lids, mouth, jaw.
_RIGID: Final = (
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 109, 67, 103, 54, 21, 162, 127, 234, 93, 323),
    *(151, 9, 8, 168, 6, 197, 195, 108, 337, 69, 299, 116, 345, 123, 352, 33, 263, 133, 362),
)
_MOST_YAW: Final = np.radians(35.0)  # further away from the first frame the wig keeps still
_REUSED_YAW: Final = np.radians(0.12)
_FEATURES: Final = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300, 263, 33, 61, 291, 17, 84, 314, 50, 280)
_PADDING: Final = 1.2  # face widths
_SEEN: Final = 1 / 512
_VISIBLE: Final = 0.15
_FEW_PX: Final = 40
_ANALYSE_EVERY_S: Final = 1.0  # while the first analysis finds no face
_LIGHT_S: Final = 1.5  # in which the wig follows a change of light
_LIGHT_EVERY: Final = 5  # frames
_GAIN_POWER: Final = 0.5
_GAIN_RANGE: Final = (0.6, 1.5)
_STEP: Final = 2  # own hair is looked for in every second pixel
_GROWN: Final = 0.05  # face widths round own hair that hold mixed colours
_PLATE_SHARE: Final = 0.25  # of a frame in the filled background: fill that flickers is seen
_PLATE_STEP: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    """The frame that was analysed; pixels are those of the head's window at the working size.

    Attributes:
        yaw: Of the head, radians.
        person_rgb: The person without hair.
        masks: uint8 (h, w, 4): where that person is, where own hair may be, the wig's shadow, anybody with hair.
        colours: Of own hair; None where there is none to take away.
        lightness: Of the face.
    """

    yaw: float
    face_width: float
    table: Turntable
    person_rgb: Picture
    masks: Picture
    colours: HairColours | None
    lightness: float


class LiveWig:
    """Lays one wig on the head in a stream of frames of one size.

    Args:
        asset: The wig, from the front.
        face: Index of the face, from left to right; None takes the largest.
    """

    def __init__(self, asset: WigAsset, *, face: int | None = None) -> None:
        self._asset = asset
        self._face = face
        self._finder = FaceFinder()
        self._tracker: FaceTracker | None = None
        self._first: _First | None = None
        self._quarter_turns = 0
        self._hair: tuple[float, TurnedHair] | None = None
        self._plate: Matte | None = None
        self._light = 0.0
        self._num_frames = self._num_without = self._num_far = 0
        self._time_s = 0.0
        self._analysed_s = -_ANALYSE_EVERY_S

    @property
    def facts(self) -> Mapping[str, Any]:
        """Frames so far, those that came back as they were, and those in which the head turned too far."""
        return {
            "num_frames": self._num_frames,
            "num_frames_without_face": self._num_without,
            "num_frames_turned_far": self._num_far,
        }

    def frame(self, rgb: Picture, time_s: float | None = None) -> Picture:
        """The frame with the wig; itself where the face is not to be seen.

        Args:
            rgb: uint8 (h, w, 3), always of the same size.
            time_s: Its time stamp, rising; None means a 30th of a second after the last one.
        """
        time_s = self._time_s + 1 / 30 if time_s is None else time_s
        elapsed_s, self._time_s = max(time_s - self._time_s, 1e-3), time_s
        self._num_frames += 1
        upright = np.ascontiguousarray(np.rot90(rgb, self._quarter_turns))
        face = self._followed(upright, time_s)
        if face is not None and self._first is None and time_s - self._analysed_s >= _ANALYSE_EVERY_S:
            self._analysed_s = time_s
            upright, face = self._prepared(rgb, upright, face, time_s)
        if face is None or self._first is None:
            self._num_without += 1
            return rgb
        worn = self._worn(upright, face, self._first, elapsed_s)
        return np.ascontiguousarray(np.rot90(worn, -self._quarter_turns))

    def _followed(self, rgb: Picture, time_s: float) -> FaceLandmarks | None:
        if self._tracker is None:
            box = self._chosen(rgb)
            if box is None:
                return None
            self._tracker = FaceTracker(self._finder, box)
        return self._tracker.update(rgb, time_s)

    def _chosen(self, rgb: Picture) -> FaceBox | None:
        boxes = self._finder.find(rgb)
        large = [box for box in boxes if box.width >= MIN_FACE_WIDTH_PX]
        if self._face is not None:
            return boxes[self._face] if self._face < len(boxes) else None
        return max(large, key=lambda box: box.width * box.height) if large else None

    def _prepared(
        self, rgb: Picture, upright: Picture, face: FaceLandmarks, time_s: float
    ) -> tuple[Picture, FaceLandmarks | None]:
        """Analyse the first frame; a head that lies on its side is stood up first, in this and all later frames."""
        turns = round(face.roll / (np.pi / 2))
        if turns:
            self._quarter_turns = turns % 4
            upright = np.ascontiguousarray(np.rot90(rgb, self._quarter_turns))
            self._tracker = None
            found = self._followed(upright, time_s)
            if found is None:
                return upright, None
            face = found
        self._first = _analysed(upright, face, self._face, self._asset)
        if self._first is not None:
            self._light = self._first.lightness
        return upright, face

    def _worn(self, rgb: Picture, face: FaceLandmarks, first: _First, elapsed_s: float) -> Picture:
        import cv2

        turn = face.yaw - first.yaw
        if abs(turn) > _MOST_YAW:
            self._num_far += 1
            turn = float(np.clip(turn, -_MOST_YAW, _MOST_YAW))
        hair = self._turned(turn, first)
        rigid = list(_RIGID)
        onto = similarity(first.table.moved_points(turn)[rigid, :2], face.points[rigid, :2])
        whole = np.column_stack([onto.matrix, onto.shift]).astype(np.float64)
        box = _reach(whole, (hair.wig_rgba[..., 3], hair.behind_rgba[..., 3], first.masks[..., 1]), rgb.shape)
        if box is None:
            return rgb
        left, top, right, bottom = box
        matrix = whole - np.array([[0, 0, left], [0, 0, top]], np.float64)
        size = (right - left, bottom - top)

        def laid(picture: Picture) -> Picture:
            return np.asarray(cv2.warpAffine(picture, matrix, size, flags=cv2.INTER_LINEAR), np.uint8)

        part = np.ascontiguousarray(rgb[top:bottom, left:right])
        wig, behind, masks = laid(hair.wig_rgba), laid(hair.behind_rgba), laid(first.masks)
        person, shade, opacity = (_share(values) for values in (masks[..., 0], masks[..., 2], wig[..., 3]))
        seen = np.asarray(_share(behind[..., 3]) * (1 - person), np.float32)
        out, own = part, None
        if first.colours is not None:
            own = self._own_hair(part, masks, opacity, first.colours, onto.scale * first.face_width)
        if own is not None:
            plate = self._filled(rgb, first.masks[..., 3], whole)[top:bottom, left:right]
            bare = _mixed(plate, laid(first.person_rgb), person)
            out = _mixed(out, bare, own)
        out = _mixed(out, behind[..., :3], seen)
        out = _mixed(out, np.zeros_like(out), shade)
        gain = self._gain(rgb, face, first, elapsed_s)
        lit = np.asarray(cv2.convertScaleAbs(np.ascontiguousarray(wig[..., :3]), alpha=gain), np.uint8)
        out = _mixed(out, lit, opacity)
        changed = np.maximum(np.maximum(seen, shade), opacity)
        changed = (changed if own is None else np.maximum(changed, own)) > _SEEN
        result = rgb.copy()
        result[top:bottom, left:right][changed] = out[changed]
        return result

    def _turned(self, turn: float, first: _First) -> TurnedHair:
        if self._hair is None or abs(self._hair[0] - turn) > _REUSED_YAW:
            self._hair = turn, first.table.hair(turn)
        return self._hair[1]

    def _own_hair(
        self, part: Picture, masks: Picture, wig: Matte, colours: HairColours, face_width: float
    ) -> Matte | None:
        """Own hair with what it mixes with, where the wig does not hide it; None where nothing is to be seen of it."""
        import cv2

        step = slice(None, None, _STEP)
        alpha = colours.alpha(np.ascontiguousarray(part[step, step]), _share(masks[step, step, 1]))
        if float((alpha * (1 - wig[step, step])).max(initial=0)) < _VISIBLE:
            return None
        grown = max(1, round(_GROWN * face_width / _STEP))
        spread = cv2.dilate(alpha, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * grown + 1,) * 2))
        soft = np.clip(1.6 * cv2.GaussianBlur(spread, (0, 0), max(0.6, grown / 2)) - 0.3, 0, 1)
        size = (part.shape[1], part.shape[0])
        return np.asarray(cv2.resize(soft, size, interpolation=cv2.INTER_LINEAR), np.float32)

    def _filled(self, rgb: Picture, anybody: Picture, matrix: NDArray[np.float64]) -> Picture:
        """The frame without the person, coarse; it follows slowly, for fill that flickers is seen."""
        import cv2

        height, width = rgb.shape[:2]
        size = (max(2, width // _PLATE_STEP), max(2, height // _PLATE_STEP))
        small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA).astype(np.float32)
        there = cv2.warpAffine(anybody, matrix / _PLATE_STEP, size, flags=cv2.INTER_LINEAR)
        known = (there < 8).astype(np.float32)
        new = push_pull(small, known)
        old = self._plate
        plate = new if old is None or old.shape != new.shape else old + _PLATE_SHARE * (new - old)
        self._plate = np.asarray(plate, np.float32)
        return np.asarray(cv2.resize(self._plate, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)

    def _gain(self, rgb: Picture, face: FaceLandmarks, first: _First, elapsed_s: float) -> float:
        """By how much the wig is brighter now than in the first frame."""
        if self._num_frames % _LIGHT_EVERY == 0:
            now = face_light(rgb, face.points).lightness
            self._light += (now - self._light) * (1 - float(np.exp(-_LIGHT_EVERY * elapsed_s / _LIGHT_S)))
        return float(np.clip((self._light / max(first.lightness, 1.0)) ** _GAIN_POWER, *_GAIN_RANGE))


def _analysed(rgb: Picture, face: FaceLandmarks, index: int | None, asset: WigAsset) -> _First | None:
    """The first frame as a portrait; None when analysis sees no face in it."""
    import cv2

    from models.tryon.wig.preview import fitting_for
    from models.tryon.wig.seeing import see_head
    from models.tryon.wig.worn import wear
    from models.video.picture import PictureSource

    height, width = rgb.shape[:2]
    try:
        seen = see_head(rgb, index, param="video")
    except ContentRejected:
        return None
    # Hair that the frame's edge cuts now comes into the frame when the head moves.
    pad = round(_PADDING * face.width)
    padded, person, hair = (
        cv2.copyMakeBorder(part, pad, pad, pad, pad, cv2.BORDER_REPLICATE) for part in (rgb, seen.person, seen.hair)
    )
    seen = replace(
        seen, points=seen.points + np.array([pad, pad, 0], np.float32), person=_floats(person), hair=_floats(hair)
    )
    source = PictureSource(name="frame", rgb=np.asarray(padded, np.uint8), alpha=None, original_size=(width, height))
    fitting = fitting_for(source, seen)
    sitter = fitting.sitter
    worn = wear(sitter, asset.picture_rgba, asset.landmarks, asset.light)
    face_width = sitter.face_width
    own = sitter.hair_alpha
    colours = None
    if not seen.is_bald and (own > 0.7).sum() > _FEW_PX:
        around = cv2.dilate(own, np.ones((3, 3), np.uint8), iterations=max(1, round(0.3 * face_width / 2))) > 0.3
        colours = HairColours(sitter.picture_rgb, own, around)
    grown = max(1, round(0.08 * face_width))
    anybody = cv2.dilate(np.maximum(_window(seen.person, fitting), own), np.ones((2 * grown + 1,) * 2, np.uint8))
    place = place_of(own, face_width) * (1 - _features(sitter.points, own))
    masks = np.dstack([worn.person_alpha, place, worn.shadow, anybody])
    return _First(
        yaw=face.yaw,
        face_width=face_width,
        table=Turntable(worn),
        person_rgb=sitter.person_rgb,
        masks=np.clip(np.rint(255 * masks), 0, 255).astype(np.uint8),
        colours=colours,
        lightness=face_light(sitter.picture_rgb, sitter.points).lightness,
    )


def _floats(values: NDArray[Any]) -> Matte:
    return np.asarray(values, np.float32)


def _window(values: Matte, fitting: Fitting) -> Matte:
    import cv2

    left, top, right, bottom = fitting.window
    height, width = fitting.sitter.person_alpha.shape
    part = np.ascontiguousarray(values[top:bottom, left:right])
    return np.asarray(cv2.resize(part, (width, height), interpolation=cv2.INTER_AREA), np.float32)


def _features(points: Points, hair: Matte) -> Matte:
    """1 on eyes, brows, nose and mouth, which are never hair, but for a fringe that lay over them."""
    import cv2

    mask = np.zeros(hair.shape, np.uint8)
    hull = cv2.convexHull(np.round(points[list(_FEATURES), :2]).astype(np.int32))
    cv2.fillConvexPoly(mask, hull, 1)
    return np.asarray(cv2.GaussianBlur(mask * (hair < 0.5), (0, 0), 2.0), np.float32)


def _reach(
    matrix: NDArray[np.float64], layers: Sequence[Picture], shape: tuple[int, ...]
) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom of the part of a frame that the layers reach; None when they are outside."""
    some = np.zeros(layers[0].shape, bool)
    for layer in layers:
        some |= layer > 0
    rows, columns = np.flatnonzero(some.any(1)), np.flatnonzero(some.any(0))
    if not len(rows):
        return None
    corners = np.array([(x, y, 1) for x in (columns[0], columns[-1]) for y in (rows[0], rows[-1])], np.float64)
    places = corners @ matrix.T
    left, top = np.maximum(np.floor(places.min(0)).astype(int) - 2, 0)
    right, bottom = np.minimum(np.ceil(places.max(0)).astype(int) + 3, (shape[1], shape[0]))
    return (int(left), int(top), int(right), int(bottom)) if right - left > 1 and bottom - top > 1 else None


def _share(values: Picture) -> Matte:
    return np.multiply(values, np.float32(1 / 255), dtype=np.float32)


def _mixed(below: Picture, above: Picture, opacity: Matte) -> Picture:
    import cv2

    opacity = np.ascontiguousarray(opacity)
    return np.asarray(
        cv2.blendLinear(np.ascontiguousarray(above), np.ascontiguousarray(below), opacity, 1 - opacity), np.uint8
    )
