"""Files of the open internet, bounded in size and time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from services.adapters.http.guard import LOCATION, Unreachable, new_client, open_answer, unreachable
from services.domain.errors import ContentRejected, Unavailable
from services.domain.outside_url import SOURCE
from services.ports.fetcher import Fetched

if TYPE_CHECKING:
    import httpx

_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_LATER: Final = frozenset((408, 425, 429))  # of the 4xx, those that mean: not now
_HEADERS: Final = {
    # Nothing here is unpacked, so that a small answer cannot become a large file.
    "Accept-Encoding": "identity",
    "Accept": "image/*, audio/*, video/*",
    "User-Agent": "spokesmodel-fetcher",
}


class HttpFetcher:
    """``services.ports.fetcher.Fetcher``: no cookies, no credentials, no proxies, no compression.

    Each redirect is checked as the first URL is, and none leads from https to http.

    Args:
        allow_private: Read from this machine and private networks too; for development only.
    """

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    def fetch(self, url: str, target: Path, *, max_bytes: int, timeout_s: float) -> Fetched:
        """As in the port; ``timeout_s`` bounds the whole exchange: look-ups, redirects and every byte."""
        try:
            return asyncio.run(asyncio.wait_for(self._fetch(url, target, max_bytes), timeout_s))
        except TimeoutError as error:
            raise Unavailable(
                f"The source's host did not send everything within {timeout_s:g} s.", code="source_unreachable"
            ) from error
        except Unreachable as error:
            raise Unavailable(f"The source: {error.detail}", code="source_unreachable") from error

    async def _fetch(self, url: str, target: Path, max_bytes: int) -> Fetched:
        async with new_client() as client:
            for _ in range(1 + _MAX_REDIRECTS):
                async with open_answer(
                    client, "GET", url, purpose=SOURCE, allow_private=self._allow_private, headers=_HEADERS
                ) as response:
                    if response.status_code not in _REDIRECTS:
                        return await _save(response, target, max_bytes)
                    url = _next_url(url, response)
        raise SOURCE.refusal(f"it redirects more than {_MAX_REDIRECTS} times")


def _next_url(url: str, response: httpx.Response) -> str:
    location: str = response.extensions.get(LOCATION, "")
    if not location:
        raise SOURCE.refusal("it redirects to nowhere")
    try:
        following = urljoin(url, location)
    except ValueError as error:
        raise SOURCE.refusal("it redirects to what is no URL") from error
    if url.lower().startswith("https:") and not following.lower().startswith("https:"):
        raise SOURCE.refusal("it redirects from https to an address without encryption")
    return following


async def _save(response: httpx.Response, target: Path, max_bytes: int) -> Fetched:
    import httpx

    status = response.status_code
    if status >= 500 or status in _LATER:
        raise Unreachable(f"HTTP status {status}.")
    if status != 200:
        raise ContentRejected(
            f"The source URL answers HTTP status {status}.", code="source_not_found", param=SOURCE.param
        )
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise SOURCE.refusal("its answer is compressed although no compression was accepted")
    announced = response.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    size_bytes = 0
    try:
        with target.open("wb") as file:
            async for chunk in response.aiter_raw():
                size_bytes += len(chunk)
                if size_bytes > max_bytes:
                    raise _too_large(max_bytes)
                file.write(chunk)
    except httpx.HTTPError as error:
        raise unreachable(error) from error
    return Fetched(size_bytes=size_bytes, media_type=response.headers.get("Content-Type"))


def _too_large(max_bytes: int) -> ContentRejected:
    return ContentRejected(f"The source has more than {max_bytes} bytes.", code="source_too_large", param=SOURCE.param)
