"""The cache of latents and text states: by content, whole or not at all, bounded."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.training.data.drawn import dataset
from training.data.cache import TensorCache, latents_key, text_key

torch = pytest.importorskip("torch")


@pytest.fixture
def cache(tmp_path):
    return TensorCache(tmp_path / "cache", max_bytes=100_000)


def test_tensors_come_back_bit_for_bit_in_another_process_too(cache, tmp_path):
    tensors = {"latents": torch.randn(4, 8, 8, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)}
    cache.put("ab" * 32, tensors)
    again = TensorCache(tmp_path / "cache", max_bytes=100_000).get("ab" * 32)
    assert torch.equal(again["latents"], tensors["latents"])
    assert again["latents"].dtype is torch.bfloat16
    assert cache.get("cd" * 32) is None


def test_key_changes_with_everything_that_changes_latents(tmp_path):
    sample = dataset(tmp_path / "set").samples[0]
    keys = {
        latents_key("sd15", "d1", sample),
        latents_key("sdxl", "d1", sample),
        latents_key("sd15", "d2", sample),
        latents_key("sd15", "d1", sample, mirrored=True),
        latents_key("sd15", "d1", replace(sample, id="0" * 64)),
        latents_key("sd15", "d1", replace(sample, bucket=(48, 80))),
        latents_key("sd15", "d1", replace(sample, crop=(1, 0, 63, 64))),
        text_key("sd15", "d1", "a cat"),
        text_key("sd15", "d1", "a dog"),
        text_key("sd15", "d2", "a cat"),
    }
    assert len(keys) == 10
    renamed = replace(sample, name="other.png", shard="shard-00009.tar", caption="other", row=7)
    assert latents_key("sd15", "d1", renamed) == latents_key("sd15", "d1", sample)


def test_least_recently_read_go_first_when_there_is_no_room(tmp_path):
    cache = TensorCache(tmp_path, max_bytes=10_000)
    value = {"x": torch.zeros(500)}  # 2,000 bytes and a header
    for number in range(4):
        cache.put(f"{number:064d}", value)
        os.utime(tmp_path / "00" / f"{number:064d}.safetensors", (number, number))
    assert cache.get(f"{0:064d}") is not None  # read again: now the youngest
    cache.put(f"{9:064d}", value)
    assert cache.get(f"{1:064d}") is None
    assert cache.get(f"{0:064d}") is not None
    assert cache.get(f"{9:064d}") is not None
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.safetensors")) <= 10_000


def test_what_is_larger_than_the_whole_cache_is_not_kept(tmp_path):
    cache = TensorCache(tmp_path, max_bytes=1000)
    cache.put("ab" * 32, {"x": torch.zeros(1000)})
    assert list(tmp_path.rglob("*.safetensors")) == []


def test_damaged_file_counts_as_missing_and_is_replaced(cache, tmp_path):
    cache.put("ab" * 32, {"x": torch.ones(3)})
    (path,) = (tmp_path / "cache").rglob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-5])
    assert cache.get("ab" * 32) is None
    cache.put("ab" * 32, {"x": torch.ones(3)})
    assert torch.equal(cache.get("ab" * 32)["x"], torch.ones(3))


def test_full_disk_keeps_nothing_and_fails_nothing(cache, tmp_path, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    cache.put("ab" * 32, {"x": torch.ones(3)})
    monkeypatch.undo()
    assert cache.get("ab" * 32) is None
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
