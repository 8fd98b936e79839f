"""How long an Ogg file with Vorbis or Opus plays, from its first and last pages (RFC 3533, RFC 7845)."""

from __future__ import annotations

import struct
from typing import Final

_OPUS_RATE_HZ: Final = 48_000


def ogg_duration_s(data: bytes) -> float:
    """Seconds; the last page says how many samples there are.

    Raises:
        ValueError: It is no such file.
    """
    last = data.rfind(b"OggS")
    if not data.startswith(b"OggS") or len(data) < last + 14:
        raise ValueError("not an Ogg file")
    (num_samples,) = struct.unpack_from("<q", data, last + 6)
    packet = 27 + data[26]  # behind the first page's header and its table of segments
    if data[packet : packet + 7] == b"\x01vorbis":
        (rate_hz,) = struct.unpack_from("<I", data, packet + 12)
        return float(num_samples) / float(rate_hz)
    if data[packet : packet + 8] == b"OpusHead":
        (pre_skip,) = struct.unpack_from("<H", data, packet + 10)
        return float(num_samples - pre_skip) / _OPUS_RATE_HZ
    raise ValueError("neither Vorbis nor Opus")
