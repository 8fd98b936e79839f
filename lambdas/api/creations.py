"""The kinds of things that batches create, each in one entry: its body, its checks, its estimate, its submission.

Bodies and use cases are those of the API's routes, so that a row of a batch and a request keep the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from pydantic import Field

from lambdas.api.creation_bodies import choices_of, columns_of, faults_of
from lambdas.api.picture_creations import garment, garment_preview, image, wig, wig_preview
from lambdas.api.remembering import remembering
from lambdas.api.schemas.base import RequestBody
from lambdas.api.schemas.videos import VideoBody
from services.bootstrap import Services
from services.domain.allowance import Allowance
from services.domain.batch import BatchEstimate, BatchKind
from services.domain.job import Job
from services.usecases.check_submission import check_submission
from services.usecases.creation import Creation, Values
from services.usecases.estimate_request import estimate_request
from services.usecases.submit_noop import check_noop, submit_noop
from services.usecases.submit_video import submit_video

Maker = Callable[[Services], Creation]


class NoopBody(RequestBody):
    """A job that does nothing; no public route takes it."""

    duration_s: float = Field(default=0.0, ge=0)
    fault: Literal["none", "reject", "raise", "exit", "crash", "allocate", "hang"] = "none"
    faulty_attempts: int = Field(default=1_000, ge=0)


def _video(services: Services) -> Creation:
    # Rows name the same few things again and again; each is looked up once.
    uploads = remembering(services.uploads, "get")
    avatars = remembering(services.avatars, "get")
    objects = remembering(services.objects, "start_of")
    voices = remembering(services.voices, "get", "list")
    consents = remembering(services.consents, "get")

    def check(body: VideoBody, tenant_id: str) -> None:
        check_submission(
            body.to_domain(),
            tenant_id=tenant_id,
            uploads=uploads,
            avatars=avatars,
            voices=voices,
            objects=objects,
            consents=consents,
            clock=services.clock,
            settings=services.settings,
            callback_url=body.callback_url,
            callback_id=body.callback_id,
            has_language_model=services.language_model is not None,
        )

    def estimate(values: Values, tenant_id: str) -> BatchEstimate:
        made = estimate_request(
            VideoBody.model_validate(values).to_domain(),
            tenant_id=tenant_id,
            voices=voices,
            uploads=uploads,
            prices=services.prices,
            settings=services.settings,
            has_language_model=services.language_model is not None,
            write_script_first=False,
        )
        return BatchEstimate(quantities=made.quantities, cost=made.cost)

    def submit(values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None) -> Job:
        return submit_video_body(
            VideoBody.model_validate(values),
            job_id=job_id,
            tenant_id=tenant_id,
            actor=batch_id,
            batch_id=batch_id,
            allowance=allowance,
            services=services,
        )

    return Creation(
        kind=BatchKind.VIDEO,
        columns=columns_of(VideoBody),
        choices=choices_of(VideoBody),
        output_names=("video", "poster", "subtitles_srt", "subtitles_vtt", "script"),
        faults=faults_of(VideoBody, check),
        estimate=estimate,
        submit=submit,
    )


def submit_video_body(
    body: VideoBody,
    *,
    job_id: str,
    tenant_id: str,
    actor: str,
    services: Services,
    batch_id: str | None = None,
    traceparent: str | None = None,
    allowance: Allowance | None = None,
) -> Job:
    """The job of a body, whether it came as a request or as a row; ``submit_video`` with the adapters of ``services``.

    Raises:
        SpokesmodelError: As ``submit_video`` does.
    """
    return submit_video(
        body.to_domain(),
        job_id=job_id,
        tenant_id=tenant_id,
        jobs=services.jobs,
        uploads=services.uploads,
        avatars=services.avatars,
        voices=services.voices,
        objects=services.objects,
        consents=services.consents,
        audit=services.audit,
        clock=services.clock,
        settings=services.settings,
        actor=actor,
        callback_url=body.callback_url,
        callback_id=body.callback_id,
        has_language_model=services.language_model is not None,
        batch_id=batch_id,
        traceparent=traceparent,
        allowance=allowance,
    )


def _noop(services: Services) -> Creation:
    def check(body: NoopBody, tenant_id: str) -> None:
        check_noop(body.model_dump(), services.settings)

    def submit(values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None) -> Job:
        return submit_noop(
            NoopBody.model_validate(values).model_dump(),
            job_id=job_id,
            tenant_id=tenant_id,
            jobs=services.jobs,
            clock=services.clock,
            settings=services.settings,
            batch_id=batch_id,
            allowance=allowance,
        )

    return Creation(
        kind=BatchKind.NOOP,
        columns=columns_of(NoopBody),
        choices={},
        output_names=("result",),
        faults=faults_of(NoopBody, check),
        estimate=lambda values, tenant_id: None,
        submit=submit,
    )


CREATIONS: Final[Mapping[BatchKind, Maker]] = {
    BatchKind.VIDEO: _video,
    BatchKind.WIG_PREVIEW: wig_preview,
    BatchKind.GARMENT_PREVIEW: garment_preview,
    BatchKind.IMAGE: image,
    BatchKind.WIG: wig,
    BatchKind.GARMENT: garment,
    BatchKind.NOOP: _noop,
}
