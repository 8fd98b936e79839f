"""Wigs and garments of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from lambdas import runtime
from lambdas.api.answers import acting_key, after_waiting, answered_once, caller, json_answer, outcomes
from lambdas.api.job_answers import picture_order
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.routes.jobs import Cursor, Limit
from lambdas.api.schemas.products import GarmentRequestBody, ProductBody, ProductsBody, WigRequestBody
from lambdas.api.scopes import needs
from services.domain.object_key import ObjectKey
from services.domain.product import Product, ProductKind, ProductRequest
from services.domain.scope import Scope
from services.usecases.register_product import delete_product, find_product, job_id_of, register_product
from services.usecases.settle_product import settle_product

router: Final = new_router()

WigPath = Annotated[str, Path(description="The wig's id.", examples=["wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
GarmentPath = Annotated[str, Path(description="The garment's id.", examples=["garment_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
Sku = Annotated[str | None, Query(description="Only those of exactly this SKU.", max_length=100, examples=["BOB-12"])]
_CREATED: Final = outcomes(
    {
        200: ("The product, ready or rejected already (`Prefer: wait`).", ProductBody),
        202: ("The product; `state` says when it is ready.", ProductBody),
    },
    (400, 409, 410, 413, 415, 422),
)


@router.get(
    "/v1/wigs",
    summary="List wigs",
    operation_id="listWigs",
    openapi_extensions=needs(Scope.READ),
    tags=["products"],
    responses=outcomes({200: ("A slice of the wigs, newest first.", ProductsBody)}, (400,)),
)
def list_wigs(sku: Sku = None, cursor: Cursor = None, limit: Limit = 50) -> Response[str]:
    return _page(ProductKind.WIG, sku, cursor, limit)


@router.post(
    "/v1/wigs",
    summary="Take a wig into the catalogue",
    description="Its photos are matted, measured and judged once, by a job; previews then name it by its id. It "
    "becomes `ready`, or `rejected` with every reason. `Prefer: wait=N` waits for that up to N seconds.",
    operation_id="createWig",
    openapi_extensions=needs(Scope.CREATE),
    tags=["products"],
    responses=_CREATED,
)
def create_wig(
    body: Annotated[WigRequestBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    return _create(ProductKind.WIG, body, body.to_domain, idempotency_key, prefer)


@router.get(
    "/v1/wigs/<wig_id>",
    summary="Read a wig",
    operation_id="getWig",
    openapi_extensions=needs(Scope.READ),
    tags=["products"],
    responses=outcomes({200: ("The wig.", ProductBody)}, (404,)),
)
def read_wig(wig_id: WigPath) -> Response[str]:
    return json_answer(_body(_find(ProductKind.WIG, wig_id)))


@router.delete(
    "/v1/wigs/<wig_id>",
    summary="Delete a wig",
    description="With its photos. Jobs that have been prepared keep their copy; a job that still waits in the queue "
    "fails with `wig_not_found`.",
    operation_id="deleteWig",
    openapi_extensions=needs(Scope.CREATE),
    tags=["products"],
    responses=outcomes({204: ("Deleted.", None)}, (404,)),
)
def delete_wig(wig_id: WigPath) -> Response[None]:
    return _delete(ProductKind.WIG, wig_id)


@router.get(
    "/v1/garments",
    summary="List garments",
    operation_id="listGarments",
    openapi_extensions=needs(Scope.READ),
    tags=["products"],
    responses=outcomes({200: ("A slice of the garments, newest first.", ProductsBody)}, (400,)),
)
def list_garments(sku: Sku = None, cursor: Cursor = None, limit: Limit = 50) -> Response[str]:
    return _page(ProductKind.GARMENT, sku, cursor, limit)


@router.post(
    "/v1/garments",
    summary="Take a garment into the catalogue",
    description="Its photos are cut out, measured and judged once, by a job; previews then name it by its id. It "
    "becomes `ready`, or `rejected` with every reason. `Prefer: wait=N` waits for that up to N seconds.",
    operation_id="createGarment",
    openapi_extensions=needs(Scope.CREATE),
    tags=["products"],
    responses=_CREATED,
)
def create_garment(
    body: Annotated[GarmentRequestBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    return _create(ProductKind.GARMENT, body, body.to_domain, idempotency_key, prefer)


@router.get(
    "/v1/garments/<garment_id>",
    summary="Read a garment",
    operation_id="getGarment",
    openapi_extensions=needs(Scope.READ),
    tags=["products"],
    responses=outcomes({200: ("The garment.", ProductBody)}, (404,)),
)
def read_garment(garment_id: GarmentPath) -> Response[str]:
    return json_answer(_body(_find(ProductKind.GARMENT, garment_id)))


@router.delete(
    "/v1/garments/<garment_id>",
    summary="Delete a garment",
    description="With its photos. Jobs that have been prepared keep their copy; a job that still waits in the queue "
    "fails with `garment_not_found`.",
    operation_id="deleteGarment",
    openapi_extensions=needs(Scope.CREATE),
    tags=["products"],
    responses=outcomes({204: ("Deleted.", None)}, (404,)),
)
def delete_garment(garment_id: GarmentPath) -> Response[None]:
    return _delete(ProductKind.GARMENT, garment_id)


def _create(
    kind: ProductKind,
    body: WigRequestBody | GarmentRequestBody,
    to_domain: Callable[[str], ProductRequest],
    idempotency_key: str | None,
    prefer: str | None,
) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def register(product_id: str) -> Response[str]:
        order = picture_order(router, body, job_id_of(product_id))
        product, job = register_product(to_domain(product_id), order, sources=services)
        runtime.log_submitted(job)
        headers = {"Location": f"/v1/{kind}s/{product.id}", "Retry-After": "1"}
        return json_answer(_body(product), status=202, headers=headers)

    answer = answered_once(
        router,
        idempotency_key,
        kind=str(kind),
        create=register,
        find=lambda product_id: services.products.get(tenant.id, product_id),
    )
    if prefer is None:
        return answer
    product_id: str = json.loads(answer.body or "{}")["id"]
    waited = after_waiting(answer, job_id=job_id_of(product_id), tenant=tenant, prefer=prefer, final_status=200)
    if "Preference-Applied" not in waited.headers:
        return answer
    headers = {name: str(value) for name, value in waited.headers.items() if name.lower() != "content-type"}
    return json_answer(_body(_find(kind, product_id)), status=waited.status_code, headers=headers)


def _page(kind: ProductKind, sku: str | None, cursor: str | None, limit: int) -> Response[str]:
    services = runtime.services()
    page = services.products.list(caller(router).id, kind, sku=sku, cursor=cursor, limit=limit)
    settled = [
        settle_product(one, products=services.products, jobs=services.jobs, objects=services.objects)
        for one in page.items
    ]
    return json_answer(ProductsBody(items=[_body(one) for one in settled], next_cursor=page.cursor))


def _find(kind: ProductKind, product_id: str) -> Product:
    return find_product(product_id, kind=kind, tenant_id=caller(router).id, sources=runtime.services())


def _delete(kind: ProductKind, product_id: str) -> Response[None]:
    delete_product(
        product_id,
        kind=kind,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        sources=runtime.services(),
    )
    return Response(status_code=204, body=None)


def _body(product: Product) -> ProductBody:
    services = runtime.services()

    def link(key: str) -> str:
        parsed = ObjectKey.parse(key)
        return services.objects.sign_download(
            parsed, file_name=f"{product.id}-{parsed.name}", expires_in_s=services.settings.link_lifetime_s
        )

    return ProductBody.of(product, link=link)
