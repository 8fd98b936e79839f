"""Batches of previews, images and catalogue entries: their bodies, checks, estimates and submissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from lambdas.api.creation_bodies import Body, choices_of, columns_of, faults_of
from lambdas.api.remembering import remembering
from lambdas.api.schemas.images import ImageBody
from lambdas.api.schemas.previews import GarmentPreviewBody, WigPreviewBody
from lambdas.api.schemas.products import GarmentRequestBody, WigRequestBody
from services.bootstrap import Services
from services.domain.allowance import Allowance
from services.domain.batch import BatchEstimate, BatchKind
from services.domain.job import Job
from services.domain.product import ProductKind
from services.usecases.accept_job import JobOrder
from services.usecases.check_video import check_callback
from services.usecases.creation import Creation, Values
from services.usecases.estimate_pictures import estimate_garment, estimate_image, estimate_product, estimate_wig
from services.usecases.estimate_request import Estimate
from services.usecases.register_product import check_product_submission, product_id_of, register_product
from services.usecases.submit_garment_preview import check_garment_submission, submit_garment_preview
from services.usecases.submit_image import check_image_submission, submit_image
from services.usecases.submit_wig_preview import check_wig_submission, submit_wig_preview

_UNMADE = "0" * 26  # stands for the ULID of a product that is only checked


class Called(Protocol):
    """A body that has somebody called back."""

    @property
    def callback_url(self) -> str | None: ...
    @property
    def callback_id(self) -> str | None: ...


def order_of(
    body: Called,
    *,
    job_id: str,
    tenant_id: str,
    actor: str,
    batch_id: str | None = None,
    traceparent: str | None = None,
) -> JobOrder:
    """For whom a body's job is, and who is told."""
    return JobOrder(
        job_id=job_id,
        tenant_id=tenant_id,
        actor=actor,
        callback_url=body.callback_url,
        callback_id=body.callback_id,
        batch_id=batch_id,
        traceparent=traceparent,
    )


def wig_preview(services: Services) -> Creation:
    """Rows that put wigs on heads: SKUs by models."""
    sources = _remembered(services)
    return _creation(
        BatchKind.WIG_PREVIEW,
        WigPreviewBody,
        services,
        ("front", "front_mask", "turntable", "sheet"),
        check=lambda body, tenant_id: check_wig_submission(body.to_domain(), tenant_id=tenant_id, sources=sources),
        estimate=lambda body: estimate_wig(body.to_domain(), services.prices),
        submit=lambda body, order: submit_wig_preview(body.to_domain(), order, sources=services),
    )


def garment_preview(services: Services) -> Creation:
    """Rows that put garments on bodies."""
    sources = _remembered(services)
    return _creation(
        BatchKind.GARMENT_PREVIEW,
        GarmentPreviewBody,
        services,
        ("picture", "mask", "sheet"),
        check=lambda body, tenant_id: check_garment_submission(body.to_domain(), tenant_id=tenant_id, sources=sources),
        estimate=lambda body: estimate_garment(body.to_domain(), services.prices),
        submit=lambda body, order: submit_garment_preview(body.to_domain(), order, sources=services),
    )


def image(services: Services) -> Creation:
    """Rows that work on pictures."""
    sources = _remembered(services)
    return _creation(
        BatchKind.IMAGE,
        ImageBody,
        services,
        ("image", "mask", "sheet"),
        check=lambda body, tenant_id: check_image_submission(body.to_domain(), tenant_id=tenant_id, sources=sources),
        estimate=lambda body: estimate_image(body.to_domain(), services.prices),
        submit=lambda body, order: submit_image(body.to_domain(), order, sources=services),
    )


def wig(services: Services) -> Creation:
    """Rows that take wigs into the catalogue."""
    return _product(BatchKind.WIG, WigRequestBody, ProductKind.WIG, services)


def garment(services: Services) -> Creation:
    """Rows that take garments into the catalogue."""
    return _product(BatchKind.GARMENT, GarmentRequestBody, ProductKind.GARMENT, services)


def _product(
    kind: BatchKind,
    model: type[WigRequestBody] | type[GarmentRequestBody],
    product_kind: ProductKind,
    services: Services,
) -> Creation:
    sources = _remembered(services)
    unmade = f"{product_kind}_{_UNMADE}"
    return _creation(
        kind,
        model,
        services,
        ("cutout_0", "sheet"),
        check=lambda body, tenant_id: check_product_submission(
            body.to_domain(unmade), tenant_id=tenant_id, sources=sources
        ),
        estimate=lambda body: estimate_product(services.prices),
        submit=lambda body, order: register_product(
            body.to_domain(product_id_of(order.job_id, product_kind)), order, sources=services
        )[1],
    )


def _creation(
    kind: BatchKind,
    model: type[Body],
    services: Services,
    output_names: tuple[str, ...],
    *,
    check: Callable[[Any, str], object],
    estimate: Callable[[Any], Estimate],
    submit: Callable[[Any, JobOrder], Job],
) -> Creation:
    def check_all(body: Any, tenant_id: str) -> None:
        check_callback(body.callback_url, body.callback_id, services.settings)
        check(body, tenant_id)

    def estimate_row(values: Values, tenant_id: str) -> BatchEstimate:
        made = estimate(model.model_validate(values))
        return BatchEstimate(quantities=made.quantities, cost=made.cost)

    def submit_row(values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None) -> Job:
        body: Any = model.model_validate(values)
        order = order_of(body, job_id=job_id, tenant_id=tenant_id, actor=batch_id, batch_id=batch_id)
        return submit(body, order)

    return Creation(
        kind=kind,
        columns=columns_of(model),
        choices=choices_of(model),
        output_names=output_names,
        faults=faults_of(model, check_all),
        estimate=estimate_row,
        submit=submit_row,
    )


def _remembered(services: Services) -> Services:
    """Rows name the same few things again and again; each is looked up once."""
    return replace(
        services,
        uploads=remembering(services.uploads, "get"),
        avatars=remembering(services.avatars, "get"),
        objects=remembering(services.objects, "start_of"),
        products=remembering(services.products, "get"),
        consents=remembering(services.consents, "get", "consents_of"),
    )
