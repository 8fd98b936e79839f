from __future__ import annotations

import os
import stat

import numpy as np
import pytest

from models.perception import analysis_cache
from models.perception.analysis_cache import AnalysisCache, digest_of
from models.perception.analyst import Analyst
from services.domain.errors import ContentRejected


@pytest.fixture(scope="module")
def analysis(presenter):
    return Analyst().portrait(presenter[::2, ::2].copy())


def never():
    raise AssertionError("analysed again")


def equal(one, other) -> bool:
    """Whether two records hold the same values, arrays bit for bit."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if hasattr(one, "__slots__") and hasattr(one, "__dataclass_fields__"):
        return type(one) is type(other) and all(
            equal(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__
        )
    return type(one) is type(other) and one == other


def test_another_process_gets_exactly_what_was_first_computed(tmp_path, analysis):
    AnalysisCache(tmp_path / "a").portrait("d1", "largest", lambda: analysis)
    found = AnalysisCache(tmp_path / "a").portrait("d1", "largest", never)
    assert found is not analysis
    assert equal(found, analysis)


def test_other_content_another_face_or_another_version_is_analysed_anew(tmp_path, analysis, monkeypatch):
    calls = []

    def analyse():
        calls.append(1)
        return analysis

    cache = AnalysisCache(tmp_path)
    cache.portrait("d1", "largest", analyse)
    cache.portrait("d1", "largest", analyse)
    assert len(calls) == 1
    cache.portrait("d2", "largest", analyse)
    cache.portrait("d1", "0", analyse)
    assert len(calls) == 3
    monkeypatch.setattr(analysis_cache, "VERSION", analysis_cache.VERSION + 1)
    cache.portrait("d1", "largest", analyse)
    assert len(calls) == 4


def test_only_the_owner_may_enter_the_folder(tmp_path, analysis):
    AnalysisCache(tmp_path / "deep" / "a").portrait("d1", "", lambda: analysis)
    assert stat.S_IMODE((tmp_path / "deep" / "a").stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "flipped"])
def test_a_damaged_file_is_a_miss_and_is_replaced(tmp_path, analysis, damage):
    AnalysisCache(tmp_path).portrait("d1", "", lambda: analysis)
    (path,) = tmp_path.glob("*.npz")
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "cut": whole[:middle],
            "empty": b"",
            "foreign": b"<html>",
            "flipped": whole[:middle]
            + bytes(255 - byte for byte in whole[middle : middle + 64])
            + whole[middle + 64 :],
        }[damage]
    )
    found = AnalysisCache(tmp_path).portrait("d1", "", lambda: analysis)
    assert equal(found, analysis)
    assert equal(AnalysisCache(tmp_path).portrait("d1", "", never), analysis)


def test_the_least_lately_used_goes_when_the_folder_is_full(tmp_path, analysis):
    AnalysisCache(tmp_path).portrait("d1", "", lambda: analysis)
    (first,) = tmp_path.glob("*.npz")
    size = first.stat().st_size
    os.utime(first, (1, 1))
    AnalysisCache(tmp_path, max_bytes=int(2.5 * size)).portrait("d2", "", lambda: analysis)
    (second,) = set(tmp_path.glob("*.npz")) - {first}
    os.utime(second, (2, 2))
    AnalysisCache(tmp_path).portrait("d1", "", never)  # used: now the younger one
    AnalysisCache(tmp_path, max_bytes=int(2.5 * size)).portrait("d3", "", lambda: analysis)
    assert first.exists()
    assert not second.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_what_cannot_be_analysed_is_not_remembered(tmp_path, analysis):
    def refuse():
        raise ContentRejected("No face.", code="face_not_found")

    cache = AnalysisCache(tmp_path)
    with pytest.raises(ContentRejected):
        cache.portrait("d1", "", refuse)
    assert cache.portrait("d1", "", lambda: analysis) is analysis


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, analysis):
    (tmp_path / "file").write_text("in the way")
    cache = AnalysisCache(tmp_path / "file" / "a")
    assert cache.portrait("d1", "", lambda: analysis) is analysis
    assert cache.portrait("d1", "", never) is analysis  # from memory


def test_the_digest_is_sha_256(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1.
    assert digest_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
