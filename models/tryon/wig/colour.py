"""Gives a wig another colour and keeps its strands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.domain.errors import InvalidRequest

Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class HairColour:
    """A colour that hair is dyed in.

    Attributes:
        name: As requests write it.
        rgb: What the lit middle of a strand looks like, sRGB.
    """

    name: str
    rgb: tuple[int, int, int]


# Mid-tones of the usual shade cards (levels 1 to 10 and fashion shades), as seen in soft daylight.
NAMED: Final[Mapping[str, tuple[int, int, int]]] = MappingProxyType(
    {
        "black": (30, 26, 27),
        "dark_brown": (62, 42, 33),
        "brown": (94, 64, 46),
        "light_brown": (133, 96, 68),
        "auburn": (112, 48, 34),
        "red": (140, 38, 34),
        "copper": (170, 88, 48),
        "strawberry_blonde": (202, 146, 104),
        "dark_blonde": (158, 124, 84),
        "blonde": (206, 172, 118),
        "platinum": (228, 216, 194),
        "grey": (148, 146, 146),
        "silver": (196, 198, 202),
        "white": (232, 230, 228),
        "pink": (226, 140, 170),
        "purple": (112, 66, 142),
        "blue": (52, 84, 156),
        "teal": (38, 122, 128),
        "green": (62, 120, 72),
        "burgundy": (88, 24, 38),
    }
)
# How much lighter or darker than its mean a strand gets, in L of CIELAB (0 to 100): real blond hair spans about as far.
_CONTRAST_L: Final = (7.0, 17.0)
_LIGHT_PULL: Final = 0.55  # how fast chroma leaves a strand whose shine is white


def hair_colour(text: str) -> HairColour:
    """The colour of a name (``NAMED``) or of ``#rrggbb``.

    Raises:
        InvalidRequest: ``colour_unknown``.
    """
    key = text.strip().lower().replace(" ", "_").replace("-", "_").replace("gray", "grey")
    if key in NAMED:
        return HairColour(name=key, rgb=NAMED[key])
    if len(key) == 7 and key[0] == "#" and all(c in "0123456789abcdef" for c in key[1:]):
        red, green, blue = (int(key[i : i + 2], 16) for i in (1, 3, 5))
        return HairColour(name=key[1:], rgb=(red, green, blue))
    raise InvalidRequest(
        f"{text!r} is no hair colour; write #rrggbb or one of {', '.join(sorted(NAMED))}.",
        code="colour_unknown",
        param="colours",
    )


def recoloured(wig_rgba: Picture, colour: HairColour) -> Picture:
    """The wig (h, w, 4), straight alpha, dyed: mean and chroma are the colour's, light and dark strands the wig's own.

    A shift alone leaves black hair that was made blonde flat and noisy, and blonde hair that was made black chalky.
    So L is stretched about its own median to the spread that hair of the new lightness has, with its fine detail
    limited to what was photographed; chroma follows the colour, weaker in shadows and in shine, plus what is left of
    the wig's own variation of hue.
    """
    import cv2

    alpha = wig_rgba[..., 3]
    if not (alpha > 127).any():
        return wig_rgba
    lab = cv2.cvtColor(np.divide(wig_rgba[..., :3], 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    target = cv2.cvtColor(np.array([[colour.rgb]], np.float32) / 255, cv2.COLOR_RGB2LAB)[0, 0]
    solid = lab[alpha > 127]
    middle = np.median(solid, axis=0)
    low, high = np.percentile(solid[:, 0], (8, 92))
    spread = max(float(high - low) / 2, 1.0)
    wanted = float(np.interp(target[0], (10, 75), _CONTRAST_L))
    gain = float(np.clip(wanted / spread, 0.45, 3.4))
    lightness = target[0] + gain * (lab[..., 0] - middle[0])
    # Soft ends instead of clipping: strands stay told apart in the lights and in the darks.
    lightness = _soft_range(lightness, 2.0, 97.0)
    shine = np.clip((lightness - target[0]) / max(97.0 - target[0], 1.0), 0, 1)
    shade = np.clip(lightness / max(float(target[0]), 1.0), 0, 1)
    chroma = shade * (1 - _LIGHT_PULL * shine)
    own = np.clip(lab[..., 1:] - middle[1:], -12, 12) * np.float32(0.35)
    colours = target[1:] * chroma[..., None] + own * chroma[..., None]
    out = wig_rgba.copy()
    rgb = cv2.cvtColor(np.dstack([lightness, colours]).astype(np.float32), cv2.COLOR_LAB2RGB)
    out[..., :3] = np.clip(np.rint(rgb * 255), 0, 255).astype(np.uint8)
    return out


def _soft_range(values: NDArray[np.float32], low: float, high: float) -> NDArray[np.float32]:
    """Values pressed into the range: untouched in its middle, ever slower towards its ends."""
    knee = 0.2 * (high - low)
    under = low + knee
    over = high - knee
    pressed = np.where(values < under, under - knee * np.tanh((under - values) / knee), values)
    return np.asarray(np.where(pressed > over, over + knee * np.tanh((pressed - over) / knee), pressed), np.float32)
