"""What a creation will be and cost, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from services.domain.pricing import Cost, PriceList, Work, asked_size
from services.domain.video import SpokenAudio, SpokenText, VideoRequest
from services.ports.catalogue import VoiceCatalogue
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_video import check_video
from services.usecases.estimate_speech import Basis, SpeechEstimate, estimate_recording, estimate_text

_USUAL_SHORT_SIDE_PX: Final = 1080


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Attributes:
    uncertainty: The real duration is expected within this fraction of ``duration_s``, up or down; None for a guess.
    quantities: By unit, as usage has them: ``output_s``, ``characters``, ``scripts``.
    cost: At the size asked for; a source too small for it gives a smaller and not a dearer video.
    """

    duration_s: float
    uncertainty: float | None
    basis: Basis
    quantities: Mapping[str, float]
    cost: Cost


def estimate_request(
    request: VideoRequest,
    *,
    tenant_id: str,
    voices: VoiceCatalogue,
    uploads: UploadStore,
    prices: PriceList,
    settings: Settings,
    has_language_model: bool = False,
    write_script_first: bool = True,
) -> Estimate:
    """The estimate of a video; nothing is stored and no media opened.

    Args:
        has_language_model: Whether one will write the scripts of briefs; it is not asked for an estimate.
        write_script_first: Let the template writer write a brief's script, a tenth of a second of work, and count its
            words; False takes the seconds asked for.

    Raises:
        InvalidRequest: A rule of the form is broken (``check_video``).
        ContentRejected: What ``check_video`` and ``check_voice`` say of the texts; ``upload_not_found`` of the
            recording.
    """
    check_video(request, settings)
    speech = request.speech
    if isinstance(speech, SpokenAudio):
        found = estimate_recording(speech, tenant_id=tenant_id, uploads=uploads, settings=settings)
    else:
        found = estimate_text(
            speech, voices=voices, has_language_model=has_language_model, write_script_first=write_script_first
        )
    return _estimate(request, found, prices)


def _estimate(request: VideoRequest, found: SpeechEstimate, prices: PriceList) -> Estimate:
    speech, size = request.speech, asked_size(request.frame)
    work = Work(
        output_s=round(found.duration_s, 2),
        short_side_px=(request.frame.height_px or _USUAL_SHORT_SIDE_PX) if size is None else min(size),
        num_scripts=int(isinstance(speech, SpokenText) and speech.brief is not None),
        num_characters=found.num_characters,
        voice_id=speech.voice.voice_id if isinstance(speech, SpokenText) else None,
    )
    quantities = {"output_s": work.output_s}
    quantities |= {"characters": float(found.num_characters)} if isinstance(speech, SpokenText) else {}
    quantities |= {"scripts": 1.0} if work.num_scripts else {}
    return Estimate(
        duration_s=work.output_s,
        uncertainty=found.uncertainty,
        basis=found.basis,
        quantities=quantities,
        cost=prices.cost(work),
    )
