"""What a source gives: a picture's bytes with what lay beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Protocol

from training.data.findings import FORMAT_NAMES, Fault

CAPTION_ENDINGS: Final = (".txt", ".caption")
MASK_ENDING: Final = ".mask.png"
FIELDS_ENDING: Final = ".json"
TABLES: Final = ("captions.csv", "metadata.csv", "captions.jsonl", "metadata.jsonl")
"""Tables of captions that lie among the pictures; the first one counts."""

FILE_COLUMNS: Final = ("file", "file_name", "filename", "image", "path", "picture")
CAPTION_COLUMNS: Final = ("caption", "text", "prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSample:
    """A picture's file and what belongs to it.

    Attributes:
        name: The file within its source.
        data: Its bytes; None where they cannot be had, which ``fault`` and ``detail`` then say.
        caption: The caption as bytes of unknown encoding, None when there is none.
        other_caption: Another caption of the same picture, which ``caption`` goes before.
        fields: A product's facts.
        mask: The file of a mask, where one lies beside.
    """

    name: str
    data: bytes | None
    caption: bytes | None = None
    other_caption: bytes | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    mask: bytes | None = None
    fault: Fault | None = None
    detail: str = ""


class Source(Protocol):
    """A place of pictures."""

    @property
    def title(self) -> str:
        """What reports call it; no secrets, no signed links."""
        ...

    def samples(self) -> Iterator[RawSample]:
        """The pictures in a fixed order, from the beginning with every call.

        Raises:
            InvalidRequest: It cannot be read as what it is.
            ContentRejected: An archive that nobody packs in good faith.
        """
        ...


def is_ignored(name: str) -> bool:
    """Files that systems leave in folders: hidden ones, thumbnails, resource forks."""
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts) or parts[-1] in (
        "Thumbs.db",
        "desktop.ini",
    )


def is_beside(name: str) -> bool:
    """Whether a file belongs to a picture instead of being one."""
    lower = name.lower()
    return lower.endswith((*CAPTION_ENDINGS, MASK_ENDING, FIELDS_ENDING)) or PurePosixPath(lower).name in TABLES


def is_named_picture(name: str) -> bool:
    """Whether its ending promises a picture."""
    return name.rpartition(".")[2].lower() in FORMAT_NAMES and not name.lower().endswith(MASK_ENDING)


def too_large(name: str, size_bytes: int, most: int) -> RawSample:
    """The sample of a file over the limit."""
    detail = f"The file has {size_bytes / 2**20:.0f} MB; at most {most / 2**20:.0f} are read."
    return RawSample(name=name, data=None, fault=Fault.FILE_TOO_LARGE, detail=detail)


def lone_caption(name: str) -> RawSample:
    """The sample of a caption that belongs to no picture."""
    return RawSample(
        name=name, data=None, fault=Fault.CAPTION_WITHOUT_PICTURE, detail="No picture of this name lies beside it."
    )
