"""More pixels, with a small network that was trained on photos: edges get sharp and nothing is invented.

waifu2x's ``upconv_7``, the photo model (nagadomi, MIT; weights as nihui's ncnn port stores them): six 3x3 convolutions
and a transposed one that doubles the size. It is small enough for plain matrix products. Of the networks that packages
carry, Real-ESRGAN x4plus costs 200 microseconds a pixel and paints new skin; its video model flattens skin to plastic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models import weights
from models.imaging.layers import Layers
from services.domain.errors import ContentRejected, Unavailable

Picture = NDArray[np.uint8]
Values = NDArray[np.float32]

WEIGHTS: Final = "upscale-photo"
MAX_OUTPUT_PIXELS: Final = 40_000_000
_CHANNELS: Final = (3, 16, 32, 64, 128, 128, 256)
_SLOPE: Final = 0.1  # of the leaky rectifier
_MARGIN_PX: Final = 7  # six convolutions of 3 without padding, and a pixel for the transposed one
_TILE_PX: Final = 128  # 31 MB for the widest product
_HALF_TAG: Final = 0x01306B47  # ncnn: the values that follow are of 16 bits


def upscaled(layers: Layers, factor: int, *, check_canceled: Callable[[], None] = lambda: None) -> Layers:
    """``layers`` with ``factor`` (2 or 4) times the width and height; transparency is kept.

    Tile by tile, so memory stays bounded. About 17 microseconds of CPU for each pixel that goes in, twice for 2 and 4.

    Raises:
        ContentRejected: ``picture_too_large``: the result would have more than 40 megapixels.
        Unavailable: ``weights_missing``, ``weights_corrupt``.
    """
    width, height = layers.size
    if width * height * factor * factor > MAX_OUTPUT_PIXELS:
        raise ContentRejected(
            f"{factor} times {width}x{height} is {width * height * factor * factor:,} pixels; at most "
            f"{MAX_OUTPUT_PIXELS:,} are made. Use a smaller factor or picture.",
            code="picture_too_large",
            param="steps.factor",
        )
    rgb = layers.rgb if layers.alpha is None else _continued(layers.rgb, layers.alpha)
    for _ in range(factor.bit_length() - 1):
        rgb = doubled(rgb, check_canceled=check_canceled)
    return Layers(rgb=rgb, alpha=None if layers.alpha is None else enlarged_alpha(layers.alpha, factor))


def enlarged_alpha(alpha: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Transparency in the new size; what was wholly clear or wholly solid stays so."""
    import cv2

    height, width = alpha.shape
    size = (width * factor, height * factor)
    return np.asarray(cv2.resize(alpha, size, interpolation=cv2.INTER_CUBIC), np.uint8)


def doubled(rgb: Picture, *, check_canceled: Callable[[], None] = lambda: None) -> Picture:
    """``rgb`` (h, w, 3) in twice the size, (2 h, 2 w, 3)."""
    net = _network()
    height, width = rgb.shape[:2]
    margin = _MARGIN_PX
    padded = np.pad(rgb, ((margin, margin), (margin, margin), (0, 0)), mode="symmetric" if _is_tiny(rgb) else "reflect")
    out = np.empty((2 * height, 2 * width, 3), np.uint8)
    for top in range(0, height, _TILE_PX):
        check_canceled()
        for left in range(0, width, _TILE_PX):
            bottom, right = min(top + _TILE_PX, height), min(left + _TILE_PX, width)
            tile = padded[top : bottom + 2 * margin, left : right + 2 * margin]
            values = net(np.divide(tile, 255, dtype=np.float32))
            out[2 * top : 2 * bottom, 2 * left : 2 * right] = np.clip(np.rint(values * 255), 0, 255)
    return out


class UpconvNetwork:
    """The network of one file.

    Args:
        data: What ncnn stores: for each layer a tag, the weights (out, in, 3, 3) as halves, the biases as floats.

    Raises:
        Unavailable: ``weights_corrupt``.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0
        self._layers: list[tuple[Values, Values]] = []
        for num_in, num_out in pairwise(_CHANNELS):
            kernel = self._halves(num_out * num_in * 9).reshape(num_out, num_in, 3, 3)
            self._layers.append((np.ascontiguousarray(kernel.transpose(2, 3, 1, 0)), self._floats(num_out)))
        last = self._halves(3 * _CHANNELS[-1] * 16).reshape(3, _CHANNELS[-1], 4, 4)
        self._last = np.ascontiguousarray(last.transpose(1, 2, 3, 0)).reshape(_CHANNELS[-1], 48), self._floats(3)
        if self._position != len(data):
            raise _corrupt()

    def __call__(self, values: Values) -> Values:
        """float32 (2 h, 2 w, 3) from ``values`` (h + 14, w + 14, 3), both 0 to 1."""
        for kernel, bias in self._layers:
            values = _convolved(values, kernel, bias)
        return _enlarged(values, *self._last)

    def _halves(self, count: int) -> Values:
        if int.from_bytes(self._data[self._position : self._position + 4], "little") != _HALF_TAG:
            raise _corrupt()
        start = self._position + 4
        self._position = start + (2 * count + 3) // 4 * 4
        if self._position > len(self._data):
            raise _corrupt()
        return np.frombuffer(self._data, "<f2", count, start).astype(np.float32)

    def _floats(self, count: int) -> Values:
        start = self._position
        self._position += 4 * count
        if self._position > len(self._data):
            raise _corrupt()
        return np.frombuffer(self._data, "<f4", count, start).astype(np.float32)


def _corrupt() -> Unavailable:
    return Unavailable(
        "The file of the upscaling network does not hold what it should; fetch it again.",
        code="weights_corrupt",
        retryable=False,
    )


@cache
def _network() -> UpconvNetwork:
    return UpconvNetwork(weights.path(WEIGHTS).read_bytes())


def _convolved(values: Values, kernel: Values, bias: Values) -> Values:
    """A 3x3 convolution (kernel (3, 3, in, out)) without padding, and the rectifier: three wide matrix products."""
    height, width, num_in = values.shape[0] - 2, values.shape[1] - 2, values.shape[2]
    total: Values | None = None
    for row in range(3):
        beside = [values[row : row + height, column : column + width] for column in range(3)]
        product = np.concatenate(beside, axis=2).reshape(-1, 3 * num_in) @ kernel[row].reshape(3 * num_in, -1)
        total = product if total is None else np.add(total, product, out=total)
    assert total is not None
    total += bias
    return np.asarray(np.maximum(total, np.float32(_SLOPE) * total), np.float32).reshape(height, width, -1)


def _enlarged(values: Values, kernel: Values, bias: Values) -> Values:
    """The transposed 4x4 convolution of stride 2; three rows and columns of its rim, half covered, are left out."""
    height, width = values.shape[:2]
    parts = (values.reshape(height * width, -1) @ kernel).reshape(height, width, 4, 4, 3)
    out = np.zeros((2 * height + 2, 2 * width + 2, 3), np.float32)
    for row in range(4):
        for column in range(4):
            out[row : row + 2 * height : 2, column : column + 2 * width : 2] += parts[:, :, row, column]
    return np.asarray(out[3:-3, 3:-3] + bias, np.float32)


def _is_tiny(rgb: Picture) -> bool:
    return bool(min(rgb.shape[:2]) <= _MARGIN_PX)


def _continued(rgb: Picture, alpha: NDArray[np.uint8]) -> Picture:
    """Colours where nothing is shown continue those beside them: the network would smear black into the edge."""
    from models.tryon.wig.filling import push_pull

    shown = np.asarray(alpha > 0, np.float32)
    if not shown.any():
        return rgb
    filled = push_pull(rgb.astype(np.float32), shown)
    return np.where(alpha[..., None] > 0, rgb, np.clip(np.rint(filled), 0, 255).astype(np.uint8))
