"""A prepared dataset: what was stored comes back, by any WebDataset reader too; damage is named."""

from __future__ import annotations

import io
import json
import tarfile

import numpy as np
import pytest
from PIL import Image

from services.domain.errors import Conflict, ContentRejected, InvalidRequest
from tests.training.data.drawn import dataset, picture
from training.data.prepared import open_prepared
from training.data.shards import PictureToStore, write_prepared


def stored(seed, *, mask=None, caption="a thing", cluster=0):
    return PictureToStore(
        name=f"{seed}.png",
        pixels=picture(seed, 48, 64),
        mask=mask,
        caption=caption,
        crop=(1, 2, 30, 40),
        original_size=(100, 90),
        cluster=cluster,
        embedding=np.full(4, 0.5, np.float32),
    )


def test_pictures_captions_and_masks_come_back_as_stored(tmp_path):
    mask = np.zeros((64, 48), np.uint8)
    mask[10:20] = 255
    write_prepared(tmp_path, [stored(1, mask=mask), stored(2, caption="été, 猫")], trigger_word="sks")
    data = open_prepared(tmp_path)
    assert len(data) == 2
    assert np.array_equal(data.picture(0), picture(1, 48, 64))
    assert np.array_equal(data.mask(0), mask)
    assert data.mask(1) is None
    assert data.caption(1) == "été, 猫"
    assert data.trigger_word == "sks"
    assert data.samples[0].bucket == (48, 64)
    assert data.samples[0].crop == (1, 2, 30, 40)
    assert data.samples[0].original_size == (100, 90)
    assert data.embeddings.shape == (2, 4)
    data.verify()


def test_shards_are_plain_tars_grouped_by_key_and_bounded(tmp_path):
    data = dataset(tmp_path / "set", buckets={(64, 64): 9}, max_shard_bytes=16_000)
    shards = sorted(path.name for path in (tmp_path / "set").glob("*.tar"))
    assert shards == data.manifest["shards"]
    assert len(shards) > 2
    found = {}
    for name in shards:
        with tarfile.open(tmp_path / "set" / name) as tar:
            keys = [member.name.partition(".")[0] for member in tar]
            assert keys == sorted(keys, key=keys.index)
            for member in tar.getmembers():
                found[member.name] = tar.extractfile(member).read()
    assert len(found) == 18
    for index, sample in enumerate(data.samples):
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(found[f"{sample.id}.png"]))), data.picture(index))
        assert found[f"{sample.id}.txt"].decode() == data.caption(index)


def test_one_picture_with_two_captions_keeps_both(tmp_path):
    write_prepared(tmp_path, [stored(1, caption="first"), stored(1, caption="second")])
    data = open_prepared(tmp_path)
    assert data.captions == ("first", "second")
    assert data.samples[0].id == data.samples[1].id
    with tarfile.open(tmp_path / "shard-00000.tar") as tar:
        assert len(set(tar.getnames())) == 4


def test_equal_pictures_give_equal_bytes_and_another_caption_another_digest(tmp_path):
    write_prepared(tmp_path / "a", [stored(1), stored(2)])
    write_prepared(tmp_path / "b", [stored(1), stored(2)])
    write_prepared(tmp_path / "c", [stored(1), stored(2, caption="another")])
    for name in ("manifest.json", "samples.jsonl", "shard-00000.tar", "embeddings.npy"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert open_prepared(tmp_path / "a").digest != open_prepared(tmp_path / "c").digest


def test_subset_is_a_dataset_of_its_own(tmp_path):
    data = dataset(tmp_path / "set", buckets={(64, 64): 6})
    part = data.subset([4, 1])
    assert part.captions == ("picture number 4", "picture number 1")
    assert np.array_equal(part.picture(0), data.picture(4))
    assert np.array_equal(part.embeddings, data.embeddings[[4, 1]])
    assert part.digest != data.digest
    assert part.manifest["num_pictures"] == 2


def test_folder_without_a_dataset_or_of_another_version_is_refused(tmp_path):
    with pytest.raises(InvalidRequest) as told:
        open_prepared(tmp_path)
    assert told.value.code == "dataset_not_prepared"
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InvalidRequest, match="99"):
        open_prepared(tmp_path)


def test_interrupted_preparation_is_no_dataset(tmp_path):
    def breaks():
        yield stored(1)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_prepared(tmp_path, breaks())
    with pytest.raises(InvalidRequest):
        open_prepared(tmp_path)


def test_dataset_is_not_written_over(tmp_path):
    write_prepared(tmp_path, [stored(1)])
    with pytest.raises(Conflict) as told:
        write_prepared(tmp_path, [stored(2)])
    assert told.value.code == "dataset_exists"


def test_caption_changed_behind_our_back_is_found_at_opening(tmp_path):
    dataset(tmp_path)
    path = tmp_path / "samples.jsonl"
    path.write_text(path.read_text().replace("picture number 3", "something else"))
    with pytest.raises(ContentRejected) as told:
        open_prepared(tmp_path)
    assert told.value.code == "dataset_damaged"


def test_damaged_picture_is_named(tmp_path):
    data = dataset(tmp_path)
    shard = tmp_path / "shard-00000.tar"
    part = data.samples[3].picture
    bytes_ = bytearray(shard.read_bytes())
    middle = part.offset + part.size_bytes // 2
    bytes_[middle : middle + 40] = bytes(40)
    shard.write_bytes(bytes_)
    with pytest.raises(ContentRejected, match=r"picture003\.png") as told:
        data.verify()
    assert told.value.code == "dataset_damaged"


def test_shard_named_outside_of_the_folder_is_not_opened(tmp_path):
    dataset(tmp_path)
    path = tmp_path / "samples.jsonl"
    path.write_text(path.read_text().replace('"shard-00000.tar"', '"../shard-00000.tar"'))
    with pytest.raises(ContentRejected):
        open_prepared(tmp_path)
