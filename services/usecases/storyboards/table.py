"""Which module prepares which kind of job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.domain.engine import EngineKind
from services.usecases.storyboards.garment_preview import garment_storyboard
from services.usecases.storyboards.image import image_storyboard
from services.usecases.storyboards.noop import noop_order
from services.usecases.storyboards.preparation import Preparer
from services.usecases.storyboards.product import product_storyboard
from services.usecases.storyboards.video import video_storyboard
from services.usecases.storyboards.wig_preview import wig_storyboard

PREPARERS: Final[Mapping[EngineKind, Preparer]] = {
    EngineKind.VIDEO: video_storyboard,
    EngineKind.WIG_PREVIEW: wig_storyboard,
    EngineKind.GARMENT_PREVIEW: garment_storyboard,
    EngineKind.IMAGE: image_storyboard,
    EngineKind.PRODUCT: product_storyboard,
    EngineKind.NOOP: noop_order,
}
