"""Webhooks over HTTP, to addresses outside our own network only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from services.domain.callback_url import is_public, parse_callback_url
from services.domain.errors import ContentRejected, Unavailable


class HttpWebhookSender:
    """``services.ports.webhooks.WebhookSender``.

    A name is resolved once, its addresses are checked, and the connection goes to a checked address, so that a name
    cannot point elsewhere between check and use. Redirects and proxies of the environment are not followed.

    Args:
        allow_private: Call this machine and private networks too; for development only.
    """

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    def post(self, url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
        """As in the port; ``timeout_s`` bounds the whole exchange, name lookup included."""
        callback = parse_callback_url(url, allow_private=self._allow_private)
        try:
            return asyncio.run(
                asyncio.wait_for(
                    self._post(callback.url, callback.host, callback.port, body=body, headers=headers), timeout_s
                )
            )
        except TimeoutError as error:
            raise Unavailable(f"No answer within {timeout_s:g} s.", code="callback_unreachable") from error

    async def _post(self, url: str, host: str, port: int, *, body: bytes, headers: Mapping[str, str]) -> int:
        import httpx

        addresses = await self._addresses(host, port)
        fault: Exception | None = None
        async with httpx.AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as client:
            for address in addresses:
                try:
                    parsed = httpx.URL(url)
                    # The body of the answer is never read: it may be endless.
                    async with client.stream(
                        "POST",
                        parsed.copy_with(host=address),
                        content=body,
                        headers={**headers, "Host": parsed.netloc.decode()},
                        extensions={"sni_hostname": parsed.raw_host.decode()},
                    ) as response:
                        return response.status_code
                except httpx.InvalidURL as error:
                    raise ContentRejected(
                        "The callback URL cannot be parsed.", code="callback_url_refused", param="callback_url"
                    ) from error
                except httpx.ConnectError as error:
                    fault = error
                except httpx.HTTPError as error:
                    raise Unavailable(f"{type(error).__name__}.", code="callback_unreachable") from error
        raise Unavailable("No connection to the callback's host.", code="callback_unreachable") from fault

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Unavailable("The callback's host name is not known.", code="callback_unreachable") from error
        addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
        callable_ones = tuple(address for address in addresses if self._allow_private or is_public(ip_address(address)))
        if not callable_ones:
            raise ContentRejected(
                "The callback's host has only addresses in private networks.",
                code="callback_url_refused",
                param="callback_url",
            )
        return callable_ones
