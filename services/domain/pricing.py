"""What work costs by the operator's own price list: after a job from what it used, before it from an estimate.

Prices are what the operator asks for, no measured cost; `docs/deploy.md` shows how to find what a finished minute
costs to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from services.domain.video import Aspect, FrameSettings

_SMALLEST: Final = Decimal("0.000001")  # amounts are kept to a millionth; an invoice rounds the sum
# Sizes where none was asked for; as the video engine has them (a test compares).
FULL_SIZES_PX: Final[Mapping[Aspect, tuple[int, int]]] = {
    Aspect.PORTRAIT: (1080, 1920),
    Aspect.SQUARE: (1080, 1080),
    Aspect.TALL: (1080, 1350),
    Aspect.LANDSCAPE: (1920, 1080),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount of money; ``currency`` is ISO 4217."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePrice:
    """A second of video whose shorter side has at most ``up_to_px``."""

    up_to_px: int
    per_output_s: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The operator's prices.

    Attributes:
        sizes: By rising ``up_to_px``; the last one is also for everything larger.
        per_script: A script written from a brief.
        per_picture: A picture made: a view, a colour, an edited image or a crop of it. Masks and sheets are free.
        per_turntable: The looping video of a wig.
        per_managed_character: A character spoken by a managed voice, by the start of the voice's id (``polly-``).
    """

    currency: str
    sizes: tuple[SizePrice, ...]
    per_script: Decimal = Decimal(0)
    per_picture: Decimal = Decimal(0)
    per_turntable: Decimal = Decimal(0)
    per_managed_character: Mapping[str, Decimal] = field(default_factory=dict)

    def per_output_s(self, short_side_px: int) -> Decimal:
        """The price of a second of that size."""
        for size in self.sizes:
            if short_side_px <= size.up_to_px:
                return size.per_output_s
        return self.sizes[-1].per_output_s

    def cost(self, work: Work) -> Cost:
        """What ``work`` costs."""
        amount = Decimal(str(work.output_s)) * self.per_output_s(work.short_side_px) if work.output_s else Decimal(0)
        amount += self.per_script * work.num_scripts
        amount += self.per_picture * work.num_pictures + self.per_turntable * work.num_turntables
        amount += Decimal(str(work.num_characters)) * self._per_character(work.voice_id)
        return Cost(amount=float(amount.quantize(_SMALLEST, ROUND_HALF_UP)), currency=self.currency)

    def _per_character(self, voice_id: str | None) -> Decimal:
        for start, price in self.per_managed_character.items():
            if voice_id is not None and voice_id.startswith(start):
                return price
        return Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What of a job has a price.

    Attributes:
        short_side_px: The smaller of width and height.
        num_characters: Of the text that ``voice_id`` speaks.
    """

    output_s: float = 0.0
    short_side_px: int = 0
    num_scripts: int = 0
    num_pictures: int = 0
    num_turntables: int = 0
    num_characters: float = 0.0
    voice_id: str | None = None


def work_of(request: Mapping[str, Any], *, usage: Mapping[str, float], facts: Mapping[str, Any]) -> Work:
    """The priced part of a finished job.

    Args:
        request: The job's request as JSON values.
        usage: Quantities that the engine told; so are the ``facts``.
    """
    speech = request.get("speech") or {}
    voice = speech.get("voice") or {}
    return Work(
        output_s=usage.get("output_s", 0.0),
        short_side_px=min(int(facts.get("width_px", 0)), int(facts.get("height_px", 0))),
        num_scripts=0 if speech.get("brief") is None else 1,
        num_pictures=int(usage.get("pictures", 0)),
        num_turntables=int(usage.get("turntables", 0)),
        num_characters=usage.get("characters", float(len(speech.get("text") or ""))),
        voice_id=voice.get("voice_id"),
    )


def asked_size(frame: FrameSettings) -> tuple[int, int] | None:
    """Width and height that a video gets at most; None when they are the source's own."""
    full = FULL_SIZES_PX.get(frame.aspect)
    if full is None or frame.height_px is None:
        return full
    return round(full[0] * frame.height_px / full[1]), frame.height_px
