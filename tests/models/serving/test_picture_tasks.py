"""The tasks that make pictures: what they take, what they store, and how they refuse."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from models import weights
from models.provenance.inspection import CredentialState, inspect_file
from models.serving.engine import InferenceEngine
from models.serving.tasks import task_for
from models.serving.tasks.pictures import pack_asset, unpack_asset
from models.tryon.garment.asset import GarmentAsset
from models.tryon.wig.asset import WigAsset
from services.adapters.local.signer import FILE_NAME
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest
from services.domain.errors import ContentRejected
from services.domain.ids import new_id
from services.domain.model_choice import ModelSpecification
from services.domain.object_key import ObjectKey, Retention
from services.domain.picture_storyboards import (
    PICTURE_STORYBOARD_VERSION,
    GarmentStoryboard,
    ModelShot,
    ProductShot,
    ProductStoryboard,
    WigStoryboard,
)
from services.domain.product import GarmentCategory, ProductKind, ProductView
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure
from services.domain.wire import encode
from services.settings import Settings
from tests.drawn_products import bob, nothing, tee
from tests.fakes.events import FakeEventSink
from tests.models.serving.conftest import MemoryObjects, SystemClock

JOB = "job_01JDV3M0Q8T2A4B6C8D0E2F4G6"
TENANT = "tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6"
ORIGINAL = BackgroundShot(kind=BackgroundKind.ORIGINAL)


class Bench:
    """An engine with the objects of one job."""

    def __init__(self, store: MemoryObjects, folder: Path, settings: Settings | None = None) -> None:
        self.store = store
        self._folder = folder
        self._settings = settings or Settings(state_dir=folder / "state")
        self._tasks: dict[EngineKind, Any] = {}

    def put(self, name: str, data: bytes) -> str:
        key = ObjectKey(retention=Retention.WORK, tenant_id=TENANT, owner_id=JOB, attempt=0, name=name)
        self.store.put(key, data, media_type="application/octet-stream")
        return str(key)

    def run(self, kind: EngineKind, storyboard: object) -> EngineAnswer:
        engine = InferenceEngine(
            store_for=lambda _: self.store,
            events=FakeEventSink(),
            tasks={kind: task_for(kind, self._settings)},
            clock=SystemClock(),
            scratch_dir=self._folder / "scratch",
        )
        engine.load()
        assert engine.problem is None
        engine.admit()
        return engine.run(
            EngineRequest(
                kind=kind,
                tenant_id=TENANT,
                job_id=JOB,
                attempt=1,
                storyboard_key=self.put("storyboard.json", encode(storyboard)),
                deadline_at=datetime.now(UTC) + timedelta(minutes=5),
            )
        )

    def files(self, answer: EngineAnswer) -> dict[str, Path]:
        """The outputs by role, as files."""
        folder = self._folder / new_id("out")
        folder.mkdir()
        for output in answer.outputs:
            (folder / Path(output.key).name).write_bytes(self.store.stored[output.key])
        return {output.name: folder / Path(output.key).name for output in answer.outputs}


@pytest.fixture
def bench(store: MemoryObjects, tmp_path: Path) -> Bench:
    return Bench(store, tmp_path)


def taken_in(bench: Bench, data: bytes, kind: ProductKind) -> EngineAnswer:
    photos = (ProductShot(photo_key=bench.put("photo_0", data)),)
    return bench.run(
        EngineKind.PRODUCT,
        ProductStoryboard(job_id=JOB, product_id=f"{kind}_01JDV3M0Q8T2A4B6C8D0E2F4G6", kind=kind, photos=photos),
    )


def wig_board(bench: Bench, shot: ProductShot, **changes: object) -> WigStoryboard:
    model = ModelShot(key=bench.put("model", weights.path("avatar-vera").read_bytes()))
    board = WigStoryboard(
        job_id=JOB, model=model, wig=(shot,), background=ORIGINAL, disclosure=Disclosure(visible_label=False)
    )
    return replace(board, **changes)


def test_wigs_photo_becomes_an_asset_and_a_signed_cutout(bench: Bench) -> None:
    answer = taken_in(bench, bob(), ProductKind.WIG)
    assert answer.state is AnswerState.SUCCEEDED, answer.failure
    files = bench.files(answer)
    assert [path.name for path in files.values()] == ["asset_0.zip", "cutout_0.png", "sheet.jpg"]
    unpack_asset(files["asset_0"], files["asset_0"].with_suffix(""))
    asset = WigAsset.load(files["asset_0"].with_suffix(""))
    with Image.open(files["cutout_0"]) as cutout:
        assert (cutout.mode, cutout.size) == ("RGBA", asset.picture_rgba.shape[1::-1])
    report = inspect_file(files["cutout_0"], trust_anchors=(bench._folder / "state" / FILE_NAME).read_text())
    assert report.is_verified
    assert report.credentials.state is not CredentialState.MISSING
    assert "category" not in answer.facts
    assert "pictures" not in answer.usage


def test_garments_photo_tells_its_category(bench: Bench) -> None:
    answer = taken_in(bench, tee(), ProductKind.GARMENT)
    assert answer.state is AnswerState.SUCCEEDED, answer.failure
    assert answer.facts["category"] in (GarmentCategory.TOP, GarmentCategory.SHIRT)
    files = bench.files(answer)
    unpack_asset(files["asset_0"], files["asset_0"].with_suffix(""))
    assert GarmentAsset.load(files["asset_0"].with_suffix("")).category == answer.facts["category"]


def test_every_reason_against_every_photo_is_told_and_nothing_is_stored(bench: Bench) -> None:
    photos = (
        ProductShot(photo_key=bench.put("photo_0", bob())),
        ProductShot(photo_key=bench.put("photo_1", nothing()), view=ProductView.LEFT),
        ProductShot(photo_key=bench.put("photo_2", b"no picture"), view=ProductView.BACK),
    )
    board = ProductStoryboard(
        job_id=JOB, product_id="wig_01JDV3M0Q8T2A4B6C8D0E2F4G6", kind=ProductKind.WIG, photos=photos
    )
    answer = bench.run(EngineKind.PRODUCT, board)
    assert (answer.state, answer.outputs) == (AnswerState.SUCCEEDED, ())
    blocking = [(one["photo"], one["code"]) for one in answer.facts["reasons"] if one["blocking"]]
    assert blocking == [(1, "product_empty"), (2, "unsupported_media")]


def test_preview_of_the_catalogues_asset_is_that_of_its_photo(bench: Bench) -> None:
    """A product taken in once gives the pictures that its photo gives."""
    made = taken_in(bench, bob(), ProductKind.WIG)
    asset = next(output for output in made.outputs if output.name == "asset_0")
    kept = ProductShot(asset_key=bench.put("wig_0", bench.store.stored[asset.key]))
    by_asset = bench.run(EngineKind.WIG_PREVIEW, wig_board(bench, kept))
    assert by_asset.state is AnswerState.SUCCEEDED, by_asset.failure
    shown = bench.files(by_asset)
    direct = ProductShot(photo_key=bench.put("wig", bob()))
    by_photo = bench.files(bench.run(EngineKind.WIG_PREVIEW, wig_board(bench, direct)))
    with Image.open(shown["front"]) as one, Image.open(by_photo["front"]) as other:
        assert one.tobytes() == other.tobytes()
    assert by_asset.usage["pictures"] == 1
    assert by_asset.usage["engine_cpu_s"] > 0


def test_refused_product_photo_is_named_as_the_request_names_it(bench: Bench) -> None:
    shot = ProductShot(photo_key=bench.put("wig", nothing()))
    answer = bench.run(EngineKind.WIG_PREVIEW, wig_board(bench, shot))
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.param) == ("product_empty", "wig")


def test_model_that_would_have_to_be_generated_needs_a_checkpoint(bench: Bench) -> None:
    shot = ProductShot(photo_key=bench.put("wig", bob()))
    board = wig_board(bench, shot, model=ModelShot(specification=ModelSpecification()))
    answer = bench.run(EngineKind.WIG_PREVIEW, board)
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.retryable) == ("checkpoint_not_configured", False)


def test_newer_storyboard_waits_for_a_newer_engine(bench: Bench) -> None:
    board = GarmentStoryboard(
        job_id=JOB,
        model=ModelShot(key="unused"),
        garment=(),
        background=ORIGINAL,
        version=PICTURE_STORYBOARD_VERSION + 1,
    )
    answer = bench.run(EngineKind.GARMENT_PREVIEW, board)
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.retryable) == ("storyboard_too_new", True)


def damaged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def with_a_way_out(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../outside.txt", "x")


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as entry:
        for _ in range(520):
            entry.write(bytes(1 << 20))


@pytest.mark.parametrize("spoil", [damaged, with_a_way_out, bomb])
def test_archive_that_is_no_asset_of_ours_is_not_unpacked(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    (tmp_path / "asset").mkdir()
    (tmp_path / "asset" / "wig.json").write_text("{}")
    path = pack_asset(tmp_path / "asset", tmp_path / "asset.zip")
    spoil(path)
    with pytest.raises(ContentRejected) as caught:
        unpack_asset(path, tmp_path / "unpacked")
    assert caught.value.code == "product_asset_unreadable"
    assert not (tmp_path / "outside.txt").exists()
    assert list((tmp_path / "unpacked").iterdir()) == []


def test_archive_with_a_damaged_stream_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "asset").mkdir()
    (tmp_path / "asset" / "wig.json").write_bytes(bytes(range(256)) * 40)
    path = pack_asset(tmp_path / "asset", tmp_path / "asset.zip")
    whole = path.read_bytes()
    start = whole.index(b"wig.json") + len("wig.json")  # the deflated bytes
    path.write_bytes(whole[:start] + b"\xff" * 8 + whole[start + 8 :])

    with pytest.raises(ContentRejected) as caught:
        unpack_asset(path, tmp_path / "unpacked")
    assert caught.value.code == "product_asset_unreadable"
