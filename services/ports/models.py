"""The models that wear products where a shop has none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from services.domain.model_choice import CatalogueModel


class ModelCatalogue(Protocol):
    """Built-in models, the same for every tenant."""

    def get(self, model_id: str) -> CatalogueModel:
        """Raises:
        NotFound: ``model_not_found``.
        """
        ...

    def list(self) -> Sequence[CatalogueModel]:
        """By id, so that a choice made twice is the same."""
        ...
