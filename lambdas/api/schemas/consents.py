"""Consents."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, RequestBody
from lambdas.api.schemas.keys import LaterMoment
from lambdas.api.schemas.videos import UploadId
from services.domain.consent import Consent

LikenessName = Literal["face", "voice"]


class ConsentRequestBody(RequestBody):
    """A permission that a person gave."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "subject": "model 4711",
                "likenesses": ["face"],
                "purpose": "Product videos of the spring campaign, web and social media",
                "evidence_upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6",
                "expires_at": "2027-11-30T00:00:00Z",
            }
        }
    )

    subject: str = Field(
        min_length=1,
        max_length=200,
        description="Who, in your own words or numbers: letters, digits, spaces and `-._~@+:,;'()&!*=$`. "
        "`DELETE /v1/subjects/{subject}` takes the same.",
    )
    likenesses: list[LikenessName] = Field(min_length=1, max_length=2, description="What may be used.")
    purpose: str = Field(min_length=1, max_length=1000, description="For what, as the person was told.")
    evidence_upload_id: UploadId = Field(
        description="What proves it: a signed form (picture or PDF), a recording, a film; at most 25 MB."
    )
    expires_at: LaterMoment | None = Field(default=None, description="It holds until then; null without end.")


class ConsentBody(AnswerBody):
    """A permission that a person gave."""

    id: str = Field(examples=["consent_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    subject: str = Field(examples=["model 4711"])
    likenesses: list[LikenessName]
    purpose: str
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None

    @classmethod
    def of(cls, consent: Consent) -> ConsentBody:
        """A consent as clients see it."""
        return cls(
            id=consent.id,
            subject=consent.subject,
            likenesses=[likeness.value for likeness in sorted(consent.likenesses)],
            purpose=consent.purpose,
            created_at=consent.created_at,
            expires_at=consent.expires_at,
            revoked_at=consent.revoked_at,
        )


class ConsentDetailBody(ConsentBody):
    """A consent with its evidence and what was made under it."""

    evidence_url: str | None = Field(description="Reads the evidence for an hour; null without scope `manage`.")
    num_uses: int = Field(description="How many avatars, uploads and jobs show the subject.")
    used_by: list[str] = Field(description="Their ids, at most a thousand.")


class DeletedSubjectBody(AnswerBody):
    """What was deleted of a subject."""

    num_consents: int
    num_avatars: int
    num_products: int
    num_uploads: int
    num_jobs: int
