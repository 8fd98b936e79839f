"""Reading a URL that a client named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    size_bytes: int
    media_type: str | None  # as the server said; sniff the bytes


class Fetcher(Protocol):
    def fetch(self, url: str, target: Path, *, max_bytes: int, timeout_s: float) -> Fetched:
        """Write what ``url`` answers to ``target``.

        Every address is checked at connect time, after each redirect too: private, loopback, link-local and metadata
        addresses are refused whatever name led there.

        Raises:
            ContentRejected: ``source_url_refused``, ``source_too_large``, ``source_not_found``; ``param`` is
                ``source_url``, which the caller replaces by its own field.
            Unavailable: ``source_unreachable``.
        """
        ...
