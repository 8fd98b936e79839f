"""Where a batch keeps its files: ``{retention}/{tenant}/{batch}/0/{name}``."""

from __future__ import annotations

from typing import Final

from services.domain.batch import Batch
from services.domain.object_key import ObjectKey, Retention

DEFAULTS: Final = "defaults.json"
REPORT_JSON: Final = "report.json"
REPORT_CSV: Final = "report.csv"


def file_key(tenant_id: str, batch_id: str, name: str) -> ObjectKey:
    """What a batch is made from."""
    return ObjectKey(retention=Retention.WORK, tenant_id=tenant_id, owner_id=batch_id, attempt=0, name=name)


def answer_key(batch: Batch, name: str) -> ObjectKey:
    """What a batch answers: reports and result tables."""
    return ObjectKey(retention=Retention.RESULT, tenant_id=batch.tenant_id, owner_id=batch.id, attempt=0, name=name)
