"""Which adapter realises which port on one machine."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from services.adapters.built_in_models import BuiltInModelCatalogue
from services.adapters.http.fetcher import HttpFetcher
from services.adapters.local.audit import SqliteAuditLog
from services.adapters.local.avatars import SqliteAvatarCatalogue
from services.adapters.local.batches import SqliteBatchStore
from services.adapters.local.clock import SystemClock
from services.adapters.local.consents import SqliteConsentStore
from services.adapters.local.deliveries import SqliteDeliveryLog
from services.adapters.local.engine import SqliteEngine
from services.adapters.local.erasure import SqliteErasure
from services.adapters.local.idempotency import SqliteIdempotencyStore
from services.adapters.local.jobs import SqliteJobStore
from services.adapters.local.links import LinkSigner
from services.adapters.local.notices import PlainNotices
from services.adapters.local.objects import FileObjectStore
from services.adapters.local.products import SqliteProductStore
from services.adapters.local.rates import MemoryRateLimiter
from services.adapters.local.step_queue import NoStepQueue
from services.adapters.local.tenants import SqliteTenantStore
from services.adapters.local.uploads import SqliteUploadStore
from services.adapters.local.usage import SqliteUsageStore
from services.adapters.local.voices import LocalVoiceCatalogue
from services.adapters.local.webhooks import HttpWebhookSender
from services.adapters.price_list import read_price_list
from services.settings import Settings


def complete(settings: Settings, replacements: Mapping[str, Any]) -> Settings:
    """``settings`` with what this machine makes for itself."""
    if settings.signing_secret or "objects" in replacements:
        return settings
    return replace(settings, signing_secret=_own_secret(settings.state_dir))


def adapters(settings: Settings, parts: Mapping[str, Any]) -> Mapping[str, Callable[[], Any]]:
    """Makers by field of ``Services``, in the order of their needs; ``parts`` holds what is made already."""
    state = settings.state_dir

    def objects() -> FileObjectStore:
        links = LinkSigner(secret=settings.signing_secret, public_url=settings.public_url, clock=parts["clock"])
        return FileObjectStore(state / "objects", links=links)

    return {
        "clock": SystemClock,
        "jobs": lambda: SqliteJobStore(state / "jobs.sqlite", clock=parts["clock"]),
        "batches": lambda: SqliteBatchStore(state / "batches.sqlite", clock=parts["clock"]),
        "objects": objects,
        "engine": lambda: SqliteEngine(
            state / "engine.sqlite",
            clock=parts["clock"],
            num_instances=settings.num_workers,
            num_interactive_instances=settings.num_preview_workers,
        ),
        "notices": PlainNotices,
        "step_queue": NoStepQueue,
        "uploads": lambda: SqliteUploadStore(state / "uploads.sqlite"),
        "avatars": lambda: SqliteAvatarCatalogue(state / "avatars.sqlite"),
        "voices": LocalVoiceCatalogue,
        "models": BuiltInModelCatalogue,
        "products": lambda: SqliteProductStore(state / "products.sqlite"),
        "tenants": lambda: SqliteTenantStore(state / "tenants.sqlite"),
        "usage": lambda: SqliteUsageStore(state / "usage.sqlite"),
        "idempotency": lambda: SqliteIdempotencyStore(state / "idempotency.sqlite", clock=parts["clock"]),
        "deliveries": lambda: SqliteDeliveryLog(state / "deliveries.sqlite"),
        "prices": lambda: read_price_list(settings.price_list),
        "consents": lambda: SqliteConsentStore(state / "consents.sqlite"),
        "audit": lambda: SqliteAuditLog(state / "audit.sqlite"),
        "rates": MemoryRateLimiter,
        "erasure": lambda: SqliteErasure(state),
        "fetcher": lambda: HttpFetcher(allow_private=settings.allow_private_callbacks),
        "webhook_sender": lambda: HttpWebhookSender(allow_private=settings.allow_private_callbacks),
    }


def _own_secret(state_dir: Path) -> str:
    """The secret that signs this machine's links: made at first use, then kept in the state folder."""
    path = state_dir / "signing.secret"
    try:
        return path.read_text()
    except FileNotFoundError:
        state_dir.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(32))
    try:
        path.hardlink_to(draft)  # atomic, and fails when another process was first
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text()
