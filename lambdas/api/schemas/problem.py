"""The problem document."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FieldFault(BaseModel):
    """One request field at fault."""

    param: str = Field(description="The field in dotted form.", examples=["frame.fps"])
    detail: str


class Problem(BaseModel):
    """What went wrong, after RFC 9457. Programs branch on `code`; people read `detail`."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:spokesmodel:problem:voice_not_found",
                "title": "Unprocessable Content",
                "status": 422,
                "detail": "There is no voice 'en-uk'. Near ones: en, en-us, en-gb.",
                "code": "voice_not_found",
                "param": "speech.voice.voice_id",
                "retryable": False,
                "request_id": "0b3f6a1c9e5d4f4e8a3c",
            }
        }
    )

    type: str = Field(description="`urn:spokesmodel:problem:` and the code.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong, with which value, and the way out.")
    code: str = Field(description="Stable name of the problem.")
    param: str | None = Field(description="The request field or header at fault, in dotted form.")
    retryable: bool = Field(description="Whether the same request may succeed later.")
    request_id: str = Field(description="Name it when you ask for help; also in `X-Request-Id`.")
    errors: list[FieldFault] | None = Field(default=None, description="Every field at fault, when a body is refused.")
