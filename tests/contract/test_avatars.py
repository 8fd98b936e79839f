"""What every avatar catalogue does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.adapters.aws.avatars import DynamoAvatarCatalogue
from services.adapters.aws.clients import Clients
from services.adapters.local.avatars import SqliteAvatarCatalogue
from services.domain.errors import InvalidRequest, NotFound
from services.domain.ids import new_id
from services.ports.catalogue import Avatar, AvatarCatalogue
from tests.fakes.catalogue import FakeAvatarCatalogue


def avatar(tenant_id: str | None = "tenant_a", **changes):
    avatar_id = new_id("avatar")
    made = Avatar(
        id=avatar_id,
        tenant_id=tenant_id,
        name="Vera 图",
        kind="picture",
        object_key=f"catalogue/{tenant_id or 'shared'}/{avatar_id}/0/picture.jpg",
        media_type="image/jpeg",
        created_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        licence=None if tenant_id else "MIT",
    )
    return replace(made, **changes)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def avatars(request: pytest.FixtureRequest, tmp_path: Path) -> AvatarCatalogue:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoAvatarCatalogue(Clients(), table_prefix=aws.tables("avatars"))
    return FakeAvatarCatalogue() if request.param == "fake" else SqliteAvatarCatalogue(tmp_path / "avatars.sqlite")


def test_own_and_built_in_avatars_come_back_whole(avatars):
    own, built_in = avatar(consent_id="consent_1"), avatar(None)
    drawn = avatar(synthetic=True)
    avatars.add(drawn)
    assert avatars.get("tenant_a", drawn.id) == drawn
    for one in (own, built_in):
        avatars.add(one)
        assert avatars.get("tenant_a", one.id) == one


def test_other_tenants_avatar_is_not_found_and_not_listed(avatars):
    foreign = avatar("tenant_b")
    avatars.add(foreign)
    with pytest.raises(NotFound) as caught:
        avatars.get("tenant_a", foreign.id)
    assert caught.value.code == "avatar_not_found"
    assert avatars.list("tenant_a").items == ()


def test_pages_hold_every_avatar_once_newest_first(avatars):
    made = sorted((avatar(None if number == 3 else "tenant_a") for number in range(7)), key=lambda one: one.id)
    for one in made:
        avatars.add(one)
    pages, cursor = [], None
    while True:
        page = avatars.list("tenant_a", cursor=cursor, limit=3)
        pages.append(page.items)
        cursor = page.cursor
        if cursor is None:
            break
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [one for page in pages for one in page] == made[::-1]


def test_full_last_page_has_no_cursor(avatars):
    for _ in range(2):
        avatars.add(avatar())
    assert avatars.list("tenant_a", limit=2).cursor is None


def test_made_up_cursor_is_refused(avatars):
    with pytest.raises(InvalidRequest) as caught:
        avatars.list("tenant_a", cursor="' OR 1=1 --")
    assert (caught.value.code, caught.value.param) == ("malformed_cursor", "cursor")


@pytest.mark.parametrize("avatar_id", ["", "\0", "../../etc", "图" * 5000])
def test_any_text_may_be_asked_for_and_is_not_found(avatars, avatar_id):
    with pytest.raises(NotFound):
        avatars.get("tenant_a", avatar_id)
    avatars.delete("tenant_a", avatar_id)


def test_adding_again_changes_nothing(avatars):
    one = avatar()
    avatars.add(one)
    avatars.add(replace(one, name="other"))
    assert avatars.get("tenant_a", one.id) == one


def test_only_its_tenant_deletes_an_avatar(avatars):
    own, built_in = avatar(), avatar(None)
    for one in (own, built_in):
        avatars.add(one)
        avatars.delete("tenant_b", one.id)
    avatars.delete("tenant_a", built_in.id)
    assert avatars.get("tenant_a", built_in.id) == built_in
    avatars.delete("tenant_a", own.id)
    with pytest.raises(NotFound):
        avatars.get("tenant_a", own.id)
    avatars.delete("tenant_a", own.id)
