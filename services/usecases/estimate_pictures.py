"""What previews and image tools will make and cost: they are counted, so the estimate is exact."""

from __future__ import annotations

from services.domain.image_steps import CropStep, ImageRequest
from services.domain.preview import GarmentPreviewRequest, WigPreviewRequest
from services.domain.pricing import PriceList, Work
from services.usecases.estimate_request import Estimate
from services.usecases.estimate_speech import Basis


def estimate_wig(request: WigPreviewRequest, prices: PriceList) -> Estimate:
    """The front, a picture a turned view and a colour, and the turntable."""
    return _estimate(Work(num_pictures=request.num_pictures, num_turntables=int(request.turntable)), prices)


def estimate_garment(request: GarmentPreviewRequest, prices: PriceList) -> Estimate:
    """One picture."""
    return _estimate(Work(num_pictures=1), prices)


def estimate_image(request: ImageRequest, prices: PriceList) -> Estimate:
    """The picture, and one a crop."""
    num_crops = sum(len(step.shapes) for step in request.steps if isinstance(step, CropStep))
    return _estimate(Work(num_pictures=1 + num_crops), prices)


def estimate_product(prices: PriceList) -> Estimate:
    """Nothing that is counted: a catalogue costs nothing to fill."""
    return _estimate(Work(), prices)


def _estimate(work: Work, prices: PriceList) -> Estimate:
    quantities = {"pictures": float(work.num_pictures)} if work.num_pictures else {}
    quantities |= {"turntables": float(work.num_turntables)} if work.num_turntables else {}
    return Estimate(
        duration_s=0.0, uncertainty=0.0, basis=Basis.PICTURES, quantities=quantities, cost=prices.cost(work)
    )
