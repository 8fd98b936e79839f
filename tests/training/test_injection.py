"""What a LoRA is put into, at which rank, and that it changes nothing where it should not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from services.domain.errors import InvalidRequest
from tests.training import tiny
from training.lora.config import LoraTraining
from training.lora.injection import ADAPTER, at_scale, inject, load_weights, remove


@pytest.fixture
def base():
    return tiny.drawn64()


def predicted(base):
    generator = torch.Generator().manual_seed(3)
    noisy = torch.randn(2, 24, 4, 4, generator=generator)
    text = base.encode_captions(["a red dress", "dots"])
    with torch.no_grad():
        return base.predict(noisy, torch.tensor([10, 700]), text, torch.zeros(2, 6))


def network(**values):
    return tiny.run(network=LoraTraining.Network(**values))


def shake(injected):
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in injected.parameters.values():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)


KINDS = pytest.mark.parametrize(
    "values",
    [
        {"kind": "lora"},
        {"kind": "locon"},
        {"kind": "lokr"},
        {"kind": "lora", "dora": True},
        {"kind": "locon", "dora": True},
    ],
    ids=["lora", "locon", "lokr", "dora", "locon-dora"],
)


@KINDS
def test_a_new_lora_adds_nothing_and_only_it_is_trained(base, values):
    before = predicted(base)
    injected = inject(base, network(rank=2, **values))
    torch.testing.assert_close(predicted(base), before, rtol=1e-5, atol=1e-5)  # DoRA divides and multiplies by norms
    trained = {name for name, one in base.denoiser.named_parameters() if one.requires_grad}
    assert trained == set(injected.parameters)
    assert all(one.dtype == torch.float32 for one in injected.parameters.values())


@KINDS
def test_scale_0_is_the_base_to_the_bit_and_one_half_lies_between(base, values):
    before = predicted(base)
    shake(inject(base, network(rank=2, **values)))
    whole = predicted(base)
    assert not torch.equal(whole, before)
    with at_scale(base.denoiser, 0):
        assert torch.equal(predicted(base), before)
    with at_scale(base.denoiser, 0.5):
        assert not torch.equal(predicted(base), before)
        assert not torch.equal(predicted(base), whole)
    assert torch.equal(predicted(base), whole)


@KINDS
def test_taken_out_again_the_base_is_what_it_was(base, values):
    before, names = predicted(base), list(base.denoiser.state_dict())
    shake(inject(base, network(rank=2, **values)))
    remove(base)
    assert torch.equal(predicted(base), before)
    assert list(base.denoiser.state_dict()) == names
    inject(base, network(rank=3, **values))  # and takes another


def test_lora_leaves_convolutions_to_locon(base):
    linear = inject(base, network(kind="lora", rank=2)).ranks
    remove(base)
    both = inject(base, network(kind="locon", rank=2)).ranks
    added = set(both) - set(linear)
    assert set(linear) < set(both)
    assert "mid_block.resnets.0.conv1" in added
    remove(base)
    assert all(base.denoiser.get_submodule(name).kernel_size == (3, 3) for name in added)


def test_blocks_have_ranks_and_alphas_of_their_own(base):
    blocks = (
        LoraTraining.Block(modules="mid_block.*", rank=0),
        LoraTraining.Block(modules="*.attn2.to_k", rank=6, alpha=3.0),
        LoraTraining.Block(modules="down_blocks.*", rank=4),
    )
    inject(base, network(kind="lora", rank=2, alpha=1.0, blocks=blocks))
    layers = {name: one for name, one in base.denoiser.named_modules() if hasattr(one, "lora_A")}
    assert not any(name.startswith("mid_block") for name in layers)

    def rank_and_alpha(name):
        return layers[name].lora_A[ADAPTER].weight.shape[0], layers[name].lora_alpha[ADAPTER]

    attention = "attentions.0.transformer_blocks.0"
    assert rank_and_alpha(f"down_blocks.0.{attention}.attn2.to_k") == (6, 3.0)  # the first block that fits
    assert rank_and_alpha(f"down_blocks.0.{attention}.attn1.to_k") == (4, 2.0)  # alpha / rank as the network's
    assert rank_and_alpha(f"up_blocks.0.{attention}.attn1.to_k") == (2, 1.0)


def test_alpha_over_rank_scales_what_is_added(base):
    before = predicted(base)
    shake(inject(base, network(kind="lora", rank=2, alpha=2.0, targets=("conv_in", "to_q"))))
    remove(base)
    layer = nn.Linear(4, 4)
    x = torch.ones(1, 4)
    plain = layer(x)

    class One:
        denoiser = nn.ModuleDict({"only": layer})

        def default_targets(self, _preset):
            return ("only",)

    one = One()
    injected = inject(one, network(kind="lora", rank=2, alpha=6.0))
    with torch.no_grad():
        for name, parameter in injected.parameters.items():
            parameter.copy_(torch.ones_like(parameter) * (0.5 if "lora_A" in name else 1.0))
    # down (2, 4) of halves: each row gives 2; up (4, 2) of ones: 4; times alpha / rank = 3.
    torch.testing.assert_close(one.denoiser["only"](x), plain + 12)
    assert torch.equal(predicted(base), before)


@pytest.mark.parametrize(
    ("values", "near"),
    [
        ({"targets": ("to_queue",)}, "to_q"),
        ({"blocks": (LoraTraining.Block(modules="middle_block.*", rank=2),)}, "mid_block"),
    ],
)
def test_what_fits_no_layer_is_refused_with_the_nearest(base, values, near):
    with pytest.raises(InvalidRequest) as caught:
        inject(base, network(**values))
    assert caught.value.code == "lora_target_unknown"
    assert near in caught.value.detail


def test_dora_of_kronecker_products_is_refused(base):
    with pytest.raises(InvalidRequest, match="lokr"):
        inject(base, network(kind="lokr", dora=True))


def test_weights_of_other_layers_are_refused(base):
    injected = inject(base, network(rank=2))
    with pytest.raises(ValueError, match="other layers"):
        load_weights(injected, {"elsewhere": torch.zeros(1)})
