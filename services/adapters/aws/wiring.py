"""Which adapter realises which port on AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from services.adapters.aws.audit import DynamoAuditLog
from services.adapters.aws.avatars import DynamoAvatarCatalogue
from services.adapters.aws.batches import DynamoBatchStore
from services.adapters.aws.bedrock import BedrockLanguageModel
from services.adapters.aws.clients import Clients
from services.adapters.aws.consents import DynamoConsentStore
from services.adapters.aws.deliveries import DynamoDeliveryLog
from services.adapters.aws.engine_lanes import LaneEngines
from services.adapters.aws.engine_queue import QueueEngine
from services.adapters.aws.engine_sagemaker import SageMakerEngine
from services.adapters.aws.idempotency import DynamoIdempotencyStore
from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.aws.notices import SageMakerNotices
from services.adapters.aws.objects import S3ObjectStore
from services.adapters.aws.polly import POLLY_VOICES, PollySpeech
from services.adapters.aws.products import DynamoProductStore
from services.adapters.aws.rates import DynamoRateLimiter
from services.adapters.aws.step_queue import SqsStepQueue, queue_urls
from services.adapters.aws.tenants import DynamoTenantStore
from services.adapters.aws.uploads import DynamoUploadStore
from services.adapters.aws.usage import DynamoUsageStore
from services.adapters.built_in_models import BuiltInModelCatalogue
from services.adapters.http.fetcher import HttpFetcher
from services.adapters.local.clock import SystemClock
from services.adapters.local.voices import LOCAL_VOICES, LocalVoiceCatalogue
from services.adapters.local.webhooks import HttpWebhookSender
from services.adapters.price_list import read_price_list
from services.domain.engine import Lane
from services.domain.errors import InvalidRequest
from services.settings import Settings

_INFERENCE: Final = ("sagemaker", "queue")
_MAX_LINK_S: Final = 7 * 24 * 3600  # S3 signs for no longer


def complete(settings: Settings, replacements: Mapping[str, Any]) -> Settings:
    """``settings`` as they are, once none that is needed is missing: the template sets every one.

    Raises:
        InvalidRequest: ``missing_setting``, naming all that are; ``malformed_setting``, ``out_of_range``.
    """
    if settings.inference not in _INFERENCE:
        known = ", ".join(_INFERENCE)
        raise InvalidRequest(
            f"SPOKESMODEL_INFERENCE={settings.inference!r} is not known; known: {known}.", code="malformed_setting"
        )
    missing = [name for field, name in _needed(settings) if field not in replacements and not getattr(settings, name)]
    if missing:
        names = ", ".join(f"SPOKESMODEL_{name.upper()}" for name in missing)
        raise InvalidRequest(f"Profile aws needs {names}; template.yaml sets them.", code="missing_setting")
    if settings.link_lifetime_s > _MAX_LINK_S:
        raise InvalidRequest(
            f"SPOKESMODEL_LINK_LIFETIME_S={settings.link_lifetime_s} is out of range; at most {_MAX_LINK_S}.",
            code="out_of_range",
        )
    return settings


def adapters(settings: Settings, parts: Mapping[str, Any]) -> Mapping[str, Callable[[], Any]]:
    """Makers by field of ``Services``, in the order of their needs; ``parts`` holds what is made already.

    Nothing is asked of AWS here: each client is made at its first use.
    """
    clients = Clients()
    prefix = settings.table_prefix
    kept = timedelta(days=settings.job_retention_days)
    return {
        "clock": SystemClock,
        "jobs": lambda: DynamoJobStore(
            clients, table_prefix=prefix, clock=parts["clock"], retention_days=settings.job_retention_days
        ),
        "batches": lambda: DynamoBatchStore(clients, table_prefix=prefix, clock=parts["clock"], kept=kept),
        "objects": lambda: S3ObjectStore(clients, settings.bucket),
        "engine": lambda: _engine(settings, parts, clients),
        "notices": lambda: SageMakerNotices(clients, bucket=settings.bucket),
        "step_queue": lambda: SqsStepQueue(clients, urls=queue_urls(settings)),
        "uploads": lambda: DynamoUploadStore(clients, table_prefix=prefix, kept=kept),
        "avatars": lambda: DynamoAvatarCatalogue(clients, table_prefix=prefix),
        "voices": lambda: _voices(settings),
        "models": BuiltInModelCatalogue,
        "products": lambda: DynamoProductStore(clients, table_prefix=prefix),
        "language_model": lambda: _language_model(settings, clients),
        "managed_speech": lambda: PollySpeech(clients) if settings.polly else None,
        "tenants": lambda: DynamoTenantStore(clients, table_prefix=prefix),
        "usage": lambda: DynamoUsageStore(clients, table_prefix=prefix),
        "idempotency": lambda: DynamoIdempotencyStore(clients, table_prefix=prefix, clock=parts["clock"]),
        "deliveries": lambda: DynamoDeliveryLog(clients, table_prefix=prefix, kept=kept),
        "prices": lambda: read_price_list(settings.price_list),
        "consents": lambda: DynamoConsentStore(clients, table_prefix=prefix),
        "audit": lambda: DynamoAuditLog(clients, table_prefix=prefix),
        "rates": lambda: DynamoRateLimiter(clients, table_prefix=prefix, clock=parts["clock"]),
        "fetcher": lambda: HttpFetcher(allow_private=settings.allow_private_callbacks),
        "webhook_sender": lambda: HttpWebhookSender(allow_private=settings.allow_private_callbacks),
    }


def _engine(settings: Settings, parts: Mapping[str, Any], clients: Clients) -> LaneEngines | QueueEngine:
    if settings.inference == "sagemaker":
        endpoints = {
            Lane.LONG: settings.endpoint_name,
            Lane.INTERACTIVE: settings.preview_endpoint_name or settings.endpoint_name,
        }
        return LaneEngines(
            {
                lane: SageMakerEngine(
                    clients,
                    endpoint_name=name,
                    bucket=settings.bucket,
                    objects=parts["objects"],
                    clock=parts["clock"],
                    concurrency=settings.engine_concurrency,
                )
                for lane, name in endpoints.items()
            }
        )
    return QueueEngine(
        clients,
        queue_url=settings.work_queue_url,
        num_instances=settings.engine_instances,
        concurrency=settings.engine_concurrency,
    )


def _needed(settings: Settings) -> Iterator[tuple[str, str]]:
    """Fields of ``Services``, each with a setting that it cannot do without."""
    yield "objects", "bucket"
    yield "engine", "endpoint_name" if settings.inference == "sagemaker" else "work_queue_url"
    for step in ("prepare", "dispatch", "notify", "batch"):
        yield "step_queue", f"{step}_queue_url"


def _voices(settings: Settings) -> LocalVoiceCatalogue:
    return LocalVoiceCatalogue(LOCAL_VOICES, POLLY_VOICES) if settings.polly else LocalVoiceCatalogue()


def _language_model(settings: Settings, clients: Clients) -> BedrockLanguageModel | None:
    return BedrockLanguageModel(clients, settings.bedrock_model_id) if settings.bedrock_model_id else None
