"""Encoding and delimiter of a table, by how it begins; and of the tables that are made about it."""

from __future__ import annotations

import codecs
from typing import Final

from services.domain.batch import Batch
from services.domain.errors import NotFound
from services.domain.object_key import ObjectKey
from services.ports.objects import ObjectStore
from services.usecases.batch_file import CSV

HEADER_BYTES: Final = 64 * 1024  # as many of a file have its first line
_USUAL: Final = ","
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(start: bytes) -> str:
    """By its byte order mark; UTF-8 without one."""
    return next((name for bom, name in _BOMS if start.startswith(bom)), "utf-8")


def delimiter_of(first_line: str) -> str:
    """What stands between the cells of a table that begins so."""
    return first_line[4] if tells_delimiter(first_line) else max(",;\t", key=first_line.count)


def tells_delimiter(line: str) -> bool:
    """Whether the line is what spreadsheets tell each other before the header."""
    return line.lower().startswith("sep=") and len(line.rstrip("\r\n")) == 5


def delimiter_in(start: bytes) -> str:
    """What stands between the cells of a CSV file whose first ``HEADER_BYTES`` these are."""
    lines = start.decode(encoding_of(start), errors="ignore").splitlines(keepends=True)
    return delimiter_of(lines[0]) if lines else _USUAL


def delimiter_about(batch: Batch, *, objects: ObjectStore) -> str:
    """For a table about ``batch``: what the batch's own has, so that it opens where that was made."""
    if batch.media_type != CSV:
        return _USUAL
    try:
        return delimiter_in(objects.start_of(ObjectKey.parse(batch.file_key), size_bytes=HEADER_BYTES))
    except NotFound:  # results are kept for longer than what they were made of
        return _USUAL
