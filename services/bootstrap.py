"""Builds the container of adapters that handlers and runners work with."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from services.domain.errors import InvalidRequest
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.engine import Engine
from services.ports.idempotency import IdempotencyStore
from services.ports.jobs import JobStore
from services.ports.language_model import LanguageModel
from services.ports.objects import ObjectStore
from services.ports.tenants import TenantStore
from services.ports.uploads import UploadStore
from services.ports.usage import UsageStore
from services.ports.webhooks import DeliveryLog, WebhookSender
from services.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Every port with the adapter that realises it, and the settings they were built with.

    Attributes:
        language_model: None where none is configured; scripts then come from the copy grammar, labelled so.
    """

    settings: Settings
    clock: Clock
    jobs: JobStore
    objects: ObjectStore
    engine: Engine
    uploads: UploadStore
    avatars: AvatarCatalogue
    voices: VoiceCatalogue
    tenants: TenantStore
    usage: UsageStore
    idempotency: IdempotencyStore
    deliveries: DeliveryLog
    webhook_sender: WebhookSender
    language_model: LanguageModel | None = None


def bootstrap(settings: Settings | None = None, **replacements: Any) -> Services:
    """The adapters of ``settings.profile``; ``replacements`` by field name take their place, and are not built.

    Args:
        settings: None reads the environment.

    Raises:
        InvalidRequest: ``unknown_profile``, or a setting is wrong.
        Unavailable: A store cannot be opened.
    """
    settings = settings or Settings.from_environment(os.environ)
    if settings.profile != "local":
        raise InvalidRequest(f"Profile {settings.profile!r} is not known; known: local.", code="unknown_profile")
    if not settings.signing_secret and "objects" not in replacements:
        settings = replace(settings, signing_secret=_own_secret(settings.state_dir))
    parts = dict(replacements)
    for name, make in _local_adapters(settings, parts).items():
        if name not in parts:
            parts[name] = make()
    return Services(settings=settings, **parts)


def _local_adapters(settings: Settings, parts: Mapping[str, Any]) -> Mapping[str, Callable[[], Any]]:
    """Makers in the order of their needs; adapters are imported here so that importing a handler stays cheap."""
    from services.adapters.local.avatars import SqliteAvatarCatalogue
    from services.adapters.local.clock import SystemClock
    from services.adapters.local.deliveries import SqliteDeliveryLog
    from services.adapters.local.engine import SqliteEngine
    from services.adapters.local.idempotency import SqliteIdempotencyStore
    from services.adapters.local.jobs import SqliteJobStore
    from services.adapters.local.links import LinkSigner
    from services.adapters.local.objects import FileObjectStore
    from services.adapters.local.tenants import SqliteTenantStore
    from services.adapters.local.uploads import SqliteUploadStore
    from services.adapters.local.usage import SqliteUsageStore
    from services.adapters.local.voices import LocalVoiceCatalogue
    from services.adapters.local.webhooks import HttpWebhookSender

    state = settings.state_dir

    def objects() -> FileObjectStore:
        links = LinkSigner(secret=settings.signing_secret, public_url=settings.public_url, clock=parts["clock"])
        return FileObjectStore(state / "objects", links=links)

    return {
        "clock": SystemClock,
        "jobs": lambda: SqliteJobStore(state / "jobs.sqlite", clock=parts["clock"]),
        "objects": objects,
        "engine": lambda: SqliteEngine(
            state / "engine.sqlite", clock=parts["clock"], num_instances=settings.num_workers
        ),
        "uploads": lambda: SqliteUploadStore(state / "uploads.sqlite"),
        "avatars": lambda: SqliteAvatarCatalogue(state / "avatars.sqlite"),
        "voices": LocalVoiceCatalogue,
        "tenants": lambda: SqliteTenantStore(state / "tenants.sqlite"),
        "usage": lambda: SqliteUsageStore(state / "usage.sqlite"),
        "idempotency": lambda: SqliteIdempotencyStore(state / "idempotency.sqlite", clock=parts["clock"]),
        "deliveries": lambda: SqliteDeliveryLog(state / "deliveries.sqlite"),
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
