"""Whether the product of a request may be used: the rules of photos and pins, and by what right they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from services.domain.errors import ContentRejected, InvalidRequest, NotFound
from services.domain.outside_url import SOURCE, parse_outside_url
from services.domain.pins import pins_of
from services.domain.product import (
    GarmentCategory,
    PhotoSource,
    Product,
    ProductKind,
    ProductRef,
    ProductState,
    ProductView,
    product_not_found,
)
from services.settings import Settings
from services.usecases.check_choice import exactly_one
from services.usecases.check_consent import LikenessClaim
from services.usecases.check_text import check_in_range
from services.usecases.check_upload import check_upload
from services.usecases.settle_product import settle_product
from services.usecases.sources import Sources

MAX_PHOTOS: Final = 8
_MAX_PINS: Final = 64


def check_photos(
    photos: Sequence[PhotoSource],
    settings: Settings,
    *,
    kind: ProductKind,
    category: GarmentCategory | None = None,
    param: str = "photos",
) -> None:
    """Nothing, when there is a photo from the front, of each other side at most one, and each keeps the rules.

    Raises:
        InvalidRequest: ``missing``, ``out_of_range``, ``exactly_one``, ``duplicate_view``, ``pins_unknown``.
        ContentRejected: ``source_url_refused``.
    """
    check_in_range(param, len(photos), 1, MAX_PHOTOS)
    views = [photo.view for photo in photos]
    if ProductView.FRONT not in views:
        raise InvalidRequest("A photo from the front is needed.", code="missing", param=param)
    for number, photo in enumerate(photos):
        if photo.view in views[:number]:
            raise InvalidRequest(
                f"There are two photos of the view {photo.view}; give the better one.",
                code="duplicate_view",
                param=f"{param}.{photo.view}",
            )
        check_photo(photo, settings, pins=pins_of(kind, category), param=f"{param}.{photo.view}")


def check_photo(photo: PhotoSource, settings: Settings, *, pins: Sequence[str], param: str) -> None:
    """Nothing, when the photo keeps every rule that needs nothing but itself.

    Args:
        pins: Names of those that it may have.

    Raises:
        InvalidRequest: ``exactly_one``, ``out_of_range``, ``pins_unknown``.
        ContentRejected: ``source_url_refused``.
    """
    exactly_one(param, upload_id=photo.upload_id, source_url=photo.source_url)
    check_in_range(f"{param}.pins", len(photo.pins), 0, _MAX_PINS)
    for name, point in photo.pins.items():
        if name not in pins:
            raise InvalidRequest(
                f"{name[:40]!r} is no pin of this product; there are {', '.join(pins)}.",
                code="pins_unknown",
                param=f"{param}.pins",
            )
        for value in point:
            check_in_range(f"{param}.pins.{name}", value, 0, 1)
    if photo.source_url is not None:
        purpose = replace(SOURCE, param=f"{param}.source_url")
        parse_outside_url(photo.source_url, allow_private=settings.allow_private_callbacks, purpose=purpose)


def check_photo_upload(photo: PhotoSource, *, tenant_id: str, sources: Sources, param: str) -> None:
    """Nothing, when the upload that the photo names, if it names one, is a picture that has arrived.

    Raises:
        ContentRejected: What ``check_upload`` says.
    """
    if photo.upload_id is not None:
        check_upload(
            photo.upload_id,
            ("image",),
            tenant_id=tenant_id,
            uploads=sources.uploads,
            objects=sources.objects,
            settings=sources.settings,
            param=f"{param}.upload_id",
        )


def check_ref(
    ref: ProductRef, settings: Settings, *, kind: ProductKind, category: GarmentCategory | None = None
) -> None:
    """Nothing, when a preview's product keeps every rule that needs nothing but itself.

    Args:
        category: Of a garment's photo, where the request names it.

    Raises:
        InvalidRequest, ContentRejected: What ``check_photo`` says; ``exactly_one``; ``not_used``: pins beside a product
            of the catalogue, whose photos have their own.
    """
    photo = ref.photo or PhotoSource()
    fields = {f"{kind}_id": ref.product_id, "upload_id": photo.upload_id, "source_url": photo.source_url}
    exactly_one(str(kind), **fields)
    if ref.product_id is None:
        check_photo(photo, settings, pins=pins_of(kind, category), param=str(kind))
    elif photo.pins:
        raise InvalidRequest(
            f"Pins are for a photo given directly; those of {ref.product_id} were set when it was taken in.",
            code="not_used",
            param=f"{kind}.pins",
        )


def claim_on_product(ref: ProductRef, *, kind: ProductKind, tenant_id: str, sources: Sources) -> LikenessClaim | None:
    """By what right the product's photo is used, which may show a head; None where none is needed any more.

    A product of the catalogue keeps its own right, so that a revoked consent cannot be talked away.

    Raises:
        ContentRejected: ``wig_not_found``, ``garment_not_found``, ``product_not_ready``, ``product_rejected``, and what
            ``check_upload`` says.
    """
    if ref.photo is not None:
        check_photo_upload(ref.photo, tenant_id=tenant_id, sources=sources, param=str(kind))
        return LikenessClaim(consent_id=ref.consent_id, synthetic=ref.synthetic, param=str(kind))
    product = ready_product(ref, kind=kind, tenant_id=tenant_id, sources=sources)
    if product.consent_id is None:
        return None  # declared to show nobody when it was registered
    return LikenessClaim(consent_id=product.consent_id, param=str(kind))


def ready_product(ref: ProductRef, *, kind: ProductKind, tenant_id: str, sources: Sources) -> Product:
    """The catalogue's product that a preview names.

    Raises:
        ContentRejected: ``wig_not_found``, ``garment_not_found``, ``product_not_ready``, ``product_rejected``.
    """
    product_id, param = ref.product_id or "", f"{kind}.{kind}_id"
    try:
        product = sources.products.get(tenant_id, product_id)
        if product.kind is not kind:
            raise product_not_found(product_id, kind)
    except NotFound as error:
        raise ContentRejected(error.detail, code=error.code, param=param) from error
    product = settle_product(product, products=sources.products, jobs=sources.jobs, objects=sources.objects)
    if product.state is ProductState.PROCESSING:
        raise ContentRejected(
            f"{product_id} is still being taken in by {product.job_id}; wait until that has ended.",
            code="product_not_ready",
            param=param,
        )
    if product.state is ProductState.REJECTED:
        reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in product.reasons)
        raise ContentRejected(f"{product_id} cannot be used: {reasons}", code="product_rejected", param=param)
    return product
