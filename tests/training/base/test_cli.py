"""``spokesmodel train base``: options become a plan, figures become lines or JSON."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from services.domain.errors import InvalidRequest
from spokesmodel.cli.app import app
from training.base import base
from training.base.stages import Progress

FIGURES = base.BaseFigures(
    cpu_s={"denoiser": 40.0, "autoencoder": 2.0},
    autoencoder_psnr_db=30.5,
    autoencoder_right=1.0,
    num_checked=104,
    left_out_right=0.975,
    left_out_attributes={"colour": 0.98},
    seen_right=0.99,
)


@pytest.fixture
def plans(monkeypatch):
    """The plans that the command asked for; nothing is trained."""
    asked = []

    def train_base(_out, plan, on_progress):
        asked.append(plan)
        on_progress(Progress(stage="denoiser", step=50, num_steps=100, loss=0.5, cpu_s=12.0))
        on_progress(Progress(stage="checker", step=9, num_steps=9, loss=math.nan, cpu_s=1.0))  # one that was finished
        return FIGURES

    monkeypatch.setattr(base, "train_base", train_base)
    return asked


def train(*options):
    return CliRunner().invoke(app, ["train", "base", *map(str, options)])


def test_without_options_it_is_the_recipe(plans, tmp_path):
    done = train("--out", tmp_path)
    assert done.exit_code == 0
    assert plans == [base.BasePlan()]
    assert "97.5%" in done.stdout
    assert "42 CPU-seconds" in done.stdout
    assert "denoiser 50/100, loss 0.500, 12 CPU-s" in done.stderr


def test_seed_and_steps_are_taken(plans, tmp_path):
    assert train("--out", tmp_path, "--seed", 9, "--steps", 500).exit_code == 0
    assert (plans[0].seed, plans[0].denoiser_steps) == (9, 500)


def test_programs_get_one_document_and_no_progress(plans, tmp_path):
    done = train("--out", tmp_path, "--minutes", 10, "--json")
    assert json.loads(done.stdout)["left_out_attributes"] == {"colour": 0.98}
    assert done.stderr == ""


def test_minutes_and_steps_together_are_refused(plans, tmp_path):
    done = train("--out", tmp_path, "--minutes", 1, "--steps", 1)
    assert done.exit_code == 2
    assert plans == []


def test_refusal_is_told_with_its_code(monkeypatch, tmp_path):
    def refuse(*_):
        raise InvalidRequest("another run is here", code="other_training_run", param="out")

    monkeypatch.setattr(base, "train_base", refuse)
    done = train("--out", tmp_path)
    assert done.exit_code != 0
    assert "other_training_run" in done.stderr
