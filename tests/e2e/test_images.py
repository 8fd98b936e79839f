"""Tools for pictures through HTTP, a batch, the command line and the real engine."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from models import weights
from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from spokesmodel.client import Client
from spokesmodel.runner import LocalSystem
from tests import drawn_products
from tests.e2e.conftest import running
from tests.e2e.test_catalogue import table
from tests.e2e.test_cli import error_of, spokesmodel
from tests.e2e.test_previews import UNLABELLED, failure_of, made, mask_of, pixels, sent
from tests.e2e.test_video import plain_png


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images") / "state"


@pytest.fixture(scope="module")
def system(state_dir: Path) -> Iterator[LocalSystem]:
    with running(state_dir, engines=(EngineKind.IMAGE,)) as system:
        yield system


@pytest.fixture(scope="module")
def client(system: LocalSystem) -> Iterator[Client]:
    with Client(system.url, system.api_key) as client:
        yield client


@pytest.fixture(scope="module")
def vera(client: Client) -> dict[str, Any]:
    return {"model_id": next(model["id"] for model in client.items("/v1/models") if model["name"] == "Vera")}


def test_steps_are_done_in_their_order_and_crops_are_pictures_of_their_own(
    client: Client, vera: dict[str, Any]
) -> None:
    steps = [
        {"tool": "background", "kind": "color", "color": "#2050a0"},
        {"tool": "crop", "shapes": ["4:5", "head"]},
        {"tool": "upscale", "factor": 2},
    ]
    job, files = made(client, "/v1/images", {"image": vera, "steps": steps, "disclosure": UNLABELLED})
    assert set(files) == {"image", "mask", "sheet", "crop_4x5", "crop_head"}
    with Image.open(weights.path("avatar-vera")) as portrait:
        width, height = portrait.size
    picture = pixels(files["image"])
    assert picture.shape == (2 * height, 2 * width, 3)
    assert np.abs(picture[10:60, 10:60].astype(int) - (0x20, 0x50, 0xA0)).max() <= 2
    tall, head = pixels(files["crop_4x5"]), pixels(files["crop_head"])
    assert tall.shape[1] / tall.shape[0] == pytest.approx(4 / 5, abs=0.01)
    assert head.shape[0] == head.shape[1] < width  # cut before it was enlarged
    assert job["result"]["facts"]["steps"] == ["background", "crop", "upscale"]


def test_retouching_leaves_everything_but_the_face_as_it_was(client: Client, vera: dict[str, Any]) -> None:
    steps = [{"tool": "retouch", "skin": 0.8}]
    _, files = made(client, "/v1/images", {"image": vera, "steps": steps, "disclosure": UNLABELLED})
    with Image.open(weights.path("avatar-vera")) as portrait:
        before = np.asarray(portrait.convert("RGB"))
    changed = mask_of(files["mask"])
    np.testing.assert_array_equal(pixels(files["image"])[~changed], before[~changed])
    assert 0.01 < changed.mean() < 0.35
    assert not changed[: len(changed) // 8].any()  # the wall above the head


def test_product_alone_is_transparent_around(client: Client, tmp_path: Path) -> None:
    image = {"upload_id": sent(client, tmp_path, drawn_products.tee()), "synthetic": True}
    _, files = made(client, "/v1/images", {"image": image, "steps": [{"tool": "cutout"}], "disclosure": UNLABELLED})
    with Image.open(io.BytesIO(files["image"])) as picture:
        assert picture.mode == "RGBA"
        alpha = np.asarray(picture)[..., 3]
    assert alpha[400, 320] == 255
    assert alpha[20, 20] == 0


def test_another_picture_is_put_behind(client: Client, vera: dict[str, Any], tmp_path: Path) -> None:
    plate = sent(client, tmp_path, drawn_products.png(Image.new("RGB", (300, 300), (240, 200, 40))))
    steps = [{"tool": "background", "kind": "image", "upload_id": plate}]
    _, files = made(client, "/v1/images", {"image": vera, "steps": steps, "disclosure": UNLABELLED})
    assert np.abs(pixels(files["image"])[20:80, 20:80].mean(axis=(0, 1)) - (240, 200, 40)).max() < 6


def test_portrait_tools_refuse_a_picture_without_a_face(client: Client, tmp_path: Path) -> None:
    image = {"upload_id": sent(client, tmp_path, plain_png(400, 400)), "synthetic": True}
    failure = failure_of(client, "/v1/images", {"image": image, "steps": [{"tool": "retouch"}]})
    assert (failure["code"], failure["param"]) == ("face_not_found", "image")


def test_tool_that_stands_twice_is_refused(client: Client, vera: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client.post("/v1/images", {"image": vera, "steps": [{"tool": "cutout"}, {"tool": "cutout"}]})
    assert (caught.value.code, caught.value.param) == ("duplicate_step", "steps.1.tool")


def test_image_on_the_command_line(state_dir: Path, system: LocalSystem, tmp_path: Path) -> None:
    photo, plate = tmp_path / "张伟 'a'.jpg", tmp_path / "Strand.png"
    photo.write_bytes(weights.path("avatar-vera").read_bytes())
    Image.new("RGB", (300, 300), (240, 200, 40)).save(plate)
    command = (
        "image", str(photo), "--synthetic", "--step", f"background:{plate}", "--step", "crop:1:1",
        "--out", str(tmp_path / "new" / "vera.png"), "--state-dir", str(state_dir),
    )  # fmt: skip
    run = spokesmodel(*command, "--json")
    assert run.returncode == 0, run.stderr
    files = json.loads(run.stdout)["files"]
    assert {role: Path(path).name for role, path in files.items()} == {
        "image": "vera.png", "crop_1x1": "vera-crop_1x1.png", "mask": "vera-mask.png", "sheet": "vera-sheet.jpg",
    }  # fmt: skip
    assert spokesmodel("verify", files["crop_1x1"]).returncode == 0
    assert photo.read_bytes() == weights.path("avatar-vera").read_bytes()
    again = spokesmodel(*command)
    assert (again.returncode, "note: replaced" in again.stderr) == (0, True), again.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("nobody.jpg", "--step", "cutout"), 2, "model_not_found"),
        (("vera", "--step", "sharpen"), 2, "unknown_step"),
        (("vera", "--step", "background:nowhere.png"), 2, "file_not_found"),
        (("vera", "--step", "cutout", "--face", "left"), 2, "out_of_range"),
        (("vera", "--step", "relight:color=red"), 2, "invalid_request"),
    ],
)
def test_wrong_usage_of_image_is_told(
    state_dir: Path, system: LocalSystem, tmp_path: Path, arguments: tuple[str, ...], status: int, code: str
) -> None:
    out = tmp_path / "new" / "out.png"
    run = spokesmodel("image", *arguments, "--out", str(out), "--state-dir", str(state_dir), "--json")
    assert (run.returncode, error_of(run)["code"]) == (status, code), run.stderr
    assert not out.parent.exists()


def test_pictures_of_a_table_are_worked_on_in_a_batch(
    client: Client, vera: dict[str, Any], state_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "tee.png").write_bytes(drawn_products.tee())
    rows = [
        {"id": "tee", "image.file": "tee.png", "image.model_id": "", "image.synthetic": "true"},
        {"id": "vera", "image.file": "", "image.model_id": vera["model_id"], "image.synthetic": ""},
    ]
    (tmp_path / "defaults.json").write_text(json.dumps({"steps": [{"tool": "cutout"}]}))
    run = spokesmodel(
        "batch", "run", str(table(tmp_path / "shop.csv", rows)), "--kind", "image",
        "--defaults", str(tmp_path / "defaults.json"), "--state-dir", str(state_dir), "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    files = json.loads(run.stdout)["files"]
    assert {name: Path(outputs["image"]).name for name, outputs in files.items()} == {
        "tee": "tee-image.png", "vera": "vera-image.png",
    }  # fmt: skip
