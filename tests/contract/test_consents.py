"""What every consent register does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.consents import DynamoConsentStore
from services.adapters.local.consents import SqliteConsentStore
from services.domain.consent import Consent, Likeness
from services.domain.errors import InvalidRequest, NotFound
from services.ports.consents import ConsentStore
from tests.fakes.consents import FakeConsentStore

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def numbered(number: int) -> str:
    return f"consent_01J{number:023d}"


CONSENT = Consent(
    id=numbered(1),
    tenant_id="tenant_a",
    subject="Zoë O'Brien, 图",
    likenesses=frozenset({Likeness.FACE, Likeness.VOICE}),
    purpose='spring "campaign"',
    evidence_key="catalogue/tenant_a/consent_1/0/evidence.pdf",
    created_at=NOON,
    expires_at=NOON + timedelta(days=365),
)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def consents(request: pytest.FixtureRequest, tmp_path: Path) -> ConsentStore:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoConsentStore(Clients(), table_prefix=aws.tables("consents", "consent_uses"))
    return FakeConsentStore() if request.param == "fake" else SqliteConsentStore(tmp_path / "consents.sqlite")


@pytest.mark.parametrize(
    "consent", [CONSENT, replace(CONSENT, expires_at=None, likenesses=frozenset({Likeness.VOICE}), revoked_at=NOON)]
)
def test_consent_comes_back_whole(consents, consent):
    consents.add(consent)
    assert consents.get("tenant_a", consent.id) == consent


def test_adding_again_changes_nothing(consents):
    consents.add(CONSENT)
    consents.add(replace(CONSENT, purpose="other"))
    assert consents.get("tenant_a", CONSENT.id) == CONSENT


def test_consent_given_to_another_tenant_is_not_found(consents):
    consents.add(CONSENT)
    for call in (
        lambda: consents.get("tenant_b", CONSENT.id),
        lambda: consents.revoke("tenant_b", CONSENT.id, NOON),
        lambda: consents.get("tenant_a", numbered(9)),
    ):
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.code == "consent_not_found"
    consents.delete("tenant_b", CONSENT.id)
    assert consents.get("tenant_a", CONSENT.id) == CONSENT


@pytest.mark.parametrize("consent_id", ["", "\0", "../../etc", "图" * 5000])
def test_any_text_may_be_asked_for_and_is_not_found(consents, consent_id):
    for call in (consents.get, lambda *ids: consents.revoke(*ids, NOON)):
        with pytest.raises(NotFound):
            call("tenant_a", consent_id)
    consents.delete("tenant_a", consent_id)


def test_first_revocation_stays(consents):
    consents.add(CONSENT)
    revoked = replace(CONSENT, revoked_at=NOON)
    assert consents.revoke("tenant_a", CONSENT.id, NOON) == revoked
    assert consents.revoke("tenant_a", CONSENT.id, NOON + timedelta(hours=1)) == revoked
    assert consents.get("tenant_a", CONSENT.id) == revoked


def test_listing_is_newest_first_in_slices_and_by_subject(consents):
    for number in range(1, 6):
        subject = "Ann" if number % 2 else "Bob"
        consents.add(replace(CONSENT, id=numbered(number), subject=subject))
    consents.add(replace(CONSENT, id=numbered(7), tenant_id="tenant_b", subject="Ann"))
    first = consents.list("tenant_a", limit=3)
    rest = consents.list("tenant_a", limit=3, cursor=first.cursor)
    assert [one.id for one in (*first.items, *rest.items)] == [numbered(n) for n in (5, 4, 3, 2, 1)]
    assert rest.cursor is None
    anns = consents.list("tenant_a", subject="Ann", limit=2)
    last = consents.list("tenant_a", subject="Ann", limit=2, cursor=anns.cursor)
    assert [one.id for one in (*anns.items, *last.items)] == [numbered(n) for n in (5, 3, 1)]
    assert last.cursor is None
    assert consents.list("tenant_a", subject="An").items == ()


def test_cursor_of_another_list_is_malformed(consents):
    with pytest.raises(InvalidRequest) as caught:
        consents.list("tenant_a", cursor="job_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    assert caught.value.code == "malformed_cursor"


def test_use_is_noted_once(consents):
    consents.add(CONSENT)
    consents.record_use(CONSENT.id, "job_1")
    consents.record_use(CONSENT.id, "avatar_1")
    consents.record_use(CONSENT.id, "job_1")
    consents.record_use(numbered(2), "job_2")
    assert sorted(consents.uses(CONSENT.id)) == ["avatar_1", "job_1"]
    assert list(consents.uses(numbered(9))) == []


def test_consents_of_an_upload_are_found_until_they_or_the_note_are_gone(consents):
    upload = "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6"
    consents.add(CONSENT)
    for consent_id in (CONSENT.id, numbered(2)):
        consents.record_use(consent_id, upload)
    assert list(consents.uses(CONSENT.id)) == [upload]
    assert sorted(consents.consents_of(upload)) == sorted([CONSENT.id, numbered(2)])
    assert list(consents.consents_of("upload_01JDV3M0Q8T2A4B6C8D0E2F4G7")) == []
    consents.forget_use(numbered(2), upload)
    assert list(consents.consents_of(upload)) == [CONSENT.id]
    consents.delete("tenant_a", CONSENT.id)
    assert list(consents.consents_of(upload)) == []


def test_use_is_forgotten_alone(consents):
    consents.add(CONSENT)
    for used_by in ("avatar_1", "job_1"):
        consents.record_use(CONSENT.id, used_by)
    consents.forget_use(CONSENT.id, "job_1")
    consents.forget_use(CONSENT.id, "job_1")
    consents.forget_use(numbered(9), "job_1")
    assert list(consents.uses(CONSENT.id)) == ["avatar_1"]


def test_deleted_consent_takes_the_notes_of_its_uses_along(consents):
    consents.add(CONSENT)
    consents.record_use(CONSENT.id, "job_1")
    consents.record_use(numbered(2), "job_2")
    consents.delete("tenant_a", CONSENT.id)
    consents.delete("tenant_a", CONSENT.id)
    with pytest.raises(NotFound):
        consents.get("tenant_a", CONSENT.id)
    assert list(consents.uses(CONSENT.id)) == []
    assert list(consents.uses(numbered(2))) == ["job_2"]


def test_many_uses_all_come_back(consents):
    consents.add(CONSENT)
    for number in range(120):
        consents.record_use(CONSENT.id, f"job_{number:03d}")
    assert len(consents.uses(CONSENT.id)) == 120
