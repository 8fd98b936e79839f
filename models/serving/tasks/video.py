"""A storyboard becomes a talking video: fetch what it names, let the film be made, sign and store what came out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from models import weights
from models.serving.context import TaskContext, TaskResult
from models.serving.signing import media_type_of, sign_outputs, signer_of
from services.domain.errors import EngineFailed, Unavailable
from services.domain.storyboard import STORYBOARD_VERSION, Storyboard
from services.domain.timeline import SpeechTimeline
from services.domain.wire import decode
from services.ports.signer import Signer
from services.settings import Settings

NEEDED_WEIGHTS: Final = ("face-detection-short", "face-detection-full", "face-mesh", "person-matte")
_FETCH_SHARE: Final = 0.02  # of an attempt's progress
_STORE_SHARE: Final = 0.03


class VideoTask:
    """Serves ``EngineKind.VIDEO``."""

    def __init__(self, settings: Settings, *, signer: Callable[[Settings], Signer] = signer_of) -> None:
        """``signer``: makes the signer of one attempt."""
        self._settings = settings
        self._signer = signer

    def load(self) -> None:
        """Check the weights and load the face models.

        Raises:
            Unavailable: ``weights_missing``, ``engine_not_installed``.
        """
        for name in NEEDED_WEIGHTS:
            weights.path(name)
        try:
            import c2pa  # noqa: F401
            import cv2

            from models.perception.faces import FaceFinder
            from models.talking_head import film  # noqa: F401  imported so that the first attempt does not wait
        except ImportError as error:
            raise Unavailable(
                f"The video engine's packages are not complete: {error.name or 'a part'} cannot be imported.",
                code="engine_not_installed",
                retryable=False,
            ) from error
        # A worker makes one film at a time and each core has a worker: threads would only wait for each other.
        cv2.setNumThreads(1)
        FaceFinder()

    def run(self, context: TaskContext) -> TaskResult:
        """Make the video of the storyboard at ``storyboard_key``; nothing of it leaves unsigned."""
        from models.talking_head.film import FilmInputs, MediaLimits, make_video

        storyboard = decode(Storyboard, context.objects.read(context.request.storyboard_key))
        if storyboard.version > STORYBOARD_VERSION:
            raise EngineFailed(
                f"The storyboard has version {storyboard.version}; this engine knows {STORYBOARD_VERSION}.",
                code="storyboard_too_new",
                retryable=True,  # a deployment is under way: another engine may be newer
            )
        speech, background = storyboard.speech, storyboard.background
        timeline = decode(SpeechTimeline, context.objects.read(speech.timeline_key)) if speech.timeline_key else None
        signer = self._signer(self._settings)
        signer.certificate_chain_pem()  # a key that cannot be used is told before the work, not after
        context.on_progress("fetching", 0.0)
        with ExitStack() as files:
            inputs = FilmInputs(
                storyboard=storyboard,
                presenter=files.enter_context(context.objects.local_copy(storyboard.presenter.key)),
                audio=files.enter_context(context.objects.local_copy(speech.audio_key)) if speech.audio_key else None,
                background=files.enter_context(context.objects.local_copy(background.key)) if background.key else None,
                timeline=timeline,
                limits=MediaLimits(
                    max_picture_pixels=self._settings.max_picture_pixels,
                    max_source_video_s=self._settings.max_source_video_s,
                    max_audio_s=self._settings.max_audio_s,
                ),
                producer=self._settings.content_producer,
            )
            recording = None if speech.script else inputs.audio  # a managed voice's sound is no source of the client's
            sources = tuple(media_type_of(path) for path in (inputs.presenter, recording, inputs.background) if path)
            context.check_canceled()
            film = make_video(
                inputs,
                out_dir=context.folder,
                on_progress=lambda stage, fraction: context.on_progress(
                    stage, _FETCH_SHARE + fraction * (1 - _FETCH_SHARE - _STORE_SHARE)
                ),
                check_canceled=context.check_canceled,
            )
        context.on_progress("storing", 1 - _STORE_SHARE)
        sign_outputs(film.files, film.marks, signer, sources=sources, timestamp_url=self._settings.timestamp_url)
        outputs = []
        for role, path in film.files.items():
            context.check_canceled()
            outputs.append(context.objects.store(role, path))
        return TaskResult(
            outputs=tuple(outputs), facts={**film.facts, "credentials_trusted": signer.is_trusted}, usage=film.usage
        )
