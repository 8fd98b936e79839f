"""Merged, extracted and resized LoRAs, against numpy's sums and decompositions of the whole matrices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from peft import LoHaConfig, LoKrConfig

from models.diffusion.checkpoints import Checkpoint
from models.diffusion.lora_arithmetic import extract, layer_weights, merge, resize
from models.diffusion.lora_files import LoraWeights, from_peft
from models.diffusion.lora_fold import FoldedLoras, LoraUse
from models.diffusion.lora_layers import LoraLayer
from services.domain.errors import ContentRejected, InvalidRequest
from tests.models.diffusion.lora_cases import ATTENTION, deltas, filled, network, pipeline, random_lora

LAYERS = [*ATTENTION, "conv1", "ff.net.0.proj"]


def dense(weights: LoraWeights, name: str) -> NDArray[Any]:
    """The layer's offset by numpy, kernels flat."""
    layer = weights.layers[name]
    assert isinstance(layer, LoraLayer)
    up, down = layer.up.flatten(1).double().numpy(), layer.down.flatten(1).double().numpy()
    return np.asarray(up @ down * (layer.alpha / layer.rank))


def test_merged_lora_adds_what_both_add_together(tiny_sd15: Checkpoint) -> None:
    one = random_lora(tiny_sd15, seed=1, target_modules=LAYERS)
    other = random_lora(tiny_sd15, seed=2, target_modules=["to_q", "conv1"], r=2, lora_alpha=3)
    merged = merge([(one, 0.7), (other, -0.4)])
    assert merged.kept == 1
    for name in one.layers:
        expected = 0.7 * dense(one, name) + (-0.4 * dense(other, name) if name in other.layers else 0)
        np.testing.assert_allclose(dense(merged.weights, name), expected, rtol=1e-4, atol=1e-5)
    pipe = pipeline(tiny_sd15)
    folded = FoldedLoras(pipe)
    folded.use([LoraUse(lora=folded.place(one), scale=0.7), LoraUse(lora=folded.place(other), scale=-0.4)])
    both = {name: value.clone() for name, value in pipe.unet.state_dict().items()}
    folded.use([LoraUse(lora=folded.place(merged.weights))])
    for name, value in pipe.unet.state_dict().items():
        torch.testing.assert_close(value, both[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 4, 9])
def test_resize_keeps_the_largest_singular_values_and_tells_their_share(tiny_sd15: Checkpoint, rank: int) -> None:
    lora = random_lora(tiny_sd15, target_modules=LAYERS)
    found = resize(lora, rank=rank)
    kept = whole = 0.0
    for name in lora.layers:
        matrix = dense(lora, name)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        best = left[:, :rank] * values[:rank] @ right[:rank]
        np.testing.assert_allclose(dense(found.weights, name), best, atol=1e-4)
        assert found.weights.layers[name].rank == min(rank, 4)
        assert found.layers_kept[name] == pytest.approx((values[:rank] ** 2).sum() / (values**2).sum(), rel=1e-5)
        kept += (values[:rank] ** 2).sum()
        whole += (values**2).sum()
    assert found.kept == pytest.approx(kept / whole, rel=1e-5)
    assert (found.kept > 0.999999) == (rank >= 4)


def test_resize_by_energy_takes_the_smallest_rank_that_keeps_it(tiny_sd15: Checkpoint) -> None:
    lora = random_lora(tiny_sd15, target_modules=LAYERS)
    found = resize(lora, energy=0.8)
    for name in lora.layers:
        squares = np.linalg.svd(dense(lora, name), compute_uv=False) ** 2
        shares = squares.cumsum() / squares.sum()
        assert found.weights.layers[name].rank == int(np.searchsorted(shares, 0.8)) + 1
        assert found.layers_kept[name] >= 0.8
    assert len({layer.rank for layer in found.weights.layers.values()}) > 1


@pytest.mark.parametrize("options", [{}, {"rank": 0}, {"energy": 0.0}, {"energy": 1.2}])
def test_senseless_sizes_are_refused(tiny_sd15: Checkpoint, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        resize(random_lora(tiny_sd15), **options)


def test_lora_is_extracted_from_two_checkpoints_difference(tiny_sd15: Checkpoint, tmp_path: Path) -> None:
    lora = random_lora(tiny_sd15, target_modules=LAYERS)
    pipe = pipeline(tiny_sd15)
    folded = FoldedLoras(pipe)
    folded.use([LoraUse(lora=folded.place(lora))])
    pipe.save_pretrained(tmp_path / "tuned")
    tuned = replace(tiny_sd15, source=f"folder:{tmp_path / 'tuned'}")
    found = extract(layer_weights(tiny_sd15), layer_weights(tuned), rank=4)
    assert found.weights.layers.keys() == lora.layers.keys()
    assert found.kept == pytest.approx(1, abs=1e-6)
    for name in lora.layers:
        np.testing.assert_allclose(dense(found.weights, name), dense(lora, name), atol=1e-4)
    narrow = extract(layer_weights(tiny_sd15), layer_weights(tuned), rank=1)
    squares = {name: np.linalg.svd(dense(lora, name), compute_uv=False) ** 2 for name in lora.layers}
    share = sum(one[0] for one in squares.values()) / sum(one.sum() for one in squares.values())
    assert narrow.kept == pytest.approx(share, rel=1e-4)


def test_large_layers_are_extracted_nearly_as_well_as_by_the_whole_decomposition() -> None:
    generator = torch.Generator().manual_seed(0)
    base = torch.zeros(1100, 1200)
    up, down = torch.randn(1100, 8, generator=generator), torch.randn(8, 1200, generator=generator)
    noise = torch.randn(1100, 1200, generator=generator) * 0.01
    found = extract({"unet.x": base}, {"unet.x": base + up @ down + noise}, rank=8)
    layer = found.weights.layers["unet.x"]
    error = (layer.offset((1100, 1200)) - up @ down).norm() / (up @ down).norm()
    assert float(error) < 0.002  # the noise is .0035 of the whole; of it only what lies in the plane found remains
    assert 0.9999 < found.kept < 1


def test_checkpoints_without_difference_or_of_other_sizes_are_refused(
    tiny_sd15: Checkpoint, tiny_sdxl: Checkpoint
) -> None:
    weights = layer_weights(tiny_sd15)
    with pytest.raises(ContentRejected, match="do not differ"):
        extract(weights, weights, rank=4)
    with pytest.raises(ContentRejected, match="in the one checkpoint") as caught:
        extract(weights, layer_weights(tiny_sdxl), rank=4)
    assert caught.value.code == "lora_wrong_base"
    with pytest.raises(InvalidRequest, match="no layer in common"):
        extract({}, {}, rank=4)


def test_text_encoders_are_extracted_by_their_names_in_files(tiny_sd15: Checkpoint) -> None:
    names = set(layer_weights(tiny_sd15, ["text_encoder"]))
    assert "text_encoder.text_model.encoder.layers.0.self_attn.q_proj" in names
    assert not any("embedding" in name for name in names)


@pytest.mark.parametrize("config", [LoHaConfig, LoKrConfig])
def test_lycoris_layers_are_merged_and_resized_as_low_rank_ones(tiny_sd15: Checkpoint, config: Any) -> None:
    trained = filled(network(tiny_sd15, "unet"), config(r=2, alpha=4, target_modules=ATTENTION))
    found = resize(from_peft(trained, "unet"), energy=1.0).weights
    for name, delta in deltas(trained).items():
        np.testing.assert_allclose(dense(found, f"unet.{name}"), delta.numpy(), atol=1e-4)


def test_dora_is_not_merged(tiny_sd15: Checkpoint) -> None:
    with pytest.raises(ContentRejected, match="DoRA") as caught:
        merge([(random_lora(tiny_sd15, use_dora=True), 1.0)])
    assert caught.value.code == "lora_not_mergeable"


def test_tucker_kernel_is_multiplied_in(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = LoraLayer(down=torch.randn(2, 3, 1, 1), mid=torch.randn(2, 2, 3, 3), up=torch.randn(5, 2, 1, 1), alpha=1.0)
    weights = LoraWeights(layers={"unet.mid_block.resnets.0.conv1": layer})
    for found in (merge([(weights, 2.0)]).weights, resize(merge([(weights, 2.0)]).weights, rank=2).weights):
        got = found.layers["unet.mid_block.resnets.0.conv1"].offset((5, 3, 3, 3))
        torch.testing.assert_close(got, 2 * layer.offset((5, 3, 3, 3)), rtol=1e-4, atol=1e-4)
