"""What every store of wigs and garments does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.products import DynamoProductStore
from services.adapters.local.products import SqliteProductStore
from services.domain.errors import InvalidRequest, NotFound
from services.domain.ids import new_id
from services.domain.product import (
    GarmentCategory,
    Product,
    ProductKind,
    ProductPhoto,
    ProductState,
    ProductView,
    QualityReason,
)
from services.ports.products import ProductStore
from tests.fakes.products import FakeProductStore


def product(kind: ProductKind = ProductKind.WIG, tenant_id: str = "tenant_a", **changes) -> Product:
    product_id = new_id(kind)
    made = Product(
        id=product_id,
        tenant_id=tenant_id,
        kind=kind,
        sku="BOB-12 图",
        name='The "short" bob',
        photos=(
            ProductPhoto(key=f"catalogue/{tenant_id}/{product_id}/0/photo_0.jpg"),
            ProductPhoto(
                key=f"catalogue/{tenant_id}/{product_id}/0/photo_1.jpg",
                view=ProductView.LEFT,
                pins={"temple_left": (0.25, 0.5)},
            ),
        ),
        job_id="job_1",
        created_at=datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC),
    )
    return replace(made, **changes)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def products(request: pytest.FixtureRequest, tmp_path: Path) -> ProductStore:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoProductStore(Clients(), table_prefix=aws.tables("products"))
    return FakeProductStore() if request.param == "fake" else SqliteProductStore(tmp_path / "products.sqlite")


def test_wig_and_garment_come_back_whole(products):
    reasons = (QualityReason(code="product_touches_frame", detail="At the left.", blocking=False, photo=0),)
    wig = product(consent_id="consent_1", reasons=reasons)
    dress = product(ProductKind.GARMENT, category=GarmentCategory.DRESS, synthetic=True)
    for one in (wig, dress):
        products.add(one)
        assert products.get("tenant_a", one.id) == one


def test_adding_again_changes_nothing(products):
    one = product()
    products.add(one)
    products.add(replace(one, name="other"))
    assert products.get("tenant_a", one.id) == one


@pytest.mark.parametrize(
    ("kind", "code"), [(ProductKind.WIG, "wig_not_found"), (ProductKind.GARMENT, "garment_not_found")]
)
def test_other_tenants_product_is_not_found_and_not_listed(products, kind, code):
    foreign = product(kind, "tenant_b")
    products.add(foreign)
    with pytest.raises(NotFound) as caught:
        products.get("tenant_a", foreign.id)
    assert caught.value.code == code
    assert products.list("tenant_a", kind).items == ()
    products.delete("tenant_a", foreign.id)
    assert products.get("tenant_b", foreign.id) == foreign


def test_pages_hold_every_product_of_the_kind_once_newest_first(products):
    made = sorted((product(name=str(number)) for number in range(7)), key=lambda one: one.id)
    for one in (*made, product(ProductKind.GARMENT), product(tenant_id="tenant_b")):
        products.add(one)
    pages, cursor = [], None
    while True:
        page = products.list("tenant_a", ProductKind.WIG, cursor=cursor, limit=3)
        pages.append(page.items)
        cursor = page.cursor
        if cursor is None:
            break
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [one for page in pages for one in page] == made[::-1]
    assert [one.kind for one in products.list("tenant_a", ProductKind.GARMENT).items] == [ProductKind.GARMENT]


def test_products_of_a_sku_are_found_by_its_exact_name_in_pages(products):
    same = sorted((product(sku="A-1") for _ in range(3)), key=lambda one: one.id)
    for one in (*same, product(sku="A-10"), product(sku="a-1"), product(ProductKind.GARMENT, sku="A-1")):
        products.add(one)
    first = products.list("tenant_a", ProductKind.WIG, sku="A-1", limit=2)
    last = products.list("tenant_a", ProductKind.WIG, sku="A-1", limit=2, cursor=first.cursor)
    assert [*first.items, *last.items] == same[::-1]
    assert last.cursor is None
    assert products.list("tenant_a", ProductKind.WIG, sku="A").items == ()


@pytest.mark.parametrize("cursor", ["' OR 1=1 --", "garment_01JZZZZZZZZZZZZZZZZZZZZZZZ"])
def test_cursor_of_another_list_is_refused(products, cursor):
    with pytest.raises(InvalidRequest) as caught:
        products.list("tenant_a", ProductKind.WIG, cursor=cursor)
    assert (caught.value.code, caught.value.param) == ("malformed_cursor", "cursor")


@pytest.mark.parametrize("product_id", ["", "\0", "../../etc", "图" * 5000])
def test_any_text_may_be_asked_for_and_is_not_found(products, product_id):
    with pytest.raises(NotFound):
        products.get("tenant_a", product_id)
    products.delete("tenant_a", product_id)


def test_first_ending_stays(products):
    one = product()
    products.add(one)
    ready = replace(one, state=ProductState.READY, photos=(replace(one.photos[0], asset_key="catalogue/…"),))
    assert products.settle(ready) == ready
    assert products.settle(replace(one, state=ProductState.REJECTED)) == ready
    assert products.get("tenant_a", one.id) == ready


def test_deleted_product_does_not_come_back_when_its_ingest_ends(products):
    one = product()
    products.add(one)
    products.delete("tenant_a", one.id)
    products.delete("tenant_a", one.id)
    assert products.settle(replace(one, state=ProductState.READY)) is None
    with pytest.raises(NotFound):
        products.get("tenant_a", one.id)
