"""The sitter's own hair, without a network for it: colours learnt from the picture, and where hair can be.

Colour mixtures of hair (seeded above the forehead), skin (from the face), clothes and background compete for every
pixel, each weighted by how likely it is at that place relative to the face; the odds are smoothed along the picture's
edges and the models learnt anew, a few times. In the spirit of GrabCut (Rother, Kolmogorov and Blake 2004), with cost
filtering (Hosni et al. 2013) in place of the graph cut: a tenth of the time, and soft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception import edges
from models.perception.color_model import ColorModel, Features, MixedColors, clusters, features_of
from models.perception.face_frame import FaceFrame, face_width, frame_of, rise
from models.perception.head import HeadView
from models.perception.skin_model import SkinColors, skin_colors

Mask = NDArray[np.float32]

_WORKING_FACE_PX: Final = 80
_NUM_ROUNDS: Final = 4
_ODDS: Final = 7.0  # colour alone moves the log odds by this much at most
_RARE: Final = -15.5  # log likelihood of a colour that no model knows
_SMOOTHING: Final = (4, 1e-3)  # radius in pixels at the working size and epsilon: best of a sweep
_EDGE: Final = (0.035, 1e-4)  # radius in face widths and epsilon of the last fit to the picture's edges
_SKIN_SEED: Final = -11.5  # seeds whose median likelihood as skin is higher are skin
_SHINE: Final = (12.0, -22.0, 1.5)  # from the face's middle: most in hue, least in lightness, most in texture
_MOST_SHINE: Final = 0.3
# Hair of the shared portraits is 1.06 to 5.6 rougher than the skin, 0 to 25 strong in chroma, and differs from the hair
# beside the face by 0 to 9. Cloth alone is beyond the first value, and with another sign beyond the second.
_PLAIN: Final = (0.85, 1.2)
_APART: Final = (30.0, 18.0)
_VIVID: Final = 45.0
_BLUE: Final = -12.0
_LOCK: Final = 0.13  # face widths
_BALD: Final = 0.15  # share of seeds that are not skin
_FEW_SEEDS: Final = 60
_SEED_FLOOR: Final = (5.0, 2.5, 2.5, 1.0)
_FLOOR: Final = (4.0, 2.0, 2.0, 1.0)
_BACKGROUND_FLOOR: Final = (3.0, 2.0, 2.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HairMask:
    """Attributes:
    mask: float32 (height, width) of the picture: how much of each pixel is hair, 0 to 1; empty for a bald head. Brows,
        lashes and beard are not hair.
    confidence: 0 to 1; of an empty mask too.
    is_bald: Whether the top of the head is skin.
    is_covered: Whether something smooth, or of a colour that neither the hair below it nor any hair has, sits on the
        head: a hat or scarf is then in ``mask``, and what is under it cannot be told.
    length: How far below the chin the hair reaches, in face widths; negative above it, 0 without hair.
    height: How far above the forehead's upper end it reaches, in face widths: about .35 for hair that lies on the
        head, more for a bun, a tail tied high or an afro.
    half_width: Its widest reach to a side of the face's middle, in face widths: .5 to .6 for hair tied back.
    touches_frame: Whether it runs out of the picture.
    """

    mask: Mask
    confidence: float
    is_bald: bool
    is_covered: bool
    length: float
    height: float
    half_width: float
    touches_frame: bool


def hair_mask(picture_rgb: NDArray[np.uint8], view: HeadView) -> HairMask:
    """The hair of the face in ``view`` (a window on ``picture_rgb``, uint8 (height, width, 3))."""
    import cv2

    height, width = view.rgb.shape[:2]
    scale = min(1.0, _WORKING_FACE_PX / face_width(view.face))
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    scene = _Scene(view, size, scale)
    seeds = scene.seeds()
    samples = scene.features[seeds]
    if len(samples) < _FEW_SEEDS:
        return _none(picture_rgb, confidence=0.0, is_bald=False)
    is_skin, shines = _skin_like(samples, scene.skin)
    # A pale hat passes for a shine of skin, but a scalp is not all shine.
    if 1 - is_skin.mean() < _BALD and shines.mean() < _MOST_SHINE:
        return _none(picture_rgb, confidence=float(np.clip(0.4 + is_skin.mean() * 0.6, 0, 1)), is_bald=True)
    chosen = samples[~is_skin] if (~is_skin).sum() > _FEW_SEEDS else samples
    if is_skin.sum() > _FEW_SEEDS:
        scene.bare = MixedColors(scene.bare, ColorModel(samples[is_skin], 3, _FLOOR))
    soft = scene.solved(ColorModel(chosen, 4, _SEED_FLOOR), seeds)

    fine = np.asarray(cv2.resize(soft, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)
    radius, epsilon = _EDGE
    fit = edges.fit(
        np.divide(view.rgb, 255, dtype=np.float32),
        fine,
        radius=max(2, round(radius * face_width(view.face))),
        epsilon=epsilon,
    )
    window = view.window(picture_rgb)
    # Loose hair that the matte lost counts where the networks at least suspected a person.
    person = np.maximum(view.matte, rise(view.likely, 0.25, 0.65))
    person = cv2.resize(person, (view.width, view.height), interpolation=cv2.INTER_LINEAR)
    mask = np.zeros(picture_rgb.shape[:2], np.float32)
    view.window(mask)[:] = rise(fit.at(np.asarray(window, np.uint8)), 0.12, 0.88) * person
    return scene.described(mask, soft, view)


class _Scene:
    """A head at the working size, and what its pixels may be."""

    def __init__(self, view: HeadView, size: tuple[int, int], scale: float) -> None:
        import cv2

        self.rgb = np.asarray(cv2.resize(view.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
        self.person = np.asarray(cv2.resize(view.likely, size, interpolation=cv2.INTER_AREA), np.float32)
        self.frame: FaceFrame = frame_of(view.face, scale, size)
        self.features: Features = features_of(view.rgb, size, face_width(view.face))
        self.skin: SkinColors = skin_colors(self.features, self.rgb, self.frame)
        self.bare: ColorModel = self.skin.model
        self.below = rise(self.frame.down, self.frame.chin - 0.1, self.frame.chin + 0.25)
        self.neck = self._neck()
        self._jaw = 1 - rise(np.abs(self.frame.across - self.frame.middle), 0.28, 0.42)

    def seeds(self) -> NDArray[np.bool_]:
        """An arch above the forehead, where hair is if there is any."""
        import cv2

        frame = self.frame
        # Off the outline, where head and background mix.
        inner = cv2.erode(self.person, np.ones((5, 5), np.uint8), borderType=cv2.BORDER_REPLICATE)
        ring = (frame.outside > 0.03) & (frame.outside < 0.32) & (inner > 0.8)
        arch: NDArray[np.bool_] = ring & (frame.down < 0.55 * frame.forehead)
        # A head that the picture's upper edge cuts shows hair at its sides only.
        return arch if arch.sum() >= _FEW_SEEDS else ring & (frame.down < 0)

    def solved(self, hair: ColorModel, seeds: NDArray[np.bool_]) -> Mask:
        """How much of each pixel is hair, float32 (h, w)."""
        flat = self.features.reshape(-1, self.features.shape[-1])
        radius, epsilon = _SMOOTHING
        guide = edges.EdgeGuide(np.divide(self.rgb, 255, dtype=np.float32), radius=radius, epsilon=epsilon)
        near = (self.person < 0.05) & (self.frame.outside < 2.5)
        background = ColorModel(self.features[near], 5, _BACKGROUND_FLOOR) if near.sum() > 200 else None
        torso = (self.person > 0.9) & (self.frame.down > self.frame.chin + 0.55)
        front = torso & (np.abs(self.frame.across) < 0.45 + 0.3 * (self.frame.down - self.frame.chin))
        dressed = front if front.sum() >= 150 else torso
        clothes = ColorModel(self.features[dressed], 4, _FLOOR) if dressed.sum() > 100 else None
        prior = self._prior()
        skin_likelihood = self.bare.log_likelihood(flat)
        away = background.log_likelihood(flat) if background is not None else None
        soft: Mask | None = None
        for _ in range(_NUM_ROUNDS):
            if soft is not None:
                prior = self._prior_below(soft)
                sure = (soft > 0.75) & (self.person > 0.5)
                hair = ColorModel(self.features[sure], 5, _FLOOR) if sure.sum() > 100 else hair
                other = torso & (soft < 0.25)
                clothes = ColorModel(self.features[other], 4, _FLOOR) if other.sum() > 150 else clothes
            worn = clothes.log_likelihood(flat) if clothes is not None else None
            rivals = self._rivals(skin_likelihood, worn, away)
            belief = np.clip(prior * np.sqrt(np.clip(self.person, 0, 1)), 1e-4, 0.97)
            evidence = np.clip(hair.log_likelihood(flat) - rivals, -_ODDS, _ODDS).reshape(prior.shape)
            odds = np.clip(np.log(belief / (1 - belief)) + evidence - 6 * self.neck, -8, 8)
            smooth = guide.fit(odds.astype(np.float32)).at(self.rgb)
            soft = self._hanging_together(np.asarray(1 / (1 + np.exp(-smooth)), np.float32), seeds)
        assert soft is not None
        return soft

    def described(self, mask: Mask, soft: Mask, view: HeadView) -> HairMask:
        """The result with its measures."""
        frame = self.frame
        hair = soft > 0.5
        if hair.sum() < 0.02 * frame.width_px**2:
            return HairMask(
                mask=np.zeros_like(mask),
                confidence=0.3,
                is_bald=False,
                is_covered=False,
                length=0.0,
                height=0.0,
                half_width=0.0,
                touches_frame=False,
            )
        doubtful = (self.person > 0.3) & ~(frame.oval & (frame.down > frame.brows)) & (frame.outside < 1.5)
        decided = float(np.abs(2 * soft[doubtful] - 1).mean())
        border = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
        covered = self._covered(hair)
        confidence = float(np.clip((decided - 0.55) / 0.4, 0, 1))
        return HairMask(
            mask=mask,
            confidence=0.5 * confidence if covered else confidence,
            is_bald=False,
            is_covered=covered,
            length=float(np.percentile(frame.down[hair], 99.5)) - frame.chin,
            height=frame.forehead - float(np.percentile(frame.down[hair], 0.5)),
            half_width=float(np.percentile(np.abs(frame.across[hair]), 99.5)),
            touches_frame=bool((border > 0.5).sum() > 0.06 * face_width(view.face) / view.scale),
        )

    def _covered(self, hair: NDArray[np.bool_]) -> bool:
        """Whether what was taken for hair above the forehead is cloth (thresholds: see ``_PLAIN`` and the rest)."""
        frame = self.frame
        above = self.features[hair & self.seeds()]
        if len(above) < _FEW_SEEDS:
            return False
        _, a, b, texture = np.median(above, 0)
        smoothness = float(texture - self.skin.median[3])
        beside = hair & (np.abs(frame.across) > 0.42) & (frame.down > frame.brows) & (frame.down < frame.chin + 0.6)
        apart = 0.0
        if beside.sum() > _FEW_SEEDS:
            other = np.median(self.features[beside], 0)
            apart = float(np.hypot(a - other[1], b - other[2]))
        signs = (smoothness < _PLAIN[1], bool(np.hypot(a, b) > _VIVID or b < _BLUE), apart > _APART[1])
        return smoothness < _PLAIN[0] or apart > _APART[0] or sum(signs) >= 2

    def _neck(self) -> Mask:
        """The neck between the corners of the jaw, 0 to 1: shadow makes it hair-coloured, and hair hangs beside it."""
        frame = self.frame
        left, right = frame.jaw
        across = rise(frame.across, left, left + 0.16) * (1 - rise(frame.across, right - 0.16, right))
        down = rise(frame.down, frame.chin - 0.35, frame.chin - 0.1)
        return across * down * (1 - rise(frame.down, frame.chin + 0.35, frame.chin + 0.8)) * ~frame.oval

    def _prior(self) -> Mask:
        """How likely hair is at each place, whatever its colour."""
        frame = self.frame
        # The mesh ends below many a hairline: right above it the forehead may go on.
        crown = 0.5 + 0.43 * rise(frame.outside, 0.0, 0.2)
        prior = np.where(frame.down < 0.6 * frame.forehead, crown, 0.72).astype(np.float32)
        side = rise(np.abs(frame.across), 0.36, 0.6)
        hanging = 0.02 + 0.15 * side * (1 - rise(frame.down, frame.chin + 0.3, frame.chin + 1.2))
        hanging = hanging * (1 - self._jaw) + 0.006 * self._jaw
        prior = prior * (1 - self.below) + self.below * hanging
        prior *= 1 - 0.9 * rise(frame.outside, 1.1, 1.9)
        # A fringe hangs over the forehead from above and thins out downwards.
        fringe = (1 - rise(frame.down, frame.brows - 0.12, frame.brows - 0.02)) * (1 - rise(frame.inside, 0, 0.22))
        edge = rise(frame.inside, 0, 0.05)
        prior = prior * (1 - edge) + (0.02 + 0.43 * fringe) * edge
        prior *= 1 - 0.995 * self.neck
        face = (frame.inside > 0.07) & (frame.down > frame.brows - 0.04)
        return np.clip(np.where(face, 0.001, prior), 1e-3, 0.97).astype(np.float32)

    def _prior_below(self, soft: Mask) -> Mask:
        """The prior, knowing what was found: below the chin hair falls from hair, and no wider than that."""
        frame = self.frame
        head = (frame.down > -0.3) & (frame.down < frame.chin) & (soft > 0.5)
        within: Mask = np.ones_like(soft)
        if head.sum() > 30:
            left, right = np.percentile(frame.across[head], [2, 98])
            within = (1 - rise(frame.across, right + 0.08, right + 0.3)) * rise(frame.across, left - 0.3, left - 0.08)
        falling = _fallen(soft, 1.2 * frame.width_px)
        throat = 1 - 0.7 * self._jaw * (1 - rise(frame.down, frame.chin + 0.5, frame.chin + 1))
        far = 1 - rise(frame.down, frame.chin + 3, frame.chin + 4)
        fallen = within * self.below * 0.65 * falling * throat * far
        return np.maximum(self._prior() * (1 - 0.9 * self.below * (1 - within)), fallen)

    def _rivals(
        self, skin: NDArray[np.float32], clothes: NDArray[np.float32] | None, background: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Log likelihood of each pixel as anything but hair, weighted by what may be at its place."""
        frame = self.frame
        throat = (1 - rise(np.abs(frame.across), 0.4, 0.6)) * rise(frame.down, frame.chin - 0.3, frame.chin)
        throat *= 1 - rise(frame.down, frame.chin + 0.5, frame.chin + 1)
        bare = np.clip(0.25 + (frame.outside < 0.02) + 0.8 * throat, 0.02, 1)
        worn = 0.01 + 0.9 * rise(frame.down, frame.chin + 0.1, frame.chin + 0.6)
        away = 1.2 * np.clip(1 - self.person, 0.01, 1)
        total = bare + worn + away
        rivals = np.logaddexp(np.log(bare / total).ravel() + skin, _RARE)
        if clothes is not None:
            rivals = np.logaddexp(rivals, np.log(worn / total).ravel() + clothes)
        if background is not None:
            rivals = np.logaddexp(rivals, np.log(away / total).ravel() + background)
        return np.asarray(rivals, np.float32)

    def _hanging_together(self, soft: Mask, seeds: NDArray[np.bool_]) -> Mask:
        """Only what hangs together with the top of the head, or almost: a tail that passes behind the ear."""
        import cv2

        frame = self.frame
        likely = (soft > 0.5).astype(np.uint8)
        # Below the chin a thread of shadow is no lock of hair: it would lead on to dark clothes.
        lock = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (max(3, int(_LOCK * frame.width_px) | 1),) * 2)
        locks = cv2.morphologyEx(likely, cv2.MORPH_OPEN, lock, borderType=cv2.BORDER_REPLICATE)
        likely = np.where(self.below > 0.5, locks, likely)
        num_parts, labels, stats, _ = cv2.connectedComponentsWithStats(likely, connectivity=4)
        seeded = np.bincount(labels[seeds], minlength=num_parts) > 0.02 * seeds.sum()
        seeded[0] = False
        kept = seeded[labels]
        gap = int(0.3 * frame.width_px) | 1
        reach = cv2.dilate(kept.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (gap, gap)))
        for part in range(1, num_parts):
            if seeded[part] or stats[part, cv2.CC_STAT_AREA] < 0.02 * frame.width_px**2:
                continue
            own = labels == part
            # What clings to the jaw is beard.
            if reach[own].any() and soft[own].mean() > 0.75 and frame.outside[own].mean() > 0.12:
                kept |= own
        spread = cv2.blur(cv2.dilate(kept.astype(np.float32), np.ones((5, 5), np.uint8)), (5, 5))
        return np.asarray(soft * spread, np.float32)


def _skin_like(samples: Features, skin: SkinColors) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which samples belong to a cluster that is skin, and which of those only as a shine: smooth, light, of its hue."""
    labels = clusters(samples, 6)
    likelihood = skin.model.log_likelihood(samples)
    bare, shining = [], []
    for label in np.unique(labels):
        own = labels == label
        lightness, a, b, texture = samples[own].mean(0) - skin.median
        if np.median(likelihood[own]) >= _SKIN_SEED:
            bare.append(label)
        # A shine is never redder than the skin itself; hair dyed pink is.
        elif np.hypot(a, b) < _SHINE[0] and a < 3 and lightness > _SHINE[1] and texture < _SHINE[2]:
            shining.append(label)
    shines = np.isin(labels, shining)
    return np.isin(labels, bare) | shines, shines


def _fallen(soft: Mask, half_life_px: float) -> Mask:
    """What hangs below hair: each row passes its hair on to the next, spreading a little and fading."""
    fade = np.float32(0.5 ** (1 / half_life_px))
    kernel = np.array([0.2, 0.6, 0.2], np.float32)
    fallen = np.empty_like(soft)
    row = np.zeros(soft.shape[1], np.float32)
    for index, own in enumerate(soft):
        row = np.maximum(own, fade * np.convolve(row, kernel, "same"))
        fallen[index] = row
    return fallen


def _none(picture_rgb: NDArray[np.uint8], *, confidence: float, is_bald: bool) -> HairMask:
    return HairMask(
        mask=np.zeros(picture_rgb.shape[:2], np.float32),
        confidence=confidence,
        is_bald=is_bald,
        is_covered=False,
        length=0.0,
        height=0.0,
        half_width=0.0,
        touches_frame=False,
    )
