"""Pictures from prompts, pictures and masks with each family: as diffusers itself makes them, with LoRAs as peft's."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from models.diffusion import warm as warm_module
from models.diffusion.checkpoints import BUILT_IN, Checkpoint, Family, find_checkpoint
from models.diffusion.drawn64.pipeline import random_drawn64
from models.diffusion.generate import Generated, GenerateInputs, generate, generate_warm
from models.diffusion.lora_files import LoraWeights, write_lora
from models.diffusion.lora_library import LoraFiles, LoraLibrary
from models.diffusion.pipelines import Generator, open_generator
from models.diffusion.prompts import LoraTag
from models.diffusion.schedulers import make_scheduler, scheduler_names
from models.diffusion.warm import WantedLora, WarmPipeline, WarmPipelines
from services.domain.errors import ContentRejected, EngineFailed, InvalidRequest, NotFound, Unavailable
from tests.models.diffusion.conftest import TO_GENERATE
from tests.models.diffusion.lora_cases import pipeline, random_lora

Picture = NDArray[np.uint8]
NONE = LoraFiles({})


def go() -> None:
    """Nobody cancels."""


def made(checkpoint: Checkpoint, library: Any = NONE, warm: WarmPipelines | None = None, **options: Any) -> Generated:
    chosen: dict[str, Any] = {"prompt": "a red dress", "num_inference_steps": 2, "seed": 7} | options
    inputs = GenerateInputs(**chosen)
    return generate(inputs, checkpoint=checkpoint, warm=warm or WarmPipelines(), loras=library, check_canceled=go)


@pytest.fixture
def library(tmp_path: Path) -> LoraLibrary:
    return LoraLibrary(tmp_path / "loras")


def stored(library: LoraLibrary, checkpoint: Checkpoint, name: str, tmp_path: Path, **options: Any) -> LoraWeights:
    weights = random_lora(checkpoint, component=checkpoint.family.component, **options)
    write_lora(weights, tmp_path / f"{name}.safetensors", "kohya", family=checkpoint.family)
    library.add(tmp_path / f"{name}.safetensors", name, base=checkpoint)
    return weights


def of_diffusers(pipe: Any, *, seed: int, **options: Any) -> Picture:
    made = pipe(num_inference_steps=2, generator=torch.Generator().manual_seed(seed), output_type="np", **options)
    return np.asarray(np.rint(np.clip(made.images[0], 0, 1) * 255), np.uint8)


@TO_GENERATE
def test_picture_of_a_plain_prompt_is_the_one_that_diffusers_makes(checkpoint: Checkpoint) -> None:
    found = made(checkpoint, negative_prompt="" if checkpoint.family is Family.FLUX else "blur")
    options: dict[str, Any] = {"width": 64, "height": 64, "guidance_scale": checkpoint.guidance_scale}
    if checkpoint.family is not Family.FLUX:
        options["negative_prompt"] = "blur"
    expected = of_diffusers(pipeline(checkpoint), seed=7, prompt="a red dress", **options)
    assert found.pictures[0].shape == (64, 64, 3)
    assert (found.pictures[0] == expected).all()
    assert found.facts["prompt_weights"] == "none"
    assert found.facts["loras"] == []


@TO_GENERATE
def test_each_of_several_pictures_can_be_made_again_alone(checkpoint: Checkpoint) -> None:
    warm = WarmPipelines()
    several = made(checkpoint, warm=warm, num_images=3, seed=11)
    assert several.seeds == (11, 12, 13)
    assert (made(checkpoint, warm=warm, seed=12).pictures[0] == several.pictures[1]).all()
    assert (several.pictures[0] != several.pictures[1]).any()


@TO_GENERATE
def test_picture_to_picture_begins_from_the_picture(checkpoint: Checkpoint, picture: Picture) -> None:
    warm = WarmPipelines()
    options: dict[str, Any] = {"warm": warm, "image_rgb": picture, "num_inference_steps": 4, "seed": 1}
    slight, much = (made(checkpoint, strength=strength, **options).pictures[0] for strength in (0.25, 1.0))
    other = made(checkpoint, strength=0.25, **options | {"image_rgb": 255 - picture}).pictures[0]
    assert slight.shape == much.shape == (64, 64, 3)
    assert (slight != much).any()
    assert (slight != other).any()


@TO_GENERATE
def test_inpainting_keeps_every_pixel_outside_the_mask(checkpoint: Checkpoint, picture: Picture) -> None:
    mask = np.zeros(picture.shape[:2], bool)
    mask[30:60, 20:50] = True
    found = made(checkpoint, image_rgb=picture, mask=mask, strength=1.0).pictures[0]
    assert found.shape == picture.shape
    assert (found[~mask] == picture[~mask]).all()
    assert (found[mask] != picture[mask]).any()


def test_drawn_64_does_every_task(picture: Picture) -> None:
    held = WarmPipeline(Generator(checkpoint=BUILT_IN[0], pipe=random_drawn64(0), device="cpu", dtype="float32"))
    mask = np.zeros(picture.shape[:2], bool)
    mask[:40] = True
    tasks: tuple[dict[str, Any], ...] = ({}, {"image_rgb": picture}, {"image_rgb": picture, "mask": mask})
    for options in tasks:
        inputs = GenerateInputs(prompt="a (red:1.3) dress", num_inference_steps=3, **options)
        first, again = (
            generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go).pictures[0] for _ in range(2)
        )
        assert (first == again).all()
        assert first.ndim == 3
    assert (again[~mask] == picture[~mask]).all()


@pytest.mark.parametrize("checkpoint", ["sd15", "sdxl"], indirect=True)
def test_prompts_loras_draw_what_diffusers_draws_with_them(
    checkpoint: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    pipe = pipeline(checkpoint)
    for number, name in enumerate(("ink", "face")):
        weights = stored(library, checkpoint, name, tmp_path, seed=number)
        write_lora(weights, tmp_path / f"d-{name}.safetensors", "diffusers")
        pipe.load_lora_weights(tmp_path, weight_name=f"d-{name}.safetensors", adapter_name=name, local_files_only=True)
    pipe.set_adapters(["ink", "face"], [0.8, 0.3])
    expected = of_diffusers(
        pipe, seed=7, prompt="a red dress", negative_prompt="blur", width=64, height=64, guidance_scale=5.0
    )
    found = made(checkpoint, library, prompt="a red dress<lora:ink:0.8><lora:face:0.3>", negative_prompt="blur")
    plain = made(checkpoint, negative_prompt="blur")
    difference = np.abs(found.pictures[0].astype(int) - expected).max()
    assert np.abs(plain.pictures[0].astype(int) - expected).max() > 3 * max(1, difference)
    assert difference <= 1  # beside the weights or within them: rounding
    assert [(one["name"], one["version"], one["scale"]) for one in found.facts["loras"]] == [
        ("ink", 1, 0.8),
        ("face", 1, 0.3),
    ]


@TO_GENERATE
def test_lora_of_one_request_does_not_reach_the_next(
    checkpoint: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    stored(library, checkpoint, "ink", tmp_path)
    warm = WarmPipelines()
    before = made(checkpoint, library, warm=warm).pictures[0]
    inked = made(checkpoint, library, warm=warm, prompt="a red dress<lora:ink:1>").pictures[0]
    listed = made(checkpoint, library, warm=warm, loras=(LoraTag(name="ink"),)).pictures[0]
    assert (inked != before).any()
    assert (listed == inked).all()
    assert (made(checkpoint, library, warm=warm).pictures[0] == before).all()
    assert (made(checkpoint, library, warm=warm, prompt="a red dress<lora:ink:0>").pictures[0] == before).all()


def test_unknown_lora_is_an_error_that_names_it_and_the_known_ones(
    tiny_sd15: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    stored(library, tiny_sd15, "ink", tmp_path)
    with pytest.raises(NotFound, match="'watercolour'; there are ink") as caught:
        made(tiny_sd15, library, prompt="a <lora:watercolour:1>")
    assert caught.value.code == "lora_not_found"
    with pytest.raises(NotFound, match="'ink@2'; there are ink@1"):
        made(tiny_sd15, library, prompt="a <lora:ink@2:1>")


def test_lora_of_another_base_is_refused_before_the_base_is_loaded(
    tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint, library: LoraLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(library, tiny_sd15, "ink", tmp_path)
    warm = WarmPipelines()
    with monkeypatch.context() as nothing_loads:
        nothing_loads.setattr(warm_module, "open_generator", None)
        with pytest.raises(ContentRejected, match=r"32 wide.*64 wide"):
            made(tiny_sdxl, library, warm=warm, prompt="<lora:ink:1>")
    made(tiny_sdxl, library, warm=warm)
    with pytest.raises(ContentRejected, match=r"32 wide.*64 wide"):
        made(tiny_sdxl, library, warm=warm, prompt="<lora:ink:1>")


@pytest.mark.parametrize(
    ("options", "code", "fault"),
    [
        ({"width_px": 65}, "picture_size", "nearest is 64"),
        ({"height_px": 4096}, "picture_size", "nearest is 128"),
        ({"num_images": 9}, "invalid_request", "1 to 8"),
        ({"num_inference_steps": 0}, "invalid_request", "1 to 150"),
        ({"scheduler": "dpm+++"}, "scheduler_unknown", "euler, "),
        ({"negative_prompt": "<lora:ink:1>"}, "prompt_not_readable", "negative prompt"),
        ({"mask": np.ones((4, 4))}, "invalid_request", "same size"),
        ({"image_rgb": np.zeros((64, 64, 3), np.uint8), "strength": 0.1}, "invalid_request", "at least 0.5"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(
    tiny_sd15: Checkpoint, options: dict[str, Any], code: str, fault: str
) -> None:
    with pytest.raises(InvalidRequest, match=fault) as caught:
        made(tiny_sd15, **options)
    assert caught.value.code == code


def test_black_or_undefined_picture_is_never_returned(tiny_sd15: Checkpoint) -> None:
    generator = open_generator(tiny_sd15, "text2image")
    with torch.no_grad():
        generator.pipe.vae.decoder.conv_out.bias.fill_(float("nan"))
    held = WarmPipeline(generator)
    inputs = GenerateInputs(prompt="a", num_inference_steps=1)
    with pytest.raises(EngineFailed) as caught:
        generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go)
    assert caught.value.code == "image_not_finite"
    with torch.no_grad():
        generator.pipe.vae.decoder.conv_out.weight.zero_()
        generator.pipe.vae.decoder.conv_out.bias.fill_(-5)
    with pytest.raises(EngineFailed):
        generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go)


def test_two_requests_at_once_each_get_their_own_lora(
    tiny_sd15: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    stored(library, tiny_sd15, "ink", tmp_path, seed=1)
    stored(library, tiny_sd15, "face", tmp_path, seed=2)
    warm = WarmPipelines()
    names = ["ink", "face"] * 3
    alone = {name: made(tiny_sd15, library, warm=warm, prompt=f"a<lora:{name}:1>").pictures[0] for name in names}
    assert (alone["ink"] != alone["face"]).any()
    found: dict[int, Picture] = {}
    start = threading.Barrier(len(names))

    def ask(index: int) -> None:
        start.wait()
        found[index] = made(tiny_sd15, library, warm=warm, prompt=f"a<lora:{names[index]}:1>").pictures[0]

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(names)
    assert all((found[index] == alone[name]).all() for index, name in enumerate(names))


def test_request_that_would_wait_too_long_is_refused(tiny_sd15: Checkpoint) -> None:
    held = WarmPipeline(open_generator(tiny_sd15, "text2image"), wait_s=0.01)
    with (
        held.holding("text2image"),
        pytest.raises(Unavailable) as caught,
        held.holding("text2image"),
    ):
        pass
    assert caught.value.code == "pipeline_busy"
    assert caught.value.retryable
    with held.holding("text2image"):
        pass


def test_least_lately_used_loras_go_first_by_count_and_by_bytes(
    tiny_sd15: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        stored(library, tiny_sd15, name, tmp_path, seed=ord(name))
    digests = {name: library.find(name).digest for name in ("a", "b", "c")}

    def used(held: WarmPipeline, *names: str) -> tuple[str, ...]:
        with held.holding("text2image", [WantedLora(stored=library.find(name)) for name in names]) as (_, placed):
            assert len(placed) == len(names)
        return held.held_loras

    generator = open_generator(tiny_sd15, "text2image")
    held = WarmPipeline(generator, max_loras=2)
    used(held, "a")
    used(held, "b")
    used(held, "a")
    assert used(held, "c") == (digests["a"], digests["c"])
    assert len(used(held, "a", "b", "c")) == 3  # one request's are held in any case
    assert used(held, "b") == (digests["c"], digests["b"])
    held.release()
    assert held.held_loras == ()
    with held.holding("text2image", [WantedLora(stored=library.find("a"))]) as (_, placed):
        size = placed[0].size_bytes
    small = WarmPipeline(generator, max_lora_bytes=2 * size)
    for name in ("a", "b", "c"):
        used(small, name)
    assert small.held_loras == (digests["b"], digests["c"])


def test_another_checkpoint_takes_the_place_of_the_least_lately_used(
    tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint
) -> None:
    warm = WarmPipelines(max_pipelines=1)
    first = warm.pipeline(tiny_sd15)
    assert warm.pipeline(tiny_sd15) is first
    warm.pipeline(tiny_sdxl)
    assert not warm.is_held(tiny_sd15)


@pytest.mark.parametrize("name", scheduler_names(Family.SD15))
def test_scheduler_of_each_name_makes_a_picture_and_is_gone_afterwards(tiny_sd15: Checkpoint, name: str) -> None:
    held = WarmPipeline(open_generator(tiny_sd15, "text2image"))
    inputs = GenerateInputs(prompt="a", num_inference_steps=3, scheduler=name.upper().replace(" ", "_"))
    found = generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go)
    assert found.facts["scheduler"] == name
    plain = generate_warm(replace(inputs, scheduler=None), pipeline=held, loras=NONE, check_canceled=go)
    assert plain.facts["scheduler"] == "DDIMScheduler"


def test_built_in_checkpoint_draws_what_prompts_of_every_syntax_say() -> None:
    from training.base.attributes import Attributes
    from training.base.checker import load_checker

    checkpoint = find_checkpoint("drawn-64", "", allow_verification=True)
    warm = WarmPipelines()
    wanted = {
        "a blue striped T-shirt laid flat": ("blue", "T-shirt", "striped", "flat"),
        "a (red:1.2) [dotted] dress worn by a model": ("red", "dress", "dotted", "worn"),
        "green trousers BREAK laid flat": ("green", "trousers", "plain", "flat"),
    }
    shown = np.stack(
        [
            picture
            for prompt in wanted
            for picture in made(checkpoint, warm=warm, prompt=prompt, num_inference_steps=10, num_images=3).pictures
        ]
    )
    attributes = [
        Attributes(colour=colour, category=category, pattern=pattern, presentation=presentation)
        for colour, category, pattern, presentation in wanted.values()
        for _ in range(3)
    ]
    assert load_checker().right(shown, attributes).mean() >= 0.9


@pytest.mark.parametrize("name", scheduler_names(Family.DRAWN64))
def test_drawn_64_draws_with_each_scheduler_that_it_is_offered(name: str) -> None:
    held = WarmPipeline(Generator(checkpoint=BUILT_IN[0], pipe=random_drawn64(0), device="cpu", dtype="float32"))
    inputs = GenerateInputs(prompt="a red dress", num_inference_steps=20, scheduler=name)
    found = generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go)
    assert found.pictures[0].shape == (64, 64, 3)
    assert not name.endswith(("karras", "heun"))


def test_scheduler_keeps_the_checkpoints_noise_and_prediction() -> None:
    from diffusers import DDIMScheduler

    config = DDIMScheduler(beta_start=0.001, beta_end=0.02, prediction_type="v_prediction").config
    found = make_scheduler("DPM++ 2M Karras", Family.SD15, config)
    assert type(found).__name__ == "DPMSolverMultistepScheduler"
    assert found.config.prediction_type == "v_prediction"
    assert found.config.beta_end == 0.02
    assert found.config.use_karras_sigmas


def test_flow_matching_families_take_no_scheduler_of_noise() -> None:
    assert scheduler_names(Family.SD3) == ("euler",)
    with pytest.raises(InvalidRequest, match="there are euler"):
        make_scheduler("ddim", Family.FLUX, {})


@TO_GENERATE
def test_prompt_over_77_tokens_is_drawn(checkpoint: Checkpoint) -> None:
    found = made(checkpoint, prompt="a red dress, " * 12)
    assert found.facts["prompt_chunks"] == (1 if checkpoint.family in (Family.FLUX, Family.SD3) else 2)


def test_progress_rises_to_one_and_a_canceled_run_ends(tiny_sd15: Checkpoint) -> None:
    told: list[float] = []
    inputs = GenerateInputs(prompt="a", num_inference_steps=3, num_images=2)
    held = WarmPipeline(open_generator(tiny_sd15, "text2image"))
    generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go, on_progress=told.append)
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == 1

    class CanceledHere(Exception):
        pass

    def cancel() -> None:
        if len(told) > 2:
            raise CanceledHere

    told.clear()
    with pytest.raises(CanceledHere):
        generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=cancel, on_progress=told.append)
    generate_warm(inputs, pipeline=held, loras=NONE, check_canceled=go)  # it was let go


def test_versions_of_a_lora_are_kept_and_the_newest_is_meant(
    tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint, library: LoraLibrary, tmp_path: Path
) -> None:
    stored(library, tiny_sd15, "ink", tmp_path, seed=1)
    stored(library, tiny_sd15, "ink", tmp_path, seed=2)
    assert [one.label for one in library.versions("ink")] == ["ink@1", "ink@2"]
    assert library.find("ink").version == 2
    assert library.find("ink@1").digest != library.find("ink@2").digest
    again = library.add(library.find("ink@2").path, "ink", base=tiny_sd15, trigger_words=("x",))
    assert again.version == 2
    assert [one.label for one in library.newest()] == ["ink@2"]
    with pytest.raises(ContentRejected) as caught:
        library.add(library.find("ink").path, "ink", base=tiny_sdxl)
    assert caught.value.code == "lora_wrong_base"
    with pytest.raises(InvalidRequest) as refused:
        library.add(library.find("ink").path, "../ink", base=tiny_sd15)
    assert refused.value.code == "lora_name"
