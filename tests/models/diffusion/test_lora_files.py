"""LoRA files of every program: what is read is what diffusers and peft make of the same file, and alpha survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from peft import LoHaConfig, LoKrConfig, LoraConfig
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.lora_arithmetic import resize
from models.diffusion.lora_files import LoraWeights, from_peft, read_lora, write_lora
from models.diffusion.lora_fold import FoldedLoras
from models.diffusion.lora_layers import FullLayer, LohaLayer, LokrLayer, LoraLayer, weight_with
from models.diffusion.lora_names import kohya_name, target_of, with_text_model
from services.domain.errors import ContentRejected
from tests.models.diffusion.lora_cases import ATTENTION, deltas, filled, network, pipeline


def assert_adds(weights: LoraWeights, component: str, expected: dict[str, torch.Tensor]) -> None:
    assert {name.removeprefix(f"{component}.") for name in weights.layers} == set(expected)
    for name, delta in expected.items():
        layer = weights.layers[f"{component}.{name}"]
        torch.testing.assert_close(layer.offset(tuple(delta.shape)), delta, rtol=1e-5, atol=1e-6)


@pytest.fixture
def unet(tiny_sd15: Checkpoint) -> Any:
    return network(tiny_sd15, "unet")


MIXED = {
    "r": 4,
    "lora_alpha": 8,
    "target_modules": [*ATTENTION, "conv1", "time_emb_proj", "linear_1", "ff.net.0.proj"],
    "rank_pattern": {"conv1": 2, "mid_block.attentions.0.transformer_blocks.0.attn2.to_k": 3},
    "alpha_pattern": {"conv1": 1, "mid_block.attentions.0.transformer_blocks.0.attn2.to_k": 5},
}


@pytest.mark.parametrize("form", ["kohya", "diffusers"])
def test_scaling_is_equal_after_a_round_trip_with_alpha_8_and_mixed_alphas_per_layer(
    unet: Any, tmp_path: Path, form: Any
) -> None:
    filled(unet, LoraConfig(**MIXED))
    weights = from_peft(unet, "unet")
    assert_adds(weights, "unet", deltas(unet))
    write_lora(weights, tmp_path / "a.safetensors", form)
    again = read_lora(tmp_path / "a.safetensors")
    assert again.skipped == ()
    assert {name: layer.alpha for name, layer in again.layers.items()} == {
        name: layer.alpha for name, layer in weights.layers.items()
    }
    assert {layer.alpha for layer in again.layers.values()} == {8.0, 1.0, 5.0}
    for name, layer in weights.layers.items():
        for factor, tensor in layer.tensors().items():
            assert torch.equal(getattr(again.layers[name], factor), tensor)


@pytest.mark.parametrize(
    ("form", "config"),
    # Of kohya's files diffusers 0.42.1 itself loses attention layers' exceptions from the usual alpha.
    [("kohya", {"r": 4, "lora_alpha": 8, "target_modules": [*ATTENTION, "conv1"]}), ("diffusers", MIXED)],
)
def test_file_we_write_scales_in_diffusers_as_in_the_trainer(
    tiny_sd15: Checkpoint, tmp_path: Path, form: Any, config: dict[str, Any]
) -> None:
    trained = filled(network(tiny_sd15, "unet"), LoraConfig(**config))
    write_lora(from_peft(trained, "unet"), tmp_path / "a.safetensors", form)
    pipe = pipeline(tiny_sd15)
    pipe.load_lora_weights(tmp_path, weight_name="a.safetensors", adapter_name="default", local_files_only=True)
    loaded, expected = deltas(pipe.unet), deltas(trained)
    assert loaded.keys() == expected.keys()
    for name, delta in expected.items():
        torch.testing.assert_close(loaded[name], delta, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("alpha", "dtype"), [(8, torch.float32), (0.3, torch.float64)])
def test_kohya_file_says_alpha_of_every_layer_whole_whatever_the_factors_precision(
    unet: Any, tmp_path: Path, alpha: float, dtype: torch.dtype
) -> None:
    filled(unet.half(), LoraConfig(r=4, lora_alpha=alpha, target_modules=ATTENTION))
    write_lora(from_peft(unet, "unet"), tmp_path / "a.safetensors", "kohya")
    tensors = load_file(tmp_path / "a.safetensors")
    alphas = [value for key, value in tensors.items() if key.endswith(".alpha")]
    assert len(alphas) * 3 == len(tensors)
    assert {value.dtype for value in alphas} == {dtype}
    assert {layer.alpha for layer in read_lora(tmp_path / "a.safetensors").layers.values()} == {alpha}
    with safe_open(tmp_path / "a.safetensors", framework="pt") as file:
        assert file.metadata()["ss_network_alpha"] == str(alpha)
        assert file.metadata()["ss_network_dim"] == "4"


def test_metadata_of_a_resized_lora_tells_its_new_rank(unet: Any, tmp_path: Path) -> None:
    filled(unet, LoraConfig(r=4, lora_alpha=8, target_modules=ATTENTION))
    write_lora(from_peft(unet, "unet"), tmp_path / "a.safetensors", "kohya")
    write_lora(resize(read_lora(tmp_path / "a.safetensors"), rank=2).weights, tmp_path / "b.safetensors", "kohya")
    assert read_lora(tmp_path / "b.safetensors").metadata["ss_network_dim"] == "2"


def test_file_that_diffusers_saved_is_read_with_its_alpha(tiny_sd15: Checkpoint, tmp_path: Path) -> None:
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft.utils import get_peft_model_state_dict

    pipe = pipeline(tiny_sd15)
    filled(pipe.unet, LoraConfig(**MIXED))
    saved = convert_state_dict_to_diffusers(get_peft_model_state_dict(pipe.unet, adapter_name="default"))
    config = pipe.unet.peft_config["default"]
    type(pipe).save_lora_weights(
        tmp_path,
        unet_lora_layers=saved,
        unet_lora_adapter_metadata=json.loads(json.dumps(config.to_dict(), default=list)),
        weight_name="theirs.safetensors",
    )
    found = read_lora(tmp_path / "theirs.safetensors")
    assert found.skipped == ()
    assert_adds(found, "unet", deltas(pipe.unet))


def test_folder_that_peft_saved_is_read_with_its_alpha(unet: Any, tmp_path: Path) -> None:
    from peft import get_peft_model

    model = get_peft_model(unet, LoraConfig(**MIXED))
    filled_parameters(model)
    model.save_pretrained(tmp_path)
    found = read_lora(tmp_path / "adapter_model.safetensors")
    assert found.skipped == ()
    assert_adds(found, "unet", {name.removeprefix("base_model.model."): one for name, one in deltas(model).items()})


def filled_parameters(module: Any) -> None:
    torch.manual_seed(5)
    for name, value in module.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(value.data, std=0.2)


def test_files_of_diffusers_first_form_are_read_as_diffusers_reads_them(tiny_sd15: Checkpoint, tmp_path: Path) -> None:
    block = "unet.mid_block.attentions.0.transformer_blocks.0.attn1.processor"
    torch.manual_seed(0)
    tensors: dict[str, torch.Tensor] = {}
    for part in ("to_q", "to_k", "to_v", "to_out"):
        tensors[f"{block}.{part}_lora.down.weight"] = torch.randn(4, 16)
        tensors[f"{block}.{part}_lora.up.weight"] = torch.randn(16, 4)
    save_file(tensors, tmp_path / "old.safetensors")
    pipe = pipeline(tiny_sd15)
    pipe.load_lora_weights(tmp_path, weight_name="old.safetensors", adapter_name="default", local_files_only=True)
    assert_adds(read_lora(tmp_path / "old.safetensors"), "unet", deltas(pipe.unet))


@pytest.mark.parametrize("component", ["unet", "text_encoder", "text_encoder_2"])
def test_every_layer_has_a_name_in_kohyas_form_and_back(tiny_sdxl: Checkpoint, component: str) -> None:
    module = getattr(pipeline(tiny_sdxl), component)
    for family in (Family.SD15, Family.SDXL):
        for name, layer in module.named_modules():
            if isinstance(layer, (torch.nn.Linear, torch.nn.Conv2d)):
                target = target_of(kohya_name(f"{component}.{name}", family), flux=False)
                assert target is not None
                assert target.names == (with_text_model(f"{component}.{name}"),)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [  # sd-scripts' SDXL names, by its table from the first authors' UNet to diffusers' (library/sdxl_model_util.py)
        ("lora_unet_input_blocks_4_1_proj_out", "down_blocks.1.attentions.0.proj_out"),
        ("lora_unet_input_blocks_8_0_in_layers_2", "down_blocks.2.resnets.1.conv1"),
        ("lora_unet_input_blocks_3_0_op", "down_blocks.0.downsamplers.0.conv"),
        ("lora_unet_middle_block_1_proj_in", "mid_block.attentions.0.proj_in"),
        ("lora_unet_middle_block_2_emb_layers_1", "mid_block.resnets.1.time_emb_proj"),
        ("lora_unet_output_blocks_5_2_conv", "up_blocks.1.upsamplers.0.conv"),
        ("lora_unet_output_blocks_8_0_skip_connection", "up_blocks.2.resnets.2.conv_shortcut"),
        ("lora_unet_time_embed_2", "time_embedding.linear_2"),
        ("lora_unet_label_emb_0_0", "add_embedding.linear_1"),
        ("lora_unet_out_2", "conv_out"),
    ],
)  # fmt: skip
def test_sdxl_names_of_kohya_are_understood_and_written(theirs: str, ours: str) -> None:
    target = target_of(theirs, flux=False)
    assert target is not None
    assert target.names == (f"unet.{ours}",)
    assert kohya_name(f"unet.{ours}", Family.SDXL) == theirs


def test_every_layer_of_sdxl_is_read_by_diffusers_under_the_name_that_we_write() -> None:
    from diffusers.loaders.lora_conversion_utils import (
        _convert_non_diffusers_lora_to_diffusers,
        _maybe_map_sgm_blocks_to_diffusers,
    )
    from diffusers.utils.state_dict_utils import convert_unet_state_dict_to_peft

    with torch.device("meta"):  # SDXL's blocks, with fewer transformers in each
        unet = diffusers.UNet2DConditionModel(
            block_out_channels=(32, 64, 64),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 2),
            cross_attention_dim=2048,
            addition_embed_type="text_time",
            addition_time_embed_dim=256,
            projection_class_embeddings_input_dim=2816,
        )
    names = [name for name, one in unet.named_modules() if isinstance(one, (torch.nn.Linear, torch.nn.Conv2d))]
    assert len(names) > 300
    for name in names:
        key = kohya_name(f"unet.{name}", Family.SDXL)
        file = {f"{key}.lora_down.weight": torch.ones(1), f"{key}.lora_up.weight": torch.ones(1)}
        theirs, _ = _convert_non_diffusers_lora_to_diffusers(_maybe_map_sgm_blocks_to_diffusers(file, unet.config))
        assert {one.split(".lora_")[0] for one in convert_unet_state_dict_to_peft(theirs)} == {f"unet.{name}"}


def test_flux_file_that_we_write_is_read_by_diffusers_as_the_same_offsets(tmp_path: Path) -> None:
    from diffusers.loaders.lora_conversion_utils import _convert_kohya_flux_lora_to_diffusers

    wide = Family.FLUX.width
    double, single = "transformer.transformer_blocks.0", "transformer.single_transformer_blocks.0"
    sizes = {
        **{f"{double}.attn.{one}": (wide, wide) for one in ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj")},
        **{f"{double}.attn.{one}": (wide, wide) for one in ("add_k_proj", "add_v_proj", "to_add_out")},
        f"{double}.ff.net.0.proj": (wide, 4 * wide),
        f"{double}.ff.net.2": (4 * wide, wide),
        f"{double}.norm1.linear": (wide, 6 * wide),
        f"{double}.ff_context.net.0.proj": (wide, 4 * wide),
        f"{double}.norm1_context.linear": (wide, 6 * wide),
        **{f"{single}.attn.{one}": (wide, wide) for one in ("to_q", "to_k", "to_v")},
        f"{single}.proj_mlp": (wide, 4 * wide),
        f"{single}.proj_out": (5 * wide, wide),
        f"{single}.norm.linear": (wide, 3 * wide),
    }
    generator = torch.Generator().manual_seed(0)
    layers = {
        name: LoraLayer(
            down=torch.randn(2, before, generator=generator), up=torch.randn(after, 2, generator=generator), alpha=3.0
        )
        for name, (before, after) in sizes.items()
    }
    write_lora(LoraWeights(layers=layers), tmp_path / "a.safetensors", "kohya")
    theirs = _convert_kohya_flux_lora_to_diffusers(load_file(tmp_path / "a.safetensors"))
    assert {name.split(".lora_")[0] for name in theirs} == set(sizes)
    for name, layer in layers.items():
        shown = torch.randn(layer.num_inputs, generator=generator)
        got = theirs[f"{name}.lora_B.weight"] @ (theirs[f"{name}.lora_A.weight"] @ shown)
        torch.testing.assert_close(got, layer.up @ (layer.down @ shown) * (3 / 2), rtol=1e-4, atol=1e-2)


def test_dora_is_read_as_peft_applies_it(unet: Any, tmp_path: Path) -> None:
    torch.manual_seed(1)
    sample, states = torch.randn(1, 4, 8, 8), torch.randn(1, 5, 32)
    bare = {name: value.detach().clone() for name, value in unet.state_dict().items()}
    filled(unet, LoraConfig(r=4, lora_alpha=8, target_modules=[*ATTENTION, "conv1"], use_dora=True))
    expected = unet(sample, 10, states).sample
    for form in ("kohya", "diffusers"):
        write_lora(from_peft(unet, "unet"), tmp_path / f"{form}.safetensors", form)
        weights = read_lora(tmp_path / f"{form}.safetensors")
        assert weights.skipped == ()
        plain = diffusers.UNet2DConditionModel.from_config(unet.config)
        merged = {
            f"{name.removeprefix('unet.')}.weight": weight_with(
                bare[f"{name.removeprefix('unet.')}.weight"], [(layer, 1.0)]
            )
            for name, layer in weights.layers.items()
        }
        plain.load_state_dict(bare | merged)
        torch.testing.assert_close(plain(sample, 10, states).sample, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (LoHaConfig(r=3, alpha=6, target_modules=[*ATTENTION, "conv1"], use_effective_conv2d=True), LohaLayer),
        (LoHaConfig(r=3, alpha=6, target_modules=[*ATTENTION, "conv1"]), LohaLayer),
        (LoKrConfig(r=2, alpha=5, target_modules=[*ATTENTION, "conv1"], decompose_both=True), LokrLayer),
        (LoKrConfig(r=2, alpha=5, target_modules=[*ATTENTION, "conv1"], use_effective_conv2d=True), LokrLayer),
        (LoKrConfig(r=64, alpha=5, target_modules=ATTENTION), LokrLayer),
    ],
    ids=["LoHa, Tucker", "LoHa", "LoKr, both sides low", "LoKr, Tucker", "LoKr, whole matrices"],
)
def test_lycoris_layers_add_what_peft_adds_and_survive_kohyas_form(
    unet: Any, tmp_path: Path, config: Any, kind: type
) -> None:
    filled(unet, config)
    weights = from_peft(unet, "unet")
    assert_adds(weights, "unet", deltas(unet))
    write_lora(weights, tmp_path / "a.safetensors", "kohya")
    again = read_lora(tmp_path / "a.safetensors")
    assert {type(layer) for layer in again.layers.values()} == {kind}
    assert_adds(again, "unet", deltas(unet))
    with pytest.raises(ContentRejected, match="kohya") as caught:
        write_lora(weights, tmp_path / "b.safetensors", "diffusers")
    assert caught.value.code == "lora_format_unsupported"


def test_locon_with_a_kernel_of_its_own_is_the_product_of_its_three_factors(tmp_path: Path) -> None:
    torch.manual_seed(0)
    down, mid, up = torch.randn(2, 3, 1, 1), torch.randn(2, 2, 3, 3), torch.randn(5, 2, 1, 1)
    key = "lora_unet_mid_block_resnets_0_conv1"
    save_file(
        {
            f"{key}.lora_down.weight": down,
            f"{key}.lora_mid.weight": mid,
            f"{key}.lora_up.weight": up,
            f"{key}.alpha": torch.tensor(1.0),
        },
        tmp_path / "a.safetensors",
    )
    layer = read_lora(tmp_path / "a.safetensors").layers["unet.mid_block.resnets.0.conv1"]
    picture = torch.randn(1, 3, 6, 6)
    through = torch.nn.functional.conv2d  # the three convolutions one after the other, as LyCORIS runs them
    expected = through(through(through(picture, down), mid, padding=1), up) * (1 / 2)
    got = through(picture, layer.offset((5, 3, 3, 3)), padding=1)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_layers_of_resnets_and_time_embeddings_are_loaded(tmp_path: Path) -> None:
    keys = {
        "lora_unet_time_embedding_linear_1": "unet.time_embedding.linear_1",
        "lora_unet_down_blocks_0_resnets_0_time_emb_proj": "unet.down_blocks.0.resnets.0.time_emb_proj",
        "lora_unet_down_blocks_0_resnets_0_conv2": "unet.down_blocks.0.resnets.0.conv2",
    }
    tensors: dict[str, torch.Tensor] = {}
    for key in keys:
        tensors |= {f"{key}.lora_down.weight": torch.ones(2, 8), f"{key}.lora_up.weight": torch.ones(8, 2)}
    tensors["lora_unet_down_blocks_0_resnets_0_norm1.w_norm"] = torch.ones(8)
    tensors["lora_unet_mid_block_attentions_0_proj_in.lora_down.weight"] = torch.ones(2, 8)
    save_file(tensors, tmp_path / "a.safetensors")
    found = read_lora(tmp_path / "a.safetensors")
    assert set(found.layers) == set(keys.values())
    assert found.skipped == (
        "lora_unet_down_blocks_0_resnets_0_norm1.w_norm",
        "lora_unet_mid_block_attentions_0_proj_in.lora_down.weight",
    )


def flux_file(folder: Path) -> Path:
    """A file for the tiny FLUX as sd-scripts writes it: projections stacked, CLIP's and T5's layers beside."""
    torch.manual_seed(0)
    tensors: dict[str, torch.Tensor] = {}
    sizes = {
        "lora_unet_double_blocks_0_img_attn_qkv": (32, 96),
        "lora_unet_double_blocks_0_txt_attn_proj": (32, 32),
        "lora_unet_double_blocks_0_img_mlp_0": (32, 128),
        "lora_unet_single_blocks_0_linear1": (32, 224),
        "lora_unet_single_blocks_0_linear2": (160, 32),
        "lora_te1_text_model_encoder_layers_0_self_attn_q_proj": (32, 32),
    }
    for key, (wide, out) in sizes.items():
        tensors |= {
            f"{key}.lora_down.weight": torch.randn(4, wide),
            f"{key}.lora_up.weight": torch.randn(out, 4),
            f"{key}.alpha": torch.tensor(2.0),
        }
    save_file(tensors, folder / "flux.safetensors")
    return folder / "flux.safetensors"


def test_text_encoder_layers_in_a_flux_file_are_loaded_beside_its_stacked_projections(tmp_path: Path) -> None:
    from diffusers.loaders.lora_conversion_utils import _convert_kohya_flux_lora_to_diffusers

    path = flux_file(tmp_path)
    found = read_lora(path)
    assert found.skipped == ()
    text = found.layers["text_encoder.text_model.encoder.layers.0.self_attn.q_proj"]
    tensors = load_file(path)
    key = "lora_te1_text_model_encoder_layers_0_self_attn_q_proj"
    assert torch.equal(
        text.offset((32, 32)), tensors[f"{key}.lora_up.weight"] @ tensors[f"{key}.lora_down.weight"] * (2 / 4)
    )
    # diffusers' converter has FLUX' real width built in: single blocks are compared below, by hand.
    theirs = _convert_kohya_flux_lora_to_diffusers({k: v for k, v in load_file(path).items() if "double" in k})
    names = {name.removesuffix(".lora_A.weight") for name in theirs if "lora_A" in name}
    assert names == {name for name in found.layers if name.startswith("transformer.transformer_blocks")}
    for name in names:
        expected = theirs[f"{name}.lora_B.weight"] @ theirs[f"{name}.lora_A.weight"]
        torch.testing.assert_close(found.layers[name].offset(tuple(expected.shape)), expected)
    key = "lora_unet_single_blocks_0_linear1"
    whole = tensors[f"{key}.lora_up.weight"] @ tensors[f"{key}.lora_down.weight"] * (2 / 4)
    single = "transformer.single_transformer_blocks.0"
    parts = [found.layers[f"{single}.{one}"] for one in ("attn.to_q", "attn.to_k", "attn.to_v", "proj_mlp")]
    got = torch.cat([part.offset((size, 32)) for part, size in zip(parts, (32, 32, 32, 128), strict=True)])
    torch.testing.assert_close(got, whole)


def test_files_of_xlabs_for_flux_are_read_as_diffusers_reads_them(tmp_path: Path) -> None:
    from diffusers.loaders.lora_conversion_utils import _convert_xlabs_flux_lora_to_diffusers

    torch.manual_seed(0)
    tensors: dict[str, torch.Tensor] = {}
    for block, sizes in {
        "double_blocks.0": {"qkv_lora1": 96, "qkv_lora2": 96, "proj_lora1": 32, "proj_lora2": 32},
        "single_blocks.3": {"qkv_lora": 96, "proj_lora": 32},
    }.items():
        for place, out in sizes.items():
            tensors[f"{block}.processor.{place}.down.weight"] = torch.randn(4, 32)
            tensors[f"{block}.processor.{place}.up.weight"] = torch.randn(out, 4)
    save_file(tensors, tmp_path / "a.safetensors")
    found = read_lora(tmp_path / "a.safetensors")
    assert found.skipped == ()
    theirs = _convert_xlabs_flux_lora_to_diffusers(dict(tensors))
    assert {key.split(".lora_")[0] for key in theirs} == set(found.layers)
    for name, layer in found.layers.items():
        expected = theirs[f"{name}.lora_B.weight"] @ theirs[f"{name}.lora_A.weight"]
        torch.testing.assert_close(layer.offset(tuple(expected.shape)), expected)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("diffusion_model.double_blocks.7.img_mod.lin", ("transformer_blocks.7.norm1.linear",)),
        ("diffusion_model.input_blocks.4.1.proj_in", ("down_blocks.1.attentions.0.proj_in",)),
        ("lora_transformer_single_transformer_blocks_2_attn_to_q", ("single_transformer_blocks.2.attn.to_q",)),
        ("lycoris_transformer_blocks_0_ff_net_0_proj", ("transformer_blocks.0.ff.net.0.proj",)),
        ("transformer_blocks.0.attn.add_k_proj", ("transformer_blocks.0.attn.add_k_proj",)),
        ("base_model.model.mid_block.attentions.0.proj_in", ("mid_block.attentions.0.proj_in",)),
        ("lora_te3_encoder_block_0_layer_0_SelfAttention_q", ("encoder.block.0.layer.0.SelfAttention.q",)),
        ("lora_te_text_model_encoder_layers_0_mlp_fc1", ("text_model.encoder.layers.0.mlp.fc1",)),
        ("text_encoder.encoder.layers.0.mlp.fc1", ("text_model.encoder.layers.0.mlp.fc1",)),
        ("lora_prior_unet_something", None),
        ("model.layers.0.mlp", None),
    ],
)
def test_names_of_other_programs_are_understood(theirs: str, ours: tuple[str, ...] | None) -> None:
    target = target_of(theirs, flux=True)
    assert (None if target is None else tuple(name.split(".", 1)[1] for name in target.names)) == ours


def test_flux_lora_is_stacked_for_kohya_and_alpha_survives(tiny_flux: Checkpoint, tmp_path: Path) -> None:
    transformer = network(tiny_flux, "transformer")
    targets = [*ATTENTION, "add_k_proj", "proj_mlp", "norm_out.linear", "x_embedder", "norm1.linear"]
    filled(transformer, LoraConfig(r=4, lora_alpha=8, target_modules=targets, rank_pattern={"to_k": 2}))
    weights = from_peft(transformer, "transformer")
    write_lora(weights, tmp_path / "a.safetensors", "kohya")
    tensors = load_file(tmp_path / "a.safetensors")
    assert tensors["lora_unet_double_blocks_0_img_attn_qkv.lora_up.weight"].shape[0] == 96
    again = read_lora(tmp_path / "a.safetensors")
    for name, delta in deltas(transformer).items():
        torch.testing.assert_close(again.layers[f"transformer.{name}"].offset(tuple(delta.shape)), delta)
    plain = [name for name in weights.layers if name.endswith(("norm1.linear", "x_embedder", "norm_out.linear"))]
    assert {again.layers[name].alpha for name in plain} == {8.0}


def test_sd3_lora_is_stacked_for_kohya_and_alpha_survives(tiny_sd3: Checkpoint, tmp_path: Path) -> None:
    transformer = network(tiny_sd3, "transformer")
    targets = [*ATTENTION, "add_q_proj", "ff.net.2", "norm1_context.linear", "context_embedder", "proj_out"]
    filled(transformer, LoraConfig(r=3, lora_alpha=5, target_modules=targets))
    write_lora(from_peft(transformer, "transformer"), tmp_path / "a.safetensors", "kohya", family=Family.SD3)
    keys = {key.split(".")[0] for key in load_file(tmp_path / "a.safetensors")}
    assert {"lora_unet_joint_blocks_0_x_block_attn_qkv", "lora_unet_joint_blocks_0_x_block_mlp_fc2"} <= keys
    assert all(key.startswith(("lora_unet_joint_blocks", "lora_unet_context", "lora_unet_final")) for key in keys)
    again = read_lora(tmp_path / "a.safetensors")
    assert again.skipped == ()
    for name, delta in deltas(transformer).items():
        layer = again.layers[f"transformer.{name}"]
        assert layer.alpha == 5
        torch.testing.assert_close(layer.offset(tuple(delta.shape)), delta)


def test_final_layer_of_flux_has_its_halves_the_other_way_round_in_kohyas_form(tmp_path: Path) -> None:
    key = "lora_unet_final_layer_adaLN_modulation_1"
    up = torch.arange(8.0).reshape(8, 1)
    save_file(
        {
            "lora_unet_double_blocks_0_img_attn_proj.lora_down.weight": torch.ones(1, 4),
            "lora_unet_double_blocks_0_img_attn_proj.lora_up.weight": torch.ones(4, 1),
            f"{key}.lora_down.weight": torch.ones(1, 4),
            f"{key}.lora_up.weight": up,
        },
        tmp_path / "a.safetensors",
    )
    weights = read_lora(tmp_path / "a.safetensors")
    layer = weights.layers["transformer.norm_out.linear"]
    assert isinstance(layer, LoraLayer)
    assert layer.up.flatten().tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
    write_lora(weights, tmp_path / "b.safetensors", "kohya", family=Family.FLUX)
    assert torch.equal(load_file(tmp_path / "b.safetensors")[f"{key}.lora_up.weight"], up)


def test_whole_offset_is_read(tmp_path: Path) -> None:
    diff = torch.randn(4, 4)
    save_file({"lora_unet_mid_block_attentions_0_proj_in.diff": diff}, tmp_path / "a.safetensors")
    layer = read_lora(tmp_path / "a.safetensors").layers["unet.mid_block.attentions.0.proj_in"]
    assert isinstance(layer, FullLayer)
    assert torch.equal(layer.offset((4, 4)), diff)


@pytest.mark.parametrize(
    ("tensors", "what"),
    [
        (
            {
                "model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight": torch.ones(2, 768),
                "first_stage_model.encoder.conv_in.weight": torch.ones(1),
            },
            r"a whole checkpoint of SD1.5 \(text states 768 wide\)",
        ),
        (
            {"down_blocks.1.attentions.0.transformer_blocks.0.attn2.to_k.weight": torch.ones(2, 2048)},
            "a whole UNet of SDXL",
        ),
        ({"encoder.down.0.block.0.conv1.weight": torch.ones(1)}, "a VAE"),
        ({"emb_params": torch.ones(2, 768)}, "a textual-inversion embedding"),
        ({"image_proj.proj.weight": torch.ones(1)}, "an IP-Adapter"),
        ({"something.weight": torch.ones(1)}, "none of its 1 keys is a LoRA's, the first is something.weight"),
        (
            {
                "model.layers.0.mlp.lora_A.weight": torch.ones(2, 4),
                "model.layers.0.mlp.lora_B.weight": torch.ones(4, 2),
            },
            "belong to no network that is known here",
        ),
    ],
)
def test_whole_checkpoint_or_file_without_lora_keys_is_refused_saying_what_it_is(
    tmp_path: Path, tensors: dict[str, torch.Tensor], what: str
) -> None:
    save_file(tensors, tmp_path / "style.safetensors")
    with pytest.raises(ContentRejected, match=what) as caught:
        read_lora(tmp_path / "style.safetensors")
    assert caught.value.code == "not_a_lora"


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"", "it is empty"),
        (b"PK\x03\x04archive/data.pkl", "pickle"),
        (b"\x80\x02}q\x00", "pickle"),
        (b"version https://git-lfs.github.com/spec/v1\n", "LFS pointer"),
        (b"<!DOCTYPE html>", "a web page"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"a":', "cut off or damaged"),
    ],
)
def test_file_that_is_no_safetensors_is_refused_saying_what_it_is(tmp_path: Path, start: bytes, what: str) -> None:
    (tmp_path / "style.safetensors").write_bytes(start)
    with pytest.raises(ContentRejected, match=what) as caught:
        read_lora(tmp_path / "style.safetensors")
    assert caught.value.code == "not_a_lora"


def test_file_of_nonsense_is_refused_by_name_and_never_breaks_the_reader(tiny_sd15: Checkpoint, tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(0)
    groups = [
        ["lora_down.weight", "lora_up.weight", "alpha"], ["lora_A.weight", "lora_B.weight", "lora_magnitude_vector"],
        ["hada_w1_a", "hada_w1_b", "hada_w2_a", "hada_w2_b"], ["hada_t1", "hada_t2", "lora_mid.weight"],
        ["lokr_w1", "lokr_w2"], ["lokr_w2_a", "lokr_w2_b", "lokr_w1"], ["diff"], ["dora_scale", "alpha"], ["w_norm"],
        ["processor.qkv_lora1.down.weight", "processor.qkv_lora1.up.weight"],
    ]  # fmt: skip
    modules = [
        "lora_unet_mid_block_attentions_0_proj_in", "unet.conv_in", "lora_unet_double_blocks_0_img_attn_qkv",
        "double_blocks.0", "lora_unet_final_layer_adaLN_modulation_1", "lora_te1_x", "lora_unet_input_blocks_99_9_x",
    ]  # fmt: skip
    patterns = ["^unet", "(", "(a*)*b", "x" * 500, ".*conv_in"]
    folded = FoldedLoras(pipeline(tiny_sd15))

    def one_of(choices: Any) -> Any:
        return choices[int(torch.randint(len(choices), (1,), generator=random))]

    codes, num_read = set(), 0
    for _ in range(600):
        module = one_of(modules)
        tensors = {}
        for suffix in one_of(groups) + one_of(groups) * one_of([0, 0, 1]):
            shape = [one_of([0, 1, 2, 4, 4]) for _ in range(one_of([0, 1, 2, 2, 2, 2, 4]))]
            tensors[f"{module}.{suffix}"] = torch.randn(shape, generator=random)
        settings = {"lora_alpha": one_of([None, 4, "x"]), "alpha_pattern": {one_of(patterns): 2}}
        save_file(tensors, tmp_path / "a.safetensors", metadata={"lora_adapter_metadata": json.dumps(settings)})
        try:
            found = read_lora(tmp_path / "a.safetensors")
            num_read += 1
            folded.place(found)
        except ContentRejected as refused:
            codes.add(refused.code)
    assert codes == {"not_a_lora", "lora_wrong_base"}
    assert num_read > 15


def test_pattern_that_would_take_for_ever_is_not_tried(tmp_path: Path) -> None:
    name = f"unet.conv_in{'a' * 60}"
    save_file(
        {
            f"{name}.lora_A.weight": torch.ones(1, 4),
            f"{name}.lora_B.weight": torch.ones(4, 1),
            "unet.conv_in.lora_A.weight": torch.ones(1, 4),
            "unet.conv_in.lora_B.weight": torch.ones(4, 1),
        },
        tmp_path / "a.safetensors",
        metadata={"lora_adapter_metadata": json.dumps({"alpha_pattern": {"conv_in(a+)+b": 2, "^conv_in": 3}})},
    )
    with pytest.raises(ContentRejected):
        read_lora(tmp_path / "a.safetensors")
