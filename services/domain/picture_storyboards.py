"""What an engine is told to make of pictures: requests whose every reference is an object under the job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from services.domain.image_steps import CropStep, CutoutStep, RelightStep, RetouchStep, UpscaleStep
from services.domain.model_choice import ModelSpecification
from services.domain.product import GarmentCategory, ProductKind, ProductView
from services.domain.storyboard import BackgroundShot
from services.domain.video import Disclosure

PICTURE_STORYBOARD_VERSION: Final = 1
# Roles of what a job of kind `product` makes of photo n: the asset's folder as a ZIP, and the product alone to look at.
ASSET_ROLE: Final = "asset_{}"
CUTOUT_ROLE: Final = "cutout_{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShot:
    """Whose picture is used: a photo by key, or one that is still to be generated; exactly one of the two.

    Attributes:
        face: Index of the face from left to right; None takes the largest.
        model_id: Which model of the catalogue it is; None for a client's own photo.
    """

    key: str | None = None
    specification: ModelSpecification | None = None
    face: int | None = None
    model_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductShot:
    """A photo of the product by key, and what was made of it before, if it was.

    Attributes:
        asset_key: The ingested asset: a ZIP of the folder that ``WigAsset.save`` or ``GarmentAsset.save`` wrote. With
            it nothing is taken in again.
        pins: Points by name, x and y as fractions of the upright photo's width and height.
    """

    photo_key: str | None = None
    asset_key: str | None = None
    view: ProductView = ProductView.FRONT
    pins: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WigStoryboard:
    """A wig on a head; fields as of ``WigPreviewRequest``. ``wig`` has one entry a view, the front among them."""

    job_id: str
    model: ModelShot
    wig: tuple[ProductShot, ...]
    background: BackgroundShot
    yaw_deg: tuple[float, ...] = (0.0,)
    turntable: bool = False
    colours: tuple[str, ...] = ()
    refine: bool = False
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
    version: int = PICTURE_STORYBOARD_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class GarmentStoryboard:
    """A garment on a body; fields as of ``GarmentPreviewRequest``. ``category`` None: to be recognised."""

    job_id: str
    model: ModelShot
    garment: tuple[ProductShot, ...]
    background: BackgroundShot
    category: GarmentCategory | None = None
    refine: bool = False
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
    version: int = PICTURE_STORYBOARD_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundSwap:
    """``BackgroundStep`` with its picture by key."""

    background: BackgroundShot
    tool: Literal["background"] = "background"


ShotStep: TypeAlias = BackgroundSwap | RelightStep | RetouchStep | UpscaleStep | CutoutStep | CropStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStoryboard:
    """A picture and what is to be done to it, in this order."""

    job_id: str
    image: ModelShot
    steps: tuple[ShotStep, ...]
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
    version: int = PICTURE_STORYBOARD_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductStoryboard:
    """Photos of a product to be taken in; ``photos`` in the order of the catalogue entry's."""

    job_id: str
    product_id: str
    kind: ProductKind
    photos: tuple[ProductShot, ...]
    category: GarmentCategory | None = None
    version: int = PICTURE_STORYBOARD_VERSION
