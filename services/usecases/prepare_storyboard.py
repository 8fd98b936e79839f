"""Turn an accepted request into a storyboard whose every reference is an object of the job."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.domain.engine import Failure
from services.domain.errors import EngineFailed, SpokesmodelError
from services.domain.job import Job, JobState, JobStep, Progress
from services.domain.outcome import finish
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.fetcher import Fetcher
from services.ports.jobs import JobStore
from services.ports.language_model import LanguageModel
from services.ports.managed_speech import ManagedSpeech
from services.ports.models import ModelCatalogue
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_consent import check_still_allowed
from services.usecases.fetch_source import reader_for
from services.usecases.hold_output import held_when_prepared
from services.usecases.revise import revise
from services.usecases.storyboards.preparation import Preparation
from services.usecases.storyboards.table import PREPARERS
from services.usecases.work_key import work_key

_MEDIA_TYPE: Final = "application/json"


def prepare_storyboard(
    job_id: str,
    *,
    jobs: JobStore,
    objects: ObjectStore,
    uploads: UploadStore,
    avatars: AvatarCatalogue,
    voices: VoiceCatalogue,
    models: ModelCatalogue,
    products: ProductStore,
    language_model: LanguageModel | None,
    consents: ConsentStore,
    fetcher: Fetcher,
    clock: Clock,
    settings: Settings,
    managed_speech: ManagedSpeech | None = None,
) -> Job:
    """The job, ready for dispatch; or failed by name, when its content cannot be prepared.

    A job whose step is another, or not due, is left as it is: a repeated or early message does no harm. Copies and
    storyboard have fixed keys: preparing again after a crash writes the same objects.

    Raises:
        NotFound: ``job_not_found``.
        Unavailable: A store or service does not answer; to be tried again until ``max_step_tries`` are used up.
    """
    job = jobs.get(job_id)
    if job.step is not JobStep.PREPARE or job.available_at > clock.now():
        return job
    try:
        if job.step_tries >= settings.max_step_tries:
            raise EngineFailed(f"Preparing was given up after {job.step_tries} tries.", code="prepare_failed")
        check_still_allowed(job, consents=consents, clock=clock)
        storyboard = PREPARERS[job.kind](
            Preparation(
                job=job,
                objects=objects,
                uploads=uploads,
                avatars=avatars,
                voices=voices,
                models=models,
                products=products,
                language_model=language_model,
                managed_speech=managed_speech,
                fetch=reader_for(job, fetcher=fetcher, objects=objects, clock=clock, settings=settings),
                settings=settings,
            )
        )
        key = work_key(job, "storyboard.json")
        objects.put(key, storyboard, media_type=_MEDIA_TYPE)
        held_s = held_when_prepared(job, storyboard, objects=objects)
    except SpokesmodelError as error:
        if error.retryable:
            raise
        failure = Failure(code=error.code, detail=error.detail, param=error.param)

        def fail(job: Job) -> Job | None:
            return finish(job, JobState.FAILED, now=clock.now(), failure=failure) if _is_due(job) else None

        return revise(job_id, fail, get=jobs.get, save=jobs.save)

    def ready(job: Job) -> Job | None:
        if not _is_due(job):
            return None
        return replace(
            job.move(job.state, step=job.dispatch_step, now=clock.now(), storyboard_key=str(key)),
            progress=Progress(stage="prepared"),
            held_s=held_s,
        )

    return revise(job_id, ready, get=jobs.get, save=jobs.save)


def _is_due(job: Job) -> bool:
    return job.step is JobStep.PREPARE
