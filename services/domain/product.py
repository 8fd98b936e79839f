"""A product of a shop's catalogue: a wig or a garment, with its photos and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.domain.errors import NotFound


class ProductKind(StrEnum):
    """Also the kind of the product's id: ``wig_...``, ``garment_...``."""

    WIG = "wig"
    GARMENT = "garment"


class ProductView(StrEnum):
    """Which side a photo shows: the wearer's left and right."""

    FRONT = "front"
    LEFT = "left"
    RIGHT = "right"
    BACK = "back"


class GarmentCategory(StrEnum):
    TOP = "top"
    SHIRT = "shirt"
    JACKET = "jacket"
    DRESS = "dress"
    SKIRT = "skirt"
    TROUSERS = "trousers"
    OVERALL = "overall"


class ProductState(StrEnum):
    PROCESSING = "processing"
    READY = "ready"
    REJECTED = "rejected"

    @property
    def is_final(self) -> bool:
        return self is not ProductState.PROCESSING


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReason:
    """Something that is wrong with a photo, by name.

    Attributes:
        blocking: Whether the product cannot be used because of it.
        photo: Index of the photo; None for the product as a whole.
    """

    code: str
    detail: str
    blocking: bool = True
    photo: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductPhoto:
    """One photo of the product as the catalogue keeps it.

    Attributes:
        key: The photo, under ``catalogue/``; None while the product is not ready.
        pins: Hand-set points by name, x and y as fractions of the upright photo's width and height; they win over
            what is found in it.
        asset_key: What the engine made of it (``ASSET_ROLE``), under ``catalogue/``; None while there is none.
        cutout_key: The product alone, to be looked at.
    """

    key: str | None = None
    view: ProductView = ProductView.FRONT
    pins: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    asset_key: str | None = None
    cutout_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A catalogue entry.

    Attributes:
        sku: The shop's own name of it; need not be unique, but a second one is told among the reasons.
        job_id: The job that takes its photos in.
        category: Of a garment: as given, else as recognised; None while it is not known.
        reasons: Why it was rejected, or what to know about it.
        consent_id: The consent of whoever the photos show.
        synthetic: Declared to show nobody real.
    """

    id: str
    tenant_id: str
    kind: ProductKind
    sku: str
    name: str
    photos: tuple[ProductPhoto, ...]
    job_id: str
    created_at: datetime
    state: ProductState = ProductState.PROCESSING
    category: GarmentCategory | None = None
    reasons: tuple[QualityReason, ...] = ()
    consent_id: str | None = None
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoSource:
    """A product photo as a request names it: an upload or a file elsewhere; exactly one is set."""

    upload_id: str | None = None
    source_url: str | None = None
    view: ProductView = ProductView.FRONT
    pins: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRequest:
    """A product to be taken into the catalogue: the request of a job of kind ``product``."""

    product_id: str
    kind: ProductKind
    sku: str
    name: str
    photos: tuple[PhotoSource, ...]
    category: GarmentCategory | None = None
    consent_id: str | None = None
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRef:
    """The product of a preview: one of the catalogue, or a photo that is taken in by the same job; exactly one is set.

    Attributes:
        product_id: ``wig_...`` or ``garment_...``.
        photo: A photo of it, from the front.
        consent_id: The consent of whoever ``photo`` shows.
        synthetic: The client's word that ``photo`` shows nobody real.
    """

    product_id: str | None = None
    photo: PhotoSource | None = None
    consent_id: str | None = None
    synthetic: bool = False


def product_not_found(product_id: str, kind: ProductKind | None = None) -> NotFound:
    """The error for a product that is not there, named for ``kind``, or for what its id says it is."""
    if kind is ProductKind.GARMENT or (kind is None and product_id.startswith(f"{ProductKind.GARMENT}_")):
        return NotFound(f"There is no garment {product_id}.", code="garment_not_found")
    return NotFound(f"There is no wig {product_id}.", code="wig_not_found")
