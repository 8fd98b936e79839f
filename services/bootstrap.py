"""Builds the container of adapters that handlers and runners work with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from services.domain.errors import InvalidRequest
from services.domain.pricing import PriceList
from services.ports.audit import AuditLog
from services.ports.batches import BatchStore
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.engine import Engine
from services.ports.erasure import Erasure
from services.ports.fetcher import Fetcher
from services.ports.idempotency import IdempotencyStore
from services.ports.jobs import JobStore
from services.ports.language_model import LanguageModel
from services.ports.managed_speech import ManagedSpeech
from services.ports.models import ModelCatalogue
from services.ports.notices import NoticeReader
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.rates import RateLimiter
from services.ports.step_queue import StepQueue
from services.ports.tenants import TenantStore
from services.ports.uploads import UploadStore
from services.ports.usage import UsageStore
from services.ports.webhooks import DeliveryLog, WebhookSender
from services.settings import Settings

_PROFILES: Final = ("local", "aws")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Every port with the adapter that realises it, and the settings they were built with.

    Attributes:
        language_model: None where none is configured; scripts then come from the copy grammar, labelled so.
        managed_speech: None where every voice is the engine's own.
        erasure: None where deleted rows leave nothing on a medium of ours.
    """

    settings: Settings
    clock: Clock
    jobs: JobStore
    batches: BatchStore
    objects: ObjectStore
    engine: Engine
    notices: NoticeReader
    step_queue: StepQueue
    uploads: UploadStore
    avatars: AvatarCatalogue
    voices: VoiceCatalogue
    models: ModelCatalogue
    products: ProductStore
    tenants: TenantStore
    usage: UsageStore
    idempotency: IdempotencyStore
    deliveries: DeliveryLog
    webhook_sender: WebhookSender
    consents: ConsentStore
    audit: AuditLog
    rates: RateLimiter
    fetcher: Fetcher
    prices: PriceList
    language_model: LanguageModel | None = None
    managed_speech: ManagedSpeech | None = None
    erasure: Erasure | None = None


def bootstrap(settings: Settings | None = None, **replacements: Any) -> Services:
    """The adapters of ``settings.profile``; ``replacements`` by field name take their place, and are not built.

    Args:
        settings: None reads the environment.

    Raises:
        InvalidRequest: ``unknown_profile``, or a setting is wrong.
        Unavailable: A store cannot be opened.
    """
    settings = settings or Settings.from_environment(os.environ)
    if settings.profile not in _PROFILES:
        known = ", ".join(_PROFILES)
        raise InvalidRequest(f"Profile {settings.profile!r} is not known; known: {known}.", code="unknown_profile")
    wiring = import_module(f"services.adapters.{settings.profile}.wiring")  # late: importing a handler stays cheap
    settings = wiring.complete(settings, replacements)
    parts = dict(replacements)
    for name, make in wiring.adapters(settings, parts).items():
        if name not in parts:
            parts[name] = make()
    return Services(settings=settings, **parts)
