"""The operator's file of checkpoints: what it may say, and how faults are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.diffusion.checkpoints import Checkpoint, Family, family_of, find_checkpoint, read_checkpoints
from services.domain.errors import InvalidRequest, Unavailable
from tests.models.diffusion.tiny_checkpoints import write_index

ROW = """
[[checkpoint]]
name = "studio"
family = "sdxl"
source = "{source}"
licence = "openrail++"
commercial_use = true
loras = [{{file = "brand.safetensors", scale = 0.8}}]
"""
HUB = "hf:owner/name@0123456789abcdef0123456789abcdef01234567"


def written(folder: Path, text: str) -> Path:
    path = folder / "checkpoints.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_row_is_read_with_its_parts(tmp_path: Path) -> None:
    found = read_checkpoints(written(tmp_path, ROW.format(source=HUB)))["studio"]
    assert found.family is Family.SDXL
    assert found.loras[0].scale == 0.8


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ROW.format(source="hf:owner/name@main"), "HEX-REVISION"),
        (ROW.format(source="https://example.org/x.ckpt"), "HEX-REVISION"),
        (ROW.format(source=HUB) + "scael = 1\n", "scael"),
        (ROW.format(source=HUB).replace("sdxl", "sd9"), "family"),
        (ROW.format(source=HUB) * 2, "stands twice"),
        (ROW.format(source=HUB).replace("studio", "drawn-64"), "stands twice"),
        (ROW.format(source=HUB) + "purpose = 'demo'\n", "purpose"),
        ("[[chekpoint]]\n", "chekpoint"),
        ("not toml", "line 1"),
    ],
)
def test_fault_in_the_file_is_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InvalidRequest, match=fault) as caught:
        read_checkpoints(written(tmp_path, text))
    assert caught.value.code == "bad_checkpoints_file"


def test_unknown_name_tells_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="studio") as caught:
        find_checkpoint("stduio", str(written(tmp_path, ROW.format(source=HUB))))
    assert caught.value.code == "checkpoint_not_configured"
    with pytest.raises(Unavailable, match="none"):
        find_checkpoint("studio", "")


def test_verification_checkpoints_are_had_only_by_who_asks(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        find_checkpoint("drawn-64", "")
    assert caught.value.code == "checkpoint_not_configured"
    assert "drawn-64" not in str(caught.value).split("known:")[1]
    assert find_checkpoint("drawn-64", "", allow_verification=True).family is Family.DRAWN64
    trial = str(written(tmp_path, ROW.format(source=HUB).replace("loras", 'purpose = "verification"\nloras')))
    with pytest.raises(Unavailable):
        find_checkpoint("studio", trial)


def checkpoint(folder: Path, family: Family = Family.SDXL) -> Checkpoint:
    return Checkpoint(name="c", family=family, source=f"folder:{folder}", licence="x", commercial_use=True)


@pytest.mark.parametrize(
    ("pipeline", "family"),
    [
        ("StableDiffusionPipeline", Family.SD15),
        ("StableDiffusionInpaintPipeline", Family.SD15),
        ("StableDiffusionXLPipeline", Family.SDXL),
        ("FluxPipeline", Family.FLUX),
        ("StableDiffusion3Pipeline", Family.SD3),
        ("Drawn64Pipeline", Family.DRAWN64),
        ("WanPipeline", None),
    ],
)
def test_family_is_told_by_the_pipelines_class(pipeline: str, family: Family | None) -> None:
    assert family_of(pipeline) is family


def test_folder_of_another_family_is_refused(tmp_path: Path) -> None:
    write_index(tmp_path, "StableDiffusionPipeline")
    assert checkpoint(tmp_path, Family.SD15).folder() == tmp_path
    with pytest.raises(Unavailable, match="listed as sdxl"):
        checkpoint(tmp_path).folder()


def test_missing_folder_says_how_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"python -m models\.diffusion\.checkpoints") as caught:
        checkpoint(tmp_path / "none").folder()
    assert caught.value.code == "weights_missing"


@pytest.mark.parametrize("name", ["../outside.safetensors", "pickle.bin", "absent.safetensors"])
def test_file_must_be_safetensors_inside_the_folder(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    write_index(inside, "StableDiffusionXLPipeline")
    for one in ("outside.safetensors", "inside/pickle.bin"):
        (tmp_path / one).write_bytes(b"x")
    with pytest.raises(Unavailable, match="safetensors"):
        checkpoint(inside).file(name)
