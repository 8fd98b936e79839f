from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from models.tryon.wig.asset import WigAsset
from services.domain.errors import ContentRejected
from services.domain.product import ProductView, QualityReason


def test_an_asset_comes_back_from_its_folder_as_it_was(wig: WigAsset, tmp_path: Path) -> None:
    reason = QualityReason(code="product_low_contrast", detail="Edges are a guess.", blocking=False)
    saved = WigAsset(
        picture_rgba=wig.picture_rgba,
        landmarks=wig.landmarks,
        light=wig.light,
        view=ProductView.LEFT,
        quality=(reason,),
        confidence=0.75,
    )
    saved.save(tmp_path / "asset")
    loaded = WigAsset.load(tmp_path / "asset")

    assert np.array_equal(loaded.picture_rgba, saved.picture_rgba)  # also the colour under transparent pixels
    assert np.array_equal(loaded.landmarks, saved.landmarks)
    assert (loaded.light, loaded.view, loaded.quality, loaded.confidence) == (wig.light, "left", (reason,), 0.75)


def test_a_folder_that_would_run_code_is_refused(wig: WigAsset, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    wig.save(tmp_path / "asset")
    np.savez(tmp_path / "asset" / "landmarks.npz", landmarks=np.array([Bomb()], dtype=object))
    assert pickle  # the file above holds one

    with pytest.raises(ContentRejected) as refused:
        WigAsset.load(tmp_path / "asset")
    assert refused.value.code == "product_asset_unreadable"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["wig.png", "landmarks.npz", "wig.json"])
def test_a_damaged_asset_is_told(wig: WigAsset, tmp_path: Path, name: str) -> None:
    wig.save(tmp_path)
    (tmp_path / name).write_bytes(b"half of it")
    with pytest.raises(ContentRejected) as refused:
        WigAsset.load(tmp_path)
    assert refused.value.code == "product_asset_unreadable"


@pytest.mark.parametrize("name", ["wig.png", "landmarks.npz", "wig.json"])
def test_an_asset_with_a_wrong_byte_anywhere_is_read_or_told_by_name(wig: WigAsset, tmp_path: Path, name: str) -> None:
    wig.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    codes: set[str | None] = set()
    for at in np.linspace(0, len(whole) - 1, 60).astype(int):
        for spoilt in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            (tmp_path / name).write_bytes(spoilt)
            codes.add(_code_of(tmp_path))
    assert "product_asset_unreadable" in codes <= {None, "product_asset_unreadable"}


def _code_of(folder: Path) -> str | None:
    try:
        WigAsset.load(folder)
    except ContentRejected as refused:
        return refused.code
    return None
