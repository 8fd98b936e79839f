"""Which addresses the product calls back or reads from: never ones inside its own network."""

from __future__ import annotations

import re
import socket
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from services.domain.errors import ContentRejected

_MAX_LENGTH: Final = 2048
# Prefixes whose last bits are an IPv4 address that a gateway would reach: NAT64 (RFC 6052), IPv4-compatible.
_EMBEDS_IPV4: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))

# Dotless and short addresses as browsers and the C library read them: 2130706433, 127.1, 0x7f.1, 0177.0.0.1.
_NUMBERS: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
_IDEOGRAPHIC_STOP: Final = "\u3002"  # a dot between labels in IDNA; NFKC makes the other wide dots of it
# Not for hosts of the open internet, though versions of Python differ on it: protocol assignments (one is a cloud's
# metadata service), the 6to4 relay, documentation.
_NOT_HOSTS: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv6Network("3fff::/20"))
_AZURE_PLATFORM: Final = IPv4Address("168.63.129.16")  # a public number that answers only inside Azure


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideUrl:
    """The parts of a URL that may be called. ``host`` is a name or an address, without brackets."""

    url: str
    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlPurpose:
    """What a URL is for: how it is called in a refusal, and that refusal's code and request field."""

    name: str
    code: str
    param: str

    def refusal(self, reason: str) -> ContentRejected:
        """The error that says why such a URL is not called; it names no part of the URL."""
        return ContentRejected(f"The {self.name} is refused: {reason}.", code=self.code, param=self.param)


CALLBACK: Final = UrlPurpose(name="callback URL", code="callback_url_refused", param="callback_url")
SOURCE: Final = UrlPurpose(name="source URL", code="source_url_refused", param="source_url")


def parse_outside_url(url: str, *, allow_private: bool, purpose: UrlPurpose) -> OutsideUrl:
    """The parts of ``url``.

    A name's addresses are not looked up here: whoever connects checks the address that it connects to.

    Raises:
        ContentRejected: ``callback_url_refused`` or ``source_url_refused``, saying why.
    """
    if len(url) > _MAX_LENGTH:
        raise purpose.refusal(f"it has {len(url)} characters; the limit is {_MAX_LENGTH}")
    if any(character <= " " or character == "\x7f" or character == "\\" for character in url):
        raise purpose.refusal("it contains spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise purpose.refusal("it cannot be parsed") from error
    if parts.scheme not in ("https", "http"):
        raise purpose.refusal("its scheme is neither https nor http")
    if not host:
        raise purpose.refusal("it has no host")
    if parts.username is not None or parts.password is not None:
        raise purpose.refusal("it carries a user name or password")
    name = _plain(host)
    if not name:
        raise purpose.refusal("it has no host")
    address = _address_of(name)
    if not allow_private and (name == "localhost" or name.endswith(".localhost") or not _is_callable(address)):
        raise purpose.refusal("it points into a private network or at this machine")
    return OutsideUrl(url=url, scheme=parts.scheme, host=host, port=port or (443 if parts.scheme == "https" else 80))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is on the open internet: not private, loopback, link-local, multicast, shared or metadata."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and any(address in network for network in _EMBEDS_IPV4):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    if any(address in network for network in _NOT_HOSTS):
        return False
    is_internal = address.is_multicast or address.is_reserved or address == _AZURE_PLATFORM
    return address.is_global and not is_internal


def _plain(host: str) -> str:
    """``host`` as a resolver sees it: no wide letters, digits or dots, no dot at the end."""
    plain = unicodedata.normalize("NFKC", host).replace(_IDEOGRAPHIC_STOP, ".").lower()
    return plain.replace("\u00ad", "").removesuffix(".")


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    """The address that ``name`` spells, in any spelling that resolvers take; None for a name."""
    try:
        if _NUMBERS.fullmatch(name):
            return IPv4Address(socket.inet_aton(name))
        return ip_address(name)
    except (ValueError, OSError):
        return None


def _is_callable(address: IPv4Address | IPv6Address | None) -> bool:
    return address is None or is_public(address)
