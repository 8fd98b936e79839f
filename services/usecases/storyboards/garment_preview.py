"""The storyboard of a garment on a body."""

from __future__ import annotations

from services.domain import wire
from services.domain.picture_storyboards import GarmentStoryboard
from services.domain.preview import GarmentPreviewRequest
from services.domain.product import ProductKind
from services.usecases.choose_model import FIGURES
from services.usecases.copy_inputs import copy_background
from services.usecases.storyboards.pictures import copy_model, copy_product
from services.usecases.storyboards.preparation import Preparation


def garment_storyboard(parts: Preparation) -> bytes:
    """Model, garment and background."""
    job = parts.job
    request = wire.from_values(GarmentPreviewRequest, job.request)
    shots, category = copy_product(request.garment, parts, kind=ProductKind.GARMENT)
    return wire.encode(
        GarmentStoryboard(
            job_id=job.id,
            model=copy_model(request.model, parts, poses=FIGURES, seed=request.seed, param="model"),
            garment=shots,
            background=copy_background(
                request.background, job, objects=parts.objects, uploads=parts.uploads, fetch=parts.fetch
            ),
            category=request.category if category is None else category,
            refine=request.refine,
            disclosure=request.disclosure,
            seed=request.seed,
        )
    )
