"""The repaint of seams: what it may touch, what it keeps, when it is dropped. Real pipelines, random weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models.diffusion.checkpoints import Checkpoint, IpAdapterFiles, LoraFile
from models.diffusion.pipelines import load_generator
from models.diffusion.refine import Refined, check_survival, distance, refine
from models.tryon.refining import seams_of
from services.domain.errors import Canceled, ContentRejected, EngineFailed, Unavailable
from tests.models.diffusion import tiny_checkpoints
from tests.models.diffusion.conftest import ALL, UNETS

Picture = NDArray[np.uint8]


def seams(picture: Picture) -> NDArray[np.float32]:
    values = np.zeros(picture.shape[:2], np.float32)
    values[20:70, 15:60] = 1
    return values


def product(picture: Picture) -> NDArray[np.bool_]:
    values = np.zeros(picture.shape[:2], bool)
    values[35:50, 30:45] = True
    return values


def refined(picture: Picture, checkpoint: Checkpoint, **options: Any) -> Refined:
    arguments: dict[str, Any] = {
        "seams": seams(picture),
        "protected": product(picture),
        "generator": load_generator(checkpoint, "inpainting"),
        "seed": 1,
        "check_canceled": lambda: None,
    }
    return refine(picture, **{**arguments, **options})


@ALL
def test_only_seams_beside_the_product_are_repainted(checkpoint: Checkpoint, picture: Picture) -> None:
    result = refined(picture, checkpoint)
    changed = (result.picture_rgb != picture).any(axis=2)
    may = (seams(picture) > 0) & ~product(picture)
    assert not changed[~may].any()
    assert changed[may].mean() > 0.5  # random weights paint something else nearly everywhere
    assert result.facts["refined"] is True
    assert result.facts["refine_checkpoint"] == checkpoint.name


@ALL
def test_one_seed_gives_one_picture_and_another_another(checkpoint: Checkpoint, picture: Picture) -> None:
    first, again, other = (refined(picture, checkpoint, seed=seed).picture_rgb for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@ALL
def test_repaint_that_strays_too_far_is_dropped_and_told(checkpoint: Checkpoint, picture: Picture) -> None:
    result = refined(picture, replace(checkpoint, max_change=5.0))
    assert (result.picture_rgb == picture).all()
    assert result.facts["refined"] is False
    assert result.facts["refine_change"] > 5.0


def test_nothing_to_repaint_runs_no_network(tiny_sd15: Checkpoint, picture: Picture) -> None:
    def never() -> None:
        raise AssertionError

    result = refined(picture, tiny_sd15, protected=np.ones(picture.shape[:2], bool), check_canceled=never)
    assert (result.picture_rgb == picture).all()


def test_cancel_ends_the_run_between_steps(tiny_sd15: Checkpoint, picture: Picture) -> None:
    calls = []

    def cancel_later() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Canceled("The job was canceled.")

    with pytest.raises(Canceled):
        refined(picture, tiny_sd15, check_canceled=cancel_later)
    assert len(calls) == 3


@UNETS
def test_lora_changes_the_picture_by_its_scale(checkpoint: Checkpoint, picture: Picture) -> None:
    name = tiny_checkpoints.lora(checkpoint)
    plain = refined(picture, checkpoint).picture_rgb
    none, full = (
        refined(picture, replace(checkpoint, loras=(LoraFile(file=name, scale=scale),))).picture_rgb
        for scale in (0.0, 1.0)
    )
    assert (none == plain).all()
    assert (full != plain).any()


def test_lora_of_another_checkpoint_is_refused(tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint) -> None:
    name = tiny_checkpoints.lora(tiny_sd15, "narrow.safetensors")
    target = tiny_sdxl.folder() / name
    target.write_bytes(tiny_sd15.file(name).read_bytes())
    with pytest.raises(Unavailable) as caught:
        load_generator(replace(tiny_sdxl, loras=(LoraFile(file=name),)), "inpainting")
    assert caught.value.code == "lora_not_usable"


def test_file_without_lora_keys_is_refused(tiny_sd15: Checkpoint) -> None:
    from safetensors.torch import save_file

    save_file({"unrelated.weight": torch.zeros(2)}, tiny_sd15.folder() / "other.safetensors")
    with pytest.raises(Unavailable) as caught:
        load_generator(replace(tiny_sd15, loras=(LoraFile(file="other.safetensors"),)), "inpainting")
    assert caught.value.code == "lora_not_usable"


@UNETS
def test_ip_adapter_sees_the_product(checkpoint: Checkpoint, picture: Picture) -> None:
    file, encoder = tiny_checkpoints.ip_adapter(checkpoint)
    row = replace(checkpoint, ip_adapter=IpAdapterFiles(file=file, image_encoder=encoder))
    dark, light = (
        refined(picture, row, product_rgb=np.full((40, 40, 3), value, np.uint8)).picture_rgb for value in (10, 240)
    )
    assert (dark != light).any()


def test_undefined_pixels_fail_by_name(tiny_sd15: Checkpoint, picture: Picture) -> None:
    generator = load_generator(tiny_sd15, "inpainting")
    with torch.no_grad():
        generator.pipe.vae.decoder.conv_out.bias.fill_(float("nan"))
    with pytest.raises(EngineFailed) as caught:
        refined(picture, tiny_sd15, generator=generator)
    assert caught.value.code == "image_not_finite"


@pytest.mark.parametrize(("threshold", "is_flagged"), [(-2.0, True), (2.0, False)])
def test_picture_that_the_checkpoints_safety_checker_flags_fails_by_name(
    tiny_sd15: Checkpoint, picture: Picture, threshold: float, is_flagged: bool
) -> None:
    generator = load_generator(tiny_sd15, "inpainting")
    generator.pipe.register_modules(**tiny_checkpoints.safety_checker(threshold))
    if not is_flagged:
        assert refined(picture, tiny_sd15, generator=generator).facts["refined"] is True
        return
    with pytest.raises(ContentRejected) as caught:
        refined(picture, tiny_sd15, generator=generator)
    assert caught.value.code == "content_flagged"


def test_vae_that_overflows_in_half_precision_decodes_in_float32(tiny_sd15: Checkpoint, picture: Picture) -> None:
    generator = load_generator(tiny_sd15, "inpainting", "cpu", "bfloat16")
    vae = generator.pipe.vae
    plain = vae.decode

    def overflowing(latents: Any, *args: Any, **options: Any) -> Any:
        made = plain(latents, *args, **options)
        return made if vae.dtype == torch.float32 else (made[0] * float("nan"),)

    vae.decode = overflowing
    assert refined(picture, tiny_sd15, generator=generator).facts["refined"] is True
    assert vae.dtype == torch.bfloat16
    assert vae.decode is overflowing


def test_survival_check_finds_one_changed_pixel(picture: Picture) -> None:
    allowed = np.where(product(picture), np.float32(0), seams(picture))
    after = picture.copy()
    after[20, 20] += 1  # may change
    check_survival(picture, after, allowed)
    after[40, 40, 2] += 1  # of the product
    with pytest.raises(EngineFailed) as caught:
        check_survival(picture, after, allowed)
    assert caught.value.code == "product_not_preserved"


def test_distance_is_that_of_lab() -> None:
    # CIE L* of sRGB 119 is 50.03 and of 0 it is 0; greys have no chroma.
    grey, black = (np.full((20, 20, 3), value, np.uint8) for value in (119, 0))
    assert distance(grey, black, np.ones((20, 20), np.float32)) == pytest.approx(50.03, abs=0.3)


def test_seams_are_the_products_edge_and_what_was_invented() -> None:
    alpha = np.zeros((60, 60), np.float32)
    alpha[20:40, 20:40] = 1
    invented = np.zeros((60, 60), np.float32)
    invented[50:55, 5:10] = 1
    found, deep = seams_of(alpha, invented, width_px=3)
    assert found[20, 30] > 0.5
    assert found[52, 7] == 1
    assert found[30, 30] == 0
    assert deep[30, 30]
    assert not deep[21, 30]
    assert found[5, 5] == 0
