"""Avatars, voices, languages."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, RequestBody
from lambdas.api.schemas.videos import ConsentId, UploadId
from services.ports.catalogue import Avatar, Language, Voice


class AvatarRequestBody(RequestBody):
    """An upload to be kept as a presenter."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "Vera, studio",
                "upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6",
                "consent_id": "consent_01JDV3M0Q8T2A4B6C8D0E2F4G6",
            }
        }
    )

    name: str = Field(min_length=1, max_length=200)
    upload_id: UploadId = Field(description="A picture or short video whose bytes have been sent.")
    consent_id: ConsentId | None = Field(
        default=None, description="The consent of the person shown; revoked, the avatar cannot be used any more."
    )
    synthetic: bool = Field(default=False, description="Declares that no real person is shown; kept in the audit log.")


class AvatarBody(AnswerBody):
    """A presenter that can be used again."""

    id: str = Field(examples=["avatar_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    name: str = Field(examples=["Vera, studio"])
    kind: Literal["picture", "video"]
    built_in: bool = Field(description="Seen by everyone; cannot be deleted.")
    media_type: str = Field(examples=["image/jpeg"])
    licence: str | None = Field(examples=["MIT"])
    consent_id: str | None = Field(description="The consent under which it was made.")
    synthetic: bool = Field(description="Declared to show nobody real.")
    preview_url: str = Field(
        description="Reads the picture or video for an hour.",
        examples=["https://media.example/catalogue/…/file.jpg?signature=…"],
    )
    created_at: Moment

    @classmethod
    def of(cls, avatar: Avatar, *, preview_url: str) -> AvatarBody:
        """An avatar as clients see it."""
        return cls(
            id=avatar.id,
            name=avatar.name,
            kind="video" if avatar.kind == "video" else "picture",
            built_in=avatar.tenant_id is None,
            media_type=avatar.media_type,
            licence=avatar.licence,
            consent_id=avatar.consent_id,
            synthetic=avatar.synthetic,
            preview_url=preview_url,
            created_at=avatar.created_at,
        )


class VoiceInfoBody(AnswerBody):
    """A voice that speaks one language."""

    id: str = Field(examples=["en-us"])
    name: str = Field(examples=["English (America)"])
    language: str = Field(description="BCP 47.", examples=["en-US"])
    engine: str = Field(examples=["espeak"])
    gender: str | None = Field(examples=["male"])
    characters_per_s: float = Field(description="Measured rate at speed 1.", examples=[14.9])

    @classmethod
    def of(cls, voice: Voice) -> VoiceInfoBody:
        """A voice as clients see it."""
        return cls(
            id=voice.id,
            name=voice.name,
            language=voice.language,
            engine=voice.engine,
            gender=voice.gender,
            characters_per_s=voice.characters_per_s,
        )


class VoicesBody(AnswerBody):
    """Every voice, or those of a language."""

    items: list[VoiceInfoBody]


class LanguageBody(AnswerBody):
    """A language that can be spoken."""

    tag: str = Field(description="BCP 47.", examples=["de"])
    name: str = Field(examples=["German"])
    native_name: str = Field(examples=["Deutsch"])
    num_voices: int

    @classmethod
    def of(cls, language: Language) -> LanguageBody:
        """A language as clients see it."""
        return cls(
            tag=language.tag, name=language.name, native_name=language.native_name, num_voices=language.num_voices
        )


class LanguagesBody(AnswerBody):
    """Every language with a voice."""

    items: list[LanguageBody]
