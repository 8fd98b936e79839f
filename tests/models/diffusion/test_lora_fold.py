"""LoRAs folded into a pipeline's weights: as peft beside the layers, exchanged at will, the base back to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoHaConfig, LoKrConfig, LoraConfig

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_files import LoraWeights, from_peft, read_lora, write_lora
from models.diffusion.lora_fit import check_fits
from models.diffusion.lora_fold import FoldedLoras, LoraUse
from services.domain.errors import ContentRejected
from tests.models.diffusion.conftest import ALL
from tests.models.diffusion.lora_cases import ATTENTION, filled, network, pipeline, random_lora


def snapshot(pipe: Any) -> dict[str, torch.Tensor]:
    return {
        f"{component}.{name}": value.clone()
        for component, module in pipe.components.items()
        if isinstance(module, torch.nn.Module)
        for name, value in module.state_dict().items()
    }


def assert_same(pipe: Any, before: dict[str, torch.Tensor]) -> None:
    after = snapshot(pipe)
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def predicted(unet: Any) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    sample, states = torch.randn(1, 4, 8, 8, generator=generator), torch.randn(1, 7, 32, generator=generator)
    with torch.no_grad():
        found: torch.Tensor = unet(sample, 500, states).sample
    return found


def used(folded: FoldedLoras, *loras: tuple[LoraWeights, float]) -> None:
    folded.use([LoraUse(lora=folded.place(one), scale=scale) for one, scale in loras])


CONFIGS = {
    "LoRA": LoraConfig(r=4, lora_alpha=8, target_modules=[*ATTENTION, "ff.net.0.proj"]),
    "LoCon": LoraConfig(r=4, lora_alpha=2, target_modules=["conv1", "conv_shortcut", "proj_in", "time_emb_proj"]),
    "DoRA": LoraConfig(r=4, lora_alpha=8, target_modules=[*ATTENTION, "conv1"], use_dora=True),
    "LoHa": LoHaConfig(r=2, alpha=4, target_modules=[*ATTENTION, "conv1"]),
    "LoKr": LoKrConfig(r=2, alpha=4, target_modules=[*ATTENTION, "conv1"]),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_folded_lora_predicts_what_peft_predicts(tiny_sd15: Checkpoint, kind: str) -> None:
    trained = filled(network(tiny_sd15, "unet"), CONFIGS[kind])
    pipe = pipeline(tiny_sd15)
    assert not torch.allclose(predicted(pipe.unet), predicted(trained), atol=1e-2)
    used(FoldedLoras(pipe), (from_peft(trained, "unet"), 1.0))
    torch.testing.assert_close(predicted(pipe.unet), predicted(trained), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("component", ["text_encoder", "text_encoder_2"])
def test_text_encoders_lora_is_applied_whatever_level_its_module_lacks(
    tiny_sdxl: Checkpoint, tmp_path: Path, component: str
) -> None:
    trained = filled(
        getattr(pipeline(tiny_sdxl), component), LoraConfig(r=2, lora_alpha=6, target_modules=["q_proj", "fc1"])
    )
    write_lora(from_peft(trained, component), tmp_path / "a.safetensors", "kohya", family=Family.SDXL)
    pipe = pipeline(tiny_sdxl)
    folded = FoldedLoras(pipe)
    placed = folded.place(read_lora(tmp_path / "a.safetensors"))
    assert placed.skipped == ()
    folded.use([LoraUse(lora=placed)])
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        got, expected = (module(tokens).last_hidden_state for module in (getattr(pipe, component), trained))
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


@ALL
def test_fused_at_07_then_08_then_taken_out_gives_the_base_to_the_bit(checkpoint: Checkpoint) -> None:
    component = checkpoint.family.component
    pipe = pipeline(checkpoint)
    before = snapshot(pipe)
    folded = FoldedLoras(pipe)
    first = random_lora(checkpoint, component=component, seed=1)
    second = random_lora(checkpoint, component=component, seed=2, target_modules=["to_v", "norm1.linear", "conv1"])
    used(folded, (first, 0.7))
    used(folded, (first, 0.8))
    once = snapshot(pipe)
    used(folded, (first, 0.7), (second, 0.8))
    used(folded, (first, 0.8))
    assert_same(pipe, once)
    folded.use(())
    assert_same(pipe, before)
    assert folded.base_bytes > 0
    folded.clear()
    assert folded.base_bytes == 0


def test_half_precision_base_comes_back_to_the_bit(tiny_sd15: Checkpoint) -> None:
    pipe = pipeline(tiny_sd15).to(dtype=torch.float16)
    before = snapshot(pipe)
    folded = FoldedLoras(pipe)
    used(folded, (random_lora(tiny_sd15), 0.7))
    assert any(not torch.equal(value, before[name]) for name, value in snapshot(pipe).items())
    folded.use(())
    assert_same(pipe, before)


def test_scale_0_is_the_base_to_the_bit_even_of_dora(tiny_sd15: Checkpoint) -> None:
    pipe = pipeline(tiny_sd15)
    before = snapshot(pipe)
    used(FoldedLoras(pipe), (random_lora(tiny_sd15, use_dora=True), 0.0))
    assert_same(pipe, before)


def test_half_of_a_dora_lies_half_way(tiny_sd15: Checkpoint) -> None:
    pipe = pipeline(tiny_sd15)
    before = snapshot(pipe)
    folded = FoldedLoras(pipe)
    lora = random_lora(tiny_sd15, use_dora=True)
    used(folded, (lora, 1.0))
    whole = snapshot(pipe)
    used(folded, (lora, 0.5))
    for name, value in snapshot(pipe).items():
        torch.testing.assert_close(value, (before[name] + whole[name]) / 2, rtol=1e-4, atol=1e-5)


def test_several_loras_add_up_whatever_their_order(tiny_sd15: Checkpoint) -> None:
    pipe = pipeline(tiny_sd15)
    base = snapshot(pipe)
    one, other = random_lora(tiny_sd15, seed=1), random_lora(tiny_sd15, seed=2, r=2)
    folded = FoldedLoras(pipe)
    used(folded, (one, 0.6), (other, -0.4))
    together = snapshot(pipe)
    used(folded, (one, 0.6))
    alone = snapshot(pipe)
    used(folded, (other, -0.4))
    for name, value in snapshot(pipe).items():
        torch.testing.assert_close(together[name], alone[name] + value - base[name], rtol=1e-4, atol=1e-5)


def test_hot_swap_to_a_lora_of_other_layers_gives_what_a_fresh_pipeline_gives(tiny_sd15: Checkpoint) -> None:
    narrow = random_lora(tiny_sd15, seed=1, target_modules=["to_q"])
    wide = random_lora(tiny_sd15, seed=2, target_modules=[*ATTENTION, "conv1", "time_emb_proj"], r=8)
    swapped = pipeline(tiny_sd15)
    folded = FoldedLoras(swapped)
    for lora in (narrow, wide, narrow, wide, narrow):  # the one with fewer layers first, too
        used(folded, (lora, 1.0))
        fresh = pipeline(tiny_sd15)
        used(FoldedLoras(fresh), (lora, 1.0))
        assert_same(swapped, snapshot(fresh))


def test_hot_swap_to_other_layers_and_ranks_compiles_nothing_anew(tiny_sd15: Checkpoint) -> None:
    from torch._dynamo.testing import CompileCounter

    pipe = pipeline(tiny_sd15)
    torch._dynamo.reset()
    counter = CompileCounter()
    pipe.unet = torch.compile(pipe.unet, backend=counter)
    folded = FoldedLoras(pipe)
    first = predicted(pipe.unet)
    compiled = counter.frame_count
    assert compiled > 0
    for seed, targets, rank in ((1, ["to_q"], 2), (2, [*ATTENTION, "conv1"], 8), (3, ["time_emb_proj"], 4)):
        lora = random_lora(tiny_sd15, seed=seed, target_modules=targets, r=rank)
        used(folded, (lora, 1.0))
        fresh = pipeline(tiny_sd15)
        used(FoldedLoras(fresh), (lora, 1.0))
        torch.testing.assert_close(predicted(pipe.unet), predicted(fresh.unet), rtol=1e-3, atol=1e-4)
    folded.use(())
    torch.testing.assert_close(predicted(pipe.unet), first)
    assert counter.frame_count == compiled
    torch._dynamo.reset()


def test_text_encoder_can_have_a_scale_of_its_own(tiny_sd15: Checkpoint) -> None:
    both = LoraWeights(
        layers={
            **random_lora(tiny_sd15).layers,
            **random_lora(tiny_sd15, component="text_encoder", target_modules=["q_proj"]).layers,
        }
    )
    pipe = pipeline(tiny_sd15)
    before = snapshot(pipe)
    folded = FoldedLoras(pipe)
    folded.use([LoraUse(lora=folded.place(both), scale=1.0, text_scale=0.0)])
    changed = {name.split(".")[0] for name, value in snapshot(pipe).items() if not torch.equal(value, before[name])}
    assert changed == {"unet"}


def test_keys_without_a_place_are_listed(tiny_sd15: Checkpoint) -> None:
    lora = random_lora(tiny_sd15)
    layer = next(iter(lora.layers.values()))
    odd = LoraWeights(layers={**lora.layers, "text_encoder_2.text_model.x": layer}, skipped=("x.w_norm",))
    placed = FoldedLoras(pipeline(tiny_sd15)).place(odd)
    assert placed.skipped == ("text_encoder_2.text_model.x", "x.w_norm")
    assert len(placed.layers) == len(lora.layers)


def test_sd15_lora_on_sdxl_is_refused_before_loading_with_both_widths(
    tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lora = random_lora(tiny_sd15)
    monkeypatch.setattr("diffusers.DiffusionPipeline.from_pretrained", None)  # whoever loads fails otherwise
    with pytest.raises(ContentRejected, match=r"text states 32 wide.*text states 64 wide") as caught:
        check_fits(lora, tiny_sdxl, name="style")
    assert caught.value.code == "lora_wrong_base"
    check_fits(lora, tiny_sd15)


@pytest.mark.parametrize(
    ("wide", "family", "both"),
    [(768, Family.SDXL, r"768 wide \(SD1.5\).*2048 wide \(SDXL\)"), (2048, Family.SD15, r"2048 wide \(SDXL\).*768")],
)
def test_widths_of_real_families_are_told_by_name(wide: int, family: Family, both: str) -> None:
    from models.diffusion.lora_layers import LoraLayer

    name = "unet.mid_block.attentions.0.transformer_blocks.0.attn2.to_k"
    layer = LoraLayer(down=torch.ones(1, wide), up=torch.ones(4, 1), alpha=1.0)
    with pytest.raises(ContentRejected, match=both):
        check_fits(LoraWeights(layers={name: layer}), family)


def test_lora_of_a_transformer_is_refused_on_a_unet(tiny_flux: Checkpoint, tiny_sd15: Checkpoint) -> None:
    lora = random_lora(tiny_flux, component="transformer")
    with pytest.raises(ContentRejected, match=r"transformer with states 32 wide.*unet with text states 32 wide"):
        check_fits(lora, tiny_sd15)
    with pytest.raises(ContentRejected, match="no layer that this base has"):
        FoldedLoras(pipeline(tiny_sd15)).place(lora)


def test_layer_of_another_size_is_refused(tiny_sd15: Checkpoint) -> None:
    lora = random_lora(tiny_sd15)
    name = next(iter(lora.layers))
    odd = LoraWeights(layers={name: replace(lora.layers[name], down=torch.ones(4, 7))})
    with pytest.raises(ContentRejected, match="7 channels in, the base has a weight of 16 x 16"):
        FoldedLoras(pipeline(tiny_sd15)).place(odd)


def test_undefined_numbers_are_refused(tiny_sd15: Checkpoint) -> None:
    lora = random_lora(tiny_sd15)
    name = next(iter(lora.layers))
    next(iter(lora.layers[name].tensors().values())).view(-1)[0] = float("nan")
    with pytest.raises(ContentRejected, match="undefined numbers"):
        FoldedLoras(pipeline(tiny_sd15)).place(lora)


def test_swaps_take_no_more_memory_than_the_first(tiny_sd15: Checkpoint) -> None:
    import gc

    pipe = pipeline(tiny_sd15)
    folded = FoldedLoras(pipe)
    placed = [folded.place(random_lora(tiny_sd15, seed=seed, r=seed)) for seed in (1, 2, 3)]

    def live_bytes() -> int:
        gc.collect()
        kept = {id(one): one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)}
        storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in kept.values()}
        return sum(storages.values())

    for lora in placed:
        folded.use([LoraUse(lora=lora)])
    before = live_bytes()
    for index in range(500):
        folded.use([LoraUse(lora=placed[index % 3], scale=0.5 + index / 1000)])
    assert live_bytes() == before
