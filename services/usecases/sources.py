"""What requests refer to, for use cases that must look it up: the part of the container that they need."""

from __future__ import annotations

from typing import Protocol

from services.ports.audit import AuditLog
from services.ports.catalogue import AvatarCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.jobs import JobStore
from services.ports.models import ModelCatalogue
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.uploads import UploadStore
from services.settings import Settings


class Sources(Protocol):
    """Where pictures, models, products and the permission to use them are found."""

    @property
    def settings(self) -> Settings: ...
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
    def models(self) -> ModelCatalogue: ...
    @property
    def products(self) -> ProductStore: ...
    @property
    def consents(self) -> ConsentStore: ...
    @property
    def audit(self) -> AuditLog: ...
