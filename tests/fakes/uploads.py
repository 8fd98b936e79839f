"""Uploads in a dict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services.domain.errors import NotFound
from services.ports.jobs import Page
from services.ports.uploads import Upload
from tests.fakes.pages import page_of


class FakeUploadStore:
    def __init__(self, *uploads: Upload) -> None:
        self._uploads = {(upload.tenant_id, upload.id): upload for upload in uploads}

    def add(self, upload: Upload) -> None:
        self._uploads.setdefault((upload.tenant_id, upload.id), upload)

    def get(self, tenant_id: str, upload_id: str) -> Upload:
        if (tenant_id, upload_id) not in self._uploads:
            raise NotFound(f"There is no upload {upload_id}.", code="upload_not_found")
        return self._uploads[tenant_id, upload_id]

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Upload]:
        mine = [one for (owner, _), one in self._uploads.items() if owner == tenant_id]
        return page_of(mine, kind="upload", cursor=cursor, limit=limit)

    def created_before(self, moment: datetime, *, limit: int) -> Sequence[Upload]:
        old = [upload for upload in self._uploads.values() if upload.created_at < moment]
        return sorted(old, key=lambda upload: upload.created_at)[:limit]

    def delete(self, tenant_id: str, upload_id: str) -> None:
        self._uploads.pop((tenant_id, upload_id), None)
