"""The boxes of an mp4 (ISO/IEC 14496-12) as far as metadata needs them: found without reading any media."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from services.domain.errors import ContentRejected

XMP_UUID: Final = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")  # XMP specification, part 3, table of MPEG-4
C2PA_UUID: Final = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")  # C2PA specification, "Embedding in BMFF"
_MAX_XMP_BYTES: Final = 4 << 20
_MAX_BOXES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One box; ``uuid`` is that of a ``uuid`` box. Offsets and sizes in bytes, headers included."""

    kind: str
    offset: int
    header_bytes: int
    size_bytes: int
    uuid: bytes = b""

    @property
    def content_bytes(self) -> int:
        return self.size_bytes - self.header_bytes


def top_boxes(file: BinaryIO) -> Iterator[Box]:
    """The boxes at the top level, by reading their headers only.

    Raises:
        ContentRejected: ``unreadable_media`` when a box ends outside the file.
    """
    end = file.seek(0, 2)
    offset = 0
    for _ in range(_MAX_BOXES):
        if offset >= end:
            return
        file.seek(offset)
        head = file.read(32)
        if len(head) < 8:
            raise _broken(offset)
        size, header = int.from_bytes(head[:4], "big"), 8
        if size == 1:
            size, header = int.from_bytes(head[8:16], "big"), 16
        elif size == 0:  # to the end of the file
            size = end - offset
        kind = head[4:8].decode("latin-1")
        uuid = b""
        if kind == "uuid":
            uuid = head[header : header + 16]
            header += 16
        if size < header or offset + size > end:
            raise _broken(offset)
        yield Box(kind=kind, offset=offset, header_bytes=header, size_bytes=size, uuid=uuid)
        offset += size
    raise _broken(offset)


def append_xmp(path: Path, packet: bytes) -> None:
    """Put ``packet`` at the end of the mp4 at ``path``, where no offset of its index changes."""
    with path.open("ab") as file:
        file.write(struct.pack(">I4s", 24 + len(packet), b"uuid") + XMP_UUID + packet)


def find_xmp(file: BinaryIO) -> bytes | None:
    """The XMP packet of an mp4, if it has one.

    Raises:
        ContentRejected: ``unreadable_media``.
    """
    for box in top_boxes(file):
        if box.uuid == XMP_UUID and box.content_bytes <= _MAX_XMP_BYTES:
            file.seek(box.offset + box.header_bytes)
            return file.read(box.content_bytes)
    return None


def _broken(offset: int) -> ContentRejected:
    return ContentRejected(
        f"The file is damaged or cut off: its structure breaks at byte {offset}.", code="unreadable_media"
    )
