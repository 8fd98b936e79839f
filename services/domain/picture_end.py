"""Whether a picture is there to its end, by the structure of its format alone: nothing is unpacked.

Of JPEG (ITU T.81 annex B), PNG (chunks up to IEND) and WebP (the length in its RIFF header). What stands behind the end
belongs to somebody else, such as the film that telephones append, and does not matter.
"""

from __future__ import annotations

from typing import BinaryIO, Final

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_BLOCK_BYTES: Final = 1 << 20
_END_OF_IMAGE: Final = b"\xff\xd9"
_START_OF_SCAN: Final = 0xDA
_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD8)))  # markers without a length


def is_cut_off(file: BinaryIO) -> bool:
    """Whether the picture in ``file`` ends too early; False for formats that do not tell."""
    end = file.seek(0, 2)
    file.seek(0)
    start = file.read(12)
    if start.startswith(_PNG):
        return _is_png_cut_off(file, end)
    if start[:4] == b"RIFF" and start[8:] == b"WEBP":
        return 8 + int.from_bytes(start[4:8], "little") > end
    if start[:3] == b"\xff\xd8\xff":
        return _is_jpeg_cut_off(file)
    return False


def _is_png_cut_off(file: BinaryIO, end: int) -> bool:
    at = len(_PNG)
    while at + 12 <= end:
        file.seek(at)
        head = file.read(8)
        at += 12 + int.from_bytes(head[:4], "big")
        if head[4:] == b"IEND":
            return at > end
    return True


def _is_jpeg_cut_off(file: BinaryIO) -> bool:
    at = 2
    while True:
        file.seek(at)
        head = file.read(4)
        if len(head) < 4:
            return True
        if head[0] != 0xFF:
            return False  # damaged rather than cut off: for the decoder to judge
        if head[1] == 0xFF:
            at += 1
        elif head[1] in _ALONE:
            at += 2
        elif head[1] == _START_OF_SCAN:
            return not _has_end_behind(file, at)
        else:
            at += 2 + int.from_bytes(head[2:], "big")


def _has_end_behind(file: BinaryIO, at: int) -> bool:
    """Whether an end of image stands behind ``at``: in compressed data, 0xFF is followed by 0 where it is no marker."""
    file.seek(at)
    last = b""
    while block := file.read(_BLOCK_BYTES):
        if _END_OF_IMAGE in last + block:
            return True
        last = block[-1:]
    return False
