"""Serves the step ``prepare``: a request becomes a storyboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lambdas.runtime import counted, serve_steps, services
from services.domain.job import Job, JobStep
from services.usecases.prepare_storyboard import prepare_storyboard


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response. Content that cannot be prepared fails its job; only infrastructure fails a record."""
    return serve_steps(event, context, counted(_serve, JobStep.PREPARE), stage="prepare")


def _serve(job_id: str) -> Job:
    ours = services()
    return prepare_storyboard(
        job_id,
        jobs=ours.jobs,
        objects=ours.objects,
        uploads=ours.uploads,
        avatars=ours.avatars,
        voices=ours.voices,
        models=ours.models,
        products=ours.products,
        language_model=ours.language_model,
        managed_speech=ours.managed_speech,
        consents=ours.consents,
        fetcher=ours.fetcher,
        clock=ours.clock,
        settings=ours.settings,
    )
