"""Tells skin, upper and lower clothes and shoes apart, without a network for it.

Colour mixtures of each (skin from the face, the upper garment from the chest, the lower one from the thighs) compete
for every pixel, weighted by how likely each is at that place of the body; the odds follow the picture's edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception import edges
from models.perception.body_frame import Arm, BodyFrame, body_frame, face_of_pose
from models.perception.clothing import ClothingMask
from models.perception.color_model import ColorModel, Features, MixedColors, clusters, features_of
from models.perception.face import FaceLandmarks
from models.perception.face_frame import FaceFrame, frame_of, rise
from models.perception.pose import BodyPose
from models.perception.skin import SkinMask
from models.perception.skin_model import skin_colors

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

_SIDE_PX: Final = 416
_MARGIN: Final = 0.02
_FLOOR: Final = (4.0, 2.0, 2.0, 1.0)
_SKIN_FLOOR: Final = (5.0, 2.5, 2.5, 1.5)
# How far skin on the limbs may be from the face's in colour and in lightness, LAB.
_HUE_REACH: Final = 10.0
_LIGHT_REACH: Final = 25.0
_RARE: Final = -16.0  # log likelihood of a colour that a class does not know
_OTHER: Final = -13.5  # of any colour as something else: hair, bags, jewels
_SKIN_LIKE: Final = -10.5
_ODDS: Final = 6.0  # colour alone favours a class by this much at most
_SMOOTHING: Final = (4, 1e-3)
_EDGE: Final = (3, 2e-4)
_ALIKE: Final = 2.5  # log likelihood that a skirt loses as bodice when both are one cloth


class _Class(IntEnum):
    SKIN = 0
    UPPER = 1
    LOWER = 2
    SHOES = 3
    OTHER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """A part of the picture and its smaller copy."""

    left: int
    top: int
    right: int
    bottom: int
    scale: float
    size: tuple[int, int]

    def cut(self, picture: NDArray[np.generic]) -> NDArray[np.generic]:
        return picture[self.top : self.bottom, self.left : self.right]

    def small(self, picture: NDArray[np.generic]) -> NDArray[np.generic]:
        import cv2

        part = np.ascontiguousarray(self.cut(picture))
        return np.asarray(cv2.resize(part, self.size, interpolation=cv2.INTER_AREA), picture.dtype)


def skin_and_clothing(
    picture_rgb: Picture,
    *,
    person: Mask,
    pose: BodyPose,
    face: FaceLandmarks | None,
    hair: Mask | None,
) -> tuple[SkinMask, ClothingMask]:
    """What of the person is bare and what is dressed.

    Args:
        picture_rgb: uint8 (height, width, 3), RGB.
        person: Their matte, float32 (height, width).
        pose: Their body, in pixels of the picture.
        face: Their face, if found.
        hair: Their hair, float32 (height, width); without it long hair over clothes counts as clothes.
    """
    window = _window_of(person)
    scene = _Scene(picture_rgb, window, person=person, pose=pose, face=face, hair=hair)
    soft = scene.solved()
    return _Masks(picture_rgb, window, scene, soft, person, hair).both(pose)


class _Scene:
    """A person at the working size, and what each pixel may be."""

    def __init__(
        self,
        picture_rgb: Picture,
        window: _Window,
        *,
        person: Mask,
        pose: BodyPose,
        face: FaceLandmarks | None,
        hair: Mask | None,
    ) -> None:
        offset = np.array([window.left, window.top], np.float32)
        points = (pose.points[:, :2] - offset + 0.5) * window.scale - 0.5
        self.rgb = np.asarray(window.small(picture_rgb), np.uint8)
        self.person = np.asarray(window.small(person), np.float32)
        self.hair = np.asarray(window.small(hair), np.float32) if hair is not None else np.zeros_like(self.person)
        self.body: BodyFrame = body_frame(np.asarray(points, np.float32), pose.visibility, window.size)
        known = face if face is not None else face_of_pose(pose)
        moved = known.points.copy()
        moved[:, :2] -= offset
        self.face: FaceFrame = frame_of(replace(known, points=moved), window.scale, window.size)
        part = np.ascontiguousarray(np.asarray(window.cut(picture_rgb), np.uint8))
        self.features: Features = features_of(part, window.size, 0.45 * self.body.shoulder_width / window.scale)
        self.skin = skin_colors(self.features, self.rgb, self.face)
        frame = self.face
        self.head = (1 - rise(frame.down, frame.chin - 0.05, frame.chin + 0.15)) * (frame.outside < 1.3)
        self.neck = (
            rise(frame.down, frame.chin - 0.15, frame.chin)
            * (1 - rise(self.body.along, -0.02, 0.25))
            * (1 - rise(np.abs(frame.across - frame.middle), 0.35, 0.75))
        )
        left, right = frame.jaw
        # Right under the chin: always neck, whatever its shadow makes of the colour.
        self.throat = (
            rise(frame.down, frame.chin - 0.2, frame.chin)
            * (1 - rise(frame.down, frame.chin + 0.12, frame.chin + 0.4))
            * rise(frame.across, left - 0.02, left + 0.14)
            * (1 - rise(frame.across, right - 0.14, right + 0.02))
        )
        self.bare: ColorModel = self.skin.model
        self.models: dict[_Class, ColorModel] = {}
        self.is_one_cloth = False

    def solved(self) -> NDArray[np.float32]:
        """How much of each pixel is of each class, float32 (5, h, w), adding up to 1."""
        flat = self.features.reshape(-1, self.features.shape[-1])
        radius, epsilon = _SMOOTHING
        guide = edges.EdgeGuide(np.divide(self.rgb, 255, dtype=np.float32), radius=radius, epsilon=epsilon)
        prior = np.log(self._prior()).reshape(len(_Class), -1)
        self._seed()
        shape = (len(_Class), *self.person.shape)
        soft = np.zeros(shape, np.float32)
        for last in (False, True):
            evidence = np.full((len(_Class), len(flat)), _RARE, np.float32)
            evidence[_Class.SKIN] = np.logaddexp(self.bare.log_likelihood(flat), _RARE - 1.5)
            evidence[_Class.OTHER] = _OTHER
            for kind, model in self.models.items():
                evidence[kind] = np.logaddexp(model.log_likelihood(flat), _RARE)
            evidence = np.maximum(evidence - evidence.max(0), -_ODDS)
            odds = (prior + evidence).reshape(shape)
            odds = np.maximum(odds - odds.max(0), -8).astype(np.float32)
            smooth = np.stack([guide.fit(layer).at(self.rgb) for layer in odds])
            power = np.exp(smooth - smooth.max(0))
            soft = np.asarray(power / power.sum(0), np.float32)
            if not last:
                self._learn(soft)
        return soft

    def _prior(self) -> Mask:
        """How likely each class is at each place, float32 (5, h, w)."""
        body, frame = self.body, self.face
        along, arms, hands, feet = body.along, body.arms, body.hands, body.feet
        beside = arms * ~body.torso
        skin = 0.04 + 0.25 * body.legs * rise(along, 1.25, 1.7)
        skin = skin * (1 - arms) + arms * np.where(body.torso, 0.12, 0.38)
        skin = skin * (1 - hands) + 0.85 * hands
        skin = np.maximum(skin * (1 - 0.5 * feet), np.maximum(0.55 * self.neck, 0.5 * self.head))
        upper = 0.9 * (1 - rise(along, 0.75, 1.35)) + 0.08 * (1 - rise(along, 1.5, 2.4)) + 0.01
        upper = (upper * (1 - beside) + 0.6 * beside) * (1 - 0.85 * hands) * (1 - 0.5 * self.neck)
        upper *= (1 - 0.97 * self.head) * (1 - feet) * (1 - 0.98 * self.throat)
        lower = 0.9 * rise(along, 0.7, 1.25) + 0.005
        lower = (lower * (1 - beside) + 0.02 * beside) * (1 - 0.9 * hands) * (1 - self.head) * (1 - 0.6 * feet)
        shoes = 0.85 * feet + 0.002
        other = 0.01 + 0.3 * self.head
        prior = np.stack([skin, upper, lower, shoes, other])
        prior[:, frame.oval] = np.array([[1, 0.001, 0.001, 0.001, 0.02]]).T
        prior[: _Class.OTHER] *= 1 - np.clip(1.2 * self.hair, 0, 1)
        prior[_Class.OTHER] += 4 * self.hair
        prior = np.maximum(prior, 1e-4)
        return np.asarray(prior / prior.sum(0), np.float32)

    def _seed(self) -> None:
        """First colour models: the chest, the thighs and the feet."""
        body = self.body
        own = (self.person > 0.8) & (body.forearms < 0.3) & (self.hair < 0.2)
        chest = own & body.torso & (body.along > 0.12) & (body.along < 0.75) & (self.face.outside > 0.25)
        is_chest = chest.sum() >= 200
        if not is_chest:
            chest = own & (body.along > 0.05) & (self.face.outside > 0.3) & (self.neck < 0.3)
        self.bare = self._with_hands()
        cloth = self.features[chest]
        bare = self._skin_clusters(cloth) | (self.skin.model.log_likelihood(cloth) > _SKIN_LIKE)
        # Clothes of the colour of skin are taken for clothes where a whole chest is seen, and else for a shoulder.
        if (~bare).sum() > 0.35 * len(bare) or not is_chest:
            cloth = cloth[~bare]
        if len(cloth) > 60:
            self.models[_Class.UPPER] = ColorModel(cloth, 5, _FLOOR)
        thighs = self.features[own & body.thighs]
        bare = self._skin_clusters(thighs)
        if (~bare).sum() > max(60, 0.3 * len(bare)):
            self.models[_Class.LOWER] = ColorModel(thighs[~bare], 4, _FLOOR)
        if _Class.UPPER in self.models and _Class.LOWER in self.models:
            skirt = thighs[~bare]
            as_upper = self.models[_Class.UPPER].log_likelihood(skirt)
            as_lower = self.models[_Class.LOWER].log_likelihood(skirt)
            self.is_one_cloth = bool(np.median(as_upper) > np.median(as_lower) - _ALIKE)
        feet = self.features[(body.feet > 0.6) & (self.person > 0.6)]
        if len(feet) > 40:
            self.models[_Class.SHOES] = ColorModel(feet, 3, _FLOOR)

    def _with_hands(self) -> ColorModel:
        """Skin as the face shows it and as the hands do, which are lit as the legs are."""
        median = self.skin.median
        limbs = self.features[(self.body.hands > 0.9) & (self.person > 0.9)]
        alike = np.hypot(limbs[:, 1] - median[1], limbs[:, 2] - median[2]) < _HUE_REACH
        alike &= np.abs(limbs[:, 0] - median[0]) < _LIGHT_REACH
        if alike.sum() < 40:
            return self.skin.model
        return MixedColors(self.skin.model, ColorModel(limbs[alike], 3, _SKIN_FLOOR))

    def _skin_clusters(self, samples: Features) -> NDArray[np.bool_]:
        """Which samples belong to a cluster that is skin."""
        if len(samples) == 0:
            return np.zeros(0, np.bool_)
        labels = clusters(samples, 5)
        likelihood = self.bare.log_likelihood(samples)
        bare = [label for label in np.unique(labels) if np.median(likelihood[labels == label]) > _SKIN_LIKE - 1]
        return np.isin(labels, bare)

    def _learn(self, soft: NDArray[np.float32]) -> None:
        """The models anew from the first answer; the skin's, with what was found of it on the body."""
        sure = self.person > 0.8
        skin_like = self.bare.log_likelihood(self.features[sure]) > _SKIN_LIKE
        for kind, count in ((_Class.UPPER, 6), (_Class.LOWER, 5)):
            found = soft[kind][sure] > 0.7
            most = 0.3 if kind is _Class.LOWER else 0.7
            if (found & ~skin_like).sum() > most * found.sum():
                found &= ~skin_like
            if found.sum() > 100:
                self.models[kind] = ColorModel(self.features[sure][found], count, _FLOOR)
        bare = sure & (soft[_Class.SKIN] > 0.7)
        if bare.sum() >= 200:
            self.bare = MixedColors(self.skin.model, ColorModel(self.features[bare], 5, _FLOOR))


class _Masks:
    """The classes at the picture's own size."""

    def __init__(
        self,
        picture_rgb: Picture,
        window: _Window,
        scene: _Scene,
        soft: NDArray[np.float32],
        person: Mask,
        hair: Mask | None,
    ) -> None:
        self._shape = picture_rgb.shape[:2]
        self._window = window
        self._scene = scene
        self._soft = soft
        self._part = np.asarray(window.cut(picture_rgb), np.uint8)
        room = np.asarray(window.cut(person), np.float32)
        if hair is not None:
            room = room * (1 - np.asarray(window.cut(hair), np.float32))
        self._room = room
        radius, epsilon = _EDGE
        self._guide = edges.EdgeGuide(np.divide(scene.rgb, 255, dtype=np.float32), radius=radius, epsilon=epsilon)

    def both(self, pose: BodyPose) -> tuple[SkinMask, ClothingMask]:
        scene, body = self._scene, self._scene.body
        fine = {kind: self._fine(kind) for kind in _Class if kind is not _Class.OTHER}
        total = np.maximum(np.sum(list(fine.values()), 0), 1)
        fine = {kind: np.asarray(part / total * self._room, np.float32) for kind, part in fine.items()}
        skin, upper, lower = fine[_Class.SKIN], fine[_Class.UPPER], fine[_Class.LOWER]
        if lower.sum() < 0.02 * body.torso_length * body.shoulder_width / self._window.scale**2:
            lower = np.zeros_like(lower)
        sure = scene.person > 0.5
        decided = float(self._soft.max(0)[sure].mean()) if sure.any() else 0.0
        confidence = float(np.clip((decided - 0.5) / 0.45, 0, 1)) * pose.confidence
        head = scene.head * (scene.face.outside < 0.25) * (1 - scene.throat)
        arms = (body.left.whole * (1 - head), body.right.whole * (1 - head))
        over = np.maximum(self._over(body.left), self._over(body.right))
        return (
            SkinMask(
                mask=self._full(skin),
                face=self._within(skin, head),
                neck=self._within(skin, np.clip(1 - head - np.maximum(*arms) - rise(body.along, 0.9, 1.2), 0, 1)),
                left_arm=self._within(skin, arms[0]),
                right_arm=self._within(skin, arms[1]),
                left_hand=self._within(skin, body.left.hand),
                right_hand=self._within(skin, body.right.hand),
                legs=self._within(skin, rise(body.along, 0.9, 1.2) * (1 - body.arms)),
                confidence=confidence,
            ),
            ClothingMask(
                mask=self._full(upper + lower),
                upper=self._full(upper),
                lower=self._full(lower),
                shoes=self._full(fine[_Class.SHOES]),
                sleeves=self._within(upper, body.arms * np.where(body.torso & (body.forearms < 0.5), 0.3, 1)),
                in_front=self._within(skin + upper, over),
                is_one_piece=scene.is_one_cloth and self._hangs_free(),
                waist_y=self._waist(upper, lower),
                confidence=confidence,
            ),
        )

    def _over(self, arm: Arm) -> Mask:
        """Where a forearm lies before the body: one that hangs does so only as far as the torso reaches."""
        body = self._scene.body
        reach = (0.7, 0.8) if arm.is_across else (0.44, 0.52)
        return arm.forearm * rise(body.along, 0.02, 0.12) * (1 - rise(np.abs(body.beside), *reach))

    def _hangs_free(self) -> bool:
        """Whether the lower cloth spans both legs, or bare legs come out of it: no trousers do."""
        scene = self._scene
        shins = (scene.body.legs > 0.7) & (scene.body.along > 1.75) & (scene.person > 0.7) & (scene.body.feet < 0.2)
        bare = shins.sum() > 50 and float((self._soft[_Class.SKIN][shins] > 0.5).mean()) > 0.4
        cloth = (self._soft[[_Class.UPPER, _Class.LOWER]].sum(0) > 0.5) & (scene.person > 0.5)
        knees = cloth & (scene.body.along > 1.6) & (scene.body.along < 2.1) & (scene.body.arms < 0.3)
        spans = knees.sum() > 50 and float((scene.body.legs[knees] < 0.2).mean()) > 0.15
        return bool(bare or spans)

    def _waist(self, upper: Mask, lower: Mask) -> float | None:
        if not lower.any():
            return None
        body = self._scene.body
        middle = self._up(np.asarray(np.abs(body.beside) < 0.3, np.float32)) > 0.5
        is_lower = (lower > np.maximum(upper, 0.3)) & middle
        columns = np.flatnonzero(is_lower.any(0))
        if columns.size == 0:
            return None
        return float(np.median(is_lower[:, columns].argmax(0))) + self._window.top

    def _fine(self, kind: _Class) -> Mask:
        return rise(self._guide.fit(self._soft[kind]).at(self._part), 0.2, 0.8)

    def _up(self, small: Mask) -> Mask:
        import cv2

        size = (self._part.shape[1], self._part.shape[0])
        return np.asarray(cv2.resize(np.asarray(small, np.float32), size, interpolation=cv2.INTER_LINEAR), np.float32)

    def _within(self, mask: Mask, place: Mask) -> Mask:
        return self._full(np.asarray(mask * self._up(place), np.float32))

    def _full(self, part: Mask) -> Mask:
        full = np.zeros(self._shape, np.float32)
        self._window.cut(full)[:] = np.clip(part, 0, 1)
        return full


def _window_of(person: Mask) -> _Window:
    """The part of the picture that the person takes up."""
    height, width = person.shape
    rows, columns = np.flatnonzero((person > 0.3).any(1)), np.flatnonzero((person > 0.3).any(0))
    margin = max(4, int(_MARGIN * max(height, width)))
    top, bottom = (int(rows[0]), int(rows[-1]) + 1) if rows.size else (0, height)
    left, right = (int(columns[0]), int(columns[-1]) + 1) if columns.size else (0, width)
    top, left = max(0, top - margin), max(0, left - margin)
    bottom, right = min(height, bottom + margin), min(width, right + margin)
    scale = min(1.0, _SIDE_PX / max(bottom - top, right - left))
    size = (max(8, round((right - left) * scale)), max(8, round((bottom - top) * scale)))
    return _Window(left=left, top=top, right=right, bottom=bottom, scale=scale, size=size)
