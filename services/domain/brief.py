"""What a marketer knows about the thing to advertise, and the script made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The facts of a campaign. A writer arranges these and adds none.

    Attributes:
        product: What is sold, as the customer names it.
        keywords: Free key points when the structured fields are not filled.
        language: BCP 47; the script's language.
        duration_s: Spoken length to aim at.
        tone: One of the writer's tones (``friendly``, ``confident``, ``playful``, ``calm``); None lets it choose.
    """

    product: str
    language: str
    duration_s: float
    brand: str | None = None
    audience: str | None = None
    keywords: tuple[str, ...] = ()
    benefits: tuple[str, ...] = ()
    offer: str | None = None
    price: str | None = None
    call_to_action: str | None = None
    tone: str | None = None


class WriterKind(StrEnum):
    """Who wrote a script; told to the client."""

    TEMPLATE = "template"
    LANGUAGE_MODEL = "language_model"
    CLIENT = "client"  # the client gave the text as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A text to be spoken.

    Attributes:
        estimated_duration_s: By the voice's rate in this language.
        unused_facts: Facts of the brief for which the seconds did not suffice.
        warnings: ``code: sentence``, such as ``too_few_facts: ...``.
    """

    text: str
    language: str
    writer: WriterKind
    estimated_duration_s: float
    unused_facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
