"""An internet in a dict."""

from __future__ import annotations

from pathlib import Path

from services.domain.errors import ContentRejected
from services.domain.outside_url import SOURCE, parse_outside_url
from services.ports.fetcher import Fetched


class FakeFetcher:
    """Attributes:
    answers: Bytes, or what is raised, by URL; of any other the answer is "not found".
    fetched: Every URL that was asked, but for those refused before.
    """

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Exception] = {}
        self.fetched: list[str] = []

    def fetch(self, url: str, target: Path, *, max_bytes: int, timeout_s: float) -> Fetched:
        parse_outside_url(url, allow_private=False, purpose=SOURCE)
        self.fetched.append(url)
        answer = self.answers.get(url)
        if answer is None:
            raise ContentRejected("HTTP status 404.", code="source_not_found", param="source_url")
        if isinstance(answer, Exception):
            raise answer
        if len(answer) > max_bytes:
            raise ContentRejected("Too large.", code="source_too_large", param="source_url")
        target.write_bytes(answer)
        return Fetched(size_bytes=len(answer), media_type=None)
