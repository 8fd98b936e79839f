"""What can be done to a picture, one type a tool. ``tool`` tells them apart on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from services.domain.model_choice import ModelChoice
from services.domain.video import Background, Disclosure

MAX_STEPS: Final = 8


class LightFrom(StrEnum):
    SCENE = "scene"  # as what is behind the person is lit
    LEFT = "left"  # of the picture
    RIGHT = "right"
    ABOVE = "above"
    FRONT = "front"


class CropShape(StrEnum):
    """Widths to heights that shops use; ``HEAD`` is a square around the head."""

    SQUARE = "1:1"
    TALL = "4:5"
    PORTRAIT = "3:4"
    STORY = "9:16"
    BANNER = "16:9"
    HEAD = "head"

    @property
    def role(self) -> str:
        """Of the output that holds it: ``crop_4x5``, ``crop_head``."""
        return f"crop_{self.value.replace(':', 'x')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStep:
    """Something else behind the person or product."""

    background: Background
    tool: Literal["background"] = "background"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelightStep:
    """The person lit anew.

    Attributes:
        strength: 0 to 1.
        color: Of the light, ``#rrggbb``; None takes the scene's, or white.
        generative: By a network of the configured checkpoint, which makes shadows that the measured way does not.
        retouch: How much of the skin that the network paints is taken in the same generation, 0 to 1.
    """

    light: LightFrom = LightFrom.SCENE
    strength: float = 0.5
    color: str | None = None
    generative: bool = False
    retouch: float = 0.0
    tool: Literal["relight"] = "relight"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetouchStep:
    """A portrait retouched, each by a strength of 0 (not at all) to 1; pores stay."""

    skin: float = 0.5
    blemishes: float = 0.5
    teeth: float = 0.0
    eyes: float = 0.0
    tool: Literal["retouch"] = "retouch"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpscaleStep:
    """More pixels: ``factor`` is 2 or 4."""

    factor: int = 2
    tool: Literal["upscale"] = "upscale"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoutStep:
    """The person or product alone, everything else transparent."""

    tool: Literal["cutout"] = "cutout"


@dataclass(frozen=True, slots=True, kw_only=True)
class CropStep:
    """One output a shape, cut around the person or product; the picture itself stays whole."""

    shapes: tuple[CropShape, ...] = (CropShape.SQUARE,)
    tool: Literal["crop"] = "crop"


ImageStep: TypeAlias = BackgroundStep | RelightStep | RetouchStep | UpscaleStep | CutoutStep | CropStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest:
    """A picture and what is to be done to it, in this order. ``image`` has no specification."""

    image: ModelChoice
    steps: tuple[ImageStep, ...]
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
