"""Built-in presenters and models: described by data, their pictures in the store."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from models import weights
from services.adapters.built_in_models import built_in_models
from services.bootstrap import bootstrap
from services.domain.ids import check_id
from services.domain.model_choice import DARKEST, LIGHTEST
from services.domain.object_key import ObjectKey
from services.settings import Settings
from spokesmodel.cli.app import app
from spokesmodel.first_start import BUILT_IN_AVATARS, install_models

MODELS = built_in_models()


@pytest.mark.parametrize("built_in", MODELS, ids=lambda one: one.model.name)
def test_model_is_a_licensed_picture_of_the_manifest(built_in):
    file = weights.manifest()[built_in.picture]
    assert built_in.model.licence == f"{file.licence} ({file.source})"
    assert file.commercial_use
    assert file.groups == ("embedded",)
    assert built_in.model.media_type == {"jpg": "image/jpeg", "png": "image/png"}[file.member.rpartition(".")[2]]
    assert LIGHTEST <= built_in.model.skin_tone <= DARKEST
    check_id(built_in.model.id, "model")
    assert ObjectKey.parse(built_in.model.object_key).owner_id == built_in.model.id


def test_no_two_models_share_an_id_or_a_picture():
    assert len({one.model.id for one in MODELS}) == len({one.picture for one in MODELS}) == len(MODELS)


def test_every_way_of_showing_a_product_has_somebody():
    """A portrait for wigs and a whole figure for garments, of either gender."""
    shown = {(one.model.gender, one.model.pose) for one in MODELS}
    assert {(gender, pose) for gender in ("woman", "man") for pose in ("portrait", "standing")} <= shown


def test_pictures_are_put_into_the_store_once(tmp_path):
    if not all(weights.is_present(one.picture) for one in MODELS):
        pytest.skip("the pictures are not fetched")
    services = bootstrap(Settings(state_dir=tmp_path, signing_secret="s" * 32))
    assert install_models(services) == install_models(services) == len(MODELS)
    for one in MODELS:
        stored = services.objects.get(ObjectKey.parse(one.model.object_key))
        assert stored == weights.path(one.picture).read_bytes()


def test_operator_fills_a_store_of_another_machine(tmp_path):
    if not all(weights.is_present(one.picture) for one in MODELS):
        pytest.skip("the pictures are not fetched")
    (tmp_path / "state").mkdir()
    run = CliRunner().invoke(app, ["admin", "pictures", "--state-dir", str(tmp_path / "state"), "--json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout) == {"num_avatars": len(BUILT_IN_AVATARS), "num_models": len(MODELS)}


def test_missing_pictures_are_told_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOKESMODEL_WEIGHTS_DIR", str(tmp_path / "empty"))
    (tmp_path / "state").mkdir()
    run = CliRunner().invoke(app, ["admin", "pictures", "--state-dir", str(tmp_path / "state"), "--json"])
    assert run.exit_code == 5
    assert "weights_missing" in run.output
