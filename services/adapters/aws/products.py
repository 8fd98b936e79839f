"""Wigs and garments in DynamoDB."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from services.adapters.aws.clients import Clients
from services.adapters.aws.items import Item
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.domain import wire
from services.domain.product import Product, ProductKind, ProductState, product_not_found
from services.ports.jobs import Page


class DynamoProductStore:
    """``services.ports.products.ProductStore`` in one table, a partition a tenant; read consistently.

    An id begins with its kind, so one kind is a range of ids. A SKU is any text, so the index holds its hash.
    """

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._table = Table(clients, f"{table_prefix}products")

    def add(self, product: Product) -> None:
        with suppress(ConditionFailed):
            self._table.put(_item(product), condition="attribute_not_exists(#id)")

    def get(self, tenant_id: str, product_id: str) -> Product:
        product = self._find(tenant_id, product_id)
        if product is None:
            raise product_not_found(product_id)
        return product

    def settle(self, product: Product) -> Product | None:
        try:
            self._table.put(
                _item(product), condition="#state = :processing", values={"processing": str(ProductState.PROCESSING)}
            )
        except ConditionFailed as error:
            return None if error.item is None else wire.decode(Product, error.item["body"])
        return product

    def list(
        self,
        tenant_id: str,
        kind: ProductKind,
        *,
        sku: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Product]:
        before = last_id_of(cursor, kind) if cursor else f"{kind}_~"
        name, head = ("id", "") if sku is None else ("sku_id", f"{_hash_of(sku)}#")
        items = self._table.query(  # BETWEEN takes its ends in, so the cursor's own row comes first
            f"#tenant_id = :tenant AND #{name} BETWEEN :first AND :last",
            {"tenant": tenant_id, "first": f"{head}{kind}_", "last": f"{head}{before}"},
            index=None if sku is None else "by_sku",
            limit=limit + 2,
            descending=True,
            consistent=True,
        )
        return page_of([wire.decode(Product, item["body"]) for item in items if item["id"] != before], limit)

    def delete(self, tenant_id: str, product_id: str) -> None:
        self._table.delete({"tenant_id": tenant_id, "id": product_id})

    def _find(self, tenant_id: str, product_id: str) -> Product | None:
        item = self._table.get({"tenant_id": tenant_id, "id": product_id})
        return None if item is None else wire.decode(Product, item["body"])


def _item(product: Product) -> Item:
    return {
        "tenant_id": product.tenant_id,
        "id": product.id,
        "sku_id": f"{_hash_of(product.sku)}#{product.id}",
        "state": str(product.state),
        "body": wire.encode(product).decode(),
    }


def _hash_of(sku: str) -> str:
    return hashlib.sha256(sku.encode()).hexdigest()
