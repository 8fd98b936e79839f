"""The storyboard of a wig on a head."""

from __future__ import annotations

from services.domain import wire
from services.domain.picture_storyboards import WigStoryboard
from services.domain.preview import WigPreviewRequest
from services.domain.product import ProductKind
from services.usecases.choose_model import HEADS
from services.usecases.copy_inputs import copy_background
from services.usecases.storyboards.pictures import copy_model, copy_product
from services.usecases.storyboards.preparation import Preparation


def wig_storyboard(parts: Preparation) -> bytes:
    """Model, wig and background."""
    job = parts.job
    request = wire.from_values(WigPreviewRequest, job.request)
    return wire.encode(
        WigStoryboard(
            job_id=job.id,
            model=copy_model(request.model, parts, poses=HEADS, seed=request.seed, param="model"),
            wig=copy_product(request.wig, parts, kind=ProductKind.WIG)[0],
            background=copy_background(
                request.background, job, objects=parts.objects, uploads=parts.uploads, fetch=parts.fetch
            ),
            yaw_deg=request.yaw_deg,
            turntable=request.turntable,
            colours=request.colours,
            refine=request.refine,
            disclosure=request.disclosure,
            seed=request.seed,
        )
    )
