"""A picture and what is to be done to it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import RequestBody
from lambdas.api.schemas.models import PictureBody
from lambdas.api.schemas.previews import CallbackId, CallbackUrl, Color, Seed
from lambdas.api.schemas.videos import DisclosureBody, SourceUrl, UploadId, disclosure_of
from services.domain.image_steps import (
    MAX_STEPS,
    BackgroundStep,
    CropShape,
    CropStep,
    CutoutStep,
    ImageRequest,
    LightFrom,
    RelightStep,
    RetouchStep,
    UpscaleStep,
)
from services.domain.video import Background, BackgroundKind

_Strength = Annotated[float, Field(ge=0, le=1)]


class BackgroundStepBody(RequestBody):
    """Something else behind the person or product: a colour, a picture, a blur, a studio's seamless paper."""

    tool: Literal["background"]
    kind: Literal["color", "image", "blur", "studio"]
    color: Color | None = Field(default=None, description="For kind `color`; for `studio` that of its paper.")
    upload_id: UploadId | None = Field(default=None, description="For kind `image`: a picture.")
    source_url: SourceUrl | None = Field(default=None, description="For kind `image`: a picture at a public address.")

    def to_domain(self) -> BackgroundStep:
        """The step as the job takes it."""
        background = Background(
            kind=BackgroundKind(self.kind), color=self.color, upload_id=self.upload_id, source_url=self.source_url
        )
        return BackgroundStep(background=background)


class RelightStepBody(RequestBody):
    """The person lit anew."""

    tool: Literal["relight"]
    light: Literal["scene", "left", "right", "above", "front"] = Field(
        default="scene", description="Where it comes from; `scene`: as what is behind the person is lit."
    )
    strength: _Strength = 0.5
    color: Color | None = Field(default=None, description="Of the light; null takes the scene's, or white.")
    generative: bool = Field(
        default=False,
        description="By the configured checkpoint's network; `checkpoint_not_configured` where there is none.",
    )
    retouch: _Strength = Field(
        default=0.0, description="With `generative`: how much of the face's skin as the network paints it is taken."
    )

    def to_domain(self) -> RelightStep:
        """The step as the job takes it."""
        return RelightStep(
            light=LightFrom(self.light),
            strength=self.strength,
            color=self.color,
            generative=self.generative,
            retouch=self.retouch,
        )


class RetouchStepBody(RequestBody):
    """A portrait retouched, each by a strength of 0 (not at all) to 1; pores stay."""

    tool: Literal["retouch"]
    skin: _Strength = 0.5
    blemishes: _Strength = 0.5
    teeth: _Strength = 0.0
    eyes: _Strength = 0.0

    def to_domain(self) -> RetouchStep:
        """The step as the job takes it."""
        return RetouchStep(skin=self.skin, blemishes=self.blemishes, teeth=self.teeth, eyes=self.eyes)


class UpscaleStepBody(RequestBody):
    """More pixels."""

    tool: Literal["upscale"]
    factor: Literal[2, 4] = 2

    def to_domain(self) -> UpscaleStep:
        """The step as the job takes it."""
        return UpscaleStep(factor=self.factor)


class CutoutStepBody(RequestBody):
    """The person or product alone, everything else transparent."""

    tool: Literal["cutout"]

    def to_domain(self) -> CutoutStep:
        """The step as the job takes it."""
        return CutoutStep()


class CropStepBody(RequestBody):
    """One output a shape, cut around the person or product; the picture itself stays whole."""

    tool: Literal["crop"]
    shapes: list[Literal["1:1", "4:5", "3:4", "9:16", "16:9", "head"]] = Field(
        min_length=1, max_length=len(CropShape), description="Width to height, or a square around the head."
    )

    def to_domain(self) -> CropStep:
        """The step as the job takes it."""
        return CropStep(shapes=tuple(CropShape(shape) for shape in self.shapes))


StepBody = Annotated[
    BackgroundStepBody | RelightStepBody | RetouchStepBody | UpscaleStepBody | CutoutStepBody | CropStepBody,
    Field(discriminator="tool"),
]
_EXAMPLE: Final[dict[str, Any]] = {
    "image": {"model_id": "model_01M8MW0N000TTE1VHXNGC78ZKS"},
    "steps": [
        {"tool": "background", "kind": "studio"},
        {"tool": "relight", "light": "scene"},
        {"tool": "crop", "shapes": ["4:5", "head"]},
    ],
}


class ImageBody(RequestBody):
    """A picture and the tools to be used on it, in this order, each once."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    image: PictureBody
    steps: list[StepBody] = Field(min_length=1, max_length=MAX_STEPS)
    disclosure: DisclosureBody = Field(default_factory=DisclosureBody)
    seed: Seed = 0
    callback_url: CallbackUrl = None
    callback_id: CallbackId = None

    def to_domain(self) -> ImageRequest:
        """The request as the job takes it."""
        return ImageRequest(
            image=self.image.to_domain(),
            steps=tuple(step.to_domain() for step in self.steps),
            disclosure=disclosure_of(self.disclosure),
            seed=self.seed,
        )
