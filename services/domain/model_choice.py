"""Who wears the product: a photo, a model of the catalogue, or a description of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LIGHTEST: Final = 1  # of the Monk skin tone scale
DARKEST: Final = 10


class AgeBand(StrEnum):
    """Apparent age. Adults only: there is no younger band to ask for."""

    FROM_18 = "18-29"
    FROM_30 = "30-44"
    FROM_45 = "45-59"
    FROM_60 = "60+"


class Presentation(StrEnum):
    """How the model presents."""

    WOMAN = "woman"
    MAN = "man"


class BodyType(StrEnum):
    SLIM = "slim"
    AVERAGE = "average"
    FULL = "full"


class Pose(StrEnum):
    PORTRAIT = "portrait"  # head and shoulders, facing the camera
    STANDING = "standing"  # the whole figure from the front, arms down
    WALKING = "walking"


class Scene(StrEnum):
    PLAIN = "plain"  # a bare wall
    STUDIO = "studio"
    HOME = "home"
    OFFICE = "office"
    PARK = "park"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinTones:
    """A range of the Monk skin tone scale (Monk 2019: 1 the lightest, 10 the darkest), both ends in it."""

    lightest: int = LIGHTEST
    darkest: int = DARKEST


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpecification:
    """What the model is to be like; None takes any."""

    age: AgeBand | None = None
    gender: Presentation | None = None
    skin_tone: SkinTones | None = None
    body: BodyType | None = None
    pose: Pose | None = None
    scene: Scene | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueModel:
    """A built-in model, seen by everyone; its picture is licensed for this use.

    Attributes:
        object_key: Its picture, under ``catalogue/shared/``.
        skin_tone: The nearest of the Monk scale.
        licence: Licence and source of the picture.
    """

    id: str
    name: str
    object_key: str
    media_type: str
    licence: str
    age: AgeBand
    gender: Presentation
    skin_tone: int
    body: BodyType
    pose: Pose
    scene: Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The person in the picture; exactly one of the first four is set.

    Attributes:
        upload_id: A photo that was sent.
        source_url: A photo elsewhere.
        model_id: A model of ``GET /v1/models``, or an avatar of ``GET /v1/avatars`` that is a picture.
        specification: What the model is to be like; not for image tools.
        face: Index of the face from left to right; None takes the largest.
        consent_id: The consent of the person shown.
        synthetic: The client's word that no real person is shown.
    """

    upload_id: str | None = None
    source_url: str | None = None
    model_id: str | None = None
    specification: ModelSpecification | None = None
    face: int | None = None
    consent_id: str | None = None
    synthetic: bool = False
