"""Puts a garment on a person: old clothes away, new ones on, and in front what was in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment import shading
from models.tryon.garment.canvas import Canvas
from models.tryon.garment.figure import Side, usable_arm
from models.tryon.garment.fit import Trunk, fit_trunk
from models.tryon.garment.legs import fit_leg, fit_overall, fit_skirt, fit_waist
from models.tryon.garment.pleats import Pleated, pleated, smoothed_edges
from models.tryon.garment.sleeves import Strip, closed, fit_sleeve
from models.tryon.garment.uncover import Removal, uncover
from models.tryon.garment.warp import Box, Colours, Mask, Points, WarpMap, strip_map
from models.tryon.garment.wearer import Wearer, arm_mask, head_mask
from services.domain.product import GarmentCategory

_FROM_WAIST: Final = (GarmentCategory.SKIRT, GarmentCategory.TROUSERS)
_TO_HAND: Final = 0.9  # of the arm: a sleeve that ends beyond it is long
_RIM: Final = 0.035  # of the span: so wide is the rim of a cuff, and its shadow
_INNER_LIGHT: Final = 0.82


class Asset(Protocol):
    """What dressing needs of a ``GarmentAsset``."""

    @property
    def picture_rgba(self) -> NDArray[np.uint8]: ...
    @property
    def inner(self) -> NDArray[np.uint8]: ...
    @property
    def category(self) -> GarmentCategory: ...
    @property
    def sleeved(self) -> bool: ...
    @property
    def landmarks(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def outline(self) -> NDArray[Any]: ...
    def outline_between(self, start: str, end: str) -> Points: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A piece of the garment as the picture shows it.

    Attributes:
        colours: (h, w, 3) of ``box``.
        alpha: Its front.
        inner: Its inside back, seen through the neck opening.
        gaps: Share of a sleeve that had to be closed.
        hidden: Where the map jumps, as cloth lies hidden behind a fold's edge.
    """

    name: str
    box: Box
    colours: Colours
    alpha: Mask
    inner: Mask
    map: WarpMap
    gaps: float = 0.0
    hidden: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A garment's pieces on a body, before anything is drawn."""

    trunk: Trunk | None
    sleeves: Sequence[Strip] = field(default_factory=tuple)
    legs: Sequence[Strip] = field(default_factory=tuple)
    scale: float = 1.0


def fit(asset: Asset, wearer: Wearer) -> Fitted:
    """Where each piece goes."""
    figure = wearer.figure
    old = None if wearer.is_one_piece else wearer.lower
    if asset.category is GarmentCategory.SKIRT:
        skirt = fit_skirt(asset, figure, old)
        return Fitted(trunk=skirt, scale=skirt.scale)
    if asset.category is GarmentCategory.TROUSERS:
        waist = fit_waist(asset, figure, old)
        legs = tuple(
            fit_leg(asset, waist, figure, side, wearer.person, wearer.lower, clothes=wearer.clothes) for side in Side
        )
        return Fitted(trunk=None, legs=legs, scale=waist.scale)
    if asset.category is GarmentCategory.OVERALL:
        bib, legs = fit_overall(asset, figure, wearer.person, wearer.lower)
        return Fitted(trunk=bib, legs=legs, scale=bib.scale)
    trunk = fit_trunk(asset, figure)
    sleeves = (
        tuple(fit_sleeve(trunk, figure, side, wearer.person, wearer.hands[side]) for side in Side)
        if asset.sleeved
        else ()
    )
    return Fitted(trunk=trunk, sleeves=sleeves, scale=trunk.scale)


def draw(asset: Asset, fitted: Fitted, shape: tuple[int, int], *, span: float = 0.0, pale: float = 0.0) -> list[Layer]:
    """The pieces seen through their maps, back to front.

    Args:
        asset: The garment.
        fitted: Where its pieces are.
        shape: Of the picture.
        span: Between the wearer's shoulders, pixels.
        pale: How white the cloth is, 0 to 1: more is made of its own folds.
    """
    import cv2

    rgba = asset.picture_rgba
    inner = np.asarray(asset.inner, np.uint8)
    layers: list[Layer] = []

    def add(
        name: str,
        mapped: WarpMap,
        keep: NDArray[np.uint8] | None,
        fade: Mask | None = None,
        *,
        folds: Pleated | None = None,
        within: Points | None = None,
    ) -> None:
        if mapped.box.is_empty:
            return
        colours = mapped.draw(rgba[..., :3], fitted.scale).astype(np.float32)
        alpha_source = rgba[..., 3] if keep is None else cv2.multiply(rgba[..., 3], keep, scale=1 / 255)
        alpha = mapped.draw(alpha_source, fitted.scale).astype(np.float32) / 255
        back = mapped.draw(inner, fitted.scale).astype(np.float32) / 255 if name == "trunk" else np.zeros_like(alpha)
        if fitted.scale > 1:  # an edge is as sharp as the picture, not as a small photo that is enlarged
            alpha, back = ((soft - 0.5) * np.float32(fitted.scale) + 0.5 for soft in (alpha, back))
        alpha, back, gaps = np.clip(alpha, 0, 1), np.clip(back, 0, 1), 0.0
        if pale > 0:
            colours *= shading.own_folds(colours, alpha, span, pale)[..., None]
        if fade is not None:
            colours, alpha, gaps = closed(colours, alpha, fade)
            alpha = alpha * np.clip(fade, 0, 1)
            if within is not None:
                alpha = alpha * _inside(within, mapped.box)
        if folds is not None:
            colours = smoothed_edges(colours, mapped) * folds.light[..., None]
        layers.append(
            Layer(
                name=name,
                box=mapped.box,
                colours=colours,
                alpha=alpha - np.minimum(back, alpha),
                inner=np.minimum(back, alpha),  # a soft edge of the inside is no front
                map=mapped,
                gaps=gaps,
                hidden=folds.hidden if folds is not None else None,
            )
        )

    for strip in fitted.legs:
        add(f"leg_{strip.side}", strip_map(strip.picture, strip.product, shape), None)
    if fitted.trunk is not None:
        keep: NDArray[Any] | None = None
        if len(fitted.trunk.polygon):
            keep = np.zeros(rgba.shape[:2], np.uint8)
            cv2.fillPoly(keep, [np.rint(fitted.trunk.polygon).astype(np.int32)], 255)
            keep = cv2.GaussianBlur(cv2.dilate(keep, np.ones((5, 5), np.uint8)), (0, 0), 1.5)
        mapped, folds = fitted.trunk.map(shape), None
        if fitted.trunk.gather is not None:
            folds = pleated(mapped, fitted.trunk.gather)
            mapped = folds.map
        add("trunk", mapped, keep, folds=folds)
    for strip in fitted.sleeves:
        # 0 where the sleeve's layer starts inside the trunk, 1 from the seam on, 2 beyond the cuff.
        fade = np.clip(np.arange(len(strip.product), dtype=np.float32) / strip.overlap_rows, 0, 1)
        fade[-1] = 2
        along = np.broadcast_to(fade[:, None, None], (*strip.product.shape[:2], 1))
        mapped = strip_map(strip.picture, np.concatenate([strip.product, along], 2), shape)
        add(f"sleeve_{strip.side}", mapped, None, mapped.extra, within=strip.outline)
    return layers


def _inside(outline: Points, box: Box) -> Mask:
    """Coverage of a closed polygon within ``box``."""
    import cv2

    width, height = box.size
    drawn = np.zeros((height, width), np.uint8)
    cv2.fillPoly(
        drawn,
        [np.round((outline - (box.left, box.top)) * 16).astype(np.int32)],
        255,
        lineType=cv2.LINE_AA,
        shift=4,
    )
    soft = cv2.GaussianBlur(drawn, (0, 0), 1.0).astype(np.float32) / 255
    return np.asarray(np.clip(2 * soft - 1, 0, 1))  # half a pixel within the mesh, that ends in stairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Dressed:
    """The picture and where it changed.

    Attributes:
        garment: Where the garment's own pixels are, float32 (h, w).
    """

    canvas: Canvas
    garment: Mask
    fitted: Fitted
    layers: Sequence[Layer]
    removal: Removal


def dress(wearer: Wearer, asset: Asset, *, seed: int = 0) -> Dressed:
    """The person with the garment on; the same ``seed`` gives the same grain of new skin."""
    canvas = Canvas(wearer.rgb)
    fitted = fit(asset, wearer)
    span = wearer.figure.span
    pale = shading.paleness(asset.picture_rgba[..., :3], asset.picture_rgba[..., 3])
    layers = draw(asset, fitted, canvas.shape, span=span, pale=pale)
    covered = np.zeros(canvas.shape, np.float32)
    for layer in layers:
        part = covered[layer.box.slices]
        np.maximum(part, layer.alpha, out=part)
    head = head_mask(wearer)
    folds = shading.folds_of(canvas.colours, wearer.clothes, span)
    # White cloth shows every smear, and what hangs from the waist the fly and pockets of old trousers.
    folds = 1 + (folds - 1) * np.float32((1 - 0.8 * pale) * (0.45 if asset.category in _FROM_WAIST else 1.0))
    gain = shading.light_of(canvas.colours, wearer.skin)
    generator = np.random.default_rng(seed)
    ends = {strip.side: strip.end_share for strip in fitted.sleeves}
    seams = fitted.trunk.seams if fitted.trunk is not None else {}
    removal = uncover(canvas, wearer, asset.category, covered, head, sleeve_ends=ends, seams=seams, generator=generator)
    stage = _Stage(
        canvas=canvas,
        wearer=wearer,
        asset=asset,
        fitted=fitted,
        removal=removal,
        head=head,
        light=folds * shading.roundness(covered, span) * np.float32(gain),
        person=np.maximum(wearer.person, covered),
        garment=np.zeros(canvas.shape, np.float32),
    )
    for layer in layers:
        stage.lay_inner(layer)
    for layer in layers:
        if not layer.name.startswith("sleeve"):
            stage.lay_body(layer)
    for side in Side:
        sleeve = next((layer for layer in layers if layer.name == f"sleeve_{side}"), None)
        if not stage.keeps_upper:
            stage.lay_arm(side)
        if sleeve is not None:
            stage.lay_sleeve(sleeve, side)
    stage.lay_front()
    return Dressed(canvas=canvas, garment=stage.garment, fitted=fitted, layers=layers, removal=removal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """What layers are laid on, in their order from back to front.

    Attributes:
        light: On the garment, about 1: folds, roundness, the light of the picture.
        person: Old outline and new.
        garment: Where the garment's own pixels are the topmost; grows and shrinks.
    """

    canvas: Canvas
    wearer: Wearer
    asset: Asset
    fitted: Fitted
    removal: Removal
    head: Mask
    light: Mask
    person: Mask
    garment: Mask

    @property
    def span(self) -> float:
        return self.wearer.figure.span

    @property
    def keeps_upper(self) -> bool:
        """Whether what is worn above the waist stays, arms and all."""
        return self.asset.category in (*_FROM_WAIST, GarmentCategory.OVERALL)

    def lay_inner(self, layer: Layer) -> None:
        """The inside of the back, behind the neck; over what is worn a jacket shows that instead."""
        if self.asset.category is GarmentCategory.JACKET or layer.inner.max(initial=0) <= 0:
            return
        where = layer.box.slices
        alpha = layer.inner * (1 - self.removal.neck[where]) * (1 - self.head[where])
        self.canvas.lay(layer.colours * self.light[where][..., None] * _INNER_LIGHT, alpha, layer.box)

    def lay_body(self, layer: Layer) -> None:
        """Trunk or leg, and its shadow on what lies below."""
        self._lay(layer, self.light[layer.box.slices], 1.0)

    def lay_arm(self, side: Side) -> None:
        """The arm before the trunk: as it is in the photo, or bare where its sleeve was taken away."""
        worn_below = self.asset.category is GarmentCategory.JACKET and not self.asset.sleeved
        own = arm_mask(self.wearer, side, self.wearer.clothes if worn_below else None)
        arm = np.maximum(own, self.removal.arms.get(side, own))
        beyond = self._beyond(side)
        if (arm * self.garment).max(initial=0) > 0.1:
            shadow = shading.cast_shadow(arm * beyond, (0.0, 0.02 * self.span), 0.03 * self.span, 0.30)
            self.canvas.shade(1 - (1 - shadow) * self.garment)
        if side in self.removal.arms:
            # Up to the armpit the trunk lies over the arm; a sleeve hides it to the cuff.
            made = self.removal.arms[side]
            made = made + self.garment * (np.clip(5 * made, 0, 1) - made)  # soft on the shoulder, not on cloth
            shown = made * (beyond if self.asset.sleeved else 1 - self.garment * (1 - beyond))
            box, colours = self.removal.arm_colours[side]
            self.canvas.lay(colours, shown[box.slices], box)
            np.multiply(self.garment, 1 - shown, out=self.garment)
        shown = own * (1 - self.garment * (1 - beyond))
        self.canvas.restore(shown)
        np.multiply(self.garment, 1 - shown, out=self.garment)

    def lay_sleeve(self, sleeve: Layer, side: Side) -> None:
        """A sleeve: at the shoulder one cloth with the trunk, below the armpit before it."""
        where = sleeve.box.slices
        hangs = self._beyond(side, at_armpit=True)[where]
        shadow = shading.cast_shadow(sleeve.alpha, (0.0, 0.01 * self.span), 0.022 * self.span, 0.30)
        self.canvas.shade(1 - (1 - shadow) * self.garment[where] * hangs, sleeve.box)
        own = shading.roundness(sleeve.alpha, self.span)
        self._lay(sleeve, np.minimum(self.light[where], self.light[where] * (1 + (own - 1) * hangs)), hangs)

    def lay_front(self) -> None:
        """Head, hands, and clothes that stay over the garment."""
        front = np.maximum.reduce([self.head, *(self._hand(side) for side in Side)])
        if self.asset.category in _FROM_WAIST and not self.wearer.is_one_piece:
            front = np.maximum(front, self.wearer.upper)
        self.canvas.restore(front)
        np.multiply(self.garment, 1 - front, out=self.garment)
        for side, wrist in self.removal.wrists.items():
            # The rim of the old cuff goes, and skin that was made runs into the hand.
            box, colours = self.removal.arm_colours[side]
            self.canvas.lay(colours, wrist * self.wearer.hands[side][box.slices], box)

    def _hand(self, side: Side) -> Mask:
        """A hand before the garment; under a long sleeve's end without the rim of the old cuff."""
        import cv2

        hand = self.wearer.hands[side]
        sleeve = next((strip for strip in self.fitted.sleeves if strip.side is side), None)
        if sleeve is None or sleeve.end_share < _TO_HAND:
            return hand
        size = max(3, round(2 * _RIM * self.span) | 1)
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        cuff = cv2.dilate(self.wearer.upper * self._beyond(side, at_armpit=True), kernel)
        return np.asarray(hand * (1 - cuff), np.float32)

    def _lay(self, layer: Layer, light: Mask, shadow_where: Mask | float) -> None:
        where, alpha = layer.box.slices, layer.alpha
        shadow = shading.cast_shadow(alpha, (0.0, 0.022 * self.span), 0.02 * self.span, 0.38)
        self.canvas.shade(1 - (1 - shadow) * np.clip(self.person[where], 0, 1) * shadow_where, layer.box)
        self.canvas.lay(layer.colours * light[..., None], alpha, layer.box)
        part = self.garment[where]
        np.maximum(part, alpha, out=part)

    def _beyond(self, side: Side, *, at_armpit: bool = False) -> Mask:
        """1 along the arm beyond where a bare one comes out: below the sleeve's end, or without sleeves the armpit."""
        fitted, figure, span = self.fitted, self.wearer.figure, self.span
        height, width = self.canvas.shape
        arm = usable_arm(figure.arms[side], figure, side)
        sleeve = next((strip for strip in fitted.sleeves if strip.side is side), None)
        line = arm.centre_line(61)
        if sleeve is not None and not at_armpit:
            share = sleeve.end_share - 0.06 * span / max(arm.length, 1.0)
        elif fitted.trunk is not None and side in fitted.trunk.seams:
            share = float(np.argmin(((line[:40] - fitted.trunk.seams[side][1]) ** 2).sum(1))) / 60
            share += 0.14 * span / max(arm.length, 1.0) if at_armpit else 0.0  # there the overlap has ended
        else:
            share = 0.3
        index = int(np.clip(share * 60, 0, 59))
        axis = line[index + 1] - line[index]
        axis = axis / max(float(np.linalg.norm(axis)), 1e-6)
        y, x = np.ogrid[0:height, 0:width]
        past = (x - line[index, 0]) * axis[0] + (y - line[index, 1]) * axis[1]
        if sleeve is not None or fitted.trunk is None or side not in fitted.trunk.seams:
            return np.asarray(np.clip(past / (0.06 * span), 0, 1), np.float32)
        # Outwards of the strap, and at the armpit of its own edge, a bare arm hides the corner of the armhole.
        sign = 1.0 if side is Side.LEFT else -1.0
        (strap, top), (_, low) = (figure.locate(fitted.trunk.seams[side]) * (sign, 1.0)).tolist()
        edge = sign * float(figure.locate(line[index : index + 1])[0, 0])
        edge -= 0.95 * float(arm.radius_at(np.array([share], np.float32))[0])
        aside = sign * ((x - figure.origin[0]) * figure.across[0] + (y - figure.origin[1]) * figure.across[1])
        down = (x - figure.origin[0]) * figure.down[0] + (y - figure.origin[1]) * figure.down[1]
        way = np.clip((down - top) / max(low - top, 1.0), 0, 1)
        armhole = strap + (min(edge, strap) - strap) * way
        crisp = max(1.5, 0.012 * span)
        beyond = np.maximum(past / crisp, ((aside - armhole) / crisp + 0.5) * np.clip(way / 0.1, 0, 1))
        beyond = np.clip(beyond, 0, 1)
        return np.asarray(beyond, np.float32)
