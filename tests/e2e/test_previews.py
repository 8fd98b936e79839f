"""Previews through HTTP and the real engine: a wig on a head, a garment on a body, and how either is refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models import weights
from models.provenance.inspection import inspect_file
from services.domain.engine import EngineKind
from services.domain.errors import ContentRejected, Forbidden
from spokesmodel.client import Client
from spokesmodel.runner import LocalSystem
from tests import drawn_products
from tests.e2e.conftest import running, submit
from tests.e2e.test_video import plain_png
from tests.waiting import until

KINDS = (EngineKind.NOOP, EngineKind.WIG_PREVIEW, EngineKind.GARMENT_PREVIEW, EngineKind.IMAGE, EngineKind.PRODUCT)
UNLABELLED = {"visible_label": False}
Picture = NDArray[np.uint8]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    with running(tmp_path_factory.mktemp("previews") / "state", engines=KINDS) as system:
        yield system


@pytest.fixture(scope="module")
def client(system: LocalSystem) -> Iterator[Client]:
    with Client(system.url, system.api_key) as client:
        yield client


@pytest.fixture(scope="module")
def models(client: Client) -> dict[str, dict[str, Any]]:
    """Built-in models by name."""
    return {model["name"]: model for model in client.items("/v1/models")}


@pytest.fixture(scope="module")
def wig(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ellen's hair as a wig of the catalogue."""
    upload_id = client.upload(weights.path("avatar-ellen"), fallback_type="image/jpeg")
    return ready(client, "wigs", upload_id, sku="LONG-1")


@pytest.fixture(scope="module")
def tee(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ready(client, "garments", sent(client, tmp_path_factory.mktemp("tee"), drawn_products.tee()), sku="TEE-1")


def sent(client: Client, folder: Path, data: bytes) -> str:
    path = folder / "picture.png"
    path.write_bytes(data)
    return client.upload(path, fallback_type="image/png")


def ready(client: Client, kind: str, upload_id: str, *, sku: str) -> str:
    body = {"sku": sku, "photos": {"front": {"upload_id": upload_id}}, "synthetic": True}
    product = client.post(f"/v1/{kind}", body)
    client.wait(product["job_id"])
    product = client.get(f"/v1/{kind}/{product['id']}")
    assert product["state"] == "ready", product["reasons"]
    return str(product["id"])


def made(client: Client, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The job that succeeded, and its files by role."""
    job = client.wait(client.post(path, body)["id"])
    assert job["state"] == "succeeded", job["failure"]
    files = {output["name"]: httpx.get(output["url"]).content for output in job["result"]["outputs"]}
    return job, files


def pixels(data: bytes) -> Picture:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def mask_of(data: bytes) -> NDArray[np.bool_]:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("L")) > 0


def picture_of(model: dict[str, Any]) -> Picture:
    return pixels(httpx.get(model["preview_url"]).content)


def test_wig_is_previewed_in_its_own_and_in_other_colours(
    client: Client, models: dict[str, dict[str, Any]], wig: str
) -> None:
    body = {"model": {"model_id": models["Vera"]["id"]}, "wig": {"wig_id": wig}, "colours": ["auburn", "#3060c0"]}
    before = quantities(client, "wig_preview").get("pictures", 0)
    _, files = made(client, "/v1/wig-previews", body)
    assert {"front", "front_mask", "colour_auburn", "sheet"} < set(files)
    assert len([role for role in files if role.startswith("colour_")]) == 2
    red, green, blue = (pixels(files[role]) for role in ("colour_auburn", "front", next(
        role for role in files if role.startswith("colour_") and role != "colour_auburn"
    )))  # fmt: skip
    strands = mask_of(files["front_mask"])
    assert red[strands].mean(axis=0)[0] > red[strands].mean(axis=0)[2] + 20
    assert blue[strands].mean(axis=0)[2] > green[strands].mean(axis=0)[2] + 10
    until(lambda: quantities(client, "wig_preview").get("pictures", 0) == before + 3)


def test_wig_is_seen_from_several_sides_and_on_a_turntable_that_loops(
    client: Client, models: dict[str, dict[str, Any]], wig: str, tmp_path: Path
) -> None:
    before = quantities(client, "wig_preview")
    model = {"model_id": models["Vera"]["id"]}
    body = {
        "model": model,
        "wig": {"wig_id": wig},
        "yaw_deg": [-20, 0, 20],
        "turntable": True,
        "disclosure": UNLABELLED,
    }
    _, files = made(client, "/v1/wig-previews", body)
    assert set(files) == {"front", "front_mask", "view_m20", "view_p20", "turntable", "sheet"}
    front, left, right = (pixels(files[role]) for role in ("front", "view_m20", "view_p20"))
    assert nose_of(left) < nose_of(front) - 8 < nose_of(right) - 16  # negative is to the viewer's left
    path = tmp_path / "turntable.mp4"
    path.write_bytes(files["turntable"])
    assert inspect_file(path).is_verified
    with av.open(str(path)) as film:
        shown = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
    steps = [np.abs(one - other).mean() for one, other in pairwise(shown)]
    assert np.abs(shown[-1] - shown[0]).mean() <= 1.5 * max(steps)  # from the last to the first is a step like others
    until(lambda: quantities(client, "wig_preview").get("turntables", 0) == before.get("turntables", 0) + 1)
    assert quantities(client, "wig_preview")["pictures"] == before.get("pictures", 0) + 3
    assert "output_s" not in quantities(client, "wig_preview")


def nose_of(picture: Picture) -> float:
    """Where the tip of the nose is, pixels from the left."""
    from models.perception.faces import FaceFinder

    finder = FaceFinder()
    [face] = finder.find(picture)
    return float(finder.landmarks(picture, face).points[1, 0])


def quantities(client: Client, kind: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for total in client.get("/v1/usage")["totals"]:
        if total["kind"] == kind:
            found = total["quantities"]
    return found


def test_portraits_pixels_beside_the_wig_come_back_as_they_were(
    client: Client, models: dict[str, dict[str, Any]], wig: str
) -> None:
    body = {"model": {"model_id": models["Vera"]["id"]}, "wig": {"wig_id": wig}, "disclosure": UNLABELLED}
    _, files = made(client, "/v1/wig-previews", body)
    assert_untouched_beside(files["front"], files["front_mask"], picture_of(models["Vera"]))


def assert_untouched_beside(picture: bytes, mask: bytes, original: Picture) -> None:
    """What the mask does not name is bit for bit the original's, and what it names is a part of the picture only."""
    shown, changed = pixels(picture), mask_of(mask)
    assert shown.shape == original.shape
    assert 0.02 < changed.mean() < 0.7
    np.testing.assert_array_equal(shown[~changed], original[~changed])
    assert (shown[changed] != original[changed]).any(axis=1).mean() > 0.5


def test_garment_is_worn_and_everything_beside_it_comes_back_as_it_was(
    client: Client, models: dict[str, dict[str, Any]], tee: str
) -> None:
    model = models["Ellen in the studio"]
    body = {"model": {"model_id": model["id"]}, "garment": {"garment_id": tee}, "disclosure": UNLABELLED}
    job, files = made(client, "/v1/garment-previews", body)
    assert set(files) == {"picture", "mask", "sheet"}
    assert_untouched_beside(files["picture"], files["mask"], picture_of(model))
    shown = pixels(files["picture"]).astype(int)
    blue = (shown[..., 2] - shown[..., 0] > 60) & mask_of(files["mask"])
    yellow = (shown[..., 0] - shown[..., 2] > 80) & mask_of(files["mask"])
    assert blue.sum() > 8 * yellow.sum() > 0  # the print is there, as large as it is on the shirt
    assert job["result"]["facts"]["category"] in ("top", "shirt")


@pytest.mark.parametrize("kind", ["studio", "color", "blur"])
def test_background_is_another_for_wigs_and_garments(
    client: Client, models: dict[str, dict[str, Any]], wig: str, tee: str, kind: str
) -> None:
    background = {"kind": kind, **({"color": "#2050a0"} if kind == "color" else {})}
    model = models["Ellen in the office"]
    before = picture_of(model).astype(int)
    for path, product in (
        ("/v1/wig-previews", {"wig": {"wig_id": wig}}),
        ("/v1/garment-previews", {"garment": {"garment_id": tee}}),
    ):
        body = {"model": {"model_id": model["id"]}, **product, "background": background, "disclosure": UNLABELLED}
        _, files = made(client, path, body)
        after = pixels(files["front" if "front" in files else "picture"]).astype(int)
        height, width = after.shape[:2]
        plant, window = np.s_[height // 3 : height // 2, -width // 8 :], np.s_[: height // 12, : width // 6]
        assert np.abs(after[plant] - before[plant]).mean() > 8, path
        if kind == "color":
            assert np.abs(after[window] - (0x20, 0x50, 0xA0)).max() <= 2, path
        if kind == "studio":
            assert after[plant].std() < 0.5 * before[plant].std(), path


def test_product_photo_given_directly_is_taken_in_by_the_same_job(
    client: Client, models: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    garment = {"upload_id": sent(client, tmp_path, drawn_products.tee()), "synthetic": True}
    body = {"model": {"specification": {"gender": "woman", "scene": "studio"}}, "garment": garment, "category": "top"}
    job, files = made(client, "/v1/garment-previews", body)
    assert pixels(files["picture"]).shape == picture_of(models["Vera in the studio"]).shape
    assert job["result"]["facts"]["category"] == "top"


def test_every_picture_is_signed_and_says_that_ai_made_it(
    client: Client, system: LocalSystem, models: dict[str, dict[str, Any]], wig: str, tmp_path: Path
) -> None:
    body = {"model": {"model_id": models["Max"]["id"]}, "wig": {"wig_id": wig}}
    job, files = made(client, "/v1/wig-previews", body)
    for role, data in files.items():
        path = tmp_path / (f"{role}.jpg" if data.startswith(b"\xff\xd8") else f"{role}.png")
        path.write_bytes(data)
        report = inspect_file(path)
        assert report.is_verified, role
        assert report.label.aigc is not None
        assert report.label.aigc["ProduceID"] == f"{job['id']}.{role}"
    assert job["result"]["facts"]["visible_label"] is True


def test_label_is_drawn_unless_it_is_turned_off(client: Client, models: dict[str, dict[str, Any]], wig: str) -> None:
    body = {"model": {"model_id": models["Max"]["id"]}, "wig": {"wig_id": wig}}
    _, labelled = made(client, "/v1/wig-previews", body)
    _, bare = made(client, "/v1/wig-previews", {**body, "disclosure": UNLABELLED})
    differing = (pixels(labelled["front"]) != pixels(bare["front"])).any(axis=2)
    rows, columns = np.nonzero(differing)
    assert 500 < differing.sum() < 0.1 * differing.size
    height, width = differing.shape
    near_edge = (rows.max() < height / 3 or rows.min() > height / 2) and np.ptp(columns) < 0.7 * width
    assert near_edge


def test_client_that_waits_gets_the_preview_at_once(
    client: Client, models: dict[str, dict[str, Any]], wig: str
) -> None:
    body = {"model": {"model_id": models["Vera"]["id"]}, "wig": {"wig_id": wig}}
    made(client, "/v1/wig-previews", body)
    job = client.post("/v1/wig-previews", body, Prefer="wait=20")
    assert job["state"] == "succeeded", job["failure"]
    assert job["result"]["outputs"]


def test_preview_does_not_stand_behind_long_work(
    client: Client, system: LocalSystem, models: dict[str, dict[str, Any]], wig: str
) -> None:
    long_jobs = [submit(system, {"duration_s": 120}) for _ in range(6)]
    try:
        made(client, "/v1/wig-previews", {"model": {"model_id": models["Vera"]["id"]}, "wig": {"wig_id": wig}})
        assert not any(system.services.jobs.get(job_id).state.is_final for job_id in long_jobs)
    finally:
        for job_id in long_jobs:
            cancel(system, job_id)


def cancel(system: LocalSystem, job_id: str) -> None:
    from services.usecases.cancel_job import cancel_job
    from tests.e2e.conftest import TENANT

    services = system.services
    cancel_job(job_id, tenant_id=TENANT, jobs=services.jobs, objects=services.objects, clock=services.clock)


def failure_of(client: Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    job = client.wait(client.post(path, body)["id"])
    assert job["state"] == "failed"
    assert job["result"] is None
    return dict(job["failure"])


def test_picture_without_a_face_is_refused_by_name_and_not_charged(client: Client, wig: str, tmp_path: Path) -> None:
    before = quantities(client, "wig_preview")
    model = {"upload_id": sent(client, tmp_path, plain_png(400, 400)), "synthetic": True}
    failure = failure_of(client, "/v1/wig-previews", {"model": model, "wig": {"wig_id": wig}})
    assert (failure["code"], failure["param"]) == ("face_not_found", "model")
    assert quantities(client, "wig_preview") == before


def test_trousers_on_a_portrait_are_refused_saying_that_the_hips_are_missing(
    client: Client, models: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    garment = {"upload_id": sent(client, tmp_path, drawn_products.trousers()), "synthetic": True}
    body = {"model": {"model_id": models["Vera"]["id"]}, "garment": garment, "category": "trousers"}
    failure = failure_of(client, "/v1/garment-previews", body)
    assert (failure["code"], failure["param"]) == ("pose_not_usable", "model")
    assert "hips" in failure["detail"]


def test_product_photo_that_shows_no_product_is_refused_as_the_product(
    client: Client, models: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    photo = {"upload_id": sent(client, tmp_path, drawn_products.nothing()), "synthetic": True}
    model = {"model_id": models["Vera in the studio"]["id"]}
    for path, product in (("/v1/wig-previews", "wig"), ("/v1/garment-previews", "garment")):
        failure = failure_of(client, path, {"model": model, product: photo})
        assert (failure["code"], failure["param"]) == ("product_empty", product)


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"model": {"specification": {"age": "60+"}}}, "checkpoint_not_configured", "model.specification"),
        ({"refine": True}, "checkpoint_not_configured", "refine"),
        ({"wig": {"wig_id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"}}, "wig_not_found", "wig.wig_id"),
        ({"model": {"model_id": "model_01JDV3M0Q8T2A4B6C8D0E2F4G6"}}, "model_not_found", "model.model_id"),
    ],
)
def test_what_is_not_here_is_refused_at_once(
    client: Client, models: dict[str, dict[str, Any]], wig: str, changes: dict[str, Any], code: str, param: str
) -> None:
    body = {"model": {"model_id": models["Vera"]["id"]}, "wig": {"wig_id": wig}, **changes}
    with pytest.raises(ContentRejected) as caught:
        client.post("/v1/wig-previews", body)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_photo_of_a_person_needs_consent_on_either_side(
    client: Client, models: dict[str, dict[str, Any]], wig: str
) -> None:
    photo = client.upload(weights.path("avatar-vera"), fallback_type="image/jpeg")
    model = {"model_id": models["Vera"]["id"]}
    for body in (
        {"model": {"upload_id": photo}, "wig": {"wig_id": wig}},
        {"model": model, "wig": {"upload_id": photo}},
    ):
        with pytest.raises(Forbidden) as caught:
            client.post("/v1/wig-previews", body)
        assert caught.value.code == "consent_required"
