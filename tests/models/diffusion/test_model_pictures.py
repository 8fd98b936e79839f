"""Models to a specification."""

from __future__ import annotations

import pytest

from models.diffusion.checkpoints import Checkpoint
from models.diffusion.model_pictures import make_model, prompt_for
from models.diffusion.pipelines import load_generator
from services.domain.model_choice import AgeBand, BodyType, ModelSpecification, Pose, Presentation, Scene, SkinTones
from tests.models.diffusion.conftest import ALL


def test_prompt_says_everything_that_was_asked_for() -> None:
    prompt = prompt_for(
        ModelSpecification(
            age=AgeBand.FROM_60,
            gender=Presentation.WOMAN,
            skin_tone=SkinTones(lightest=9, darkest=10),
            body=BodyType.FULL,
            pose=Pose.STANDING,
            scene=Scene.PARK,
        )
    )
    for words in ("adult woman", "sixties", "very dark skin", "plus-size", "full body", "park"):
        assert words in prompt


@pytest.mark.parametrize(
    ("tones", "words"),
    [((1, 2), "very fair"), ((5, 6), "medium brown"), ((1, 10), "medium brown"), ((10, 10), "very dark")],
)
def test_skin_tone_is_the_ranges_middle(tones: tuple[int, int], words: str) -> None:
    assert words in prompt_for(ModelSpecification(skin_tone=SkinTones(lightest=tones[0], darkest=tones[1])))


def test_empty_specification_is_an_adult() -> None:
    assert prompt_for(ModelSpecification()).startswith("photo of an adult person")


@ALL
def test_picture_has_the_poses_shape_and_follows_the_seed(checkpoint: Checkpoint) -> None:
    generator = load_generator(checkpoint, "text2image")

    def made(seed: int, pose: Pose) -> object:
        return make_model(ModelSpecification(pose=pose), generator=generator, seed=seed, check_canceled=lambda: None)

    portrait, again, other, standing = (
        made(1, Pose.PORTRAIT), made(1, Pose.PORTRAIT), made(2, Pose.PORTRAIT), made(1, Pose.STANDING)
    )  # fmt: skip
    assert (portrait == again).all()
    assert (portrait != other).any()
    assert portrait.shape == (64, 64, 3)  # 4:5 in steps of 16 at 64 px
    assert standing.shape == (80, 48, 3)
