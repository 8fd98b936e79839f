"""The loop, on small bases of random weights: what it makes, what stops it, what it goes on with."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open

from models.diffusion.checkpoints import Family
from models.diffusion.lora_files import read_lora
from services.domain.errors import Canceled, Conflict, ContentRejected, EngineFailed, Unavailable
from tests.training import tiny
from tests.training.conftest import FAMILIES
from training import checkpoints as checkpoints_module
from training.checkpoints import read_checkpoints
from training.data.cache import TensorCache
from training.data.sampling import BucketSampler
from training.lora.config import LoraTraining
from training.lora.encoded import EncodedPictures
from training.lora.events import read_events
from training.lora.held_out import split
from training.train_lora import train_lora


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data") / "set")


@pytest.fixture(scope="module")
def base():
    return tiny.drawn64()


@pytest.fixture
def train(data, base, tmp_path):
    """Trains in ``tmp_path/run`` unless told otherwise."""

    def do(config=None, **more):
        arguments = {"dataset": data, "base": base, "run_dir": tmp_path / "run", **more}
        return train_lora(config or tiny.run(), **arguments)

    return do


def noise(base, batch=1):
    channels = base.denoiser.config.in_channels // (4 if base.family is Family.FLUX else 1)
    return torch.randn(batch, channels, 8, 8, generator=torch.Generator().manual_seed(5))


def predicted(base):
    text, sizes = base.encode_captions(["a drawing"]), torch.tensor([[64.0, 64, 0, 0, 64, 64]])
    with torch.no_grad():
        return base.predict(noise(base), torch.tensor([400]), text, sizes)


def weights_of(run_dir):
    return read_checkpoints(run_dir / "checkpoints")[-1].weights()


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# What it makes.


def test_held_out_loss_falls_below_the_base_s(train):
    everywhere = LoraTraining.Network(kind="locon", rank=2, alpha=4)
    at_both_ends = LoraTraining.Validation(share=0.25, every_steps=0)
    made = train(tiny.run(num_steps=12, network=everywhere, validation=at_both_ends))
    assert made.state == "finished"
    assert made.step == 12
    assert made.validation_loss < made.base_validation_loss * 0.97


@FAMILIES
def test_each_family_s_lora_is_what_diffusers_loads_and_the_base_is_left_alone(family, data, tmp_path):
    base = tiny.of_family(family, tmp_path / "base")
    before, pipe = predicted(base), base.pipeline()
    config = tiny.run(
        num_steps=2,
        network=LoraTraining.Network(rank=2, alpha=5.0),
        optimizer=LoraTraining.Optimizer(learning_rate=0.05),
    )
    used = []
    made = train_lora(
        config, dataset=data, base=base, run_dir=tmp_path / "run",
        watch=lambda part: used.append(part) or nullcontext(),
    )  # fmt: skip
    assert torch.equal(predicted(base), before)
    assert {"data", "forward", "backward", "optimizer", "checkpoint", "validation"} <= set(used)

    weights = read_lora(made.file)
    assert weights.skipped == ()
    assert {layer.alpha for layer in weights.layers.values()} == {5.0}
    # The offset that diffusers and peft make of the file is the trained one: alpha / rank * up @ down, by hand.
    pipe.load_lora_weights(made.file.parent, weight_name=made.file.name, adapter_name="ours")
    trained = weights_of(tmp_path / "run")
    name = next(name for name in trained if "lora_A" in name)
    module = name.split(".lora_A")[0]
    offset = 5.0 / 2 * trained[name.replace("lora_A", "lora_B")].flatten(1) @ trained[name].flatten(1)
    layer = base.denoiser.get_submodule(module)
    torch.testing.assert_close(layer.get_delta_weight("ours").flatten(1), offset, rtol=1e-5, atol=1e-6)
    assert not torch.equal(predicted(base), before)
    pipe.set_adapters("ours", 0.0)
    assert torch.equal(predicted(base), before)


@pytest.mark.parametrize(
    "network",
    [{"kind": "locon"}, {"kind": "lora", "dora": True}, {"kind": "lokr"}, {"kind": "lora", "dropout": 0.3}],
    ids=["locon", "dora", "lokr", "dropout"],
)
def test_each_kind_trains_and_is_read_again(train, network):
    made = train(tiny.run(num_steps=2, network=LoraTraining.Network(rank=2, **network)))
    weights = read_lora(made.file)
    kinds = {str(layer.kind) for layer in weights.layers.values()}
    assert network["kind"] in kinds
    if network.get("dora"):
        assert all(layer.dora_scale is not None for layer in weights.layers.values())
    manifest = json.loads((made.file.parent / "manifest.json").read_text())
    assert manifest["lora"]["kind"] == network["kind"]
    assert manifest["lora"]["size_bytes"] == made.file.stat().st_size


def test_the_file_says_how_it_was_trained(train, data):
    made = train(tiny.run(num_steps=1, seed=7, loss=LoraTraining.Loss(min_snr_gamma=5.0)))
    with safe_open(made.file, "pt") as file:
        metadata = file.metadata()
    expected = {
        "ss_network_dim": "2",
        "ss_network_alpha": "4.0",
        "ss_base_model_version": "drawn64",
        "ss_steps": "1",
        "ss_seed": "7",
        "ss_min_snr_gamma": "5.0",
        "ss_num_train_images": "6",  # of 8, with a quarter held out
        "ss_output_name": "blobs",
    }
    assert {name: metadata[name] for name in expected} == expected
    assert json.loads(metadata["ss_tag_frequency"])["dataset"]["a drawing"] == 6
    assert json.loads(metadata["ss_bucket_info"])["buckets"]["0"] == {"resolution": [32, 32], "count": 6}


def test_samples_are_a_grid_of_prompts_and_seeds(train, tmp_path):
    samples = LoraTraining.Samples(
        prompts=("a dress", "dots", "a coat"), seeds=(1, 2), every_steps=2, num_inference_steps=1, side_px=32
    )
    made = train(tiny.run(num_steps=2, samples=samples))
    assert sorted(one.name for one in (tmp_path / "run/samples").iterdir()) == ["step-0000.png", "step-0002.png"]
    before, after = (np.asarray(Image.open(tmp_path / f"run/samples/step-000{step}.png")) for step in (0, 2))
    assert before.shape == (3 * 32 + 2 * 2, 2 * 32 + 2, 3)
    assert not np.array_equal(before, after)
    assert not np.array_equal(before[:32, :32], before[:32, 34:])
    assert [one["samples"] for one in read_events(made.run_dir) if "samples" in one][-1] == "samples/step-0002.png"


def test_events_tell_each_step_and_tensorboard_reads_the_curves(train, tmp_path):
    told = []
    schedule = LoraTraining.Optimizer(learning_rate=1e-3, schedule="linear", num_warmup_steps=2)
    train(tiny.run(optimizer=schedule), on_event=told.append)
    events = read_events(tmp_path / "run")
    assert events == told
    assert [one["step"] for one in events if "loss" in one] == [1, 2, 3, 4]
    # Two steps up from 0, then straight down to 0 at the end.
    rates = [one["learning_rate"] for one in events if "loss" in one]
    assert rates == pytest.approx([0.0, 0.5e-3, 1e-3, 0.5e-3])
    assert [one["step"] for one in events if "validation_loss" in one] == [0, 2, 4]
    assert [one["state"] for one in events if "state" in one] == ["encoding", "running", "finished"]

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(tmp_path / "run/tensorboard"))
    board.Reload()
    curve = [(one.step, one.value) for one in board.Scalars("loss")]
    expected = [(one["step"], one["loss"]) for one in events if "loss" in one]
    assert [step for step, _ in curve] == [step for step, _ in expected]
    assert [value for _, value in curve] == pytest.approx([value for _, value in expected])


# How it trains.


def test_gradient_checkpointing_changes_memory_and_not_the_weights(train, tmp_path):
    train(tiny.run(num_steps=2))
    train(tiny.run(num_steps=2, gradient_checkpointing=True), run_dir=tmp_path / "other")
    assert equal(weights_of(tmp_path / "run"), weights_of(tmp_path / "other"))


def test_bfloat16_calculates_less_exactly_and_keeps_weights_in_float32(train, tmp_path):
    exact = train(tiny.run(num_steps=2))
    half = train(tiny.run(num_steps=2, precision="bfloat16"), run_dir=tmp_path / "other")
    assert half.base_validation_loss == pytest.approx(exact.base_validation_loss, rel=0.02)
    assert half.base_validation_loss != exact.base_validation_loss
    assert {one.dtype for one in weights_of(tmp_path / "other").values()} == {torch.float32}


def test_accumulation_takes_as_many_batches_a_step(train):
    asked = []

    def order(pictures):
        sampler = BucketSampler(pictures, 2)
        plain = sampler.batch
        sampler.batch = lambda step: asked.append(step) or plain(step)
        return sampler

    train(tiny.run(num_steps=2, accumulation_steps=3), order=order)
    assert asked == list(range(6))


def test_accumulated_gradients_are_the_mean_of_their_batches(train, tmp_path, base, monkeypatch):
    """The same batch twice, with the same noise, moves the weights as it does once."""
    from training import train_lora as module

    monkeypatch.setattr(module, "seed_of", lambda *_parts: 11)
    once = tiny.run(num_steps=1, accumulation_steps=1)
    twice = tiny.run(num_steps=1, accumulation_steps=2)

    class Same:
        def batch(self, _step):
            return [0, 1]

        def state_dict(self):
            return {}

        def load_state_dict(self, _state):
            pass

    train(once, order=lambda _pictures: Same())
    train(twice, order=lambda _pictures: Same(), run_dir=tmp_path / "other")
    one, two = weights_of(tmp_path / "run"), weights_of(tmp_path / "other")
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=1e-4, atol=1e-6)


def test_running_mean_is_what_is_saved(train, tmp_path):
    train(
        tiny.run(
            num_steps=2, ema_decay=0.9, result="last", checkpoints=LoraTraining.Checkpoints(every_steps=1, keep_last=3)
        )
    )
    first, second = (
        checkpoints_module.read_checkpoint(tmp_path / f"run/checkpoints/step-0000000{step}") for step in (1, 2)
    )
    # diffusers' decay of the second step: (1 + 1) / (10 + 1); the first takes the weights as they are.
    for name, mean in second.weights().items():
        by_hand = 2 / 11 * first.state()["parameters"][name] + 9 / 11 * second.state()["parameters"][name]
        torch.testing.assert_close(mean, by_hand, rtol=1e-5, atol=1e-7)


def test_dropped_captions_are_the_empty_one(train, base, monkeypatch):
    seen = []
    plain = base.predict
    monkeypatch.setattr(base, "predict", lambda *args: seen.append(args[2]["states"]) or plain(*args))
    config = tiny.run(
        num_steps=2, loss=LoraTraining.Loss(caption_dropout=1.0), validation=LoraTraining.Validation(share=0)
    )
    train(config)
    empty = base.encode_captions([""])["states"][0]
    assert len(seen) == 2
    assert all(torch.equal(states, empty) for batch in seen for states in batch)


def test_class_pictures_are_trained_on_as_much_as_they_weigh(train, tmp_path):
    prior = tiny.dataset(tmp_path / "prior", num=4, first=100)

    def with_weight(weight, name):
        config = tiny.run(num_steps=2, loss=LoraTraining.Loss(prior_weight=weight))
        train(config, prior=prior, run_dir=tmp_path / name)
        return weights_of(tmp_path / name)

    train(tiny.run(num_steps=2))
    without = weights_of(tmp_path / "run")
    assert equal(with_weight(0.0, "none"), without)
    assert not equal(with_weight(1.0, "some"), without)


def test_masks_count_unless_outside_counts_as_much(train, tmp_path):
    masked = tiny.dataset(tmp_path / "masked", masks=True)

    def with_outside(share, name):
        train(
            tiny.run(num_steps=1, loss=LoraTraining.Loss(outside_mask=share)), dataset=masked, run_dir=tmp_path / name
        )
        return read_events(tmp_path / name)

    train(tiny.run(num_steps=1))
    losses = {
        name: next(one["loss"] for one in events if "loss" in one)
        for name, events in {
            "plain": read_events(tmp_path / "run"),
            "alike": with_outside(1.0, "alike"),
            "inside": with_outside(0.0, "inside"),
        }.items()
    }
    assert losses["alike"] == pytest.approx(losses["plain"], rel=1e-5)
    assert losses["inside"] != pytest.approx(losses["plain"], rel=1e-3)


def test_an_order_is_told_each_picture_s_loss(train):
    told = []

    class Order(BucketSampler):
        def record(self, indices, timesteps, losses):
            told.append((indices, timesteps, losses))

    train(tiny.run(num_steps=2), order=lambda pictures: Order(pictures, 2))
    assert [len(part) for entry in told for part in entry] == [2] * 6
    assert all(0 <= timestep < 1000 for _, timesteps, _ in told for timestep in timesteps)


def test_up_learns_faster_where_it_is_told_to(base):
    from training.lora.injection import inject, remove
    from training.lora.optimizers import new_optimizer

    injected = inject(base, tiny.run())
    optimizer = new_optimizer(injected, LoraTraining.Optimizer(learning_rate=1e-3, up_factor=4.0))
    rates = {id(one): group["lr"] for group in optimizer.param_groups for one in group["params"]}
    for name, parameter in injected.parameters.items():
        assert rates[id(parameter)] == pytest.approx(4e-3 if "lora_B" in name else 1e-3)
    remove(base)


def test_an_optimiser_that_is_not_installed_is_named(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(Unavailable) as caught:
        train(tiny.run(optimizer=LoraTraining.Optimizer(name="adamw8bit")))
    assert caught.value.code == "optimizer_not_installed"
    assert "bitsandbytes" in caught.value.detail


# Pictures held out, encoded once.


def test_pictures_held_out_are_never_trained_on_and_clusters_stay_together(tmp_path):
    from tests.training.data import drawn

    pictures = drawn.dataset(
        tmp_path / "clusters", buckets={(32, 32): 12}, clusters=[0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7]
    )
    config = tiny.run(validation=LoraTraining.Validation(share=0.5))
    training, held_out = split(pictures, config)
    assert len(training) + len(held_out) == 12
    assert 1 <= len(held_out) <= 6
    assert not set(training.clusters.tolist()) & set(held_out.clusters.tolist())
    again = split(pictures.subset(list(reversed(range(12)))), config)[1]
    assert {one.id for one in again.samples} == {one.id for one in held_out.samples}


def test_validation_is_the_same_each_time_and_whatever_the_batch(train, tmp_path):
    first = train(tiny.run(num_steps=1))
    second = train(tiny.run(num_steps=1, batch_size=1), run_dir=tmp_path / "other")
    third = train(tiny.run(num_steps=1), run_dir=tmp_path / "third")
    assert first.base_validation_loss == third.base_validation_loss
    assert second.base_validation_loss == pytest.approx(first.base_validation_loss, rel=1e-5)


def test_what_was_encoded_is_kept_for_the_next_run(train, data, base, tmp_path, monkeypatch):
    store = TensorCache(tmp_path / "cache", max_bytes=2**28)
    train(store=store)
    expected = weights_of(tmp_path / "run")

    def encoded_again(*_args, **_options):
        raise AssertionError("encoded again")

    monkeypatch.setattr(base, "encode_pictures", encoded_again)
    monkeypatch.setattr(base, "encode_captions", encoded_again)
    train(store=store, run_dir=tmp_path / "other")
    assert equal(weights_of(tmp_path / "other"), expected)


def test_other_weights_of_the_base_encode_anew(data, tmp_path):
    store = TensorCache(tmp_path / "cache", max_bytes=2**28)
    one, other = (EncodedPictures(data, tiny.drawn64(seed), seed=0, store=store).latents([0]) for seed in (0, 1))
    assert not torch.equal(one, other)


def test_sizes_tell_the_original_the_crop_and_what_is_trained(tmp_path, base):
    from training.data.prepared import open_prepared
    from training.data.shards import PictureToStore, write_prepared

    picture = PictureToStore(
        name="x.png", pixels=np.zeros((64, 32, 3), np.uint8), caption="x", crop=(100, 50, 200, 400),
        original_size=(900, 500), cluster=0, embedding=np.ones(1, np.float32),
    )  # fmt: skip
    write_prepared(tmp_path / "one", [picture])
    sizes = EncodedPictures(open_prepared(tmp_path / "one"), base, seed=0).sizes([0])
    # 200 pixels are trained as 32, so the crop's top and left shrink alike: 50 and 100 times .16.
    assert sizes.tolist() == [[500, 900, 8, 16, 64, 32]]


def test_a_dataset_without_pictures_is_refused(train, data):
    with pytest.raises(ContentRejected) as caught:
        train(dataset=data.subset([]))
    assert caught.value.code == "dataset_empty"


# What stops it.


def test_an_undefined_loss_stops_with_step_and_files_and_keeps_the_last_good_checkpoint(train, base, data, monkeypatch):
    plain, calls = base.predict, []

    def broken(noisy, *args):
        found = plain(noisy, *args)
        if found.requires_grad:
            calls.append(1)
            if len(calls) == 4:
                found = found.clone()
                found[1] = torch.nan
        return found

    monkeypatch.setattr(base, "predict", broken)
    sampler = BucketSampler(split(data, tiny.run())[0], 2, seed=0)
    training = split(data, tiny.run())[0]
    with pytest.raises(EngineFailed) as caught:
        train()
    assert caught.value.code == "loss_not_finite"
    assert "step 4" in caught.value.detail
    first, second = (training.samples[index].name for index in sampler.batch(3))
    assert second in caught.value.detail
    assert first not in caught.value.detail
    assert "checkpoint of step 2 is kept" in caught.value.detail


def test_a_broken_run_goes_on_from_the_last_good_checkpoint(train, base, monkeypatch, tmp_path):
    train(run_dir=tmp_path / "whole")
    plain, calls = base.predict, []

    def broken(noisy, *args):
        found = plain(noisy, *args)
        calls.append(found.requires_grad)
        return found * torch.nan if sum(calls) == 4 and found.requires_grad else found

    with monkeypatch.context() as patch:
        patch.setattr(base, "predict", broken)
        with pytest.raises(EngineFailed):
            train()
    assert train().state == "finished"
    assert equal(weights_of(tmp_path / "run"), weights_of(tmp_path / "whole"))
    states = [one["state"] for one in read_events(tmp_path / "run") if "state" in one]
    assert states[-2:] == ["resumed", "finished"]


def test_a_cancel_file_ends_it_with_the_best_checkpoint(train, tmp_path):
    def on_event(event):
        if "loss" in event and event["step"] == 3:
            (tmp_path / "run/cancel").touch()

    made = train(tiny.run(num_steps=9), on_event=on_event)
    assert (made.state, made.step) == ("canceled", 2)
    assert read_lora(made.file).layers
    assert json.loads((tmp_path / "run/result/manifest.json").read_text())["state"] == "canceled"


def test_who_cancels_by_an_error_gets_the_same(train):
    seen = []

    def check_canceled():
        seen.append(1)
        if len(seen) > 30:
            raise Canceled("enough")

    made = train(tiny.run(num_steps=500), check_canceled=check_canceled)
    assert made.state == "canceled"
    assert made.file is not None


def test_canceled_before_the_first_step_there_is_no_result(train, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/cancel").touch()
    made = train()
    assert (made.state, made.file, made.step) == ("canceled", None, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_the_step_and_the_run_goes_on_from_there(train, tmp_path, number):
    train(run_dir=tmp_path / "whole")
    handler = signal.getsignal(number)

    def on_event(event):
        if "loss" in event and event["step"] == 3:
            os.kill(os.getpid(), number)

    with pytest.raises(EngineFailed) as caught:
        train(on_event=on_event)
    assert (caught.value.code, caught.value.retryable) == ("training_interrupted", True)
    assert signal.getsignal(number) is handler
    assert read_checkpoints(tmp_path / "run/checkpoints")[-1].step == 3
    assert read_events(tmp_path / "run")[-1]["state"] == "interrupted"
    train()
    assert equal(weights_of(tmp_path / "run"), weights_of(tmp_path / "whole"))


def test_a_full_disk_keeps_the_last_good_checkpoint_and_says_so(train, tmp_path, monkeypatch):
    import errno

    train(run_dir=tmp_path / "whole")
    write = checkpoints_module._write_through

    def full(path, data):
        if "step-00000004" in str(path):
            path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints_module, "_write_through", full)
        with pytest.raises(EngineFailed) as caught:
            train()
    assert caught.value.code == "disk_full"
    assert "checkpoint of step 2 is kept" in caught.value.detail
    train()
    assert equal(weights_of(tmp_path / "run"), weights_of(tmp_path / "whole"))


# What it goes on with.


def test_other_settings_in_the_same_folder_are_refused_by_name(train):
    train()
    with pytest.raises(Conflict) as caught:
        train(tiny.run(optimizer=LoraTraining.Optimizer(learning_rate=1e-3)))
    assert (caught.value.code, caught.value.param) == ("run_differs", "config.optimizer.learning_rate")


def test_other_data_in_the_same_folder_are_refused(train, tmp_path):
    train()
    with pytest.raises(Conflict) as caught:
        train(dataset=tiny.dataset(tmp_path / "more", num=9))
    assert caught.value.param == "dataset"


def test_a_finished_run_is_not_trained_again(train):
    first = train()
    told = []
    again = train(on_event=told.append)
    assert again == first
    assert not [one for one in told if "loss" in one]


def test_the_caller_s_random_numbers_are_not_touched(train):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    train(tiny.run(num_steps=1))
    assert torch.equal(torch.rand(2), expected)


def test_a_line_that_a_kill_cut_off_is_no_event(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(
        b'{"at": 1, "step": 1, "loss": 1.0}\n{"at": 2, "step": 2, "loss": 0.9}\n{"at": 3, "step": 2, "chec\n'
        b'{"at": 4, "step": 1, "state": "resumed"}\n{"at": 5, "step": 2, "loss": 0.9}\n'
    )
    assert [one["at"] for one in read_events(tmp_path)] == [1, 4, 5]


def test_what_was_told_before_a_run_began_anew_does_not_count(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(
        b'{"at": 1, "step": 0, "state": "running"}\n{"at": 2, "step": 1, "loss": 1.0}\n'
        b'{"at": 3, "step": 0, "state": "encoding"}\n{"at": 4, "step": 0, "state": "running"}\n'
    )
    assert [one["at"] for one in read_events(tmp_path)] == [3, 4]
