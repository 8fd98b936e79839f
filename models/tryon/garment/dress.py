"""Puts a garment on a person: old clothes away, new ones on, and in front what was in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment import shading
from models.tryon.garment.canvas import Canvas
from models.tryon.garment.figure import Side
from models.tryon.garment.fit import Trunk, fit_trunk
from models.tryon.garment.legs import fit_leg, fit_overall, fit_skirt, fit_waist
from models.tryon.garment.sleeves import Strip, fit_sleeve, usable_arm
from models.tryon.garment.uncover import Removal, uncover
from models.tryon.garment.warp import Box, Colours, Mask, Points, WarpMap, strip_map
from models.tryon.garment.wearer import Wearer, arm_mask, head_mask
from services.domain.product import GarmentCategory

_FROM_WAIST: Final = (GarmentCategory.SKIRT, GarmentCategory.TROUSERS)
_LEGGED: Final = (GarmentCategory.TROUSERS, GarmentCategory.OVERALL)


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
    """

    name: str
    box: Box
    colours: Colours
    alpha: Mask
    inner: Mask
    map: WarpMap


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
    if asset.category is GarmentCategory.SKIRT:
        skirt = fit_skirt(asset, figure)
        return Fitted(trunk=skirt, scale=skirt.scale)
    if asset.category is GarmentCategory.TROUSERS:
        waist = fit_waist(asset, figure)
        legs = tuple(fit_leg(asset, waist, figure, side, wearer.person) for side in Side)
        return Fitted(trunk=None, legs=legs, scale=waist.scale)
    if asset.category is GarmentCategory.OVERALL:
        bib, legs = fit_overall(asset, figure, wearer.person)
        return Fitted(trunk=bib, legs=legs, scale=bib.scale)
    trunk = fit_trunk(asset, figure)
    sleeves = tuple(fit_sleeve(trunk, figure, side, wearer.person) for side in Side) if asset.sleeved else ()
    return Fitted(trunk=trunk, sleeves=sleeves, scale=trunk.scale)


def draw(asset: Asset, fitted: Fitted, shape: tuple[int, int]) -> list[Layer]:
    """The pieces seen through their maps, back to front."""
    import cv2

    rgba = asset.picture_rgba
    inner = np.asarray(asset.inner, np.uint8)
    layers: list[Layer] = []

    def add(name: str, mapped: WarpMap, keep: NDArray[np.uint8] | None, fade: Mask | None = None) -> None:
        if mapped.box.is_empty:
            return
        colours = mapped.draw(rgba[..., :3], fitted.scale).astype(np.float32)
        alpha_source = rgba[..., 3] if keep is None else cv2.multiply(rgba[..., 3], keep, scale=1 / 255)
        alpha = mapped.draw(alpha_source, fitted.scale).astype(np.float32) / 255
        back = mapped.draw(inner, fitted.scale).astype(np.float32) / 255 if name == "trunk" else np.zeros_like(alpha)
        if fade is not None:
            alpha = alpha * fade
        alpha, back = np.clip(alpha, 0, 1), np.clip(back, 0, 1)
        layers.append(
            Layer(
                name=name,
                box=mapped.box,
                colours=colours,
                alpha=alpha * (1 - back),
                inner=alpha * back,
                map=mapped,
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
        add("trunk", fitted.trunk.map(shape), keep)
    for strip in fitted.sleeves:
        mapped = strip_map(strip.picture, strip.product, shape)
        add(f"sleeve_{strip.side}", mapped, None, _fade_in(strip, mapped, shape))
    return layers


def _fade_in(strip: Strip, mapped: WarpMap, shape: tuple[int, int]) -> Mask:
    """0 where the sleeve's layer starts inside the trunk, 1 from the seam on."""
    rows = len(strip.picture)
    along = np.zeros((*strip.picture.shape[:2], 2), np.float32)
    along[..., 0] = np.clip(np.arange(rows, dtype=np.float32) / strip.overlap_rows, 0, 1)[:, None]
    fade = strip_map(strip.picture, along, shape).x
    return np.where(fade > -50, np.clip(fade, 0, 1), 0).astype(np.float32)


def full(part: Mask, box: Box, shape: tuple[int, int]) -> Mask:
    """``part`` in a picture of ``shape``."""
    out = np.zeros(shape, np.float32)
    if not box.is_empty:
        out[box.slices] = part
    return out


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
    """The person with the garment on."""
    generator = np.random.default_rng(seed)
    canvas = Canvas(wearer.rgb)
    shape, span = canvas.shape, wearer.figure.span
    fitted = fit(asset, wearer)
    layers = draw(asset, fitted, shape)
    covered = np.zeros(shape, np.float32)
    for layer in layers:
        part = covered[layer.box.slices]
        np.maximum(part, layer.alpha, out=part)
    head = head_mask(wearer)
    folds = shading.folds_of(canvas.colours, wearer.clothes, span)
    gain = shading.light_of(canvas.colours, wearer.skin)

    keeps_upper = asset.category in _FROM_WAIST or asset.category is GarmentCategory.OVERALL
    removal = uncover(canvas, wearer, asset.category, covered, head, sleeved=asset.sleeved, generator=generator)

    in_front = wearer.upper if keeps_upper and asset.category is not GarmentCategory.OVERALL else None
    garment = np.zeros(shape, np.float32)
    person = np.maximum(wearer.person, covered)
    for layer in layers:
        if layer.inner.max(initial=0) > 0 and asset.category is not GarmentCategory.JACKET:
            behind = layer.inner * (1 - removal.neck[layer.box.slices]) * (1 - head[layer.box.slices])
            canvas.lay(layer.colours * gain * 0.82, behind, layer.box)
    for layer in layers:
        if layer.name == "trunk" or layer.name.startswith("leg"):
            _lay(canvas, layer, folds, gain, span, person, in_front, garment)
    for side in Side:
        sleeve = next((layer for layer in layers if layer.name == f"sleeve_{side}"), None)
        bare = arm_mask(wearer, wearer.figure.arms[side])
        arm = np.maximum(bare, removal.arms.get(side, bare))
        trunk_here = arm * garment
        if trunk_here.max(initial=0) > 0.1 and not keeps_upper:
            shadow = shading.cast_shadow(arm, (0.0, 0.02 * span), 0.03 * span, 0.30)
            canvas.shade(1 - (1 - shadow) * garment)
        if side in removal.arms:
            # Up to the armpit the trunk lies over the arm, below it the arm hangs before the trunk.
            over = _beyond(wearer, fitted, side)
            shown = removal.arms[side] * (over if sleeve is not None else 1 - garment * (1 - over))
            canvas.lay(removal.arm_colours[side], shown)
            garment *= 1 - shown
        if not keeps_upper:
            over = _beyond(wearer, fitted, side)
            shown = bare * (1 - garment * (1 - over))
            canvas.restore(shown)
            garment *= 1 - shown
        if sleeve is not None:
            _shadow_on_trunk(canvas, sleeve, garment, span)
            _lay(canvas, sleeve, folds, gain, span, person, None, garment)
    front = head
    for side in Side:
        front = np.maximum(front, wearer.hands[side])
    if in_front is not None:
        front = np.maximum(front, in_front)
    canvas.restore(front)
    garment *= 1 - front
    return Dressed(canvas=canvas, garment=garment, fitted=fitted, layers=layers, removal=removal)


def _beyond(wearer: Wearer, fitted: Fitted, side: Side) -> Mask:
    """1 along the arm beyond where a bare one comes out: below the sleeve's end, or without sleeves the armpit."""
    height, width = wearer.person.shape
    arm = usable_arm(wearer.figure.arms[side], wearer.figure, side)
    span = wearer.figure.span
    sleeve = next((strip for strip in fitted.sleeves if strip.side is side), None)
    line = arm.centre_line(61)
    if sleeve is not None:
        share = sleeve.end_share - 0.12 * span / max(arm.length, 1.0)
    elif fitted.trunk is not None and side in fitted.trunk.seams:
        share = float(np.argmin(((line[:40] - fitted.trunk.seams[side][1]) ** 2).sum(1))) / 60
    else:
        share = 0.3
    index = int(np.clip(share * 60, 0, 59))
    axis = line[index + 1] - line[index]
    axis = axis / max(float(np.linalg.norm(axis)), 1e-6)
    y, x = np.ogrid[0:height, 0:width]
    past = (x - line[index, 0]) * axis[0] + (y - line[index, 1]) * axis[1]
    return np.asarray(np.clip(past / (0.06 * span), 0, 1), np.float32)


def _lay(
    canvas: Canvas,
    layer: Layer,
    folds: Mask,
    gain: float,
    span: float,
    person: Mask,
    in_front: Mask | None,
    garment: Mask,
) -> None:
    where = layer.box.slices
    alpha = layer.alpha
    drop = (0.0, 0.022 * span) if in_front is None else (0.0, 0.015 * span)
    shadow = shading.cast_shadow(alpha, drop, 0.02 * span, 0.38)
    shadow = 1 - (1 - shadow) * np.clip(person[where], 0, 1)
    canvas.shade(shadow, layer.box)
    light = folds[where] * shading.roundness(alpha, span) * gain
    canvas.lay(layer.colours * light[..., None], alpha, layer.box)
    part = garment[where]
    np.maximum(part, alpha, out=part)


def _shadow_on_trunk(canvas: Canvas, sleeve: Layer, garment: Mask, span: float) -> None:
    where = sleeve.box.slices
    shadow = shading.cast_shadow(sleeve.alpha, (0.0, 0.01 * span), 0.022 * span, 0.30)
    canvas.shade(1 - (1 - shadow) * garment[where], sleeve.box)
