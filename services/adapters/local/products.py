"""Wigs and garments in SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of, page_of
from services.adapters.local.sqlite import Database
from services.domain import wire
from services.domain.product import Product, ProductKind, ProductState, product_not_found
from services.ports.jobs import Page

_MIGRATIONS: Final = (
    """
    CREATE TABLE products (
        tenant_id TEXT NOT NULL,
        id TEXT NOT NULL,
        sku TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('processing', 'ready', 'rejected')),
        body TEXT NOT NULL,
        PRIMARY KEY (tenant_id, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX products_by_sku ON products (tenant_id, sku, id);
    """,
)


class SqliteProductStore:
    """``services.ports.products.ProductStore`` in a SQLite file of its own."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, product: Product) -> None:
        self._database.execute(
            "INSERT INTO products (tenant_id, id, sku, state, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (product.tenant_id, product.id, product.sku, product.state, _written(product)),
        )

    def get(self, tenant_id: str, product_id: str) -> Product:
        product = self._find(tenant_id, product_id)
        if product is None:
            raise product_not_found(product_id)
        return product

    def settle(self, product: Product) -> Product | None:
        self._database.execute(
            "UPDATE products SET state = ?, body = ? WHERE tenant_id = ? AND id = ? AND state = ?",
            (product.state, _written(product), product.tenant_id, product.id, ProductState.PROCESSING),
        )
        return self._find(product.tenant_id, product.id)

    def list(
        self,
        tenant_id: str,
        kind: ProductKind,
        *,
        sku: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Product]:
        condition, parameters = ("", ()) if sku is None else (" AND sku = ?", (sku,))
        rows = self._database.all(
            f"SELECT body FROM products WHERE tenant_id = ? AND id > ? AND id < ?{condition} ORDER BY id DESC LIMIT ?",
            (tenant_id, f"{kind}_", last_id_of(cursor, kind) if cursor else f"{kind}_~", *parameters, limit + 1),
        )
        return page_of([wire.decode(Product, row["body"]) for row in rows], limit)

    def delete(self, tenant_id: str, product_id: str) -> None:
        self._database.execute("DELETE FROM products WHERE tenant_id = ? AND id = ?", (tenant_id, product_id))

    def _find(self, tenant_id: str, product_id: str) -> Product | None:
        row = self._database.one("SELECT body FROM products WHERE tenant_id = ? AND id = ?", (tenant_id, product_id))
        return None if row is None else wire.decode(Product, row["body"])


def _written(product: Product) -> str:
    return wire.encode(product).decode()
