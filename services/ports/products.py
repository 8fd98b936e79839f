"""Where a shop's wigs and garments are kept."""

from __future__ import annotations

from typing import Protocol

from services.domain.product import Product, ProductKind
from services.ports.jobs import Page


class ProductStore(Protocol):
    """Catalogue entries by tenant; what was written is seen by the next read."""

    def add(self, product: Product) -> None:
        """Store a new product; one whose id is there changes nothing."""
        ...

    def get(self, tenant_id: str, product_id: str) -> Product:
        """Raises:
        NotFound: ``wig_not_found`` or ``garment_not_found``, for another tenant's too.
        """
        ...

    def settle(self, product: Product) -> Product | None:
        """Store how taking the product in ended, if it is there and still ``processing``; the product as it is then.

        None when it is not there (any more). So the first ending stays, and nothing brings a deleted product back.
        """
        ...

    def list(
        self,
        tenant_id: str,
        kind: ProductKind,
        *,
        sku: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Product]:
        """Newest first; with ``sku`` only those of exactly that name.

        Raises:
            InvalidRequest: ``malformed_cursor``.
        """
        ...

    def delete(self, tenant_id: str, product_id: str) -> None:
        """Remove the entry; removing what is not there is no error."""
        ...
