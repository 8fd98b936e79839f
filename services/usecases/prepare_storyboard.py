"""Turn an accepted request into a storyboard whose every reference is an object of the job."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from services.domain import wire
from services.domain.engine import EngineKind, Failure
from services.domain.errors import EngineFailed, SpokesmodelError
from services.domain.job import Job, JobState, JobStep, Progress
from services.domain.outcome import finish
from services.domain.storyboard import Storyboard
from services.domain.video import VideoRequest
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.fetcher import Fetcher
from services.ports.jobs import JobStore
from services.ports.language_model import LanguageModel
from services.ports.managed_speech import ManagedSpeech
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_consent import check_still_allowed
from services.usecases.copy_inputs import copy_background, copy_presenter
from services.usecases.fetch_source import reader_for
from services.usecases.prepare_speech import prepare_speech
from services.usecases.revise import revise
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
        if job.kind is EngineKind.NOOP:
            storyboard = json.dumps(dict(job.request)).encode()
        else:
            check_still_allowed(job, consents=consents, clock=clock)
            request = wire.from_values(VideoRequest, job.request)
            fetch = reader_for(job, fetcher=fetcher, objects=objects, clock=clock, settings=settings)
            storyboard = wire.encode(
                Storyboard(
                    job_id=job.id,
                    presenter=copy_presenter(
                        request.presenter, job, objects=objects, uploads=uploads, avatars=avatars, fetch=fetch
                    ),
                    speech=prepare_speech(
                        request.speech,
                        job,
                        voices=voices,
                        language_model=language_model,
                        managed_speech=managed_speech,
                        objects=objects,
                        uploads=uploads,
                        fetch=fetch,
                    ),
                    frame=request.frame,
                    background=copy_background(request.background, job, objects=objects, uploads=uploads, fetch=fetch),
                    subtitles=request.subtitles,
                    disclosure=request.disclosure,
                    seed=request.seed,
                )
            )
        key = work_key(job, "storyboard.json")
        objects.put(key, storyboard, media_type=_MEDIA_TYPE)
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
            job.move(job.state, step=JobStep.DISPATCH, now=clock.now(), storyboard_key=str(key)),
            progress=Progress(stage="prepared"),
        )

    return revise(job_id, ready, get=jobs.get, save=jobs.save)


def _is_due(job: Job) -> bool:
    return job.step is JobStep.PREPARE
