"""The built-in models: a TOML file that comes along, the same for every profile."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from services.domain import wire
from services.domain.errors import NotFound
from services.domain.model_choice import CatalogueModel
from services.domain.object_key import SHARED, ObjectKey, Retention

_FILE: Final = Path(__file__).with_name("models.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInModel:
    """A model with the name of its picture in the weights manifest, from which a store is filled."""

    model: CatalogueModel
    picture: str


@cache
def built_in_models() -> Sequence[BuiltInModel]:
    """Every built-in model, by id."""
    rows = tomllib.loads(_FILE.read_text(encoding="utf-8"))["model"]
    return tuple(sorted((_model(row) for row in rows), key=lambda one: one.model.id))


class BuiltInModelCatalogue:
    """``services.ports.models.ModelCatalogue``."""

    def __init__(self, models: Iterable[CatalogueModel] | None = None) -> None:
        """``models``: in place of those that come along."""
        given = (one.model for one in built_in_models()) if models is None else models
        self._models = tuple(sorted(given, key=lambda model: model.id))

    def get(self, model_id: str) -> CatalogueModel:
        found = next((model for model in self._models if model.id == model_id), None)
        if found is None:
            raise NotFound(f"There is no model {model_id}.", code="model_not_found")
        return found

    def list(self) -> Sequence[CatalogueModel]:
        return self._models


def _model(row: dict[str, Any]) -> BuiltInModel:
    picture = row.pop("picture")
    suffix = {"image/jpeg": ".jpg", "image/png": ".png"}[row["media_type"]]
    key = ObjectKey(
        retention=Retention.CATALOGUE,
        tenant_id=SHARED,
        owner_id=row["id"],
        attempt=0,
        name=str(PurePosixPath("picture").with_suffix(suffix)),
    )
    return BuiltInModel(model=wire.from_values(CatalogueModel, {**row, "object_key": str(key)}), picture=picture)
