"""The storyboard of a talking video."""

from __future__ import annotations

from services.domain import wire
from services.domain.storyboard import Storyboard
from services.domain.video import VideoRequest
from services.usecases.copy_inputs import copy_background, copy_presenter
from services.usecases.prepare_speech import prepare_speech
from services.usecases.storyboards.preparation import Preparation


def video_storyboard(parts: Preparation) -> bytes:
    """Presenter, speech (a brief's script written, a managed voice's sound made) and background."""
    job, objects, uploads = parts.job, parts.objects, parts.uploads
    request = wire.from_values(VideoRequest, job.request)
    return wire.encode(
        Storyboard(
            job_id=job.id,
            presenter=copy_presenter(
                request.presenter, job, objects=objects, uploads=uploads, avatars=parts.avatars, fetch=parts.fetch
            ),
            speech=prepare_speech(
                request.speech,
                job,
                voices=parts.voices,
                language_model=parts.language_model,
                managed_speech=parts.managed_speech,
                objects=objects,
                uploads=uploads,
                fetch=parts.fetch,
            ),
            frame=request.frame,
            background=copy_background(request.background, job, objects=objects, uploads=uploads, fetch=parts.fetch),
            subtitles=request.subtitles,
            disclosure=request.disclosure,
            seed=request.seed,
        )
    )
