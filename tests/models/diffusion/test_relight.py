"""Relighting in the IC-Light form: what is conditioned, what is kept, how it composes with LoRAs and repaints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models.diffusion.checkpoints import Checkpoint, LoraFile
from models.diffusion.pipelines import Generator, load_generator
from models.diffusion.relight import conditioned, lit_as, relight
from services.domain.errors import Unavailable
from tests.models.diffusion import tiny_checkpoints

Picture = NDArray[np.uint8]


@pytest.fixture(params=[1, 2], ids=["foreground", "foreground and background"])
def generator(request: pytest.FixtureRequest, tiny_sd15: Checkpoint) -> Generator:
    name = tiny_checkpoints.ic_light(tiny_sd15, f"light_{request.param}.safetensors", num_pictures=request.param)
    return load_generator(replace(tiny_sd15, relight=name), "image2image")


def light_from_the_left(picture: Picture) -> Picture:
    ramp = np.linspace(255, 0, picture.shape[1]).astype(np.uint8)
    return np.repeat(np.tile(ramp, (picture.shape[0], 1))[..., None], 3, axis=2)


def relit(picture: Picture, generator: Generator, **options: Any) -> Picture:
    height, width = picture.shape[:2]
    subject = np.ones((height, width), np.float32)
    subject[:10] = 0
    arguments: dict[str, Any] = {
        "subject": subject,
        "light_rgb": light_from_the_left(picture),
        "repaint": np.zeros((height, width), np.float32),
        "generator": generator,
        "seed": 0,
        "check_canceled": lambda: None,
    }
    return relight(picture, **{**arguments, **options})


def test_light_falls_on_the_subject_alone(generator: Generator, picture: Picture) -> None:
    result = relit(picture, generator)
    assert (result[:10] == picture[:10]).all()
    assert (result[10:] != picture[10:]).any()


def test_network_is_to_the_bit_what_it_was(generator: Generator, picture: Picture) -> None:
    before = {name: value.clone() for name, value in generator.pipe.unet.state_dict().items()}
    relit(picture, generator)
    after = generator.pipe.unet.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_foreground_conditions_the_generation(generator: Generator, picture: Picture) -> None:
    whole = {"repaint": np.ones(picture.shape[:2], np.float32), "subject": np.ones(picture.shape[:2], np.float32)}
    first = relit(picture, generator, **whole)
    second = relit(255 - picture, generator, **whole)
    assert (first != second).any()  # all of it is painted, so the pictures differ only by what the network was shown


def test_offsets_are_added_as_the_files_form_says(generator: Generator, picture: Picture) -> None:
    from safetensors.torch import load_file

    offsets = load_file(generator.checkpoint.file(str(generator.checkpoint.relight)))
    unet = generator.pipe.unet
    before = unet.state_dict()["mid_block.resnets.0.conv1.weight"].clone()
    narrow = unet.conv_in.weight.clone()
    with conditioned(generator, picture[:64, :64], picture[:64, :64]):
        added = unet.state_dict()["mid_block.resnets.0.conv1.weight"] - before
        assert torch.allclose(added, offsets["mid_block.resnets.0.conv1.weight"], atol=1e-6)
        wide = unet.conv_in.weight
        assert torch.allclose(wide[:, :4], narrow + offsets["conv_in.weight"][:, :4])
        assert torch.allclose(wide[:, 4:], offsets["conv_in.weight"][:, 4:])
    assert torch.equal(unet.conv_in.weight, narrow)


def test_relight_repaint_and_lora_are_one_generation(generator: Generator, picture: Picture) -> None:
    repaint = np.zeros(picture.shape[:2], np.float32)
    repaint[60:80, 20:60] = 1
    plain = relit(picture, generator, repaint=repaint)
    name = tiny_checkpoints.lora(generator.checkpoint)
    with_lora = load_generator(replace(generator.checkpoint, loras=(LoraFile(file=name),)), "image2image")
    both = relit(picture, with_lora, repaint=repaint)
    assert (both != plain)[60:80, 20:60].any()
    assert (both[:10] == picture[:10]).all()


def test_detail_stays_where_only_light_is_taken(picture: Picture) -> None:
    # Twice as bright all over: every pixel of the product is scaled by one number, its stripes with it.
    dim = (picture // 3).astype(np.uint8)
    made = np.full_like(picture, int(dim.mean() * 2))
    lit = lit_as(dim, made, 1.0)
    stripes = dim.astype(np.float32) - np.roll(dim, 5, axis=1)
    lit_stripes = lit - np.roll(lit, 5, axis=1)
    inside = np.s_[20:70, 20:60]
    assert np.corrcoef(stripes[inside].ravel(), lit_stripes[inside].ravel())[0, 1] > 0.95
    assert (lit_as(dim, made, 0.0) == dim).all()


@pytest.mark.parametrize("shape", [(8, 6, 3, 3), (8, 4, 3, 3)], ids=["6 channels", "4 channels"])
def test_file_of_another_form_is_refused(tiny_sd15: Checkpoint, picture: Picture, shape: tuple[int, ...]) -> None:
    from safetensors.torch import save_file

    save_file({"conv_in.weight": torch.zeros(shape)}, tiny_sd15.folder() / "odd.safetensors")
    generator = load_generator(replace(tiny_sd15, relight="odd.safetensors"), "image2image")
    with pytest.raises(Unavailable) as caught:
        relit(picture, generator)
    assert caught.value.code == "checkpoint_not_usable"


def test_checkpoint_without_the_file_is_refused(tiny_sd15: Checkpoint, picture: Picture) -> None:
    with pytest.raises(Unavailable, match="names no relight file"):
        relit(picture, load_generator(tiny_sd15, "image2image"))
