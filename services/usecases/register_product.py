"""Take a wig or a garment into the catalogue, and take it out again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from services.domain.engine import EngineKind
from services.domain.errors import Conflict, InvalidRequest, NotFound, SpokesmodelError
from services.domain.job import Job
from services.domain.product import Product, ProductKind, ProductPhoto, ProductRequest, product_not_found
from services.ports.products import ProductStore
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job, checked_claim, consent_of
from services.usecases.cancel_job import cancel_job
from services.usecases.check_consent import LikenessClaim
from services.usecases.check_product import check_photo_upload, check_photos
from services.usecases.check_text import check_characters
from services.usecases.record_act import record_act
from services.usecases.same_sku import same_sku
from services.usecases.settle_product import settle_product
from services.usecases.sources import Sources

MAX_SKU: Final = 100
MAX_NAME: Final = 200


def job_id_of(product_id: str) -> str:
    """The id of the job that takes the product in: the same ULID, so that either tells the other."""
    return f"job_{product_id.partition('_')[2]}"


def product_id_of(job_id: str, kind: ProductKind) -> str:
    """The other way round."""
    return f"{kind}_{job_id.partition('_')[2]}"


def register_product(request: ProductRequest, order: JobOrder, *, sources: Sources) -> tuple[Product, Job]:
    """The product, ``processing`` until its job has ended, and that job; asked again, the same.

    The job is stored first: a job whose product is missing makes nothing of it, a product without a job would wait for
    ever.

    Raises:
        SpokesmodelError: What ``check_product_submission`` says.
    """
    checked, claims = check_product_submission(request, tenant_id=order.tenant_id, sources=sources)
    job = accept_job(EngineKind.PRODUCT, checked, order, claims=claims, sources=sources)
    product = Product(
        id=checked.product_id,
        tenant_id=order.tenant_id,
        kind=checked.kind,
        sku=checked.sku,
        name=checked.name,
        photos=tuple(ProductPhoto(view=photo.view, pins=photo.pins) for photo in checked.photos),
        job_id=job.id,
        created_at=job.created_at,
        category=checked.category,
        reasons=same_sku(checked, tenant_id=order.tenant_id, products=sources.products),
        consent_id=checked.consent_id,
        synthetic=checked.synthetic,
    )
    sources.products.add(product)
    try:  # the subject may have been deleted since the first look, and would not find this product
        for held in claims:
            if held is not None:
                checked_claim(held.claim, tenant_id=order.tenant_id, sources=sources)
    except SpokesmodelError:
        sources.products.delete(order.tenant_id, product.id)
        raise
    return product, job


def check_product_submission(
    request: ProductRequest, *, tenant_id: str, sources: Sources
) -> tuple[ProductRequest, tuple[HeldClaim | None, ...]]:
    """The request with the consent under which it was checked, and by what right heads are shown; nothing is stored.

    Raises:
        InvalidRequest, ContentRejected: ``out_of_range``, ``not_used``, ``control_character``, and what
            ``check_photos`` and ``check_upload`` say.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    for name, text, most in (("sku", request.sku, MAX_SKU), ("name", request.name, MAX_NAME)):
        check_characters(text, param=name)
        if len(text) > most or (name == "sku" and not text.strip()):
            raise InvalidRequest(f"{name} has 1 to {most} characters.", code="out_of_range", param=name)
    if request.category is not None and request.kind is ProductKind.WIG:
        raise InvalidRequest("category is only for garments.", code="not_used", param="category")
    check_photos(request.photos, sources.settings, kind=request.kind, category=request.category)
    for photo in request.photos:
        check_photo_upload(photo, tenant_id=tenant_id, sources=sources, param=f"photos.{photo.view}")
    claim = LikenessClaim(consent_id=request.consent_id, synthetic=request.synthetic)
    uploads = [photo.upload_id for photo in request.photos]
    held = checked_claim(claim, *uploads, tenant_id=tenant_id, sources=sources)
    if held is not None:
        held = replace(held, used_by=(request.product_id, *held.used_by))
    return replace(request, consent_id=consent_of(held), synthetic=request.synthetic and not consent_of(held)), (held,)


def find_product(product_id: str, *, kind: ProductKind, tenant_id: str, sources: Sources) -> Product:
    """The tenant's product, as its job left it.

    Raises:
        NotFound: ``wig_not_found``, ``garment_not_found``.
    """
    try:
        product = sources.products.get(tenant_id, product_id)
    except NotFound as error:
        raise product_not_found(product_id, kind) from error
    if product.kind is not kind:
        raise product_not_found(product_id, kind)
    return settle_product(product, products=sources.products, jobs=sources.jobs, objects=sources.objects)


def delete_product(product_id: str, *, kind: ProductKind, tenant_id: str, actor: str, sources: Sources) -> None:
    """Remove the product and what the catalogue keeps of it; jobs that already took a copy are not touched.

    Raises:
        NotFound: ``wig_not_found``, ``garment_not_found``.
    """
    product = find_product(product_id, kind=kind, tenant_id=tenant_id, sources=sources)
    remove_product(product, products=sources.products, sources=sources)
    record_act(
        f"{kind}.deleted", product_id, tenant_id=tenant_id, actor=actor, audit=sources.audit, clock=sources.clock
    )


def remove_product(product: Product, *, products: ProductStore, sources: Sources) -> None:
    """Row first, so that a job that ends meanwhile brings nothing back; then the job that still runs, and the files."""
    products.delete(product.tenant_id, product.id)
    if not product.state.is_final:
        with suppress(Conflict, NotFound):
            cancel_job(
                product.job_id,
                tenant_id=product.tenant_id,
                jobs=sources.jobs,
                objects=sources.objects,
                clock=sources.clock,
            )
    sources.objects.delete_owner(product.tenant_id, product.id)
