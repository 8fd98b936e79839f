"""Repaints what a preview had to invent, and nothing else: seams, new skin, what came to light behind.

The product and the face keep their own pixels: they are laid over what the network made, and then compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.diffusion.pipelines import Generator, Picture, size_for
from services.domain.errors import EngineFailed

Matte = NDArray[np.float32]

_MARGIN: Final = 0.25  # of the repainted box, so that the network sees what is around
_FEATHER: Final = 0.006  # of the box's long side
_SEEN: Final = np.float32(1 / 255)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A picture after the pass.

    Attributes:
        picture_rgb: uint8 (height, width, 3).
        facts: ``refined`` (whether the repaint was kept), ``refine_checkpoint``, ``refine_change`` (mean LAB distance).
    """

    picture_rgb: Picture
    facts: Mapping[str, Any]


def refine(
    picture_rgb: Picture,
    *,
    seams: Matte,
    protected: NDArray[np.bool_],
    generator: Generator,
    seed: int,
    check_canceled: Callable[[], None],
    prompt: str | None = None,
    product_rgb: Picture | None = None,
) -> Refined:
    """The picture with its seams repainted. A repaint that strays too far from what was there is dropped, and told.

    Args:
        seams: float32 (height, width), how much of each pixel may be repainted, 0 to 1.
        protected: Pixels of the product and the face; they stay whatever ``seams`` says.
        prompt: None takes the checkpoint's own.
        product_rgb: The product alone, for a checkpoint with an IP-Adapter.

    Raises:
        EngineFailed: ``image_not_finite``; ``product_not_preserved``: a protected pixel changed, or one
            outside the seams.
    """
    import cv2
    from PIL import Image

    checkpoint = generator.checkpoint
    allowed = np.where(protected, np.float32(0), np.clip(seams, 0, 1)).astype(np.float32)
    box = _box_of(allowed)
    facts: dict[str, Any] = {"refined": False, "refine_checkpoint": checkpoint.name, "refine_change": 0.0}
    if box is None:
        return Refined(picture_rgb=picture_rgb, facts=facts)
    left, top, right, bottom = box
    part, part_allowed = picture_rgb[top:bottom, left:right], allowed[top:bottom, left:right]
    size = size_for(checkpoint.family, right - left, bottom - top)
    image = cv2.resize(part, size, interpolation=cv2.INTER_AREA if size[0] < right - left else cv2.INTER_CUBIC)
    mask = cv2.resize(part_allowed, size, interpolation=cv2.INTER_LINEAR) > _SEEN
    made = generator.run(
        {
            "prompt": prompt or checkpoint.prompt,
            "negative_prompt": checkpoint.negative_prompt,
            "image": Image.fromarray(image),
            "mask_image": Image.fromarray(mask.astype(np.uint8) * 255),
            "width": size[0],
            "height": size[1],
            "strength": checkpoint.strength,
            "num_inference_steps": checkpoint.num_inference_steps,
            "guidance_scale": checkpoint.guidance_scale,
            "ip_adapter_image": ip_adapter_image(generator, product_rgb),
        },
        seed=seed,
        check_canceled=check_canceled,
    )
    repainted = np.asarray(cv2.resize(made, (right - left, bottom - top), interpolation=cv2.INTER_CUBIC), np.uint8)
    change = distance(part, repainted, part_allowed)
    facts["refine_change"] = round(change, 2)
    if change > checkpoint.max_change:
        return Refined(picture_rgb=picture_rgb, facts=facts)
    result = picture_rgb.copy()
    result[top:bottom, left:right] = _blended(part, repainted, part_allowed)
    check_survival(picture_rgb, result, allowed)
    return Refined(picture_rgb=result, facts={**facts, "refined": True})


def check_survival(before_rgb: Picture, after_rgb: Picture, allowed: Matte) -> None:
    """Nothing, when only pixels with ``allowed`` above 0 differ.

    Raises:
        EngineFailed: ``product_not_preserved``.
    """
    strayed = (before_rgb != after_rgb).any(axis=2) & (allowed <= 0)
    if strayed.any():
        raise EngineFailed(
            f"The repaint changed {int(strayed.sum())} pixels of the product, the face or what lies beside its seams.",
            code="product_not_preserved",
        )


def distance(first_rgb: Picture, second_rgb: Picture, weights: Matte) -> float:
    """Mean LAB distance (CIE 1976) of two pictures of one size, each pixel by its weight, fine grain smoothed out."""
    import cv2

    sigma = max(1.0, 0.01 * max(weights.shape))
    first, second = (
        cv2.GaussianBlur(cv2.cvtColor(np.divide(one, 255, dtype=np.float32), cv2.COLOR_RGB2LAB), (0, 0), sigma)
        for one in (first_rgb, second_rgb)
    )
    total = float(weights.sum())
    return float((np.linalg.norm(first - second, axis=2) * weights).sum() / total) if total else 0.0


def ip_adapter_image(generator: Generator, product_rgb: Picture | None) -> Any:
    """What an IP-Adapter is shown, or None for a checkpoint without one; without a product a plain grey."""
    from PIL import Image

    if generator.checkpoint.ip_adapter is None:
        return None
    return Image.fromarray(np.full((64, 64, 3), 127, np.uint8) if product_rgb is None else product_rgb)


def _blended(part: Picture, repainted: Picture, allowed: Matte) -> Picture:
    import cv2

    # Inwards only: a soft edge must not reach beyond what may change.
    inside = cv2.distanceTransform((allowed > 0).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5)
    soft = allowed * np.clip(inside / max(1.0, _FEATHER * max(allowed.shape)), 0, 1)
    mixed = part + soft[..., None] * (repainted.astype(np.float32) - part)
    return np.asarray(np.clip(np.rint(mixed), 0, 255), np.uint8)


def _box_of(allowed: Matte) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom of what may change and some of its surroundings; None where nothing may."""
    rows, columns = np.flatnonzero(allowed.max(1) > _SEEN), np.flatnonzero(allowed.max(0) > _SEEN)
    if not rows.size:
        return None
    height, width = allowed.shape
    margin = round(_MARGIN * max(rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1))
    return (
        max(0, int(columns[0]) - margin),
        max(0, int(rows[0]) - margin),
        min(width, int(columns[-1]) + 1 + margin),
        min(height, int(rows[-1]) + 1 + margin),
    )
