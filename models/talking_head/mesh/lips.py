"""The mouth's own axes, its lip edges, and the fields by which lips, jaw and cheeks move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from models.perception.face import FaceLandmarks
from models.talking_head.mesh import lip_edges, topology
from models.talking_head.mesh.grid import Field, Grid

NUM_EDGE_POINTS: Final = 65
EDGE_U: Final = np.linspace(-1, 1, NUM_EDGE_POINTS).astype(np.float32)

MOTIONS: Final = ("rest", "open_upper", "open_lower", "width", "pucker", "teeth")
"""The mouth's fields in order; ``rest`` closes the lips of the source and is always fully on."""

# Half the mouth over the distance of the outer eye corners, a usual face at rest: keeps the scale of a broad smile
# or a pursed mouth sane.
_USUAL_HALF_MOUTH: Final = 0.275
_CLOSED_GAP, _OPEN_GAP = 0.085, 0.14  # inner lip distance at which a source mouth counts as closed, as open
_LEAST_INSET_PX: Final = 0.8  # of the lips' edges: less leaves specks of teeth on the closed lips of small faces
_CHIN_FOLLOWS: Final = 0.78
WIDE_OPEN_GAP: Final = 0.55  # of a still
_SPEAKING_WIDE_GAP: Final = 0.7  # broad smiles, which close well, reach .66


@dataclass(frozen=True, slots=True, kw_only=True)
class LipFrame:
    """The mouth of the source: ``point = origin + u * across + v * down``.

    u is -1 and 1 at the inner corners, left to right in the picture; v has the unit of half a resting mouth, down.

    Attributes:
        upper, lower: v of the inner lip edges at ``EDGE_U``; equal where the source mouth is closed.
        meeting: v at which the lips of the resting mouth touch, at ``EDGE_U``.
        chin, nose: v of the chin and of the nose base.
        gap: Widest distance of the source's lips.
        smile: How far the corners lie above the lips' middle, 0 to 1.
        openness: 0 where the source mouth is taken as closed, 1 where its teeth or throat are seen.
        breadth: Its width over the usual width for the distance of the eyes.
    """

    origin: Field
    across: Field
    down: Field
    upper: Field
    lower: Field
    meeting: Field
    chin: float
    nose: float
    gap: float
    smile: float
    openness: float
    breadth: float

    def to_uv(self, x: Field, y: Field) -> tuple[Field, Field]:
        """U and v of frame pixels."""
        matrix = np.linalg.inv(np.stack([self.across, self.down], 1)).astype(np.float32)
        dx, dy = x - self.origin[0], y - self.origin[1]
        return matrix[0, 0] * dx + matrix[0, 1] * dy, matrix[1, 0] * dx + matrix[1, 1] * dy

    def to_pixels(self, u: Field, v: Field) -> Field:
        """Frame pixels (n, 2) of u and v (n,)."""
        return np.asarray(self.origin + u[:, None] * self.across + v[:, None] * self.down, np.float32)

    @property
    def unit_px(self) -> float:
        """Pixels of one unit of v: half a resting mouth's width."""
        return float(np.linalg.norm(self.down))


def is_wide_open(landmarks: FaceLandmarks) -> bool:
    """Whether a mouth in a video speaks or laughs so openly that closing it costs lips and chin some of their shape."""
    points = landmarks.points
    return float(np.linalg.norm(points[13] - points[14])) > _SPEAKING_WIDE_GAP * _half_mouths(points)[2]


def _half_mouths(points: Field) -> tuple[float, float, float]:
    """Half the mouth's width, the usual one for the eyes' distance, and the unit between them, pixels."""
    corners, eyes = points[[78, 308]], points[list(topology.OUTER_EYE_CORNERS)]
    half = float(np.linalg.norm(corners[1] - corners[0])) / 2
    usual = _USUAL_HALF_MOUTH * float(np.linalg.norm(eyes[1] - eyes[0]))
    return half, usual, float(np.sqrt(half * usual))


def lip_frame(landmarks: FaceLandmarks, luma: NDArray[np.uint8], *, moving: bool = False) -> LipFrame:
    """The mouth of ``landmarks``; ``luma`` (the frame's Y plane) shows where closed lips really meet.

    A ``moving`` mouth is taken as the landmarks alone say how open it is, so that nothing jumps between frames.
    """
    points = landmarks.points
    corners = points[[78, 308]]
    half_mouth, usual, unit = _half_mouths(points)
    axis = points[topology.CHIN, :2] - points[topology.NOSE_BRIDGE, :2]
    down = axis / np.linalg.norm(axis) * unit
    frame = LipFrame(
        origin=corners[:, :2].mean(0),
        across=((corners[1, :2] - corners[0, :2]) / 2).astype(np.float32),
        down=down.astype(np.float32),
        upper=np.zeros(1, np.float32),
        lower=np.zeros(1, np.float32),
        meeting=np.zeros(1, np.float32),
        chin=1.0,
        nose=-1.0,
        gap=0.0,
        smile=0.0,
        openness=0.0,
        breadth=half_mouth / usual,
    )
    upper = _edge(frame, points, topology.INNER_UPPER_LIP)
    lower = np.maximum(_edge(frame, points, topology.INNER_LOWER_LIP), upper)
    gap = float((lower - upper).max())
    strip = lip_edges.strip(frame.to_pixels, EDGE_U, upper, lower, luma)
    openness = float(_smooth(np.array((gap - _CLOSED_GAP) / (_OPEN_GAP - _CLOSED_GAP), np.float32)))
    if not moving:
        openness = max(openness, lip_edges.teeth_between(strip, upper, lower))
    raised = float(upper[NUM_EDGE_POINTS // 2]) + 0.05  # a smile's corners lie above the upper lip's middle
    smile = float(np.clip(raised / 0.2, 0, 1) * np.clip((0.9 - gap) / 0.3, 0, 1)) * openness
    seam = lip_edges.seam(strip, upper, lower)
    inset = np.float32(max(0.03, _LEAST_INSET_PX / unit)) * (1 - EDGE_U**6)
    upper = np.asarray((1 - openness) * seam + openness * (upper - inset), np.float32)
    lower = np.asarray((1 - openness) * seam + openness * (lower + inset), np.float32)
    share = 0.3 + 0.15 * smile  # of the source's gap that the upper lip closes
    _, chin = frame.to_uv(points[topology.CHIN, 0], points[topology.CHIN, 1])
    _, nose = frame.to_uv(points[topology.NOSE_BASE, 0], points[topology.NOSE_BASE, 1])
    return replace(
        frame,
        upper=upper,
        lower=lower,
        meeting=(upper + share * (lower - upper)).astype(np.float32),
        chin=float(chin),
        nose=float(nose),
        gap=gap,
        smile=smile,
        openness=openness,
    )


def _edge(frame: LipFrame, points: Field, indices: tuple[int, ...]) -> Field:
    """V of a row of landmarks at ``EDGE_U``."""
    u, v = frame.to_uv(points[list(indices), 0], points[list(indices), 1])
    u = np.maximum.accumulate(u + np.arange(len(u), dtype=np.float32) * 1e-4)
    return np.asarray(PchipInterpolator(u, v, extrapolate=True)(np.clip(EDGE_U, u[0], u[-1])), np.float32)


def opening_profile(u: Field) -> Field:
    """How far the lips part at ``u``, 1 in the middle and 0 from the corners outward."""
    return np.asarray(np.maximum(1 - np.abs(u) ** np.float32(2.4), 0) ** np.float32(0.75), np.float32)


def mouth_fields(frame: LipFrame, grid: Grid, outline: Field) -> tuple[Field, Field]:
    """The basis of the layer above the mouth line and of the one below, each (len(MOTIONS), rows, columns, 2), px.

    ``outline`` (rows, columns): distance from the face's contour in units of v, negative inside.
    """
    x, y = grid.centres()
    u, v = frame.to_uv(x, y)
    line = np.interp(u, EDGE_U, frame.meeting).astype(np.float32)
    above = np.interp(u, EDGE_U, frame.upper).astype(np.float32)
    below = np.interp(u, EDGE_U, frame.lower).astype(np.float32)
    fade = _smooth(1 - outline / np.float32(1.1))
    within = _smooth(-outline / np.float32(0.7))  # rounding the lips leaves the jaw line alone
    over, under = np.maximum(above - v, 0), np.maximum(v - below, 0)

    jaw = _smooth((v + 0.35) / (frame.chin + 0.35))
    lateral = np.cos(np.pi / 2 * np.clip(np.abs(u) / 2.8, 0, 1)) ** 2
    drop = _CHIN_FOLLOWS * jaw * lateral
    lip = (1 - jaw) * opening_profile(u / (1 + 0.5 * under))
    corner = 0.12 * np.exp(-((np.abs(u) - 1) ** 2) / 0.35 - v**2 / 0.5)
    lower_open = (drop + lip + corner) * fade
    upper_of_lower_open = (drop + corner) * fade
    rise = np.float32(0.62 * abs(frame.nose))
    upper_open = -opening_profile(u / (1 + 0.3 * over)) * np.exp(-((over / rise) ** 2))

    # Lips far apart mean a dropped jaw: closing them lifts the chin too.
    lift = np.float32(np.clip((frame.gap - 0.3) / 0.5, 0, 1) * (1 - frame.smile) * frame.gap * 0.8)
    at_edge = np.interp(u, EDGE_U, _CHIN_FOLLOWS * _smooth((frame.lower + 0.35) / (frame.chin + 0.35))) * lateral
    gap_up = (line - above) * np.exp(-((over / rise) ** 2))
    gap_up = gap_up - lift * drop * fade
    gap_down = (line - below + lift * at_edge) * np.exp(-(under**2)) - lift * drop * fade
    # A wide open lower lip goes up as it is, also beside the corners: squeezed it would leave blots of its red.
    speaking = np.float32(np.clip((frame.gap - 0.15) / 0.25, 0, 1) * (1 - frame.smile))
    to_line = np.interp(u / (1 + 0.9 * under), EDGE_U, frame.meeting - frame.lower).astype(np.float32)
    rigid = np.exp(-((under / np.float32(1.0)) ** 3))
    gap_down += speaking * (to_line * rigid - lift * drop * fade * (1 - rigid) - gap_down)

    narrow = u * np.exp(-(np.maximum(np.abs(u) - 1, 0) ** 2) / 0.9)
    reach = np.where(v < line, np.float32(0.62 * abs(frame.nose)), np.float32(0.8 * frame.chin))
    narrow = narrow * np.exp(-(((v - line) / reach) ** 2)) * within

    inside = np.exp(-(u**4) / 0.8)
    swell = 0.1 * inside
    # Lips grow thicker outward; their inner edges stay, or rounded vowels would be more open than planned.
    pucker_up = -swell * np.exp(-(((over - 0.22) / 0.3) ** 2)) * (1 - np.exp(-((over / 0.14) ** 2)))
    pucker_down = swell * np.exp(-(((under - 0.28) / 0.35) ** 2)) * (1 - np.exp(-((under / 0.14) ** 2)))

    teeth_up = -0.12 * opening_profile(u) * np.exp(-((over / 0.35) ** 2))
    teeth_down = -0.14 * inside * np.exp(-(((under - 0.32) / 0.25) ** 2))  # the lower lip rolls in

    zero = np.zeros_like(u)
    relax = -0.10 * frame.smile * narrow
    sink = 0.14 * frame.smile * np.exp(-((np.abs(u) - 1) ** 2) / 0.4 - ((v - line) ** 2) / 0.4)
    unsmile = 1.4 * sink  # rounded lips leave no smile at the corners
    pucker_up, pucker_down = pucker_up + unsmile, pucker_down + unsmile
    upper = [(relax, gap_up + sink), (zero, upper_open), (zero, upper_of_lower_open), (narrow, zero), (zero, pucker_up)]
    lower = [(relax, gap_down + sink), (zero, zero), (zero, lower_open), (narrow, zero), (zero, pucker_down)]
    upper.append((zero, teeth_up))
    lower.append((zero, teeth_down))
    # Far above the line only the upper layer is ever seen: the lower one need not differ there.
    own = (1 - _smooth((over - np.float32(0.4)) / np.float32(0.5)))[None, ..., None]
    shared, under_line = _in_pixels(frame, upper), _in_pixels(frame, lower)
    return shared, shared + (under_line - shared) * own


def _in_pixels(frame: LipFrame, fields: list[tuple[Field, Field]]) -> Field:
    both = np.asarray([np.dstack(pair) for pair in fields], np.float32)
    return np.asarray(both @ np.stack([frame.across, frame.down]), np.float32)


def _smooth(value: Field) -> Field:
    value = np.clip(value, 0, 1)
    return np.asarray(value * value * (3 - 2 * value), np.float32)
