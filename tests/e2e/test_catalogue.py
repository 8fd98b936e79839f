"""Wigs and garments of a shop's catalogue, whole: taken in, refused, previewed in batches, deleted."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from models import weights
from services.domain.errors import ContentRejected, NotFound
from spokesmodel.client import Client
from spokesmodel.runner import LocalSystem
from tests import drawn_products
from tests.e2e.conftest import running
from tests.e2e.test_cli import error_of, spokesmodel
from tests.e2e.test_previews import KINDS, pixels, sent


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalogue") / "state"


@pytest.fixture(scope="module")
def system(state_dir: Path) -> Iterator[LocalSystem]:
    with running(state_dir, engines=KINDS) as system:
        yield system


@pytest.fixture(scope="module")
def client(system: LocalSystem) -> Iterator[Client]:
    with Client(system.url, system.api_key) as client:
        yield client


def taken_in(client: Client, kind: str, **body: Any) -> dict[str, Any]:
    """The product once its job has ended."""
    product = client.post(f"/v1/{kind}", {"sku": "A-1", "synthetic": True, **body})
    assert product["state"] == "processing"
    client.wait(product["job_id"])
    return client.get(f"/v1/{kind}/{product['id']}")


def test_product_of_several_photos_keeps_each_with_its_pins_and_cutout(client: Client, tmp_path: Path) -> None:
    photo = {"upload_id": sent(client, tmp_path, drawn_products.tee())}
    photos = {"back": photo, "front": {**photo, "pins": {"hem_left": [0.7, 0.88]}}}
    product = taken_in(client, "garments", photos=photos, name="Blue tee", category="top")
    assert (product["state"], product["category"]) == ("ready", "top"), product["reasons"]
    assert [one["view"] for one in product["photos"]] == ["front", "back"]
    assert product["photos"][0]["pins"] == {"hem_left": [0.7, 0.88]}
    for one in product["photos"]:
        assert httpx.get(one["url"]).content == drawn_products.tee()
        cutout = httpx.get(one["cutout_url"]).content
        assert cutout.startswith(b"\x89PNG")
    tee = pixels(cutout)[pixels(cutout)[..., 2] > 120]
    assert np.abs(np.median(tee, axis=0) - (40, 90, 160)).max() < 12  # its colour is the shirt's own


def test_rejected_product_tells_every_reason_and_cannot_be_previewed(client: Client, tmp_path: Path) -> None:
    front = {"upload_id": sent(client, tmp_path, drawn_products.bob_over_the_frame())}
    back = {"upload_id": sent(client, tmp_path, drawn_products.nothing())}
    product = taken_in(client, "wigs", photos={"front": front, "back": back})
    assert product["state"] == "rejected"
    reasons = {(one["view"], one["code"]) for one in product["reasons"] if one["blocking"]}
    assert reasons == {("front", "product_touches_frame"), ("back", "product_empty")}
    assert product["photos"][0]["url"] is None
    job = client.get(f"/v1/jobs/{product['job_id']}")
    assert (job["state"], job["failure"]["code"]) == ("failed", "product_touches_frame")
    model = next(client.items("/v1/models"))["id"]
    with pytest.raises(ContentRejected) as caught:
        client.post("/v1/wig-previews", {"model": {"model_id": model}, "wig": {"wig_id": product["id"]}})
    assert caught.value.code == "product_rejected"


def test_product_is_waited_for_and_is_gone_once_deleted(client: Client, tmp_path: Path) -> None:
    photo = {"upload_id": sent(client, tmp_path, drawn_products.bob())}
    body = {"sku": "B-2", "photos": {"front": photo}, "synthetic": True}
    product = client.post("/v1/wigs", body, Prefer="wait=25")
    assert product["state"] == "ready"
    assert [one["id"] for one in client.items("/v1/wigs", sku="B-2")] == [product["id"]]
    url = product["photos"][0]["cutout_url"]
    client.delete(f"/v1/wigs/{product['id']}")
    assert httpx.get(url).status_code == 404
    assert list(client.items("/v1/wigs", sku="B-2")) == []


def consent_of(client: Client, folder: Path, subject: str) -> str:
    form = folder / "form.pdf"
    form.write_bytes(b"%PDF-1.7 signed")
    body = {
        "subject": subject,
        "purpose": "spring",
        "likenesses": ["face"],
        "evidence_upload_id": client.upload(form, fallback_type="application/pdf"),
    }
    return str(client.post("/v1/consents", body)["id"])


def test_deleted_person_takes_along_the_products_and_previews_that_show_them(client: Client, tmp_path: Path) -> None:
    consent_id = consent_of(client, tmp_path, "ellen")
    photo = {"upload_id": client.upload(weights.path("avatar-ellen"), fallback_type="image/jpeg")}
    hers = taken_in(client, "wigs", photos={"front": photo}, synthetic=False, consent_id=consent_id)
    assert hers["state"] == "ready", hers["reasons"]
    others = taken_in(client, "wigs", photos={"front": {"upload_id": sent(client, tmp_path, drawn_products.bob())}})
    model = next(one["id"] for one in client.items("/v1/models") if one["name"] == "Vera")
    previews = {
        wig["id"]: client.wait(
            client.post("/v1/wig-previews", {"model": {"model_id": model}, "wig": {"wig_id": wig["id"]}})["id"]
        )
        for wig in (hers, others)
    }
    links = {
        wig: next(one["url"] for one in job["result"]["outputs"] if one["name"] == "front")
        for wig, job in previews.items()
    }
    client.delete("/v1/subjects/ellen")
    with pytest.raises(NotFound):
        client.get(f"/v1/wigs/{hers['id']}")
    with pytest.raises(NotFound):
        client.get(f"/v1/jobs/{previews[hers['id']]['id']}")
    assert httpx.get(links[hers["id"]]).status_code == 404
    assert client.get(f"/v1/wigs/{others['id']}")["state"] == "ready"
    assert httpx.get(links[others["id"]]).status_code == 200


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_skus_of_a_table_are_imported_and_tried_on_several_models_in_a_batch(
    client: Client, state_dir: Path, tmp_path: Path
) -> None:
    """SKUs by models: what a shop does on one morning."""
    colors = {"RED": (170, 40, 40), "BLUE": (40, 90, 160)}
    for sku, color in colors.items():
        (tmp_path / f"{sku}.png").write_bytes(drawn_products.tee(color))
    (tmp_path / "NONE.png").write_bytes(drawn_products.nothing())
    rows = [
        {"id": sku, "sku": sku, "photos.front.file": f"{sku}.png", "category": "top", "synthetic": "true"}
        for sku in (*colors, "NONE")
    ]
    state = ("--state-dir", str(state_dir))
    imported = spokesmodel("garments", "import", str(table(tmp_path / "tees.csv", rows)), *state, "--json")
    assert imported.returncode == 3, imported.stderr
    [fault] = json.loads(imported.stdout)["faults"]
    assert (fault["id"], fault["code"]) == ("NONE", "product_empty")
    listed = json.loads(spokesmodel("garments", "list", *state, "--json").stdout)
    ids = {one["sku"]: one["id"] for one in listed if one["state"] == "ready" and one["sku"] in colors}
    assert set(ids) == set(colors)

    models = [one["id"] for one in client.items("/v1/models") if one["pose"] == "standing" and one["scene"] == "studio"]
    rows = [
        {"id": f"{sku}-{number}", "garment.garment_id": ids[sku], "model.model_id": model}
        for sku in colors
        for number, model in enumerate(models[:2])
    ]
    defaults = tmp_path / "defaults.json"
    defaults.write_text(json.dumps({"disclosure": {"visible_label": False}}))
    run = spokesmodel(
        "batch", "run", str(table(tmp_path / "looks.csv", rows)), "--kind", "garment_preview",
        "--defaults", str(defaults), *state, "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    files = json.loads(run.stdout)["files"]
    assert set(files) == {"RED-0", "RED-1", "BLUE-0", "BLUE-1"}
    for name, outputs in files.items():
        with Image.open(outputs["picture"]) as picture, Image.open(outputs["mask"]) as mask:
            changed = np.asarray(mask.convert("L")) > 128
            shown = np.median(np.asarray(picture.convert("RGB"))[changed], axis=0)
        assert (shown[0] > shown[2]) == name.startswith("RED"), (name, shown)


def test_catalogue_on_the_command_line(state_dir: Path, system: LocalSystem, tmp_path: Path) -> None:
    state = ("--state-dir", str(state_dir))
    photo = tmp_path / 'Perücke "kurz" 假发.png'
    photo.write_bytes(drawn_products.bob())
    added = spokesmodel("wigs", "add", "--sku", "C-3", "--photo", str(photo), "--synthetic", *state)
    assert added.returncode == 0, added.stderr
    wig_id = added.stdout.strip()
    assert f"{wig_id}\tC-3\tready" in spokesmodel("wigs", "list", *state).stdout
    assert "ready" in spokesmodel("wigs", "show", "C-3", *state).stdout
    out = tmp_path / "out"
    run = spokesmodel("wig", "--portrait", "max", "--wig", "C-3", "--colour", "red", "--out", str(out), *state)
    assert run.returncode == 0, run.stderr
    assert {path.name for path in out.iterdir()} == {"front.png", "front_mask.png", "colour_red.png", "sheet.jpg"}
    assert spokesmodel("verify", str(out / "front.png")).returncode == 0
    assert spokesmodel("wigs", "remove", "C-3", *state).returncode == 0
    gone = spokesmodel("wig", "--portrait", "max", "--wig", "C-3", "--out", str(out), *state, "--json")
    assert (gone.returncode, error_of(gone)["code"]) == (2, "product_not_found")


def test_every_reason_against_a_product_is_told_on_the_command_line(
    state_dir: Path, system: LocalSystem, tmp_path: Path
) -> None:
    (tmp_path / "front.png").write_bytes(drawn_products.bob_over_the_frame())
    (tmp_path / "back.png").write_bytes(drawn_products.nothing())
    run = spokesmodel(
        "wigs", "add", "--sku", "D-4", "--photo", str(tmp_path / "front.png"), "--back", str(tmp_path / "back.png"),
        "--synthetic", "--state-dir", str(state_dir),
    )  # fmt: skip
    assert run.returncode == 3
    assert "code: product_touches_frame" in run.stderr
    assert "front: " in run.stderr
    assert "back: " in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("wigs", "list"), "missing"),
        (("garments", "add", "--sku", "X", "--photo", "nowhere.jpg", "--state-dir", "unused"), "file_not_found"),
        (
            ("wigs", "add", "--sku", "X", "--photo", __file__, "--pin", "back.crown=0.5,0.1", "--state-dir", "unused"),
            "not_used",
        ),
    ],
)
def test_wrong_usage_of_the_catalogue_is_told(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    run = spokesmodel(*arguments, "--json", SPOKESMODEL_STATE_DIR="")
    assert (run.returncode, error_of(run)["code"]) == (2, code), run.stderr
