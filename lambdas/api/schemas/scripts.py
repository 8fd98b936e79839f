"""Briefs and scripts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, LanguageTag, RequestBody
from services.domain.brief import Brief, Script, WriterKind

_Fact = Annotated[str, Field(min_length=1, max_length=300)]


class BriefBody(RequestBody):
    """The facts of a campaign. The writer arranges these and adds none."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "product": "Aurora running shoe",
                "brand": "Northwind",
                "audience": "city runners",
                "benefits": ["weighs only 190 grams", "grips on wet streets"],
                "offer": "20 % off this week",
                "call_to_action": "Order at northwind.example",
                "language": "en-US",
                "duration_s": 15,
            }
        }
    )

    product: str = Field(min_length=1, max_length=300, description="What is sold, as the customer names it.")
    language: LanguageTag
    duration_s: float = Field(ge=1, le=1800, description="Spoken length to aim at, in seconds.", examples=[15])
    brand: _Fact | None = Field(default=None, description="Who sells it, as customers know the name.")
    audience: _Fact | None = Field(default=None, description="Whom it is for.")
    keywords: list[_Fact] = Field(default_factory=list, max_length=50, description="Free key points.")
    benefits: list[_Fact] = Field(default_factory=list, max_length=50, description="What the customer gets from it.")
    offer: _Fact | None = Field(default=None, description="A discount, a gift, a date.")
    price: _Fact | None = Field(default=None, description="As it is to be said, with its currency.", examples=["$99"])
    call_to_action: _Fact | None = Field(default=None, description="What the viewer is asked to do.")
    tone: Literal["friendly", "confident", "playful", "calm"] | None = Field(
        default=None, description="How it sounds; null lets the writer choose."
    )

    def to_domain(self) -> Brief:
        """The brief as the writer takes it."""
        values = self.model_dump()
        return Brief(**{**values, "keywords": tuple(self.keywords), "benefits": tuple(self.benefits)})


class VoiceBody(RequestBody):
    """How a text is spoken."""

    voice_id: str = Field(min_length=1, max_length=80, description="An id of `GET /v1/voices`.", examples=["en-us"])
    speed: float = Field(default=1.0, ge=0.5, le=2, description="Factor on the voice's normal rate.")
    pitch: float = Field(default=0.0, ge=-12, le=12, description="Semitones.")
    volume: float = Field(default=1.0, ge=0, le=2, description="Factor.")
    pause_s: float = Field(default=0.0, ge=0, le=3, description="Extra silence after each sentence.")
    pronunciations: dict[str, str] = Field(
        default_factory=dict,
        max_length=500,
        description="Written form to spoken form, for whole words.",
        examples=[{"705A": "seven oh five A"}],
    )


class ScriptRequestBody(RequestBody):
    """A script wanted."""

    brief: BriefBody
    voice: VoiceBody | None = Field(
        default=None, description="Fits the text to this voice's rate; null takes the language's usual one."
    )


class ScriptBody(AnswerBody):
    """A text to be spoken."""

    text: str = Field(examples=["Meet the Aurora running shoe. It weighs only 190 grams. Order today."])
    language: str = Field(examples=["en-US"])
    writer: Literal["template", "language_model"] = Field(description="Who wrote it.")
    estimated_duration_s: float = Field(description="By the voice's rate in this language.", examples=[5.2])
    unused_facts: list[str] = Field(
        description="Facts of the brief for which the seconds did not suffice.", examples=[["grips on wet streets"]]
    )
    warnings: list[str] = Field(description="`code: sentence`, such as `too_few_facts: ...`.", examples=[[]])

    @classmethod
    def of(cls, script: Script) -> ScriptBody:
        """A script as clients see it."""
        return cls(
            text=script.text,
            language=script.language,
            writer="template" if script.writer is WriterKind.TEMPLATE else "language_model",
            estimated_duration_s=script.estimated_duration_s,
            unused_facts=list(script.unused_facts),
            warnings=list(script.warnings),
        )
