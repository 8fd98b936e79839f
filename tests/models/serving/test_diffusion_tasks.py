"""Tasks with configured checkpoints: the real pipelines with tiny random weights, found by the operator's file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.diffusion.checkpoints import Family
from models.diffusion.pipelines import load_generator
from services.domain.engine import AnswerState, EngineKind
from services.domain.image_steps import LightFrom, RelightStep
from services.domain.model_choice import ModelSpecification, Pose
from services.domain.picture_storyboards import ImageStoryboard, ModelShot, ProductShot, ShotStep
from services.domain.video import Disclosure
from services.settings import Settings
from tests.drawn_products import bob
from tests.models.diffusion import tiny_checkpoints
from tests.models.serving.conftest import MemoryObjects
from tests.models.serving.test_picture_tasks import JOB, Bench, wig_board

ROW = """
[[checkpoint]]
name = "tiny"
family = "sd15"
source = "folder:{folder}"
licence = "random numbers"
commercial_use = true
num_inference_steps = 3
relight = "light.safetensors"
"""


@pytest.fixture
def bench(store: MemoryObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Family, "side_px", 64)
    row = tiny_checkpoints.sd15(tmp_path / "tiny")
    tiny_checkpoints.ic_light(row, "light.safetensors")
    listed = tmp_path / "checkpoints.toml"
    listed.write_text(ROW.format(folder=tmp_path / "tiny"), encoding="utf-8")
    yield Bench(
        store,
        tmp_path,
        Settings(
            state_dir=tmp_path / "state",
            model_checkpoint="tiny",
            relight_checkpoint="tiny",
            checkpoints_file=str(listed),
        ),
    )
    load_generator.cache_clear()


def lit(bench: Bench, step: ShotStep, **changes: object):
    image = ModelShot(key=bench.put("image", weights.path("avatar-vera").read_bytes()))
    board = ImageStoryboard(job_id=JOB, image=image, steps=(step,), disclosure=Disclosure(visible_label=False))
    return bench.run(EngineKind.IMAGE, replace(board, **changes))


def test_generative_relight_changes_the_person_and_nothing_beside_them(bench: Bench) -> None:
    step = RelightStep(light=LightFrom.LEFT, strength=0.8, generative=True, retouch=0.4)
    answer = lit(bench, step)
    assert answer.state is AnswerState.SUCCEEDED, answer.failure
    files = bench.files(answer)
    with Image.open(weights.path("avatar-vera")) as before, Image.open(files["image"]) as after:
        changed = (np.asarray(before.convert("RGB")) != np.asarray(after)).any(axis=2)
    with Image.open(files["mask"]) as mask:
        assert (changed == (np.asarray(mask) > 0)).all()
    height, width = changed.shape
    assert changed.mean() > 0.1
    assert not changed[: height // 8, : width // 8].any()  # the wall in the corner
    other = bench.files(lit(bench, step, seed=7))
    assert other["image"].read_bytes() != files["image"].read_bytes()


def test_generated_model_is_looked_at_as_any_photo_is(bench: Bench) -> None:
    # Random weights draw nobody, which the preview says by name.
    shot = ProductShot(photo_key=bench.put("wig", bob()))
    model = ModelShot(specification=ModelSpecification(pose=Pose.PORTRAIT))
    answer = bench.run(EngineKind.WIG_PREVIEW, wig_board(bench, shot, model=model))
    assert answer.failure is not None
    assert answer.failure.code == "face_not_found"


def test_unknown_checkpoint_is_told_and_not_tried_again(store: MemoryObjects, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path, Settings(state_dir=tmp_path / "state", relight_checkpoint="absent"))
    answer = lit(bench, RelightStep(generative=True))
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.retryable) == ("checkpoint_not_configured", False)
