"""Width and height of a picture, from its first bytes alone: a small file may unpack to a huge one.

Of PNG (IHDR), GIF (screen descriptor), BMP, WebP (VP8, VP8L, VP8X) and JPEG (first frame header). Others tell too far
inside, and are measured by the engine's decoder.
"""

from __future__ import annotations

from typing import Final

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15, without DHT, JPG, DAC
_JPEG_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD8)))  # markers without a length


def size_of(start: bytes) -> tuple[int, int] | None:
    """Width and height of the picture that begins with ``start``; None where that does not tell."""
    if start.startswith(_PNG) and start[12:16] == b"IHDR":
        return (int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")) if len(start) >= 24 else None
    if start[:6] in (b"GIF87a", b"GIF89a"):
        return _pair(start[6:10])
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return _webp(start)
    if start[:3] == b"\xff\xd8\xff":
        return _jpeg(start)
    if start[:2] == b"BM":
        return _bmp(start)
    return None


def _pair(four: bytes) -> tuple[int, int] | None:
    """Two numbers of 16 bits, the low byte first."""
    if len(four) < 4:
        return None
    return int.from_bytes(four[:2], "little"), int.from_bytes(four[2:], "little")


def _webp(start: bytes) -> tuple[int, int] | None:
    kind, data = start[12:16], start[20:30]
    if len(data) < 10:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return int.from_bytes(data[6:8], "little") & 0x3FFF, int.from_bytes(data[8:10], "little") & 0x3FFF
    return None


def _bmp(start: bytes) -> tuple[int, int] | None:
    if int.from_bytes(start[14:18], "little") == 12:
        return _pair(start[18:22])
    if len(start) < 26:
        return None
    height = int.from_bytes(start[22:26], "little", signed=True)  # negative: stored from the top
    return abs(int.from_bytes(start[18:22], "little", signed=True)), abs(height)


def _jpeg(start: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(start) and start[at] == 0xFF:
        marker = start[at + 1]
        if marker in _JPEG_FRAMES:
            return int.from_bytes(start[at + 7 : at + 9], "big"), int.from_bytes(start[at + 5 : at + 7], "big")
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            at += 2 + int.from_bytes(start[at + 2 : at + 4], "big")
    return None
