"""The one way to a stranger's host: look its name up once, check the addresses, connect to a checked one.

A name cannot point elsewhere between check and use (DNS rebinding), because the connection goes to the address that
was checked; the name stays in ``Host`` and in TLS, whose certificate is verified against it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from services.domain.errors import Unavailable
from services.domain.outside_url import UrlPurpose, is_public, parse_outside_url

if TYPE_CHECKING:
    import httpx


LOCATION: Final = "location"  # of an answer's extensions: the header, which is not among the headers


class Unreachable(Unavailable):
    """Nobody answered, or not in HTTP."""

    default_code = "host_unreachable"


@asynccontextmanager
async def new_client() -> AsyncIterator[httpx.AsyncClient]:
    """A client that follows no redirect, knows no proxy and no netrc, and shares no connection between names."""
    import httpx

    async with httpx.AsyncClient(
        timeout=None,
        follow_redirects=False,
        trust_env=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        event_hooks={"response": [_set_location_aside]},
    ) as client:
        yield client


async def _set_location_aside(response: httpx.Response) -> None:
    """Whoever follows a redirect reads where it leads: the client takes one that is no URL for a lost line."""
    response.extensions[LOCATION] = response.headers.pop("Location", "")


@asynccontextmanager
async def open_answer(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    purpose: UrlPurpose,
    allow_private: bool,
    headers: Mapping[str, str],
    body: bytes = b"",
) -> AsyncIterator[httpx.Response]:
    """The answer of ``url``, its body still to be read.

    Raises:
        ContentRejected: ``purpose.code``: the URL, or every address of its host, may not be called.
        Unreachable: No connection, or no HTTP.
    """
    import httpx

    target = parse_outside_url(url, allow_private=allow_private, purpose=purpose)
    addresses = await _addresses(target.host, target.port, allow_private=allow_private, purpose=purpose)
    fault: Exception | None = None
    for address in addresses:
        async with AsyncExitStack() as stack:
            try:
                client.cookies.clear()
                parsed = httpx.URL(url)
                stream = client.stream(
                    method,
                    parsed.copy_with(host=address),
                    content=body,
                    headers={**headers, "Host": parsed.netloc.decode()},
                    extensions={"sni_hostname": parsed.raw_host.decode()},
                )
                response = await stack.enter_async_context(stream)
            except httpx.InvalidURL as error:
                raise purpose.refusal("it cannot be parsed") from error
            except httpx.ConnectError as error:
                fault = error
                continue
            except httpx.HTTPError as error:
                raise unreachable(error) from error
            yield response
            return
    raise Unreachable("No connection to the host.") from fault


def unreachable(error: httpx.HTTPError) -> Unreachable:
    """What the client met, in words for somebody who knows no class of it."""
    import httpx

    if isinstance(error, httpx.RemoteProtocolError):
        return Unreachable("The host's answer is broken: no HTTP, too many headers, or cut off before its end.")
    if isinstance(error, httpx.NetworkError):
        return Unreachable("The connection to the host broke off.")
    return Unreachable("The exchange with the host failed.")


async def _addresses(host: str, port: int, *, allow_private: bool, purpose: UrlPurpose) -> Sequence[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable("The host's name is not known.") from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    callable_ones = tuple(address for address in addresses if allow_private or is_public(ip_address(address)))
    if not callable_ones:
        raise purpose.refusal("its host has only addresses in private networks")
    return callable_ones
