"""Sizes that pictures are trained at: one area, several shapes, each side a multiple that the network can divide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from services.domain.errors import InvalidRequest, Unavailable

Bucket = tuple[int, int]
"""Width and height in pixels."""


def buckets_for(side_px: int, *, multiple: int, square_only: bool = False) -> tuple[Bucket, ...]:
    """The buckets about ``side_px`` squared pixels, by diffusers' ladder of shapes.

    Raises:
        InvalidRequest: ``out_of_range``.
        Unavailable: ``engine_not_installed``.
    """
    if not 8 <= multiple <= side_px <= 4096 or side_px % multiple:
        raise InvalidRequest(
            f"A side of {side_px} pixels with multiples of {multiple}: the side is a multiple of them, from 8 to 4096.",
            code="out_of_range",
            param="side",
        )
    if square_only:
        return ((side_px, side_px),)
    generate, _ = _diffusers()
    return tuple((width, height) for height, width in generate(side_px, divisibility=multiple))


def nearest_bucket(width: float, height: float, buckets: tuple[Bucket, ...]) -> Bucket:
    """The bucket whose shape is nearest."""
    if len(buckets) == 1:
        return buckets[0]
    _, find = _diffusers()
    return buckets[find(height, width, [(tall, wide) for wide, tall in buckets])]


def _diffusers() -> tuple[Callable[..., Any], Callable[..., Any]]:
    try:
        from diffusers.training_utils import find_nearest_bucket, generate_aspect_ratio_buckets
    except ImportError as error:
        raise Unavailable(
            "Buckets of several shapes need the extra: pip install 'spokesmodel[training]'.",
            code="engine_not_installed",
            retryable=False,
        ) from error
    return generate_aspect_ratio_buckets, find_nearest_bucket
