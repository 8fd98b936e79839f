"""Wigs and garments in memory."""

from __future__ import annotations

from services.domain.errors import InvalidRequest
from services.domain.product import Product, ProductKind, ProductState, product_not_found
from services.ports.jobs import Page


class FakeProductStore:
    def __init__(self, *products: Product) -> None:
        self._products = {(product.tenant_id, product.id): product for product in products}

    def add(self, product: Product) -> None:
        self._products.setdefault((product.tenant_id, product.id), product)

    def get(self, tenant_id: str, product_id: str) -> Product:
        product = self._products.get((tenant_id, product_id))
        if product is None:
            raise product_not_found(product_id)
        return product

    def settle(self, product: Product) -> Product | None:
        key = (product.tenant_id, product.id)
        if key in self._products and self._products[key].state is ProductState.PROCESSING:
            self._products[key] = product
        return self._products.get(key)

    def list(
        self,
        tenant_id: str,
        kind: ProductKind,
        *,
        sku: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Product]:
        if cursor is not None and not cursor.startswith(f"{kind}_"):
            raise InvalidRequest("Not a cursor of this list.", code="malformed_cursor", param="cursor")
        found = [
            product
            for (owner, _), product in self._products.items()
            if owner == tenant_id and product.kind is kind and sku in (None, product.sku)
            if cursor is None or product.id < cursor
        ]
        found.sort(key=lambda product: product.id, reverse=True)
        more = found[limit - 1].id if len(found) > limit else None
        return Page(items=tuple(found[:limit]), cursor=more)

    def delete(self, tenant_id: str, product_id: str) -> None:
        self._products.pop((tenant_id, product_id), None)
