"""Record in the catalogue how taking a product in ended: once, whichever of several who notice comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, Failure, Output
from services.domain.errors import InvalidRequest, NotFound
from services.domain.job import Job, JobState
from services.domain.object_key import ObjectKey, Retention
from services.domain.picture_storyboards import ASSET_ROLE, CUTOUT_ROLE, ProductStoryboard
from services.domain.product import (
    GarmentCategory,
    Product,
    ProductPhoto,
    ProductRequest,
    ProductState,
    QualityReason,
)
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore


def settle_product(product: Product, *, products: ProductStore, jobs: JobStore, objects: ObjectStore) -> Product:
    """The product as the job that takes it in left it; as it is, while that has not ended."""
    if product.state.is_final:
        return product
    try:
        job = jobs.get(product.job_id)
    except NotFound:
        return _rejected(product, _reason("ingest_lost", "The job that took it in is not there any more."), products)
    return settle_from(job, products=products, objects=objects) or product


def settle_from(job: Job, *, products: ProductStore, objects: ObjectStore) -> Product | None:
    """The product of a job of kind ``product`` after that; None when it is not there (any more), or not settled yet.

    What the job made is copied first and the row written after, both idempotent: a crash between the two is made good
    by whoever looks next.
    """
    if job.kind is not EngineKind.PRODUCT or not job.state.is_final:
        return None
    request = wire.from_values(ProductRequest, job.request)
    try:
        product = products.get(job.tenant_id, request.product_id)
    except NotFound:
        return None
    if product.state.is_final:
        return product
    if job.state is JobState.CANCELED:
        return _rejected(product, _reason("canceled", "The job that takes it in was canceled."), products)
    if job.state is JobState.FAILED or job.result is None:
        failure = job.failure or Failure(code="engine_failed", detail="The job gave no reason.")
        return _rejected(product, _reason(failure.code, failure.detail), products)
    try:
        photos = _kept(product, job, job.result.outputs, objects)
    except NotFound:  # the job was deleted while its results were being copied
        return _rejected(product, _reason("ingest_lost", "What the job made is not there any more."), products)
    category = job.result.facts.get("category")
    ready = replace(
        product,
        state=ProductState.READY,
        photos=photos,
        category=product.category if category is None else GarmentCategory(category),
        reasons=(*product.reasons, *reasons_of(job.result.facts)),
    )
    return _settled(ready, products, objects)


def reject_product(job: Job, reasons: tuple[QualityReason, ...], *, products: ProductStore) -> None:
    """Record every reason why the product of ``job`` cannot be used; the job's own failure names only the first."""
    request = wire.from_values(ProductRequest, job.request)
    try:
        product = products.get(job.tenant_id, request.product_id)
    except NotFound:
        return
    if not product.state.is_final:
        products.settle(replace(product, state=ProductState.REJECTED, reasons=reasons))


def reasons_of(facts: Mapping[str, Any]) -> tuple[QualityReason, ...]:
    """What the engine says of the photos.

    Raises:
        InvalidRequest: ``malformed_payload``.
    """
    return tuple(wire.from_values(QualityReason, reason) for reason in facts.get("reasons", ()))


def quality_fault(answer: EngineAnswer, job: Job) -> tuple[Failure | None, tuple[QualityReason, ...]]:
    """Why the product of a good answer cannot be used all the same, and all that was said of it."""
    if job.kind is not EngineKind.PRODUCT or answer.state is not AnswerState.SUCCEEDED:
        return None, ()
    try:
        reasons = reasons_of(answer.facts)
        GarmentCategory(answer.facts.get("category", GarmentCategory.TOP))
    except (InvalidRequest, ValueError, TypeError):
        return Failure(code="engine_failed", detail="The engine's answer is not as agreed."), ()
    blocking = next((reason for reason in reasons if reason.blocking), None)
    if blocking is None:
        return None, reasons
    photos = wire.from_values(ProductRequest, job.request).photos
    is_known = blocking.photo is not None and 0 <= blocking.photo < len(photos)
    param = f"photos.{photos[blocking.photo or 0].view}" if is_known else None
    return Failure(code=blocking.code, detail=blocking.detail, param=param), reasons


def _kept(product: Product, job: Job, outputs: tuple[Output, ...], objects: ObjectStore) -> tuple[ProductPhoto, ...]:
    """The product's photos with the catalogue's own copies of photo, asset and cutout.

    Raises:
        NotFound: ``object_not_found``.
    """
    storyboard = wire.decode(ProductStoryboard, objects.get(ObjectKey.parse(job.storyboard_key or "")))
    made = {output.name: output.key for output in outputs}
    photos = []
    for number, (photo, shot) in enumerate(zip(product.photos, storyboard.photos, strict=True)):
        kept = replace(
            photo,
            key=_copied(shot.photo_key, product, objects),
            asset_key=_copied(made.get(ASSET_ROLE.format(number)), product, objects),
            cutout_key=_copied(made.get(CUTOUT_ROLE.format(number)), product, objects),
        )
        photos.append(kept)
    return tuple(photos)


def _copied(source: str | None, product: Product, objects: ObjectStore) -> str | None:
    if source is None:
        return None
    key = ObjectKey.parse(source)
    target = ObjectKey(
        retention=Retention.CATALOGUE, tenant_id=product.tenant_id, owner_id=product.id, attempt=0, name=key.name
    )
    objects.copy(key, target)
    return str(target)


def _settled(product: Product, products: ProductStore, objects: ObjectStore) -> Product | None:
    settled = products.settle(product)
    if settled is None:  # deleted meanwhile: its copies would be nobody's
        objects.delete_owner(product.tenant_id, product.id)
    return settled


def _rejected(product: Product, reason: QualityReason, products: ProductStore) -> Product:
    rejected = replace(product, state=ProductState.REJECTED, reasons=(reason,))
    return products.settle(rejected) or rejected


def _reason(code: str, detail: str) -> QualityReason:
    return QualityReason(code=code, detail=detail)
