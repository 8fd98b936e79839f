"""Opens sound and video containers, and turns what ffmpeg says of a bad file into our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import av
from av.container import InputContainer

from services.domain.errors import ContentRejected

# Probing may choose among these only. Playlists and scripts (hls, concat, dash) are left out on purpose: they name
# further files and addresses, and a stranger's upload must not make this machine open any.
_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,flv,asf,ogg,wav,w64,rf64,flac,mp3,aac,ac3,eac3,"
    "aiff,caf,au,amr,amrnb,amrwb,opus,wv,ape,tta,h264,hevc,m4v,ivf,mxf,gsm,voc"
)
# One read callback per block; ffmpeg's own 32 KB makes Python the bottleneck of demuxing.
_BLOCK_BYTES = 1 << 18


def display_name(path: Path, name: str | None) -> str:
    """What messages call the file: ``name`` when the client's own is known, else the path's last part."""
    return name if name is not None else path.name


def require_content(path: Path, name: str) -> None:
    """Refuses a file of zero bytes.

    Raises:
        ContentRejected: ``empty_file``.
    """
    if path.stat().st_size == 0:
        raise ContentRejected(f'"{name}" is empty (0 bytes). Upload the file again.', code="empty_file")


def unreadable(name: str, why: str) -> ContentRejected:
    """The error for a damaged file, ``why`` being a clause such as "ends after 2.0 s of 5.0 s"."""
    return ContentRejected(
        f'"{name}" cannot be read: {why}. Export it again or upload the complete file.', code="unreadable_media"
    )


def unsupported(name: str, why: str) -> ContentRejected:
    """The error for a file that is something else than what is wanted here."""
    return ContentRejected(f'"{name}" cannot be used: {why}.', code="unsupported_media")


class _Nameless:
    """A file without its name, so that ffmpeg can only go by the content."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell


@contextmanager
def opened(path: Path, name: str) -> Iterator[InputContainer]:
    """The container at ``path``, whatever it is called.

    Raises:
        ContentRejected: ``unsupported_media`` when it is no sound or video, ``unreadable_media`` when it is damaged
            (also for ffmpeg's errors inside the ``with`` block).
    """
    with path.open("rb") as file:
        try:
            container = av.open(
                _Nameless(file),
                "r",
                options={"format_whitelist": _FORMATS},
                buffer_size=_BLOCK_BYTES,
                metadata_errors="replace",
                io_open=_refuse_further_files,
            )
        except av.FFmpegError as error:
            raise _translated(path, name, error) from error
        with container:
            try:
                yield container
            except av.FFmpegError as error:
                raise unreadable(name, f"its data is damaged ({_reason(error)})") from error


def _refuse_further_files(url: str, flags: int, options: object) -> object:
    raise PermissionError(f"refused to open {url!r} from inside a media file")


def _reason(error: av.FFmpegError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _translated(path: Path, name: str, error: av.FFmpegError) -> ContentRejected:
    with path.open("rb") as file:
        head = file.read(64)
    kind = sniff(head)
    if kind in ("mp4", "matroska", "wav", "flac", "ogg", "mp3", "avi"):
        return unreadable(name, f"it begins as {kind} but is damaged or cut off")
    if kind is not None:
        return unsupported(name, f"it is {kind}, not a sound or video file")
    return unsupported(name, "it is no media file of a known kind")


_MAGIC = (
    (b"RIFF", 8, b"WAVE", "wav"),
    (b"RIFF", 8, b"AVI ", "avi"),
    (b"RIFF", 8, b"WEBP", "a WebP picture"),
    (b"fLaC", 0, b"", "flac"),
    (b"OggS", 0, b"", "ogg"),
    (b"ID3", 0, b"", "mp3"),
    (b"\x1a\x45\xdf\xa3", 0, b"", "matroska"),
    (b"\x89PNG", 0, b"", "a PNG picture"),
    (b"\xff\xd8\xff", 0, b"", "a JPEG picture"),
    (b"GIF8", 0, b"", "a GIF picture"),
    (b"%PDF", 0, b"", "a PDF document"),
    (b"PK\x03\x04", 0, b"", "a ZIP archive or office document"),
    (b"#EXTM3U", 0, b"", "a playlist"),
    (b"<svg", 0, b"", "an SVG drawing"),
    (b"<?xml", 0, b"", "an XML document"),
    (b"<!DOCTYPE", 0, b"", "a web page"),
    (b"<html", 0, b"", "a web page"),
)
_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"hevc")


def sniff(head: bytes) -> str | None:
    """What a file that begins with ``head`` is, by its magic bytes; None if not known."""
    if head[4:8] == b"ftyp":
        return "a HEIC picture" if head[8:12] in _HEIF_BRANDS else "mp4"
    stripped = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    for start, offset, inner, kind in _MAGIC:
        if stripped.startswith(start) and head[offset : offset + len(inner)] == inner:
            return kind
    return None
