"""How long a recording is, from its first bytes and its size: nothing is decoded.

Of WAV (RIFF, ``fmt``), FLAC (STREAMINFO), MP3 (Xing, Info or VBRI header, else the first frame's bit rate) and MP4, MOV
and M4A whose ``moov`` stands before the sound. Others tell too far inside.
"""

from __future__ import annotations

from typing import Final

_KBITS: Final = {  # of layer III, by the header's index: ISO 11172-3 and 13818-3
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES_HZ: Final = (44_100, 48_000, 32_000)
_FULL, _HALF, _QUARTER = 3, 2, 0  # MPEG 1, 2 and 2.5, by the header's version


def length_s(start: bytes, size_bytes: int) -> float | None:
    """Seconds of the file that begins with ``start`` and has ``size_bytes``; None where that does not tell."""
    if start[:4] == b"RIFF" and start[8:12] == b"WAVE":
        return _wav(start, size_bytes)
    if start[:4] == b"fLaC":
        return _flac(start)
    if start[4:8] in (b"ftyp", b"moov", b"free", b"wide", b"skip"):
        return _mp4(start)
    if start[:3] == b"ID3" or start[:1] == b"\xff":
        return _mp3(start, size_bytes)
    return None


def _wav(start: bytes, size_bytes: int) -> float | None:
    at = start.find(b"fmt ", 12)
    header = start[at + 8 : at + 24]
    if at < 0 or len(header) < 16:
        return None
    # Not the header's bytes a second, which decoders of PCM do not look at.
    is_plain = int.from_bytes(header[:2], "little") in (1, 3, 6, 7, 0xFFFE)
    per_s = int.from_bytes(header[4:8], "little") * int.from_bytes(header[12:14], "little")
    return size_bytes / per_s if is_plain and per_s else None


def _flac(start: bytes) -> float | None:
    if len(start) < 26:
        return None
    packed = int.from_bytes(start[18:26], "big")  # 20 bits of rate, 8 of channels and depth, 36 of samples
    rate_hz, num_samples = packed >> 44, packed & (1 << 36) - 1
    return num_samples / rate_hz if rate_hz and num_samples else None


def _mp4(start: bytes) -> float | None:
    at = start.find(b"mvhd")
    if at < 0 or len(start) < at + 36:
        return None
    wide = start[at + 4] == 1
    scale_at = at + (24 if wide else 16)
    scale = int.from_bytes(start[scale_at : scale_at + 4], "big")
    duration = int.from_bytes(start[scale_at + 4 : scale_at + (12 if wide else 8)], "big")
    return duration / scale if scale and duration else None


def _mp3(start: bytes, size_bytes: int) -> float | None:
    at = 0
    if start[:3] == b"ID3" and len(start) >= 10:  # its length has seven bits a byte
        at = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(start[6:10], (21, 14, 7, 0), strict=True))
    header = start[at : at + 4]
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:  # a frame of layer III
        return None
    version, kbit, rate = header[1] >> 3 & 3, header[2] >> 4, header[2] >> 2 & 3
    if version == 1 or rate == 3 or kbit in (0, 15):
        return None
    rate_hz = _RATES_HZ[rate] // {_FULL: 1, _HALF: 2, _QUARTER: 4}[version]
    for sign, offset in ((b"Xing", 8), (b"Info", 8), (b"VBRI", 14)):
        found = start.find(sign, at, at + 200)
        has_frames = found >= 0 and (sign == b"VBRI" or (start[found + 7 : found + 8] and start[found + 7] & 1))
        if has_frames and len(start) >= found + offset + 4:
            num_frames = int.from_bytes(start[found + offset : found + offset + 4], "big")
            return num_frames * (1152 if version == _FULL else 576) / rate_hz
    return (size_bytes - at) / (_KBITS[version == _FULL][kbit] * 125)
