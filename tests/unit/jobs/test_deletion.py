"""Deletion of a subject and of a tenant, on the real stores of one machine: afterwards nothing is left on the disk."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.adapters.local.engine import SqliteEngine
from services.bootstrap import Services, bootstrap
from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchKind, BatchRow, RowState
from services.domain.consent import Likeness
from services.domain.engine import AnswerState, EngineAnswer, Output
from services.domain.errors import Forbidden, NotFound, Unavailable
from services.domain.ids import new_id
from services.domain.job import JobState
from services.domain.object_key import ObjectKey, Retention
from services.domain.product import PhotoSource, ProductKind, ProductRequest, ProductState
from services.domain.video import Presenter, SpokenText, VideoRequest, VoiceSettings
from services.ports.idempotency import Reservation, StoredAnswer
from services.ports.uploads import Upload
from services.ports.webhooks import Delivery
from services.settings import Settings
from services.usecases.accept_job import JobOrder
from services.usecases.authenticate import authenticate
from services.usecases.check_consent import LikenessClaim
from services.usecases.complete_attempt import complete_attempt
from services.usecases.delete_subject import DeletedSubject, delete_subject
from services.usecases.delete_tenant import delete_tenant
from services.usecases.dispatch_attempt import dispatch_attempt
from services.usecases.manage_keys import create_tenant, issue_key
from services.usecases.prepare_storyboard import prepare_storyboard
from services.usecases.record_act import OPERATOR
from services.usecases.register_avatar import register_avatar
from services.usecases.register_consent import register_consent
from services.usecases.register_product import job_id_of, register_product
from services.usecases.submit_video import submit_video
from tests.fakes.catalogue import FakeVoiceCatalogue
from tests.fakes.clock import FakeClock
from tests.fakes.world import STARTS

MARK = "Marker7c1f"  # in everything that a client wrote or sent


class Tenancy:
    """A tenant on real stores, with something of it in every one."""

    def __init__(self, services: Services, name: str) -> None:
        self.ours = services
        self.mark = MARK + name
        self.tenant = create_tenant(self.mark, tenants=services.tenants, audit=services.audit, clock=services.clock)
        self.id = self.tenant.id
        self.key = issue_key(
            self.id, tenants=services.tenants, audit=services.audit, clock=services.clock, name=self.mark
        )

    def upload(self, media_type: str = "image/png") -> str:
        upload_id = new_id("upload")
        key = ObjectKey(retention=Retention.UPLOAD, tenant_id=self.id, owner_id=upload_id, attempt=0, name="file.bin")
        data = STARTS.get(media_type, b"%PDF-1.7 ") + self.mark.encode()
        self.ours.objects.put(key, data, media_type=media_type)
        self.ours.uploads.add(
            Upload(
                id=upload_id,
                tenant_id=self.id,
                object_key=str(key),
                media_type=media_type,
                size_bytes=len(data),
                file_name=self.mark,
                created_at=self.ours.clock.now(),
            )
        )
        return upload_id

    def consent(self, subject: str) -> str:
        ours = self.ours
        return register_consent(
            consent_id=new_id("consent"),
            tenant_id=self.id,
            actor=self.key.key.id,
            subject=subject,
            likenesses=[Likeness.FACE],
            purpose=self.mark,
            evidence_upload_id=self.upload("application/pdf"),
            expires_at=None,
            settings=ours.settings,
            consents=ours.consents,
            uploads=ours.uploads,
            objects=ours.objects,
            audit=ours.audit,
            clock=ours.clock,
        ).id

    def avatar(self, **claim: Any) -> str:
        ours = self.ours
        return register_avatar(
            avatar_id=new_id("avatar"),
            tenant_id=self.id,
            name=self.mark,
            upload_id=self.upload(),
            claim=LikenessClaim(**claim),
            actor=self.key.key.id,
            avatars=ours.avatars,
            uploads=ours.uploads,
            objects=ours.objects,
            consents=ours.consents,
            audit=ours.audit,
            clock=ours.clock,
            settings=ours.settings,
        ).id

    def wig(self, consent_id: str) -> str:
        """A wig that is kept, with a file in the catalogue; its job is done."""
        ours = self.ours
        product_id = new_id("wig")
        request = ProductRequest(
            product_id=product_id,
            kind=ProductKind.WIG,
            sku=self.mark,
            name=self.mark,
            photos=(PhotoSource(upload_id=self.upload()),),
            consent_id=consent_id,
        )
        order = JobOrder(job_id=job_id_of(product_id), tenant_id=self.id, actor=self.key.key.id)
        product, job = register_product(request, order, sources=ours)
        key = ObjectKey(
            retention=Retention.CATALOGUE, tenant_id=self.id, owner_id=product_id, attempt=0, name="cutout_0.png"
        )
        ours.objects.put(key, self.mark.encode(), media_type="image/png")
        ours.products.settle(replace(product, state=ProductState.READY))
        self.start(job.id)
        self.finish(job.id)
        return product_id

    def submit(self, presenter: Presenter) -> str:
        ours = self.ours
        return submit_video(
            VideoRequest(presenter=presenter, speech=SpokenText(text=self.mark, voice=VoiceSettings(voice_id="en-us"))),
            job_id=new_id("job"),
            tenant_id=self.id,
            jobs=ours.jobs,
            uploads=ours.uploads,
            avatars=ours.avatars,
            voices=ours.voices,
            objects=ours.objects,
            consents=ours.consents,
            audit=ours.audit,
            clock=ours.clock,
            settings=ours.settings,
            actor=self.key.key.id,
            callback_url=f"https://client.example/{self.mark}",
            callback_id=self.mark,
            allowance=Allowance(output_s=10_000.0, used_s=0.0, at=ours.clock.now()),
        ).id

    def start(self, job_id: str) -> None:
        ours = self.ours
        prepare_storyboard(
            job_id,
            jobs=ours.jobs,
            objects=ours.objects,
            uploads=ours.uploads,
            avatars=ours.avatars,
            voices=ours.voices,
            models=ours.models,
            products=ours.products,
            language_model=None,
            consents=ours.consents,
            fetcher=ours.fetcher,
            clock=ours.clock,
            settings=ours.settings,
        )
        dispatch_attempt(
            job_id,
            jobs=ours.jobs,
            engine=ours.engine,
            tenants=ours.tenants,
            objects=ours.objects,
            consents=ours.consents,
            clock=ours.clock,
            settings=ours.settings,
        )

    def finish(self, job_id: str) -> None:
        """The engine's good answer, heard and taken in; a delivery in the log."""
        ours = self.ours
        job = ours.jobs.get(job_id)
        key = ObjectKey(retention=Retention.RESULT, tenant_id=self.id, owner_id=job_id, attempt=1, name="video.mp4")
        ours.objects.put(key, self.mark.encode(), media_type="video/mp4")
        info = ours.objects.head(key)
        output = Output(
            name="video",
            key=str(key),
            media_type="video/mp4",
            size_bytes=info.size_bytes,
            sha256=info.sha256 or "",
        )
        answer = EngineAnswer(
            job_id=job_id,
            attempt=job.attempt,
            state=AnswerState.SUCCEEDED,
            outputs=(output,),
            facts={"script": self.mark},
            usage={"output_s": 1.5},
        )
        assert isinstance(ours.engine, SqliteEngine)
        ours.engine.answer(answer)
        complete_attempt(
            answer,
            jobs=ours.jobs,
            objects=ours.objects,
            products=ours.products,
            usage=ours.usage,
            clock=ours.clock,
            settings=ours.settings,
            prices=ours.prices,
        )
        ours.engine.heard(job_id, job.attempt)
        ours.deliveries.add(
            Delivery(job_id=job_id, event_id="event_1", at=ours.clock.now(), status=500, error=self.mark)
        )

    def fill(self) -> SimpleNamespace:
        """Something in every store; the ids."""
        ours = self.ours
        made = SimpleNamespace()
        made.consent = self.consent("Ann " + self.mark)
        made.avatar = self.avatar(consent_id=made.consent)
        made.drawn = self.avatar(synthetic=True)
        made.wig = self.wig(made.consent)
        made.done = self.submit(Presenter(avatar_id=made.avatar))
        self.start(made.done)
        self.finish(made.done)
        made.picture = self.upload()
        made.running = self.submit(Presenter(upload_id=made.picture, consent_id=made.consent))
        self.start(made.running)
        made.waiting = self.submit(Presenter(avatar_id=made.avatar))
        made.other = self.submit(Presenter(avatar_id=made.drawn))
        made.batch = new_id("batch")
        now = ours.clock.now()
        file_key = ObjectKey(
            retention=Retention.UPLOAD, tenant_id=self.id, owner_id=made.batch, attempt=0, name="rows.csv"
        )
        ours.objects.put(file_key, self.mark.encode(), media_type="text/csv")
        ours.batches.add(
            Batch(
                id=made.batch,
                tenant_id=self.id,
                kind=BatchKind.VIDEO,
                file_key=str(file_key),
                media_type="text/csv",
                created_at=now,
                updated_at=now,
                available_at=now,
                name=self.mark,
            )
        )
        ours.batches.put_rows(
            [BatchRow(batch_id=made.batch, number=1, state=RowState.PENDING, request={"text": self.mark})]
        )
        reserved = ours.idempotency.reserve(self.id, self.mark, fingerprint="f", new_resource_id=made.done)
        assert isinstance(reserved, Reservation)
        ours.idempotency.finish(reserved, StoredAnswer(status=202, body=self.mark, headers={}))
        return made


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return bootstrap(
        Settings(state_dir=tmp_path / "state", signing_secret="s" * 32, num_workers=4),
        clock=FakeClock(),
        voices=FakeVoiceCatalogue(),
    )


def places(state_dir: Path, text: str) -> set[str]:
    """Files of the state folder whose name or bytes contain ``text``."""
    return {
        str(path.relative_to(state_dir))
        for path in state_dir.rglob("*")
        if text in str(path.relative_to(state_dir))
        or (path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes())
    }


def test_mark_is_everywhere_before(services):
    """The search would find it: in every database that can hold something of a tenant."""
    Tenancy(services, "A").fill()
    found = places(services.settings.state_dir, MARK)
    for name in (
        "jobs",
        "uploads",
        "avatars",
        "products",
        "tenants",
        "idempotency",
        "deliveries",
        "consents",
        "batches",
    ):
        assert any(place.startswith(f"{name}.sqlite") for place in found), name
    assert any(place.startswith("objects/result/") for place in found)


def test_deleted_tenant_leaves_nothing_on_the_disk_but_the_operators_entry(services):
    tenancy, other = Tenancy(services, "A"), Tenancy(services, "B")
    made, others = tenancy.fill(), other.fill()
    assert places(services.settings.state_dir, tenancy.id)
    delete_tenant(tenancy.id, stores=services)
    assert places(services.settings.state_dir, tenancy.mark) == set()
    for thing in vars(made).values():
        assert places(services.settings.state_dir, thing) - {"engine.sqlite", "engine.sqlite-wal"} == set(), thing
    assert places(services.settings.state_dir, tenancy.key.key.id) == set()
    left = places(services.settings.state_dir, tenancy.id)
    assert left <= {"audit.sqlite", "engine.sqlite", "engine.sqlite-wal"}
    [entry] = services.audit.list(OPERATOR).items
    assert (entry.action, entry.target) == ("tenant.deleted", tenancy.id)
    # Nothing of the other tenant is gone.
    assert services.jobs.get(others.done).result is not None
    assert services.avatars.get(other.id, others.avatar).name == other.mark
    assert services.batches.get(others.batch).name == other.mark
    assert authenticate(other.key.secret, tenants=services.tenants, clock=services.clock).tenant.id == other.id


def test_engine_forgets_the_tenant_once_its_last_attempt_has_answered(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    delete_tenant(tenancy.id, stores=services)
    engine = services.engine
    assert isinstance(engine, SqliteEngine)
    engine.answer(EngineAnswer(job_id=made.running, attempt=1, state=AnswerState.CANCELED))
    engine.heard(made.running, 1)
    assert services.erasure is not None
    services.erasure.finish()
    assert places(services.settings.state_dir, tenancy.id) == {"audit.sqlite"}


class Interrupted(Exception):
    pass


class Breaking:
    """The container whose stores break at the ``number``-th writing call."""

    def __init__(self, services: Services, number: int) -> None:
        self._services = services
        self._left = number

    def __getattr__(self, name: str) -> Any:
        store = getattr(self._services, name)
        return store if name in ("clock", "settings") or store is None else _BreakingStore(store, self)

    def count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Interrupted


class _BreakingStore:
    _WRITES = ("delete", "forget", "revoke", "save", "update", "put", "add", "finish")

    def __init__(self, store: Any, breaking: Breaking) -> None:
        self._store = store
        self._breaking = breaking

    def __getattr__(self, name: str) -> Any:
        if name.startswith(self._WRITES):
            self._breaking.count()
        return getattr(self._store, name)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tenant", "subject"])
def test_interrupted_deletion_goes_on_where_it_is_called_again(tmp_path, what):
    """Broken after 0, 1, 2 ... writes, and called again: the end is the same."""
    for number in range(200):
        state = tmp_path / str(number)
        services = bootstrap(
            Settings(state_dir=state, signing_secret="s" * 32, num_workers=4),
            clock=FakeClock(),
            voices=FakeVoiceCatalogue(),
        )
        tenancy = Tenancy(services, "A")
        made = tenancy.fill()
        was_interrupted = False
        try:
            _delete(what, tenancy, Breaking(services, number * 7))
        except Interrupted:
            was_interrupted = True
            _delete(what, tenancy, services)
        if what == "tenant":
            assert places(state, tenancy.mark) == set()
            with pytest.raises(NotFound):
                services.tenants.get(tenancy.id)
        else:
            for thing in (made.avatar, made.wig, made.done, made.running, made.waiting):
                assert places(state / "objects" / "catalogue", thing) == set()
                assert places(state / "objects" / "result", thing) == set()
            assert services.consents.list(tenancy.id).items == ()
            assert [job.id for job in services.jobs.list(tenancy.id).items] == [made.other]
        if not was_interrupted:
            assert number > 2
            return
    raise AssertionError("never came to its end")


def _delete(what: str, tenancy: Tenancy, stores: Any) -> None:
    if what == "tenant":
        try:
            delete_tenant(tenancy.id, stores=stores)
        except NotFound:
            # The interruption came after the last row: what is left is the emptying of the logs.
            stores.erasure.finish()
    else:
        delete_subject("Ann " + tenancy.mark, tenant_id=tenancy.id, actor="key_1", stores=stores)


def test_deleted_subject_takes_along_what_shows_it_and_nothing_else(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    kept = tenancy.consent("Bob")
    kept_avatar = tenancy.avatar(consent_id=kept)
    deleted = delete_subject("Ann " + tenancy.mark, tenant_id=tenancy.id, actor="key_1", stores=services)
    # Four uploads: evidence, the avatar's picture, the wig's photo, the picture of the running job.
    assert deleted == DeletedSubject(num_consents=1, num_avatars=1, num_products=1, num_uploads=4, num_jobs=4)
    for job_id in (made.done, made.running, made.waiting):
        with pytest.raises(NotFound):
            services.jobs.get(job_id)
        assert list(services.deliveries.list(job_id)) == []
    with pytest.raises(NotFound):
        services.products.get(tenancy.id, made.wig)
    with pytest.raises(NotFound):
        services.avatars.get(tenancy.id, made.avatar)
    with pytest.raises(NotFound):
        services.uploads.get(tenancy.id, made.picture)  # with the file's name, which may be the person's
    assert (
        len(services.uploads.list(tenancy.id, limit=100).items) == 3
    )  # of the drawn avatar, and Bob's evidence and avatar
    with pytest.raises(NotFound):
        services.consents.get(tenancy.id, made.consent)
    assert services.jobs.get(made.other).state is JobState.QUEUED
    assert services.avatars.get(tenancy.id, made.drawn)
    assert services.avatars.get(tenancy.id, kept_avatar)
    assert services.consents.get(tenancy.id, kept).subject == "Bob"
    state = services.settings.state_dir
    for thing in (made.consent, made.avatar):
        assert places(state / "objects", thing) == set()
    assert places(state, "Ann " + tenancy.mark) == set(), "the subject's name is nowhere any more"


def test_audit_log_keeps_that_there_was_a_consent_and_its_deletion_by_ids_alone(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    delete_subject("Ann " + tenancy.mark, tenant_id=tenancy.id, actor="key_1", stores=services)
    entries = services.audit.list(tenancy.id, limit=100).items
    about = [entry.action for entry in reversed(entries) if entry.target == made.consent]
    assert about[0] == "consent.registered"
    assert about[-1] == "consent.deleted"
    assert MARK not in repr(entries)


def test_usage_of_a_deleted_subject_stays_on_the_bill(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    delete_subject("Ann " + tenancy.mark, tenant_id=tenancy.id, actor="key_1", stores=services)
    always = {"since": datetime(2000, 1, 1, tzinfo=UTC), "until": datetime(2100, 1, 1, tzinfo=UTC)}
    assert [one.job_id for one in services.usage.list(tenancy.id, **always)] == [job_id_of(made.wig), made.done]


def test_running_engine_is_told_to_stop_and_keeps_its_mark(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    delete_subject("Ann " + tenancy.mark, tenant_id=tenancy.id, actor="key_1", stores=services)
    mark = ObjectKey(retention=Retention.WORK, tenant_id=tenancy.id, owner_id=made.running, attempt=1, name="cancel")
    assert services.objects.exists(mark)
    assert services.objects.get(mark) == b""


def test_deletion_of_a_tenant_waits_for_its_engines_before_it_deletes_objects(services):
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()
    seen = []
    clock = services.clock
    real = clock.sleep
    mark = ObjectKey(retention=Retention.WORK, tenant_id=tenancy.id, owner_id=made.running, attempt=1, name="cancel")

    def sleep(seconds: float) -> None:
        seen.append(services.objects.exists(mark))
        real(seconds)

    clock.sleep = sleep  # type: ignore[method-assign]
    delete_tenant(tenancy.id, stores=services)
    assert seen[0] is True


def test_subject_without_a_consent_is_no_error(services):
    tenancy = Tenancy(services, "A")
    nothing = DeletedSubject(num_consents=0, num_avatars=0, num_products=0, num_uploads=0, num_jobs=0)
    assert delete_subject("Nobody", tenant_id=tenancy.id, actor="key_1", stores=services) == nothing


def test_subject_of_another_tenant_stays(services):
    tenancy, other = Tenancy(services, "A"), Tenancy(services, "B")
    consent = other.consent("Ann")
    delete_subject("Ann", tenant_id=tenancy.id, actor="key_1", stores=services)
    assert services.consents.get(other.id, consent).revoked_at is None


def test_nothing_new_is_made_while_a_subject_is_deleted(services):
    """The consent is revoked before the first thing goes."""
    tenancy = Tenancy(services, "A")
    made = tenancy.fill()

    class Objects:
        def __getattr__(self, name: str) -> Any:
            return getattr(services.objects, name)

        def delete_owner(self, *args: Any) -> int:
            with pytest.raises(Forbidden) as caught:
                tenancy.avatar(consent_id=made.consent)
            assert caught.value.code == "consent_revoked"
            raise Unavailable("Stop here.")

    with pytest.raises(Unavailable):
        delete_subject(
            "Ann " + tenancy.mark,
            tenant_id=tenancy.id,
            actor="key_1",
            stores=replace(services, objects=Objects()),  # type: ignore[arg-type]
        )
