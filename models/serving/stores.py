"""The object store as an attempt is given it."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from services.adapters.local.clock import SystemClock
from services.domain.engine import EngineRequest
from services.domain.errors import InvalidRequest
from services.ports.objects import ObjectStore
from services.settings import Settings

StoreFor = Callable[[EngineRequest], ObjectStore]


def stores_of(settings: Settings) -> StoreFor:
    """The store of the settings' profile, by attempt; nothing else of the product's state is opened.

    Raises:
        InvalidRequest: ``unknown_profile``.
    """
    if settings.profile == "local":
        return _one(_files(settings))
    if settings.profile == "aws":
        if not settings.engine_role_arn:
            return _one(_bucket(settings))
        # A session of its own for each attempt: the SDK then asks for that attempt's credentials.
        return lambda _: _bucket(settings)
    raise InvalidRequest(f"Profile {settings.profile!r} is not known; known: local, aws.", code="unknown_profile")


def _one(store: ObjectStore) -> StoreFor:
    return lambda _: store


def _files(settings: Settings) -> ObjectStore:
    from services.adapters.local.links import LinkSigner
    from services.adapters.local.objects import FileObjectStore

    # An engine makes no links: the secret is thrown away.
    links = LinkSigner(secret=secrets.token_hex(), public_url=settings.public_url, clock=SystemClock())
    return FileObjectStore(settings.state_dir / "objects", links=links)


def _bucket(settings: Settings) -> ObjectStore:
    import boto3

    from services.adapters.aws.clients import Clients
    from services.adapters.aws.objects import S3ObjectStore

    return S3ObjectStore(Clients(boto3.Session()), settings.bucket, denied_is_absent=bool(settings.engine_role_arn))
