"""Where an object lives: ``{retention class}/{tenant}/{owner}/{attempt}/{name}``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.errors import InvalidRequest

_SEGMENT: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")


SHARED: Final = "shared"  # stands for the tenant in keys of what everyone sees; tenants' ids begin with `tenant_`


class Retention(StrEnum):
    """How long a class of objects is kept; a bucket's lifecycle rules follow it."""

    UPLOAD = "upload"  # what a client sent; days
    WORK = "work"  # storyboards, engine events, cancel marks; as long as the job row
    RESULT = "result"  # what a job made; by the tenant's policy
    CATALOGUE = "catalogue"  # avatars and other things kept until deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKey:
    """The only way to name an object.

    Attributes:
        owner_id: The job, upload or avatar it belongs to.
        attempt: The engine attempt that wrote it; 0 for what services wrote.
        name: File name chosen by us, never by a client.

    Raises:
        InvalidRequest: ``malformed_key`` when a segment could leave its folder.
    """

    retention: Retention
    tenant_id: str
    owner_id: str
    attempt: int
    name: str

    def __post_init__(self) -> None:
        for segment in (self.tenant_id, self.owner_id, self.name):
            if not _SEGMENT.match(segment):
                raise InvalidRequest(f"{segment!r} cannot be part of an object key.", code="malformed_key")
        if self.attempt < 0:
            raise InvalidRequest("An attempt is 0 or more.", code="malformed_key")

    def __str__(self) -> str:
        return f"{self.retention}/{self.tenant_id}/{self.owner_id}/{self.attempt}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> ObjectKey:
        """The key written as ``text``.

        Raises:
            InvalidRequest: ``malformed_key``.
        """
        parts = text.split("/")
        try:
            retention, tenant_id, owner_id, attempt, name = parts
            return cls(
                retention=Retention(retention),
                tenant_id=tenant_id,
                owner_id=owner_id,
                attempt=int(attempt),
                name=name,
            )
        except ValueError as error:
            raise InvalidRequest(f"{text!r} is not an object key.", code="malformed_key") from error
