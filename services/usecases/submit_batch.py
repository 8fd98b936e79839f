"""Accept a batch: keep its own copy of the file, then store the batch; its rows are read afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from services.domain.batch import Batch, BatchKind, OnInvalid
from services.domain.engine import Failure
from services.domain.errors import Conflict, ContentRejected, InvalidRequest, NotFound
from services.domain.object_key import ObjectKey
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.batch_file import CSV, JSONL
from services.usecases.batch_objects import DEFAULTS, file_key
from services.usecases.check_text import check_characters
from services.usecases.check_upload import find_upload
from services.usecases.check_video import check_callback

MAX_INLINE_ROWS: Final = 100
_NAMES: Final = {CSV: "file.csv", JSONL: "file.jsonl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOrder:
    """A batch as asked for; exactly one of ``upload_id`` and ``rows`` is given.

    Attributes:
        defaults: Part of a body, laid under each row.
    """

    kind: BatchKind
    upload_id: str | None = None
    rows: Sequence[Mapping[str, Any]] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    dry_run: bool = False
    on_invalid: OnInvalid = OnInvalid.SKIP
    callback_url: str | None = None
    callback_id: str | None = None


def submit_batch(
    order: BatchOrder,
    *,
    batch_id: str,
    tenant_id: str,
    batches: BatchStore,
    uploads: UploadStore,
    objects: ObjectStore,
    clock: Clock,
    settings: Settings,
    held_by: Failure | None = None,
) -> Batch:
    """The batch, queued. Asked again with the same ``batch_id``, the answer is the batch there is.

    Args:
        held_by: The quota for which its rows will have to wait once they are checked.

    Raises:
        InvalidRequest: ``exactly_one``, ``out_of_range``.
        ContentRejected: ``upload_not_found``, ``upload_incomplete``, ``wrong_media_type``, ``file_too_large``,
            ``too_many_rows``, ``empty_file``, ``callback_url_refused``, ``control_character``.
    """
    check_callback(order.callback_url, order.callback_id, settings)
    check_characters(order.name, param="name")
    if (order.upload_id is None) == (order.rows is None):
        raise InvalidRequest("Of upload_id and rows exactly one is needed.", code="exactly_one", param="upload_id")
    if order.rows is not None:
        media_type, key = JSONL, file_key(tenant_id, batch_id, _NAMES[JSONL])
        objects.put(key, _lines(order.rows), media_type=JSONL)
    else:
        media_type, source = _file_of(order.upload_id or "", tenant_id, uploads, objects, settings)
        key = file_key(tenant_id, batch_id, _NAMES[media_type])
        objects.copy(source, key)
    defaults = json.dumps(dict(order.defaults), ensure_ascii=False).encode()
    objects.put(file_key(tenant_id, batch_id, DEFAULTS), defaults, media_type="application/json")
    now = clock.now()
    batch = Batch(
        id=batch_id,
        tenant_id=tenant_id,
        kind=order.kind,
        file_key=str(key),
        media_type=media_type,
        created_at=now,
        updated_at=now,
        available_at=now,
        name=order.name,
        on_invalid=order.on_invalid,
        dry_run=order.dry_run,
        callback_url=order.callback_url,
        callback_id=order.callback_id,
        held_by=None if order.dry_run else held_by,
    )
    try:
        batches.add(batch)
    except Conflict:
        present = batches.get(batch_id)
        if present.tenant_id != tenant_id:
            raise
        return present
    return batch


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    if not rows:
        raise ContentRejected("There are no rows.", code="empty_file", param="rows")
    if len(rows) > MAX_INLINE_ROWS:
        raise ContentRejected(
            f"{len(rows)} rows; within a request at most {MAX_INLINE_ROWS}. Send more as a file: POST /v1/uploads.",
            code="too_many_rows",
            param="rows",
        )
    return b"".join(json.dumps(dict(row), ensure_ascii=False).encode() + b"\n" for row in rows)


def _file_of(
    upload_id: str, tenant_id: str, uploads: UploadStore, objects: ObjectStore, settings: Settings
) -> tuple[str, ObjectKey]:
    """Media type and key of an upload that can be a batch."""
    upload = find_upload(upload_id, tenant_id=tenant_id, uploads=uploads, param="upload_id")
    if upload.media_type not in _NAMES:
        raise ContentRejected(
            f"{upload.file_name!r} is of type {upload.media_type}; a batch is {' or '.join(_NAMES)}.",
            code="wrong_media_type",
            param="upload_id",
        )
    key = ObjectKey.parse(upload.object_key)
    try:
        size_bytes = objects.head(key).size_bytes
    except NotFound as error:
        raise ContentRejected(
            f"The bytes of {upload.file_name!r} have not arrived; send them to its signed URL first.",
            code="upload_incomplete",
            param="upload_id",
        ) from error
    if size_bytes > settings.max_batch_file_bytes:
        raise ContentRejected(
            f"{upload.file_name!r} has {size_bytes} bytes; a batch's file at most {settings.max_batch_file_bytes}.",
            code="file_too_large",
            param="upload_id",
        )
    return upload.media_type, key
