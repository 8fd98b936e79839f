"""What a creation will be and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, ValidationInfo, ValidatorFunctionWrapHandler, field_validator

from lambdas.api.schemas.base import AnswerBody, RequestBody
from lambdas.api.schemas.images import ImageBody
from lambdas.api.schemas.jobs import CostBody
from lambdas.api.schemas.previews import GarmentPreviewBody, WigPreviewBody
from lambdas.api.schemas.videos import VideoBody
from services.usecases.estimate_request import Estimate

KindName = Literal["video", "wig_preview", "garment_preview", "image"]
_BODIES: Final[Mapping[str, type[RequestBody]]] = {
    "video": VideoBody,
    "wig_preview": WigPreviewBody,
    "garment_preview": GarmentPreviewBody,
    "image": ImageBody,
}
_EXAMPLE: dict[str, Any] = {
    "kind": "video",
    "body": {
        "presenter": {"avatar_id": "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"},
        "speech": {"text": "Meet the Aurora: 190 grams, made for wet streets.", "voice": {"voice_id": "en-us"}},
    },
}


class EstimateRequestBody(RequestBody):
    """A creation that is not to happen yet."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    kind: KindName = Field(description="What would be created.")
    body: VideoBody | WigPreviewBody | GarmentPreviewBody | ImageBody = Field(
        description="The body as the creation takes it."
    )

    @field_validator("body", mode="wrap")
    @classmethod
    def _of_its_kind(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """As the kind's own route reads it, so that what is wrong is named as there."""
        kind = info.data.get("kind")
        return handler(value) if kind is None else _BODIES[kind].model_validate(value)


class EstimateBody(AnswerBody):
    """Worked out from the request alone; nothing was made or stored."""

    kind: KindName
    duration_s: float = Field(ge=0, examples=[4.1])
    uncertainty: float | None = Field(
        description="The real duration is expected within this fraction of `duration_s`, up or down; null for a guess.",
        examples=[0.15],
    )
    basis: Literal["text", "script", "brief", "recording", "pictures"] = Field(
        description="What it is worked out from: the text; the script that will be written; the seconds that the brief "
        "asks for (too few facts make it shorter); the size of the recording's file, which is a guess; the pictures "
        "asked for, which are counted, and have no duration."
    )
    quantities: dict[str, float] = Field(
        description="By unit, as `GET /v1/usage` has them: `output_s`, `characters`, `scripts`, `pictures` and others.",
        examples=[{"output_s": 4.1, "characters": 49.0}],
    )
    cost: CostBody = Field(
        description="At the size asked for. A source too small for it gives a smaller video, never a dearer one."
    )

    @classmethod
    def of(cls, estimate: Estimate, kind: KindName) -> EstimateBody:
        """An estimate as clients see it."""
        return cls(
            kind=kind,
            duration_s=estimate.duration_s,
            uncertainty=estimate.uncertainty,
            basis=estimate.basis.value,
            quantities=dict(estimate.quantities),
            cost=CostBody(amount=estimate.cost.amount, currency=estimate.cost.currency),
        )
