"""Every place where something of a tenant can be, for what must go through all of them."""

from __future__ import annotations

from typing import Protocol

from services.ports.audit import AuditLog
from services.ports.batches import BatchStore
from services.ports.catalogue import AvatarCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.erasure import Erasure
from services.ports.idempotency import IdempotencyStore
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.tenants import TenantStore
from services.ports.uploads import UploadStore
from services.ports.usage import UsageStore
from services.ports.webhooks import DeliveryLog


class Stores(Protocol):
    """The part of the container that deletion needs."""

    @property
    def clock(self) -> Clock: ...
    @property
    def jobs(self) -> JobStore: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def uploads(self) -> UploadStore: ...
    @property
    def avatars(self) -> AvatarCatalogue: ...
    @property
    def products(self) -> ProductStore: ...
    @property
    def tenants(self) -> TenantStore: ...
    @property
    def usage(self) -> UsageStore: ...
    @property
    def idempotency(self) -> IdempotencyStore: ...
    @property
    def deliveries(self) -> DeliveryLog: ...
    @property
    def batches(self) -> BatchStore: ...
    @property
    def consents(self) -> ConsentStore: ...
    @property
    def audit(self) -> AuditLog: ...
    @property
    def erasure(self) -> Erasure | None: ...
