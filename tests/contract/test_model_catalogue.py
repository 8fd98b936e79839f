"""What the catalogue of models does; one file serves every profile, and tests may give it models of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import weights
from services.adapters.built_in_models import BuiltInModelCatalogue, built_in_models
from services.domain.errors import NotFound
from services.domain.object_key import ObjectKey, Retention
from services.ports.models import ModelCatalogue

SHIPPED = [one.model for one in built_in_models()]
OWN = [replace(SHIPPED[0], id=name) for name in ("model_b", "model_a", "model_c")]


@pytest.fixture(params=["shipped", "given"])
def catalogue(request: pytest.FixtureRequest) -> ModelCatalogue:
    return BuiltInModelCatalogue() if request.param == "shipped" else BuiltInModelCatalogue(OWN)


def test_models_are_listed_by_id_each_once_and_the_same_again(catalogue):
    listed = [model.id for model in catalogue.list()]
    assert listed == sorted(set(listed))
    assert len(listed) >= 3
    assert catalogue.list() == catalogue.list()


def test_model_comes_back_whole(catalogue):
    assert [catalogue.get(model.id) for model in catalogue.list()] == list(catalogue.list())


@pytest.mark.parametrize("asked", ["model_nobody", "", "../model_a"])
def test_unknown_model_is_not_found(catalogue, asked):
    with pytest.raises(NotFound) as caught:
        catalogue.get(asked)
    assert caught.value.code == "model_not_found"


def test_given_models_stand_in_place_of_those_that_come_along():
    assert [model.id for model in BuiltInModelCatalogue(OWN).list()] == ["model_a", "model_b", "model_c"]


@pytest.mark.parametrize("one", built_in_models(), ids=lambda one: one.model.id)
def test_shipped_model_has_a_picture_that_can_be_had_under_a_licence(one):
    key = ObjectKey.parse(one.model.object_key)
    assert (key.retention, key.tenant_id, key.owner_id) == (Retention.CATALOGUE, "shared", one.model.id)
    assert one.model.licence
    assert one.picture in weights.manifest()
