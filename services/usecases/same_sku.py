"""Whether the catalogue has a SKU already: a shop's own name, which may stand twice, but not unnoticed."""

from __future__ import annotations

from typing import Final

from services.domain.product import ProductRequest, ProductState, QualityReason
from services.ports.products import ProductStore

_MOST_NAMED: Final = 3


def same_sku(request: ProductRequest, *, tenant_id: str, products: ProductStore) -> tuple[QualityReason, ...]:
    """``sku_in_use``, naming the newest products of the kind with the request's SKU; nothing where there are none."""
    page = products.list(tenant_id, request.kind, sku=request.sku)
    others = [one.id for one in page.items if one.id != request.product_id and one.state is not ProductState.REJECTED]
    if not others:
        return ()
    which = ", ".join(others[:_MOST_NAMED]) + (", …" if len(others) > _MOST_NAMED else "")
    detail = f"The catalogue has this SKU already: {which}. Delete what this {request.kind} replaces."
    return (QualityReason(code="sku_in_use", detail=detail, blocking=False),)
