"""A video as asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from lambdas.api.schemas.base import LanguageTag, RequestBody, exactly_one
from lambdas.api.schemas.scripts import BriefBody, VoiceBody
from services.domain.video import (
    Aspect,
    Background,
    BackgroundKind,
    Disclosure,
    FrameSettings,
    LabelCorner,
    Presenter,
    SpokenAudio,
    SpokenText,
    SubtitleMode,
    VideoRequest,
    VoiceSettings,
)

AvatarId = Annotated[str, Field(pattern=r"^avatar_[0-9A-Z]{26}$", examples=["avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"])]
UploadId = Annotated[str, Field(pattern=r"^upload_[0-9A-Z]{26}$", examples=["upload_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]


ConsentId = Annotated[str, Field(pattern=r"^consent_[0-9A-Z]{26}$", examples=["consent_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
SourceUrl = Annotated[str, Field(max_length=2048, examples=["https://media.client.example/presenter.jpg"])]


class PresenterBody(RequestBody):
    """Who is seen: an avatar, an upload or a file elsewhere, exactly one.

    What shows a person needs that person's consent (`consent_id`), or the declaration that no real person is shown
    (`synthetic`); built-in avatars, and avatars made under either, need none here.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": exactly_one("avatar_id", "upload_id", "source_url")})

    avatar_id: AvatarId | None = Field(default=None, description="A presenter of `GET /v1/avatars`.")
    upload_id: UploadId | None = Field(default=None, description="A picture or short video of a person.")
    source_url: SourceUrl | None = Field(
        default=None, description="Such a file, read from a public address when the job is prepared."
    )
    consent_id: ConsentId | None = Field(default=None, description="The consent of the person shown.")
    synthetic: bool = Field(default=False, description="Declares that no real person is shown; kept in the audit log.")
    face: Literal["largest"] | Annotated[int, Field(ge=0, le=1000)] = Field(
        default="largest",
        description="Which face speaks, where there are several: the largest, or its index from left.",
    )


class SpeechBody(RequestBody):
    """What is said: a text, a brief whose script is still to be written, or recorded sound; exactly one."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": exactly_one(
                "text",
                "brief",
                "audio_upload_id",
                "audio_source_url",
                beside={"text": ("voice",), "brief": ("voice",)},
            )
        }
    )

    text: str | None = Field(default=None, min_length=1, description="The words, in the voice's language.")
    brief: BriefBody | None = Field(default=None, description="Facts from which a script is written.")
    audio_upload_id: UploadId | None = Field(default=None, description="Recorded speech, sound or video.")
    audio_source_url: SourceUrl | None = Field(
        default=None, description="Such a recording, read from a public address when the job is prepared."
    )
    transcript: str | None = Field(
        default=None, min_length=1, description="The words of the recording: better lips and subtitles."
    )
    language: LanguageTag | None = Field(default=None, description="Null takes the voice's own.")
    voice: VoiceBody | None = Field(default=None, description="Needed with `text` and `brief`.")

    @model_validator(mode="after")
    def _one_kind(self) -> SpeechBody:
        given = [
            name for name in ("text", "brief", "audio_upload_id", "audio_source_url") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise ValueError(
                "Of text, brief, audio_upload_id and audio_source_url exactly one is needed; given: "
                f"{' and '.join(given) or 'none'}."
            )
        recorded = given[0].startswith("audio")
        if recorded and self.voice is not None:
            raise ValueError(f"voice is not used with {given[0]}.")
        if not recorded and self.voice is None:
            raise ValueError(f"voice is needed with {given[0]}.")
        if not recorded and self.transcript is not None:
            raise ValueError("transcript is only for audio_upload_id and audio_source_url.")
        return self

    def to_domain(self) -> SpokenText | SpokenAudio:
        """The speech as the job takes it."""
        if self.audio_upload_id is not None or self.audio_source_url is not None:
            return SpokenAudio(
                upload_id=self.audio_upload_id,
                source_url=self.audio_source_url,
                transcript=self.transcript,
                language=self.language,
            )
        if self.voice is None:
            raise AssertionError("validated above")
        return SpokenText(
            voice=VoiceSettings(**self.voice.model_dump()),
            text=self.text,
            brief=None if self.brief is None else self.brief.to_domain(),
            language=self.language,
        )


class FrameBody(RequestBody):
    """Shape and rate of the picture."""

    aspect: Literal["9:16", "1:1", "4:5", "16:9", "source"] = "9:16"
    fps: Literal[25, 30, 50, 60] = 25
    height_px: int | None = Field(
        default=None, ge=128, le=3840, description="Null takes the aspect's usual size, bounded by the source."
    )


class BackgroundBody(RequestBody):
    """What is behind the presenter."""

    kind: Literal["original", "color", "image", "blur"] = "original"
    color: str | None = Field(
        default=None, pattern=r"^#[0-9a-fA-F]{6}$", description="For kind `color`.", examples=["#f4f1ea"]
    )
    upload_id: UploadId | None = Field(default=None, description="For kind `image`: a picture.")
    source_url: SourceUrl | None = Field(default=None, description="For kind `image`: a picture at a public address.")


class DisclosureBody(RequestBody):
    """How the result shows that AI made it. The metadata label and the Content Credentials are always there."""

    visible_label: bool = Field(
        default=True,
        description="Words in every frame or picture, in the video's language. Turning them off is recorded, and "
        "leaves it to you to tell viewers, as law in the EU, China, Korea, India and elsewhere asks.",
    )
    corner: Literal["top_left", "top_right", "bottom_left", "bottom_right"] | None = Field(
        default=None, description="Where they are wanted; another corner is taken when a face is there. Null chooses."
    )


def disclosure_of(body: DisclosureBody) -> Disclosure:
    """The disclosure as jobs take it."""
    return Disclosure(
        visible_label=body.visible_label, corner=None if body.corner is None else LabelCorner(body.corner)
    )


_EXAMPLE: dict[str, Any] = {
    "presenter": {"avatar_id": "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"},
    "speech": {"text": "Meet the Aurora: 190 grams, made for wet streets.", "voice": {"voice_id": "en-us"}},
    "frame": {"aspect": "9:16", "fps": 25},
    "subtitles": "burn",
    "callback_url": "https://client.example/hooks/spokesmodel",
    "callback_id": "campaign-42",
}


class VideoBody(RequestBody):
    """One video of one presenter."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    presenter: PresenterBody
    speech: SpeechBody
    frame: FrameBody = Field(default_factory=FrameBody)
    background: BackgroundBody = Field(default_factory=BackgroundBody)
    subtitles: Literal["burn", "file", "none"] = Field(
        default="file", description="Drawn into the picture (and as files), as SRT and VTT files, or none."
    )
    disclosure: DisclosureBody = Field(default_factory=DisclosureBody)
    seed: int = Field(default=0, ge=0, le=2**53 - 1, description="Fixes head motion and blinks.")
    callback_url: str | None = Field(
        default=None, max_length=2000, description="Where the job's end is told (Standard Webhooks)."
    )
    callback_id: str | None = Field(default=None, max_length=256, description="Comes back unchanged.")

    def to_domain(self) -> VideoRequest:
        """The request as the job takes it."""
        presenter = self.presenter
        return VideoRequest(
            presenter=Presenter(
                avatar_id=presenter.avatar_id,
                upload_id=presenter.upload_id,
                source_url=presenter.source_url,
                consent_id=presenter.consent_id,
                synthetic=presenter.synthetic,
                face=None if presenter.face == "largest" else presenter.face,
            ),
            speech=self.speech.to_domain(),
            frame=FrameSettings(aspect=Aspect(self.frame.aspect), fps=self.frame.fps, height_px=self.frame.height_px),
            background=Background(
                kind=BackgroundKind(self.background.kind),
                color=self.background.color,
                upload_id=self.background.upload_id,
                source_url=self.background.source_url,
            ),
            subtitles=SubtitleMode(self.subtitles),
            disclosure=disclosure_of(self.disclosure),
            seed=self.seed,
        )
