"""The rules of previews and image tools that need nothing but the request."""

from __future__ import annotations

from typing import Final

from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.image_steps import (
    MAX_STEPS,
    BackgroundStep,
    CropShape,
    CropStep,
    ImageRequest,
    ImageStep,
    RelightStep,
    RetouchStep,
    UpscaleStep,
)
from services.domain.preview import (
    HAIR_COLOURS,
    MAX_COLOURS,
    MAX_VIEWS,
    MAX_YAW_DEG,
    GarmentPreviewRequest,
    WigPreviewRequest,
    rounded_yaw,
)
from services.domain.product import ProductKind
from services.domain.video import BackgroundKind
from services.settings import Settings
from services.usecases.check_background import OF_PICTURES, check_background, check_color
from services.usecases.check_model import check_model
from services.usecases.check_product import check_ref
from services.usecases.check_text import check_in_range

_MAX_SEED: Final = 2**63 - 1
_FACTORS: Final = (2, 4)


def check_wig_preview(request: WigPreviewRequest, settings: Settings) -> None:
    """Nothing, when the request keeps every rule.

    Raises:
        InvalidRequest: ``exactly_one``, ``out_of_range``, ``malformed_color``, ``colour_unknown``, ``duplicate_view``,
            ``duplicate_colour``, ``missing``, ``not_used`` and others of its parts.
        ContentRejected: ``checkpoint_not_configured``, ``source_url_refused``.
    """
    _check_parts(request, settings)
    check_ref(request.wig, settings, kind=ProductKind.WIG)
    check_in_range("yaw_deg", len(request.yaw_deg), 1, MAX_VIEWS)
    for number, yaw in enumerate(request.yaw_deg):
        check_in_range(f"yaw_deg.{number}", yaw, -MAX_YAW_DEG, MAX_YAW_DEG)
        if rounded_yaw(yaw) in {rounded_yaw(before) for before in request.yaw_deg[:number]}:
            detail = f"The view {rounded_yaw(yaw):g} stands twice (views are told apart by a hundredth of a degree)."
            raise InvalidRequest(detail, code="duplicate_view", param=f"yaw_deg.{number}")
    check_in_range("colours", len(request.colours), 0, MAX_COLOURS)
    for number, colour in enumerate(request.colours):
        _check_colour(colour, request.colours[:number], param=f"colours.{number}")


def check_garment_preview(request: GarmentPreviewRequest, settings: Settings) -> None:
    """Nothing, when the request keeps every rule.

    Raises:
        InvalidRequest, ContentRejected: As of a wig.
    """
    _check_parts(request, settings)
    check_ref(request.garment, settings, kind=ProductKind.GARMENT, category=request.category)
    if request.category is not None and request.garment.product_id is not None:
        raise InvalidRequest(
            "category is for a photo given directly; a product of the catalogue has its own.",
            code="not_used",
            param="category",
        )


def check_image(request: ImageRequest, settings: Settings) -> None:
    """Nothing, when the request keeps every rule.

    Raises:
        InvalidRequest, ContentRejected: As of a wig; ``duplicate_step``.
    """
    check_model(request.image, settings, param="image")
    if request.image.specification is not None:
        raise InvalidRequest("An image has no specification.", code="not_used", param="image.specification")
    check_in_range("seed", request.seed, 0, _MAX_SEED)
    check_in_range("steps", len(request.steps), 1, MAX_STEPS)
    for number, step in enumerate(request.steps):
        if any(step.tool == before.tool for before in request.steps[:number]):
            raise InvalidRequest(
                f"The tool {step.tool} stands twice; each is used once.",
                code="duplicate_step",
                param=f"steps.{number}.tool",
            )
        _check_step(step, settings, param=f"steps.{number}")


def _check_step(step: ImageStep, settings: Settings, *, param: str) -> None:
    if isinstance(step, BackgroundStep):
        check_background(step.background, settings, kinds=OF_PICTURES - {BackgroundKind.ORIGINAL}, param=param)
    elif isinstance(step, RelightStep):
        check_in_range(f"{param}.strength", step.strength, 0, 1)
        if step.color is not None:
            check_color(step.color, param=f"{param}.color")
        check_in_range(f"{param}.retouch", step.retouch, 0, 1 if step.generative else 0)
        if step.generative and not settings.relight_checkpoint:
            raise ContentRejected(
                "A generative relight needs a checkpoint, and none is configured here (relight_checkpoint); without "
                "generative the light is measured and laid on.",
                code="checkpoint_not_configured",
                param=f"{param}.generative",
            )
    elif isinstance(step, RetouchStep):
        for name in ("skin", "blemishes", "teeth", "eyes"):
            check_in_range(f"{param}.{name}", getattr(step, name), 0, 1)
    elif isinstance(step, UpscaleStep):
        if step.factor not in _FACTORS:
            raise InvalidRequest(
                f"factor is {step.factor}; possible are 2 and 4.", code="out_of_range", param=f"{param}.factor"
            )
    elif isinstance(step, CropStep):
        check_in_range(f"{param}.shapes", len(step.shapes), 1, len(CropShape))
        if len(set(step.shapes)) != len(step.shapes):
            raise InvalidRequest("A shape stands twice.", code="duplicate_step", param=f"{param}.shapes")


def _check_parts(request: WigPreviewRequest | GarmentPreviewRequest, settings: Settings) -> None:
    check_model(request.model, settings, param="model")
    check_background(request.background, settings, kinds=OF_PICTURES)
    check_in_range("seed", request.seed, 0, _MAX_SEED)
    if request.refine and not settings.refine_checkpoint:
        raise ContentRejected(
            "refine needs a checkpoint, and none is configured here (refine_checkpoint); the preview is complete "
            "without it.",
            code="checkpoint_not_configured",
            param="refine",
        )


def _check_colour(colour: str, before: tuple[str, ...], *, param: str) -> None:
    if colour.startswith("#"):
        check_color(colour, param=param)
    elif colour not in HAIR_COLOURS:
        raise InvalidRequest(
            f"{colour!r} is no hair colour; write #rrggbb or one of {', '.join(HAIR_COLOURS)}.",
            code="colour_unknown",
            param=param,
        )
    if colour.lower() in {one.lower() for one in before}:
        raise InvalidRequest(f"The colour {colour} stands twice.", code="duplicate_colour", param=param)
