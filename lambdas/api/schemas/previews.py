"""Previews of wigs and garments as asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import RequestBody
from lambdas.api.schemas.models import ModelBody
from lambdas.api.schemas.products import CategoryName, GarmentRefBody, WigRefBody
from lambdas.api.schemas.videos import DisclosureBody, SourceUrl, UploadId, disclosure_of
from services.domain.preview import MAX_COLOURS, MAX_VIEWS, MAX_YAW_DEG, GarmentPreviewRequest, WigPreviewRequest
from services.domain.product import GarmentCategory
from services.domain.video import Background, BackgroundKind

Color = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$", examples=["#f4f1ea"])]


class SceneBody(RequestBody):
    """What is behind the person: as it is, a colour, a picture, blurred, or a studio's seamless paper."""

    kind: Literal["original", "color", "image", "blur", "studio"] = "original"
    color: Color | None = Field(default=None, description="For kind `color`; for `studio` that of its paper.")
    upload_id: UploadId | None = Field(default=None, description="For kind `image`: a picture.")
    source_url: SourceUrl | None = Field(default=None, description="For kind `image`: a picture at a public address.")

    def to_domain(self) -> Background:
        """The background as the job takes it."""
        return Background(
            kind=BackgroundKind(self.kind), color=self.color, upload_id=self.upload_id, source_url=self.source_url
        )


_WIG_EXAMPLE: dict[str, Any] = {
    "model": {"model_id": "model_01M8MW0N000TTE1VHXNGC78ZKS"},
    "wig": {"wig_id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"},
    "yaw_deg": [-20.0, 0.0, 20.0],
    "turntable": True,
    "colours": ["auburn", "#3a2a22"],
}
_GARMENT_EXAMPLE: dict[str, Any] = {
    "model": {"specification": {"gender": "woman", "scene": "studio"}},
    "garment": {"garment_id": "garment_01JDV3M0Q8T2A4B6C8D0E2F4G6"},
}
Refine = Annotated[
    bool,
    Field(
        description="Repaint seams and revealed skin with the configured checkpoint; the product's own pixels stay. "
        "`checkpoint_not_configured` where there is none."
    ),
]
Seed = Annotated[int, Field(ge=0, le=2**53 - 1, description="Fixes the choice among models, and what is generated.")]
CallbackUrl = Annotated[
    str | None, Field(max_length=2000, description="Where the job's end is told (Standard Webhooks).")
]
CallbackId = Annotated[str | None, Field(max_length=256, description="Comes back unchanged.")]


class WigPreviewBody(RequestBody):
    """A wig on a head: pictures, masks, a before/after sheet; a turntable and other colours on request."""

    model_config = ConfigDict(json_schema_extra={"example": _WIG_EXAMPLE})

    model: ModelBody
    wig: WigRefBody
    yaw_deg: list[Annotated[float, Field(ge=-MAX_YAW_DEG, le=MAX_YAW_DEG)]] = Field(
        default_factory=lambda: [0.0],
        min_length=1,
        max_length=MAX_VIEWS,
        description="Views of the head, turned so far from how the photo shows it, to a hundredth of a degree; "
        "negative to the viewer's left. The front (0) is always made and counted, named here or not.",
    )
    turntable: bool = Field(default=False, description="Make the looping video, too.")
    colours: list[str] = Field(
        default_factory=list,
        max_length=MAX_COLOURS,
        description="Variants in other colours, of the front: names (`black`, `auburn`, `platinum` …) or `#rrggbb`.",
    )
    background: SceneBody = Field(default_factory=SceneBody)
    refine: Refine = False
    disclosure: DisclosureBody = Field(default_factory=DisclosureBody)
    seed: Seed = 0
    callback_url: CallbackUrl = None
    callback_id: CallbackId = None

    def to_domain(self) -> WigPreviewRequest:
        """The request as the job takes it."""
        return WigPreviewRequest(
            model=self.model.to_domain(),
            wig=self.wig.to_domain(),
            yaw_deg=tuple(self.yaw_deg),
            turntable=self.turntable,
            colours=tuple(self.colours),
            background=self.background.to_domain(),
            refine=self.refine,
            disclosure=disclosure_of(self.disclosure),
            seed=self.seed,
        )


class GarmentPreviewBody(RequestBody):
    """A garment on a body: the picture, its mask, a before/after sheet."""

    model_config = ConfigDict(json_schema_extra={"example": _GARMENT_EXAMPLE})

    model: ModelBody
    garment: GarmentRefBody
    category: CategoryName | None = Field(
        default=None, description="Of a photo given directly; null recognises it. A catalogue's garment has its own."
    )
    background: SceneBody = Field(default_factory=SceneBody)
    refine: Refine = False
    disclosure: DisclosureBody = Field(default_factory=DisclosureBody)
    seed: Seed = 0
    callback_url: CallbackUrl = None
    callback_id: CallbackId = None

    def to_domain(self) -> GarmentPreviewRequest:
        """The request as the job takes it."""
        return GarmentPreviewRequest(
            model=self.model.to_domain(),
            garment=self.garment.to_domain(),
            category=None if self.category is None else GarmentCategory(self.category),
            background=self.background.to_domain(),
            refine=self.refine,
            disclosure=disclosure_of(self.disclosure),
            seed=self.seed,
        )
