"""Wigs and garments of the catalogue, and as previews name them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, PageBody, RequestBody, exactly_one
from lambdas.api.schemas.videos import ConsentId, SourceUrl, UploadId
from services.domain.product import (
    GarmentCategory,
    PhotoSource,
    Product,
    ProductKind,
    ProductRef,
    ProductRequest,
    ProductView,
)

WigId = Annotated[str, Field(pattern=r"^wig_[0-9A-Z]{26}$", examples=["wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
GarmentId = Annotated[str, Field(pattern=r"^garment_[0-9A-Z]{26}$", examples=["garment_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
CategoryName = Literal["top", "shirt", "jacket", "dress", "skirt", "trousers", "overall"]
ViewName = Literal["front", "left", "right", "back"]
Pin = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=2, max_length=2)]
Pins = Annotated[
    dict[str, Pin],
    Field(
        description="Points set by hand that win over what is found, by name: `[x, y]` as fractions of the upright "
        "photo's width and height. docs/try-on.md lists the names. Not beside a product of the catalogue, which has "
        "its own.",
        examples=[{"chin": [0.51, 0.62]}],
    ),
]
Synthetic = Annotated[
    bool,
    Field(
        description="Declares that the photos show no real person, as of a flat lay or a mannequin; kept in the log."
    ),
]


class PhotoBody(RequestBody):
    """A photo of the product: an upload or a file elsewhere; exactly one."""

    model_config = ConfigDict(json_schema_extra={"oneOf": exactly_one("upload_id", "source_url")})

    upload_id: UploadId | None = Field(default=None, description="A picture that was sent.")
    source_url: SourceUrl | None = Field(
        default=None, description="A picture, read from a public address when the job is prepared."
    )
    pins: Pins = Field(default_factory=dict)

    def to_domain(self, view: ProductView) -> PhotoSource:
        """The photo as the job takes it."""
        return _photo(self, view)


class PhotosBody(RequestBody):
    """Photos by the side that they show: the wearer's left and right."""

    front: PhotoBody
    left: PhotoBody | None = None
    right: PhotoBody | None = None
    back: PhotoBody | None = None

    def to_domain(self) -> tuple[PhotoSource, ...]:
        """The photos as the job takes them, the front first."""
        given = ((view, getattr(self, view.value)) for view in ProductView)
        return tuple(photo.to_domain(view) for view, photo in given if photo is not None)


class WigRefBody(RequestBody):
    """The wig: one of the catalogue, or a photo of it from the front that is taken in by the same job; exactly one.

    A photo that shows a real person's head needs that person's consent, as a portrait does.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": exactly_one("wig_id", "upload_id", "source_url")})

    wig_id: WigId | None = Field(default=None, description="A wig of `GET /v1/wigs` that is ready.")
    upload_id: UploadId | None = Field(default=None, description="A photo of the wig.")
    source_url: SourceUrl | None = Field(default=None, description="Such a photo at a public address.")
    pins: Pins = Field(default_factory=dict)
    consent_id: ConsentId | None = Field(default=None, description="The consent of whoever the photo shows.")
    synthetic: Synthetic = False

    def to_domain(self) -> ProductRef:
        """The product as the job takes it."""
        return _ref(self, self.wig_id)


class GarmentRefBody(RequestBody):
    """The garment: one of the catalogue, or a photo of it from the front that is taken in by the same job; exactly one.

    A photo that shows a real person needs that person's consent, as a portrait does.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": exactly_one("garment_id", "upload_id", "source_url")})

    garment_id: GarmentId | None = Field(default=None, description="A garment of `GET /v1/garments` that is ready.")
    upload_id: UploadId | None = Field(default=None, description="A photo of the garment.")
    source_url: SourceUrl | None = Field(default=None, description="Such a photo at a public address.")
    pins: Pins = Field(default_factory=dict)
    consent_id: ConsentId | None = Field(default=None, description="The consent of whoever the photo shows.")
    synthetic: Synthetic = False

    def to_domain(self) -> ProductRef:
        """The product as the job takes it."""
        return _ref(self, self.garment_id)


def _photo(body: PhotoBody | WigRefBody | GarmentRefBody, view: ProductView) -> PhotoSource:
    return PhotoSource(
        upload_id=body.upload_id,
        source_url=body.source_url,
        view=view,
        pins={name: (x, y) for name, (x, y) in body.pins.items()},
    )


def _ref(body: WigRefBody | GarmentRefBody, product_id: str | None) -> ProductRef:
    has_photo = body.upload_id is not None or body.source_url is not None or bool(body.pins)
    return ProductRef(
        product_id=product_id,
        photo=_photo(body, ProductView.FRONT) if has_photo else None,
        consent_id=body.consent_id,
        synthetic=body.synthetic,
    )


_EXAMPLE: dict[str, Any] = {
    "sku": "BOB-12-CHESTNUT",
    "name": "Short bob, chestnut",
    "photos": {"front": {"upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6"}},
    "synthetic": True,
}


class WigRequestBody(RequestBody):
    """A wig to be taken into the catalogue."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    sku: str = Field(
        min_length=1,
        max_length=100,
        description="Your own name of it. It may stand twice; `reasons` then say so (`sku_in_use`).",
    )
    name: str = Field(default="", max_length=200)
    photos: PhotosBody
    consent_id: ConsentId | None = Field(default=None, description="The consent of whoever the photos show.")
    synthetic: Synthetic = False
    callback_url: str | None = Field(
        default=None, max_length=2000, description="Where the end of the job is told (Standard Webhooks)."
    )
    callback_id: str | None = Field(default=None, max_length=256, description="Comes back unchanged.")

    def to_domain(self, product_id: str) -> ProductRequest:
        """The request as the job takes it."""
        return _request(self, product_id, ProductKind.WIG, None)


class GarmentRequestBody(RequestBody):
    """A garment to be taken into the catalogue."""

    model_config = ConfigDict(
        json_schema_extra={"example": {**_EXAMPLE, "sku": "TEE-7-M", "name": "Striped tee", "category": "top"}}
    )

    sku: str = Field(
        min_length=1,
        max_length=100,
        description="Your own name of it. It may stand twice; `reasons` then say so (`sku_in_use`).",
    )
    name: str = Field(default="", max_length=200)
    photos: PhotosBody
    category: CategoryName | None = Field(default=None, description="Null recognises it.")
    consent_id: ConsentId | None = Field(default=None, description="The consent of whoever the photos show.")
    synthetic: Synthetic = False
    callback_url: str | None = Field(
        default=None, max_length=2000, description="Where the end of the job is told (Standard Webhooks)."
    )
    callback_id: str | None = Field(default=None, max_length=256, description="Comes back unchanged.")

    def to_domain(self, product_id: str) -> ProductRequest:
        """The request as the job takes it."""
        category = None if self.category is None else GarmentCategory(self.category)
        return _request(self, product_id, ProductKind.GARMENT, category)


def _request(
    body: WigRequestBody | GarmentRequestBody, product_id: str, kind: ProductKind, category: GarmentCategory | None
) -> ProductRequest:
    return ProductRequest(
        product_id=product_id,
        kind=kind,
        sku=body.sku,
        name=body.name,
        photos=body.photos.to_domain(),
        category=category,
        consent_id=body.consent_id,
        synthetic=body.synthetic,
    )


class QualityReasonBody(AnswerBody):
    """Something that is wrong with a photo, or to be known about the product."""

    code: str = Field(examples=["product_touches_frame"])
    detail: str
    blocking: bool = Field(description="Whether the product cannot be used because of it.")
    view: ViewName | None = Field(description="Which photo; null for the product as a whole.")


class ProductPhotoBody(AnswerBody):
    """A photo as the catalogue keeps it. The links serve for an hour; a later GET gives new ones."""

    view: ViewName
    pins: dict[str, list[float]]
    url: str | None = Field(description="The photo; null while the product is not ready.")
    cutout_url: str | None = Field(description="The product alone, as previews use it; null while it is not ready.")


class ProductBody(AnswerBody):
    """A wig or garment of the catalogue."""

    id: str = Field(examples=["wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    sku: str = Field(examples=["BOB-12-CHESTNUT"])
    name: str
    state: Literal["processing", "ready", "rejected"]
    reasons: list[QualityReasonBody] = Field(description="Why it was rejected, or what to know about it.")
    photos: list[ProductPhotoBody]
    category: CategoryName | None = Field(description="Of a garment, as given or recognised; null for a wig.")
    job_id: str = Field(description="The job that takes its photos in.")
    consent_id: str | None = Field(description="The consent under which it is kept.")
    synthetic: bool = Field(description="Declared to show nobody real.")
    created_at: Moment

    @classmethod
    def of(cls, product: Product, *, link: Any) -> ProductBody:
        """A product as clients see it; ``link`` makes a signed link of an object's key."""
        photos = product.photos
        return cls(
            id=product.id,
            sku=product.sku,
            name=product.name,
            state=product.state.value,
            reasons=[
                QualityReasonBody(
                    code=reason.code,
                    detail=reason.detail,
                    blocking=reason.blocking,
                    view=_view_of(reason.photo, product),
                )
                for reason in product.reasons
            ],
            photos=[
                ProductPhotoBody(
                    view=photo.view.value,
                    pins={name: list(point) for name, point in photo.pins.items()},
                    url=None if photo.key is None else link(photo.key),
                    cutout_url=None if photo.cutout_key is None else link(photo.cutout_key),
                )
                for photo in photos
            ],
            category=None if product.category is None else product.category.value,
            job_id=product.job_id,
            consent_id=product.consent_id,
            synthetic=product.synthetic,
            created_at=product.created_at,
        )


def _view_of(number: int | None, product: Product) -> ViewName | None:
    return product.photos[number].view.value if number is not None and 0 <= number < len(product.photos) else None


class ProductsBody(PageBody[ProductBody]):
    """A slice of the wigs or garments."""
