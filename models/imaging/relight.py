"""A person lit from another side, or as the scene behind is lit.

The shape is a guess good enough for soft light: the face's mesh, and a dome over the matte for hair and body. The light
that the face shows already is measured on its skin and partly taken out; the new light is laid on in linear light,
bounded, so that nobody gets another skin tone. No network takes part: a generative relight is ``models.diffusion``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.layers import Layers
from models.imaging.skin_areas import face_areas
from models.imaging.subject import Subject
from models.perception.face_frame import FACE_OVAL, face_width
from models.video.background import parse_color
from services.domain.image_steps import LightFrom, RelightStep

Picture = NDArray[np.uint8]
Values = NDArray[np.float32]
Vector = tuple[float, float, float]

# To the light: x to the picture's right, y down, z to the viewer.
_DIRECTIONS: Final[dict[LightFrom, Vector]] = {
    LightFrom.LEFT: (-0.80, -0.30, 0.52),
    LightFrom.RIGHT: (0.80, -0.30, 0.52),
    LightFrom.ABOVE: (0.0, -0.88, 0.47),
    LightFrom.FRONT: (0.0, -0.12, 0.99),
}
_WORKING_SIDE_PX: Final = 512
_DOME_SIDE_PX: Final = 96
_DOME_SLOPE: Final = 0.85
_FACE_SLOPE: Final = 1.25  # the mesh's own depth is a little flat
_WRAP: Final = 0.2  # light that reaches round: a soft box, no bare bulb
_AMBIENT: Final = 0.16
_TAKEN_OUT: Final = 0.7  # of the light that is there
_MOST_TAKEN: Final = (0.6, 1.7)
_GAIN: Final = (0.42, 1.95)
_SOFT: Final = 0.025  # face widths
_BURNT: Final = (0.6, 0.95)  # linear light from which skin holds no colour that shade could show
_SCENE_POWER: Final = 0.3  # how far the person follows the scene's brightness
_SCENE_GAIN: Final = (0.72, 1.25)
_CAST_POWER: Final = 0.45  # and its hue
_CAST: Final = (0.84, 1.19)
_SCENE_REACH: Final = 2.4  # how strongly an uneven scene turns the light
NO_SCENE: Final = "There is no background to take the light from: the light comes from the front."


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """Attributes:
    direction: Unit vector towards it.
    color: Of the light, linear RGB, its luminance 1.
    gain: How bright it is against the picture's own.
    contrast: 0 for light from all sides, 1 for one lamp.
    """

    direction: Vector
    color: Values
    gain: float = 1.0
    contrast: float = 1.0


def relit(layers: Layers, subject: Subject, step: RelightStep) -> tuple[Layers, tuple[str, ...]]:
    """The subject under another light, and what the client should know; pixels beside the subject stay bit-identical.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    if step.strength <= 0:
        return layers, ()
    import cv2

    notes: tuple[str, ...] = ()
    light = scene_light(layers, subject) if step.light is LightFrom.SCENE else None
    if step.light is LightFrom.SCENE and light is None:
        notes = (NO_SCENE,)
    if light is None:
        known = LightFrom.FRONT if step.light is LightFrom.SCENE else step.light
        light = Light(direction=_DIRECTIONS[known], color=np.ones(3, np.float32))
    if step.color is not None:
        light = Light(direction=light.direction, color=_tinted(step.color), gain=light.gain, contrast=light.contrast)
    height, width = subject.matte.shape
    scale = min(1.0, _WORKING_SIDE_PX / max(height, width))
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    small = subject.resized(*size)
    normals = surface_normals(small)
    rgb = np.asarray(cv2.resize(layers.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
    gain = _gain(rgb, small, normals, light, step.strength)
    gain = np.asarray(cv2.resize(gain, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    touched = subject.matte > 0
    before = _linear(layers.rgb[touched])
    after = _exposed(before, gain[touched])
    values = 255 * _encoded(after)
    share = subject.matte[touched][:, None]
    old = layers.rgb[touched].astype(np.float32)
    out = layers.rgb.copy()
    out[touched] = np.clip(np.rint(old + share * (values - old)), 0, 255).astype(np.uint8)
    return Layers(rgb=out, alpha=layers.alpha), notes


def surface_normals(subject: Subject) -> Values:
    """Unit normals, float32 (h, w, 3): x to the right, y down, z to the viewer."""
    slope_x, slope_y = _slopes(_inflated(subject.matte))
    if subject.face is not None:
        where, depth, inside = _face_depth(subject)
        if depth.size:
            face_x, face_y = _slopes(depth)
            slope_x[where] += inside * (_FACE_SLOPE * face_x - slope_x[where])
            slope_y[where] += inside * (_FACE_SLOPE * face_y - slope_y[where])
    normals = np.dstack([-slope_x, -slope_y, np.ones_like(slope_x)])
    return np.asarray(normals / np.linalg.norm(normals, axis=2, keepdims=True), np.float32)


def _inflated(matte: Values) -> Values:
    """The matte blown up like a cushion with round cross-sections, height in pixels.

    The root of the membrane that is fixed at the outline and pushed evenly from behind: over a strip that is half an
    ellipse (as in Joshi and Carr 2008, "Repousse").
    """
    import cv2
    from scipy.sparse import diags, lil_matrix
    from scipy.sparse.linalg import spsolve

    height, width = matte.shape
    scale = min(1.0, _DOME_SIDE_PX / max(height, width))
    size = (max(4, round(width * scale)), max(4, round(height * scale)))
    small = cv2.resize(matte, size, interpolation=cv2.INTER_AREA)
    by = round(0.25 * max(size))
    # The frame is no edge of a person whom it cuts.
    inside = np.pad(cv2.copyMakeBorder(small, by, by, by, by, cv2.BORDER_REPLICATE) > 0.5, 1)
    index = np.full(inside.shape, -1)
    index[inside] = np.arange(int(inside.sum()))
    count = int(inside.sum())
    membrane = np.zeros(inside.shape, np.float32)
    if count:
        rows, columns = np.nonzero(inside)
        near = [index[rows + y, columns + x] for y, x in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        own = np.concatenate([np.arange(count)] * 4)
        other = np.concatenate(near)
        known = other >= 0
        links = lil_matrix((count, count))
        links[own[known], other[known]] = -1.0
        membrane[inside] = spsolve((links + diags([np.full(count, 4.0)], [0])).tocsc(), np.ones(count))
    dome = np.sqrt(2 * np.maximum(membrane, 0))[by + 1 : by + 1 + size[1], by + 1 : by + 1 + size[0]]
    dome = cv2.GaussianBlur(np.asarray(dome, np.float32), (0, 0), 1.6)
    large = cv2.resize(dome, (width, height), interpolation=cv2.INTER_CUBIC) / np.float32(scale)
    return np.asarray(_DOME_SLOPE * cv2.GaussianBlur(large, (0, 0), max(0.8, 0.8 / scale)), np.float32)


def _slopes(height: Values) -> tuple[Values, Values]:
    slope_y, slope_x = np.gradient(height)
    return np.asarray(slope_x, np.float32), np.asarray(slope_y, np.float32)


def _face_depth(subject: Subject) -> tuple[tuple[slice, slice], Values, Values]:
    """A window, the face's height towards the viewer in it, pixels, and how far it is known, fading at the outline."""
    import cv2
    from scipy.interpolate import LinearNDInterpolator

    assert subject.face is not None
    height, width = subject.matte.shape
    points = subject.face.points
    reach = face_width(subject.face)
    low = np.clip(np.floor(points[:, :2].min(0)).astype(int) - 2, 0, (width, height))
    high = np.clip(np.ceil(points[:, :2].max(0)).astype(int) + 3, 0, (width, height))
    where = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
    if (high - low).min() < 4:
        return where, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)
    rows, columns = np.mgrid[where]
    filled = LinearNDInterpolator(points[:, :2], -points[:, 2], fill_value=float(-points[:, 2].max()))(columns, rows)
    depth = cv2.GaussianBlur(np.asarray(filled, np.float32), (0, 0), max(0.8, 0.035 * reach))
    oval = np.zeros(rows.shape, np.uint8)
    outline = np.round(points[list(FACE_OVAL), :2] - low).astype(np.int32)
    cv2.fillPoly(oval, [outline], (1,))
    fade = max(1, round(0.11 * reach))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * fade + 1,) * 2)
    shrunk = cv2.erode(oval, disc, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    inside = cv2.GaussianBlur(np.asarray(shrunk, np.float32), (0, 0), fade)
    return where, np.asarray(depth, np.float32), np.asarray(inside, np.float32)


def _gain(rgb: Picture, subject: Subject, normals: Values, light: Light, strength: float) -> Values:
    """By how much each pixel's linear light is multiplied, float32 (h, w, 3)."""
    import cv2

    weight = subject.matte
    total = max(float(weight.sum()), 1.0)
    facing = normals @ np.array(light.direction, np.float32)
    lamp = np.clip((facing + _WRAP) / (1 + _WRAP), 0, 1) ** 1.5
    ambient = _AMBIENT + (1 - _AMBIENT) * (1 - light.contrast)
    wanted = ambient + (1 - ambient) * lamp / max(float((lamp * weight).sum() / total), 0.05)
    present = _present_light(rgb, subject, normals)
    relative = np.clip(wanted / np.clip(present, *_MOST_TAKEN) ** _TAKEN_OUT, *_GAIN)
    relative = relative / max(float((relative * weight).sum() / total), 0.05)
    # Where the lamp reaches, its hue does: shadows keep the room's.
    hue = 1 + (light.color - 1) * np.clip(0.35 + 0.65 * lamp, 0, 1)[..., None]
    gain = np.clip(relative, *_GAIN)[..., None] * hue * light.gain
    mixed = np.asarray(1 + strength * (gain - 1), np.float32)
    # A large lamp has no hard edges anywhere.
    soft = 1.2 if subject.face is None else max(1.2, _SOFT * face_width(subject.face))
    return np.asarray(cv2.GaussianBlur(mixed, (0, 0), soft), np.float32)


def _present_light(rgb: Picture, subject: Subject, normals: Values) -> Values:
    """How the face's skin is lit now, fitted as a linear function of the normal; mean 1 over the face. 1 without."""
    flat = np.ones(rgb.shape[:2], np.float32)
    if subject.face is None:
        return flat
    areas = face_areas(rgb, subject, subject.face)
    here = areas.skin > 0.5
    if here.sum() < 60:
        return flat
    luminance = _linear(rgb[areas.where][here]) @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    own = normals[areas.where][here]
    known = np.c_[own[:, :2], np.ones(len(own))]
    usable = luminance < np.percentile(luminance, 96)  # highlights are no skin
    fitted, *_ = np.linalg.lstsq(known[usable], luminance[usable], rcond=None)
    mean = float((known @ fitted).mean())
    if mean < 0.005:
        return flat
    slope = fitted[:2] / mean
    # A slope that would leave half the head black is a shadow, not shading.
    slope *= min(1.0, 1.1 / max(float(np.hypot(*slope)), 1e-6))
    relative = 1 + (normals[..., :2] - own[:, :2].mean(0)) @ slope
    return np.asarray(np.clip(relative, *_MOST_TAKEN), np.float32)


def scene_light(layers: Layers, subject: Subject) -> Light | None:
    """How what is behind the subject is lit; None without a background."""
    import cv2

    if layers.alpha is not None:
        return None
    height, width = subject.matte.shape
    scale = min(1.0, 128 / max(height, width))
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    matte = cv2.resize(subject.matte, size, interpolation=cv2.INTER_AREA)
    behind = matte < 0.02
    if behind.mean() < 0.04:
        return None
    linear = _linear(np.asarray(cv2.resize(layers.rgb, size, interpolation=cv2.INTER_AREA), np.uint8))
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    rows, columns = np.mgrid[: size[1], : size[0]].astype(np.float32)
    x, y = (columns - columns.mean()) / (0.5 * size[0]), (rows - rows.mean()) / (0.5 * size[1])
    bright = luminance * behind
    total = max(float(bright.sum()), 1e-4)
    plain_x, plain_y = float(x[behind].mean()), float(y[behind].mean())
    aside = float((x * bright).sum() / total) - plain_x
    above = float((y * bright).sum() / total) - plain_y
    toward = np.array([_SCENE_REACH * aside, _SCENE_REACH * above - 0.25, 0.75])
    direction = toward / np.linalg.norm(toward)
    mean = linear[behind].mean(0)
    own = float(np.median(luminance[matte > 0.9])) if (matte > 0.9).any() else 0.2
    gain = float(np.clip((float(luminance[behind].mean()) / max(own, 0.01)) ** _SCENE_POWER, *_SCENE_GAIN))
    hue = (mean / max(float(mean @ np.array([0.2126, 0.7152, 0.0722])), 1e-3)) ** _CAST_POWER
    x_dir, y_dir, z_dir = (float(value) for value in direction)
    return Light(
        direction=(x_dir, y_dir, z_dir),
        color=_even(np.clip(hue, *_CAST)),
        gain=gain,
        contrast=float(np.clip(0.45 + 1.5 * np.hypot(aside, above), 0, 1)),
    )


def _tinted(color: str) -> Values:
    linear = _linear(np.array([parse_color(color)], np.uint8))[0]
    peak = max(float(linear.max()), 1e-3)
    return _even(np.clip((linear / peak + 0.12) / 1.12, 0.3, 1))


def _even(color: NDArray[np.floating]) -> Values:
    """``color`` with the luminance 1."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    return np.asarray(color / max(float(color @ weights), 1e-3), np.float32)


def _linear(rgb: Picture) -> Values:
    """Linear light of sRGB (IEC 61966-2-1)."""
    table = np.arange(256, dtype=np.float32) / 255
    table = np.where(table <= 0.04045, table / 12.92, ((table + 0.055) / 1.055) ** 2.4).astype(np.float32)
    return np.asarray(table[rgb], np.float32)


def _encoded(linear: Values) -> Values:
    clipped = np.clip(linear, 0, 1)
    return np.asarray(np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055), np.float32)


def _exposed(linear: Values, gain: Values) -> Values:
    """More light bends towards white instead of clipping; less light is proportional, and less of it on burnt skin."""
    more = linear * gain / (1 + linear * (gain - 1))
    burnt = np.clip((linear.min(axis=-1, keepdims=True) - _BURNT[0]) / (_BURNT[1] - _BURNT[0]), 0, 1)
    less = linear * (1 - (1 - gain) * (1 - 0.55 * burnt))
    return np.asarray(np.where(gain > 1, more, less), np.float32)
