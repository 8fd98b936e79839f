"""What colours a part of the picture has: a Gaussian mixture over LAB and texture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]

FEATURES: Final = 4
"""L, a and b (of CIELAB, L from 0 to 100), then texture."""

_MOST_SAMPLES: Final = 3000
_FEWEST_IN_CLUSTER: Final = 8
_TEXTURE_WEIGHT: Final = 4.0  # of LAB units: best of a sweep over the shared portraits


class ColorModel:
    """A mixture of normal distributions, one for each cluster of the samples.

    Args:
        samples: float32 (n, 4), at least 20.
        num_clusters: At most; fewer where samples are few.
        floor: Standard deviations that each cluster has at least: noise, compression, shading.
    """

    def __init__(self, samples: Features, num_clusters: int, floor: Sequence[float]) -> None:
        self._affine: list[tuple[NDArray[np.float64], float]] = []
        samples = _thinned(samples)
        labels = clusters(samples, max(1, min(num_clusters, len(samples) // 20)))
        for label in np.unique(labels):
            own = samples[labels == label].astype(np.float64)
            if len(own) < _FEWEST_IN_CLUSTER:
                continue
            covariance = np.cov(own.T) + np.diag(np.square(floor))
            # |A x + b|² is the squared Mahalanobis distance.
            root = np.linalg.cholesky(np.linalg.inv(covariance)).T
            height = np.log(len(own) / len(samples)) - 0.5 * np.linalg.slogdet(covariance)[1]
            shift = -root @ own.mean(0)
            self._affine.append((np.c_[root, shift], float(height - FEATURES / 2 * np.log(2 * np.pi))))

    def log_likelihood(self, features: Features) -> NDArray[np.float32]:
        """Logarithm of the density at each of ``features`` (n, 4), float32 (n,)."""
        import cv2

        if len(features) == 0:
            return np.empty(0, np.float32)
        pixels = np.ascontiguousarray(features, np.float32).reshape(-1, 1, FEATURES)
        total: NDArray[np.float32] | None = None
        for affine, height in self._affine:
            # cv2's transform beats BLAS by far for matrices this thin.
            scaled = cv2.transform(pixels, affine)
            distance = cv2.transform(cv2.multiply(scaled, scaled), np.ones((1, FEATURES)))
            one = np.asarray(height - 0.5 * distance.ravel(), np.float32)
            total = one if total is None else np.logaddexp(total, one)
        return np.full(len(pixels), -1e3, np.float32) if total is None else total


class MixedColors(ColorModel):
    """Two models as one, half of each."""

    def __init__(self, first: ColorModel, second: ColorModel) -> None:
        self._models = (first, second)

    def log_likelihood(self, features: Features) -> NDArray[np.float32]:
        """As of ``ColorModel``."""
        one, other = (model.log_likelihood(features) for model in self._models)
        return np.asarray(np.logaddexp(one, other) - np.log(2), np.float32)


def clusters(samples: Features, num_clusters: int) -> NDArray[np.int32]:
    """The cluster of each sample by k-means, the same at every call."""
    import cv2

    cv2.setRNGSeed(1)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 12, 0.5)
    samples = np.ascontiguousarray(samples, np.float32)
    num_clusters = max(1, min(num_clusters, len(samples)))
    start = np.empty((0, 1), np.int32)
    _, labels, _ = cv2.kmeans(samples, num_clusters, start, stop, 1, cv2.KMEANS_PP_CENTERS)
    return np.asarray(labels, np.int32).ravel()


def features_of(picture_rgb: NDArray[np.uint8], size: tuple[int, int], scale_px: float) -> Features:
    """Colour and texture of the picture at a smaller ``size`` (width, height): float32 (height, width, 4).

    Texture is the contrast of detail finer than a fiftieth of ``scale_px`` (a face width), relative to brightness and
    measured before shrinking: cloth and skin are smooth where hair is not.
    """
    import cv2

    small = cv2.resize(picture_rgb, size, interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(np.divide(small, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    grey = cv2.cvtColor(picture_rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    reach = max(1.0, 0.02 * scale_px)
    detail = np.square(grey - cv2.GaussianBlur(grey, (0, 0), reach))
    contrast = np.sqrt(np.maximum(cv2.blur(detail, (2 * round(reach) + 1,) * 2), 0))
    contrast = cv2.resize(contrast, size, interpolation=cv2.INTER_AREA)
    brightness = cv2.resize(cv2.blur(grey, (15, 15)), size)
    texture = _TEXTURE_WEIGHT * np.log(1.5 + 8 * contrast / (8 + 0.15 * brightness))
    # Where two smooth parts meet there is contrast too: the smallest of the neighbourhood leaves it out.
    texture = cv2.erode(texture, np.ones((3, 3), np.uint8))
    return np.concatenate([lab, texture[..., None]], -1).astype(np.float32)


def _thinned(samples: Features) -> Features:
    if len(samples) <= _MOST_SAMPLES:
        return samples
    return samples[np.random.default_rng(0).choice(len(samples), _MOST_SAMPLES, replace=False)]
