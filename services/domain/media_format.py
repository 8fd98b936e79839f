"""What a file is by its first bytes, whatever its name or its sender says.

Signatures are those of the formats' own specifications; of ISO media files (MP4, MOV, M4A, HEIC, AVIF) the brand tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

START_BYTES: Final = 4096  # enough for every signature here, and for the frames behind a padded MP3's start


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFormat:
    """``families``: ``image``, ``audio``, ``video``, ``document``; several where the start does not tell which."""

    name: str
    families: frozenset[str]


def _format(name: str, *families: str) -> MediaFormat:
    return MediaFormat(name=name, families=frozenset(families))


_BMP: Final = _format("BMP", "image")
_MP3: Final = _format("MP3 or AAC", "audio")
_SIGNATURES: Final = (
    (b"\xff\xd8\xff", _format("JPEG", "image")),
    (b"\x89PNG\r\n\x1a\n", _format("PNG", "image")),
    (b"GIF87a", _format("GIF", "image")),
    (b"GIF89a", _format("GIF", "image")),
    (b"II*\0", _format("TIFF", "image")),
    (b"MM\0*", _format("TIFF", "image")),
    (b"II+\0", _format("TIFF", "image")),
    (b"MM\0+", _format("TIFF", "image")),
    (b"\x1aE\xdf\xa3", _format("WebM or Matroska", "audio", "video")),
    (b"OggS", _format("Ogg", "audio", "video")),
    (b"fLaC", _format("FLAC", "audio")),
    (b"ID3", _MP3),
    (b"RF64", _format("WAV", "audio")),
    (b"FORM", _format("AIFF", "audio")),
    (b"caff", _format("CAF", "audio")),
    (b"#!AMR", _format("AMR", "audio")),
    (b"0&\xb2u\x8ef\xcf\x11", _format("WMA or WMV", "audio", "video")),
    (b"FLV\x01", _format("FLV", "video")),
    (b"\0\0\x01\xba", _format("MPEG", "audio", "video")),
    (b"%PDF", _format("PDF", "document")),
    (b"PK\x03\x04", _format("ZIP")),
)
_RIFF: Final = {b"WEBP": _format("WebP", "image"), b"WAVE": _format("WAV", "audio"), b"AVI ": _format("AVI", "video")}
_IMAGE_BRANDS: Final = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
_AVIF_BRANDS: Final = frozenset((b"avif", b"avis"))
_SOUND_BRANDS: Final = frozenset((b"M4A ", b"M4B ", b"F4A ", b"F4B "))
_MOVIE_BOXES: Final = frozenset((b"moov", b"mdat", b"wide", b"skip", b"free", b"pnot"))  # QuickTime without a brand
_BMP_HEADER_BYTES: Final = frozenset((12, 16, 40, 52, 56, 64, 108, 124))


def format_of(start: bytes) -> MediaFormat | None:
    """The format of a file that begins with ``start`` (``START_BYTES`` of it, or all); None for one not known here."""
    for signature, found in _SIGNATURES:
        if start.startswith(signature):
            return found
    if start[:4] == b"RIFF":
        return _RIFF.get(start[8:12])
    if start[4:8] == b"ftyp":
        return _of_brand(start[8:12])
    if start[4:8] in _MOVIE_BOXES:
        return _format("QuickTime", "audio", "video")
    if start[:2] == b"BM" and int.from_bytes(start[14:18], "little") in _BMP_HEADER_BYTES:
        return _BMP
    if start[:1] == start[188:189] == start[376:377] == b"G":
        return _format("MPEG transport stream", "audio", "video")
    return _MP3 if _has_sound_frame(start) else None


def _of_brand(brand: bytes) -> MediaFormat:
    if brand in _AVIF_BRANDS:
        return _format("AVIF", "image")
    if brand in _IMAGE_BRANDS:
        return _format("HEIC", "image")
    if brand in _SOUND_BRANDS:
        return _format("M4A", "audio")
    return _format("MP4 or MOV", "audio", "video")


def _has_sound_frame(start: bytes) -> bool:
    """Whether an MPEG audio or ADTS frame header is there; padding or half a frame may come before it."""
    at = start.find(b"\xff")
    while 0 <= at < len(start) - 3:
        second, third = start[at + 1], start[at + 2]
        is_adts = second & 0xF6 == 0xF0 and third >> 2 & 0xF < 13
        is_mpeg = second & 0xE0 == 0xE0 and second & 0x18 != 0x08 and second & 0x06 != 0
        if is_adts or (is_mpeg and third >> 4 not in (0, 15) and third & 0x0C != 0x0C):
            return True
        at = start.find(b"\xff", at + 1)
    return False
