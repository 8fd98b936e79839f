"""Uploads."""

from __future__ import annotations

from datetime import timedelta

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, RequestBody
from services.usecases.create_upload import PermittedUpload


class UploadRequestBody(RequestBody):
    """The file that will be sent."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"file_name": "portrait of 小明.jpg", "media_type": "image/jpeg", "size_bytes": 806378}
        }
    )

    file_name: str = Field(min_length=1, max_length=255, description="Any characters; shown, never used as a path.")
    media_type: str = Field(min_length=3, max_length=127, description="A picture, sound or video type.")
    size_bytes: int = Field(ge=0, le=2**53 - 1, description="The file's exact size.")


class SignedRequestBody(AnswerBody):
    """The request that sends the bytes: this method, URL and these headers."""

    method: str = Field(examples=["PUT"])
    url: str = Field(examples=["https://media.example/upload/…/file.jpg?signature=…"])
    headers: dict[str, str] = Field(examples=[{"Content-Type": "image/jpeg", "Content-Length": "806378"}])
    expires_at: Moment


class UploadBody(AnswerBody):
    """A permitted upload; name it in other requests once its bytes are sent."""

    id: str = Field(examples=["upload_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    file_name: str = Field(examples=["portrait of 小明.jpg"])
    media_type: str = Field(examples=["image/jpeg"])
    size_bytes: int = Field(examples=[806378])
    created_at: Moment
    request: SignedRequestBody = Field(description="How to send the bytes.")

    @classmethod
    def of(cls, permitted: PermittedUpload) -> UploadBody:
        """An upload as clients see it."""
        upload, signed = permitted.upload, permitted.signed
        return cls(
            id=upload.id,
            file_name=upload.file_name,
            media_type=upload.media_type,
            size_bytes=upload.size_bytes,
            created_at=upload.created_at,
            request=SignedRequestBody(
                method=signed.method,
                url=signed.url,
                headers=signed.headers,
                expires_at=upload.created_at + timedelta(seconds=signed.expires_in_s),
            ),
        )
