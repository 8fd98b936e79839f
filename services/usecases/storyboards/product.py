"""The storyboard of a product that is taken into the catalogue."""

from __future__ import annotations

from services.domain import wire
from services.domain.picture_storyboards import ProductStoryboard
from services.domain.product import ProductRequest
from services.usecases.storyboards.pictures import copy_photo
from services.usecases.storyboards.preparation import Preparation


def product_storyboard(parts: Preparation) -> bytes:
    """The photos, in the order of the catalogue entry's."""
    request = wire.from_values(ProductRequest, parts.job.request)
    return wire.encode(
        ProductStoryboard(
            job_id=parts.job.id,
            product_id=request.product_id,
            kind=request.kind,
            photos=tuple(
                copy_photo(photo, parts, role=f"photo_{number}", param=f"photos.{photo.view}")
                for number, photo in enumerate(request.photos)
            ),
            category=request.category,
        )
    )
