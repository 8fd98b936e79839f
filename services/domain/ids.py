"""Identifiers: a kind, an underscore and a ULID, such as ``job_01JDV3M0Q8T2...``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ulid import ULID

from services.domain.errors import InvalidRequest

_PATTERN: Final = re.compile(r"^[a-z]{2,12}_[0-9A-HJKMNP-TV-Z]{26}$")


def new_id(kind: str) -> str:
    """A new identifier of ``kind`` (``job``, ``upload``, ``avatar``, ``tenant``, ``key``, ``event``); sorts by time."""
    return f"{kind}_{ULID()}"


def derived_id(kind: str, at: datetime, parts: Sequence[str | int]) -> str:
    """The identifier of ``kind`` that follows from ``parts``, of the time ``at``: asked again, the same."""
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return f"{kind}_{ULID(int(at.timestamp() * 1000).to_bytes(6, 'big') + digest[:10])}"


def check_id(value: str, kind: str, *, param: str | None = None) -> str:
    """``value`` if it is an identifier of ``kind``.

    Raises:
        InvalidRequest: ``malformed_id``.
    """
    if not _PATTERN.match(value) or not value.startswith(f"{kind}_"):
        raise InvalidRequest(f"{value!r} is not an id of kind {kind!r}.", code="malformed_id", param=param)
    return value
