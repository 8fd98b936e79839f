"""What clients sent, before a job uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.ports.jobs import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A permitted upload; its bytes are there once the signed request was made.

    Attributes:
        file_name: As the client named it; any characters; shown, never used as a path.
    """

    id: str
    tenant_id: str
    object_key: str
    media_type: str
    size_bytes: int
    file_name: str
    created_at: datetime


class UploadStore(Protocol):
    def add(self, upload: Upload) -> None: ...

    def get(self, tenant_id: str, upload_id: str) -> Upload:
        """Raises:
        NotFound: ``upload_not_found``, for another tenant's too.
        """
        ...

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Upload]:
        """Newest first."""
        ...

    def created_before(self, moment: datetime, *, limit: int) -> Sequence[Upload]:
        """Uploads older than ``moment``, oldest first; none where the store lets rows expire by itself."""
        ...

    def delete(self, tenant_id: str, upload_id: str) -> None: ...
