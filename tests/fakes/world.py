"""A whole product made of fakes, with its steps as methods."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from services.adapters.built_in_models import BuiltInModelCatalogue
from services.bootstrap import Services, bootstrap
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest, Failure, Output
from services.domain.ids import new_id
from services.domain.job import Job
from services.domain.object_key import ObjectKey, Retention
from services.domain.video import VideoRequest
from services.ports.tenants import Tenant
from services.ports.uploads import Upload
from services.settings import Settings
from services.usecases.cancel_job import cancel_job
from services.usecases.complete_attempt import complete_attempt
from services.usecases.deliver_webhook import deliver_webhook
from services.usecases.dispatch_attempt import dispatch_attempt
from services.usecases.prepare_storyboard import prepare_storyboard
from services.usecases.reap_jobs import reap_jobs
from services.usecases.submit_noop import submit_noop
from tests.fakes.audit import FakeAuditLog
from tests.fakes.batches import FakeBatchStore
from tests.fakes.catalogue import FakeAvatarCatalogue, FakeVoiceCatalogue
from tests.fakes.clock import FakeClock
from tests.fakes.consents import FakeConsentStore
from tests.fakes.engine import FakeEngine
from tests.fakes.fetcher import FakeFetcher
from tests.fakes.idempotency import FakeIdempotencyStore
from tests.fakes.jobs import FakeJobStore
from tests.fakes.notices import FakeNotices
from tests.fakes.objects import FakeObjectStore
from tests.fakes.products import FakeProductStore
from tests.fakes.rates import FakeRateLimiter
from tests.fakes.step_queue import FakeStepQueue
from tests.fakes.tenants import FakeTenantStore
from tests.fakes.uploads import FakeUploadStore
from tests.fakes.usage import FakeUsageStore
from tests.fakes.webhooks import FakeDeliveryLog, FakeWebhookSender

TENANT = "tenant_01JZZZZZZZZZZZZZZZZZZZZZZZ"
OTHER_TENANT = "tenant_01JYYYYYYYYYYYYYYYYYYYYYYY"
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
CALLBACK_URL = "https://client.example/hook"

# How files of these types begin.
STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xaeB`\x82",  # these two end, too
    "image/jpeg": b"\xff\xd8\xff\xda\0\x02\xff\xd9",
    "image/webp": b"RIFF\x08\0\0\0WEBPVP8 ",
    "audio/wav": b"RIFF\x10\0\0\0WAVEfmt ",
    "video/mp4": b"\0\0\0\x18ftypisom",
}


def make_tenant(tenant_id: str = TENANT, *, max_outstanding: int = 8) -> Tenant:
    return Tenant(
        id=tenant_id,
        name="Acme",
        webhook_secret=WEBHOOK_SECRET,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        max_outstanding=max_outstanding,
    )


class World:
    """Attributes:
    services: The container, for handlers and use cases that are called directly.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.clock = FakeClock()
        self.jobs = FakeJobStore(self.clock)
        self.batches = FakeBatchStore(self.clock)
        self.objects = FakeObjectStore()
        self.engine = FakeEngine()
        self.notices = FakeNotices()
        self.step_queue = FakeStepQueue()
        self.uploads = FakeUploadStore()
        self.avatars = FakeAvatarCatalogue()
        self.voices = FakeVoiceCatalogue()
        self.models = BuiltInModelCatalogue()
        self.products = FakeProductStore()
        self.tenants = FakeTenantStore(make_tenant(), make_tenant(OTHER_TENANT))
        self.usage = FakeUsageStore()
        self.deliveries = FakeDeliveryLog()
        self.sender = FakeWebhookSender()
        self.consents = FakeConsentStore()
        self.audit = FakeAuditLog()
        self.fetcher = FakeFetcher()
        self.settings = settings or Settings()
        self.services: Services = bootstrap(
            self.settings,
            clock=self.clock,
            jobs=self.jobs,
            batches=self.batches,
            objects=self.objects,
            engine=self.engine,
            notices=self.notices,
            step_queue=self.step_queue,
            uploads=self.uploads,
            avatars=self.avatars,
            voices=self.voices,
            models=self.models,
            products=self.products,
            tenants=self.tenants,
            usage=self.usage,
            idempotency=FakeIdempotencyStore(self.clock),
            deliveries=self.deliveries,
            webhook_sender=self.sender,
            consents=self.consents,
            audit=self.audit,
            fetcher=self.fetcher,
            rates=FakeRateLimiter(self.clock),
        )

    def fit(self, **parts: Any) -> None:
        """Use other adapters, by field of ``Services``."""
        for name, part in parts.items():
            setattr(self, name, part)
        self.services = replace(self.services, **parts)

    def upload(self, media_type: str = "image/png", data: bytes | None = b"...", tenant_id: str = TENANT) -> str:
        """Id of a new upload; ``data`` None: its bytes never arrived; ``...``: it begins like a file of its type."""
        if data == b"...":
            data = STARTS.get(media_type, b"") + data
        upload_id = new_id("upload")
        key = ObjectKey(
            retention=Retention.UPLOAD,
            tenant_id=tenant_id,
            owner_id=upload_id,
            attempt=0,
            name="file." + media_type.partition("/")[2],
        )
        self.uploads.add(
            Upload(
                id=upload_id,
                tenant_id=tenant_id,
                object_key=str(key),
                media_type=media_type,
                size_bytes=len(data or b""),
                file_name='my "file" 图.png',
                created_at=self.clock.now(),
            )
        )
        if data is not None:
            self.objects.put(key, data, media_type=media_type)
        return upload_id

    def submit(self, *, tenant_id: str = TENANT, callback_url: str | None = None, **order: Any) -> Job:
        return submit_noop(
            {"duration_s": 0.0, **order},
            job_id=new_id("job"),
            tenant_id=tenant_id,
            jobs=self.jobs,
            clock=self.clock,
            settings=self.settings,
            callback_url=callback_url,
            callback_id=None if callback_url is None else "mine-1",
        )

    def add_video(self, request: VideoRequest, **fields: Any) -> Job:
        """A stored video job, its request unchecked."""
        now = self.clock.now()
        job = Job(
            id=new_id("job"),
            tenant_id=TENANT,
            kind=EngineKind.VIDEO,
            request=wire.to_values(request),
            created_at=now,
            updated_at=now,
            available_at=now,
        )
        job = replace(job, **fields)
        self.jobs.add(job)
        return job

    def prepare(self, job_id: str) -> Job:
        return prepare_storyboard(
            job_id,
            jobs=self.jobs,
            objects=self.objects,
            uploads=self.uploads,
            avatars=self.avatars,
            voices=self.voices,
            models=self.models,
            products=self.products,
            language_model=self.services.language_model,
            managed_speech=self.services.managed_speech,
            consents=self.consents,
            fetcher=self.fetcher,
            clock=self.clock,
            settings=self.settings,
        )

    def dispatch(self, job_id: str) -> Job:
        return dispatch_attempt(
            job_id,
            jobs=self.jobs,
            engine=self.engine,
            tenants=self.tenants,
            objects=self.objects,
            consents=self.consents,
            clock=self.clock,
            settings=self.settings,
        )

    def start(self, **submit: Any) -> Job:
        """A job whose first attempt an engine holds."""
        job = self.submit(**submit)
        self.prepare(job.id)
        return self.dispatch(job.id)

    def answer(self, job: Job, *, attempt: int | None = None, data: bytes = b"result") -> EngineAnswer:
        """The good answer of an attempt, its output stored."""
        number = job.attempt if attempt is None else attempt
        key = self.request_of(job, number).output_key("result.json")
        self.objects.put(key, data, media_type="application/json")
        info = self.objects.head(key)
        output = Output(
            name="result",
            key=str(key),
            media_type=info.media_type,
            size_bytes=info.size_bytes,
            sha256=info.sha256 or "",
        )
        return EngineAnswer(
            job_id=job.id,
            attempt=number,
            state=AnswerState.SUCCEEDED,
            outputs=(output,),
            facts={"duration_s": 1.5},
            usage={"output_s": 1.5},
        )

    def failed(self, job: Job, *, retryable: bool, attempt: int | None = None) -> EngineAnswer:
        return EngineAnswer(
            job_id=job.id,
            attempt=job.attempt if attempt is None else attempt,
            state=AnswerState.FAILED,
            failure=Failure(code="face_not_found", detail="No face.", retryable=retryable),
        )

    def complete(self, answer: EngineAnswer) -> Job | None:
        return complete_attempt(
            answer,
            jobs=self.jobs,
            objects=self.objects,
            usage=self.usage,
            clock=self.clock,
            settings=self.settings,
            products=self.products,
        )

    def cancel(self, job_id: str) -> Job:
        return cancel_job(job_id, tenant_id=TENANT, jobs=self.jobs, objects=self.objects, clock=self.clock)

    def reap(self) -> list[Job]:
        return list(reap_jobs(jobs=self.jobs, objects=self.objects, clock=self.clock, settings=self.settings))

    def notify(self, job_id: str) -> Job | None:
        return deliver_webhook(
            job_id,
            jobs=self.jobs,
            objects=self.objects,
            tenants=self.tenants,
            deliveries=self.deliveries,
            sender=self.sender,
            clock=self.clock,
            settings=self.settings,
        )

    def bill(self, tenant_id: str = TENANT) -> list[str]:
        """Ids of the jobs on the tenant's bill."""
        everything = self.usage.list(
            tenant_id, since=datetime(2000, 1, 1, tzinfo=UTC), until=datetime(2100, 1, 1, tzinfo=UTC)
        )
        return [record.job_id for record in everything]

    def request_of(self, job: Job, attempt: int) -> EngineRequest:
        return EngineRequest(
            kind=EngineKind.NOOP,
            tenant_id=job.tenant_id,
            job_id=job.id,
            attempt=attempt,
            storyboard_key=job.storyboard_key or "",
            deadline_at=self.clock.now(),
        )
