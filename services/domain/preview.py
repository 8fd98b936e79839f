"""Previews as asked for: a wig or a garment on a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from services.domain.model_choice import ModelChoice
from services.domain.product import GarmentCategory, ProductRef
from services.domain.video import Background, Disclosure

MAX_VIEWS: Final = 9
MAX_YAW_DEG: Final = 45.0
MAX_COLOURS: Final = 8
HAIR_COLOURS: Final = (  # as the wig engine knows them (a test compares)
    "black",
    "dark_brown",
    "brown",
    "light_brown",
    "auburn",
    "red",
    "copper",
    "strawberry_blonde",
    "dark_blonde",
    "blonde",
    "platinum",
    "grey",
    "silver",
    "white",
    "pink",
    "purple",
    "blue",
    "teal",
    "green",
    "burgundy",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WigPreviewRequest:
    """A wig on a head.

    Attributes:
        yaw_deg: Views of the head turned so far from how the photo shows it; negative to the viewer's left. 0 is the
            photo itself, the front, which is made whether it is named or not.
        turntable: Make the looping video, too.
        colours: Variants by name (``HAIR_COLOURS``) or as ``#rrggbb``.
        refine: Repaint seams with the configured checkpoint; the product's pixels stay.
    """

    model: ModelChoice
    wig: ProductRef
    yaw_deg: tuple[float, ...] = (0.0,)
    turntable: bool = False
    colours: tuple[str, ...] = ()
    background: Background = field(default_factory=Background)
    refine: bool = False
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0

    @property
    def num_pictures(self) -> int:
        """What is made and charged: the front, the turned views and the colours."""
        return 1 + len(turned_views(self.yaw_deg)) + len({colour.lower() for colour in self.colours})


@dataclass(frozen=True, slots=True, kw_only=True)
class GarmentPreviewRequest:
    """A garment on a body.

    Attributes:
        category: Of a photo given directly; None recognises it. A product of the catalogue has its own.
        refine: As of a wig.
    """

    model: ModelChoice
    garment: ProductRef
    category: GarmentCategory | None = None
    background: Background = field(default_factory=Background)
    refine: bool = False
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0


def rounded_yaw(yaw_deg: float) -> float:
    """To a hundredth of a degree, which nobody sees and which names a view's file; 0 has no sign."""
    return round(yaw_deg, 2) + 0.0


def turned_views(yaw_deg: Iterable[float]) -> tuple[float, ...]:
    """The views beside the front, each once, from left to right."""
    return tuple(sorted({rounded_yaw(yaw) for yaw in yaw_deg} - {0.0}))
