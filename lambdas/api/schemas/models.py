"""Who wears the product, and the built-in models."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, RequestBody, exactly_one
from lambdas.api.schemas.videos import ConsentId, SourceUrl, UploadId
from services.domain.model_choice import (
    AgeBand,
    BodyType,
    CatalogueModel,
    ModelChoice,
    ModelSpecification,
    Pose,
    Presentation,
    Scene,
    SkinTones,
)

AgeName = Literal["18-29", "30-44", "45-59", "60+"]
GenderName = Literal["woman", "man"]
BodyName = Literal["slim", "average", "full"]
PoseName = Literal["portrait", "standing", "walking"]
SceneName = Literal["plain", "studio", "home", "office", "park"]
ModelId = Annotated[str, Field(pattern=r"^(model|avatar)_[0-9A-Z]{26}$", examples=["model_01M8MW0N000TTE1VHXNGC78ZKS"])]
SkinTone = Annotated[int, Field(ge=1, le=10)]


class SkinTonesBody(RequestBody):
    """A range of the Monk skin tone scale, both ends in it: 1 is the lightest of its ten tones, 10 the darkest."""

    lightest: SkinTone = 1
    darkest: SkinTone = 10


class SpecificationBody(RequestBody):
    """What the model is to be like; null takes any. Models are adults."""

    age: AgeName | None = Field(default=None, description="As they look.")
    gender: GenderName | None = Field(default=None, description="As they present.")
    skin_tone: SkinTonesBody | None = None
    body: BodyName | None = None
    pose: PoseName | None = Field(default=None, description="Null takes one that suits the product.")
    scene: SceneName | None = None

    def to_domain(self) -> ModelSpecification:
        """The specification as the job takes it."""
        tones = self.skin_tone
        return ModelSpecification(
            age=None if self.age is None else AgeBand(self.age),
            gender=None if self.gender is None else Presentation(self.gender),
            skin_tone=None if tones is None else SkinTones(lightest=tones.lightest, darkest=tones.darkest),
            body=None if self.body is None else BodyType(self.body),
            pose=None if self.pose is None else Pose(self.pose),
            scene=None if self.scene is None else Scene(self.scene),
        )


class PictureBody(RequestBody):
    """A picture: an upload, a file elsewhere, a built-in model or an avatar; exactly one.

    What shows a person needs that person's consent (`consent_id`), or the declaration that no real person is shown
    (`synthetic`); built-in models, and avatars made under either, need none here.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": exactly_one("upload_id", "source_url", "model_id")})

    upload_id: UploadId | None = Field(default=None, description="A photo that was sent.")
    source_url: SourceUrl | None = Field(
        default=None, description="A photo, read from a public address when the job is prepared."
    )
    model_id: ModelId | None = Field(
        default=None, description="A model of `GET /v1/models`, or an avatar of `GET /v1/avatars` that is a picture."
    )
    consent_id: ConsentId | None = Field(default=None, description="The consent of the person shown.")
    synthetic: bool = Field(default=False, description="Declares that no real person is shown; kept in the audit log.")
    face: Literal["largest"] | Annotated[int, Field(ge=0, le=1000)] = Field(
        default="largest",
        description="Whose picture it is, where it shows several: the largest face, or its index from left.",
    )

    def to_domain(self) -> ModelChoice:
        """The choice as the job takes it."""
        return ModelChoice(
            upload_id=self.upload_id,
            source_url=self.source_url,
            model_id=self.model_id,
            face=None if self.face == "largest" else self.face,
            consent_id=self.consent_id,
            synthetic=self.synthetic,
        )


class ModelBody(PictureBody):
    """Who wears the product: a photo, a built-in model or an avatar, or what the model is to be like; exactly one.

    What shows a person needs that person's consent (`consent_id`), or the declaration that no real person is shown
    (`synthetic`); built-in models, and avatars made under either, need none here.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": exactly_one("upload_id", "source_url", "model_id", "specification")}
    )

    specification: SpecificationBody | None = Field(
        default=None,
        description="Chooses among the built-in models, the same one for the same `seed`; where none fits, the answer "
        "is `checkpoint_not_configured` and names the nearest ones, unless a checkpoint that makes models is there.",
    )

    def to_domain(self) -> ModelChoice:
        """The choice as the job takes it."""
        specification = None if self.specification is None else self.specification.to_domain()
        return replace(super().to_domain(), specification=specification)


class ModelInfoBody(AnswerBody):
    """A built-in model, described as it looks."""

    id: str = Field(examples=["model_01M8MW0N000TTE1VHXNGC78ZKS"])
    name: str = Field(examples=["Vera in the studio"])
    age: AgeName
    gender: GenderName
    skin_tone: int = Field(description="The nearest of the Monk scale, judged by eye.", ge=1, le=10)
    body: BodyName
    pose: PoseName
    scene: SceneName
    media_type: str = Field(examples=["image/jpeg"])
    licence: str = Field(examples=["MIT (pypi:openvto==0.1.7)"])
    preview_url: str = Field(
        description="Reads the picture for an hour.",
        examples=["https://media.example/catalogue/…/picture.jpg?signature=…"],
    )

    @classmethod
    def of(cls, model: CatalogueModel, *, preview_url: str) -> ModelInfoBody:
        """A model as clients see it."""
        return cls(
            id=model.id,
            name=model.name,
            age=model.age.value,
            gender=model.gender.value,
            skin_tone=model.skin_tone,
            body=model.body.value,
            pose=model.pose.value,
            scene=model.scene.value,
            media_type=model.media_type,
            licence=model.licence,
            preview_url=preview_url,
        )


class ModelsBody(AnswerBody):
    """Every built-in model."""

    items: list[ModelInfoBody]
