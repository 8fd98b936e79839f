"""From a source to a dataset: bucketed, cropped, named in the manifest, reported; by command and by container."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from services.domain.errors import Conflict, ContentRejected, InvalidRequest
from spokesmodel.cli.app import app
from tests.architecture.repository import ROOT
from tests.training.data.drawn import dataset, picture
from training.data.buckets import buckets_for, nearest_bucket
from training.data.crops import MaskFrom, Subject, fitted
from training.data.examine import ScanOptions
from training.data.findings import Fault, Rules
from training.data.options import options_of
from training.data.prepare import PrepareOptions, prepare
from training.data.prepared import open_prepared
from training.data.report import parts_of_dataset, report_page
from training.data.sources.files import FileSource, Folder

SIZES = {"wide": (160, 96), "square": (128, 128), "tall": (96, 160), "second": (120, 120)}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "pictures"
    path.mkdir()
    for seed, (name, size) in enumerate(SIZES.items()):
        Image.fromarray(picture(seed, *size)).save(path / f"{name}.png")
        (path / f"{name}.txt").write_text(f"a {name} thing, drawn")
    return path


def source_of(path):
    return FileSource(Folder(path), max_file_bytes=1 << 28)


def options(*, scan=None, **more):
    rules = Rules(min_side_px=64)
    return PrepareOptions(scan=ScanOptions(rules=rules, **(scan or {})), **({"side_px": 64, "multiple": 8} | more))


def test_pictures_go_into_the_bucket_of_their_shape_without_being_stretched(folder, tmp_path):
    data = prepare(source_of(folder), tmp_path / "set", options())
    by_name = {one.name: one for one in data.samples}
    assert by_name["square.png"].bucket == by_name["second.png"].bucket == (64, 64)
    wide, tall = by_name["wide.png"], by_name["tall.png"]
    assert wide.bucket == tall.bucket[::-1]
    assert wide.bucket[0] > wide.bucket[1]
    for one in data.samples:
        assert one.crop[2] / one.crop[3] == pytest.approx(one.bucket[0] / one.bucket[1], rel=0.02)
        assert one.original_size == SIZES[one.name[:-4]]
    index = [one.name for one in data.samples].index("square.png")
    # By Pillow, not by OpenCV: both are area means.
    peer = Image.fromarray(picture(1, 128, 128)).resize((64, 64), Image.Resampling.BOX)
    assert np.abs(data.picture(index).astype(int) - np.asarray(peer)).max() <= 1
    data.verify()


def test_same_source_gives_the_same_dataset_and_another_rule_another_digest(folder, tmp_path):
    first = prepare(source_of(folder), tmp_path / "a", options())
    second = prepare(source_of(folder), tmp_path / "b", options(scan={"num_workers": 1}))
    assert first.digest == second.digest
    assert (tmp_path / "a" / "shard-00000.tar").read_bytes() == (tmp_path / "b" / "shard-00000.tar").read_bytes()
    assert prepare(source_of(folder), tmp_path / "c", options(scan={"trigger_word": "sks"})).digest != first.digest


def test_what_is_left_out_is_named_in_the_manifest_with_its_reason(folder, tmp_path):
    (folder / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    data = prepare(source_of(folder), tmp_path / "set", options(licence="ours", consent="consent_01"))
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert [(one["name"], one["fault"]) for one in manifest["left_out"]] == [("bad.png", "unreadable")]
    assert (manifest["num_files"], manifest["num_left_out"], len(data)) == (5, 1, 4)
    assert (manifest["licence"], manifest["consent"]) == ("ours", "consent_01")


def test_strict_preparation_of_a_faulty_source_writes_nothing(folder, tmp_path):
    (folder / "bad.png").write_bytes(b"nothing")
    with pytest.raises(ContentRejected, match=r"bad\.png") as told:
        prepare(source_of(folder), tmp_path / "set", options(strict=True))
    assert told.value.code == "dataset_has_faults"
    assert not (tmp_path / "set").exists()


def test_source_of_which_nothing_is_left_is_refused_with_reasons(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(b"nothing")
    with pytest.raises(ContentRejected, match=r"a\.png") as told:
        prepare(source_of(tmp_path / "in"), tmp_path / "set", options())
    assert told.value.code == "dataset_empty"


def test_picture_that_changes_between_scan_and_storing_is_noticed(folder, tmp_path):
    def change(stage, number):
        if (stage, number) == ("scanning", len(SIZES)):
            Image.fromarray(picture(77, 128, 128)).save(folder / "square.png")

    with pytest.raises(ContentRejected, match=r"square\.png") as told:
        prepare(source_of(folder), tmp_path / "set", options(), on_progress=change)
    assert told.value.code == "source_changed"
    with pytest.raises(InvalidRequest):
        open_prepared(tmp_path / "set")


def test_dataset_is_not_prepared_over_another(folder, tmp_path):
    prepare(source_of(folder), tmp_path / "set", options())
    with pytest.raises(Conflict):
        prepare(source_of(folder), tmp_path / "set", options())


def test_enlarged_pictures_are_told(folder, tmp_path):
    prepare(source_of(folder), tmp_path / "set", options(side_px=256, multiple=64))
    report = json.loads((tmp_path / "set" / "report.json").read_text())
    enlarged = next(group for group in report["findings"] if group["fault"] == Fault.ENLARGED)
    assert enlarged["num_files"] == 4


def test_masks_of_files_and_of_transparency_follow_the_crop(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rgb = picture(1, 160, 96)
    mask = np.zeros((96, 160), np.uint8)
    mask[:, :80] = 255
    Image.fromarray(rgb).save(folder / "a.png")
    Image.fromarray(mask).save(folder / "a.mask.png")
    Image.fromarray(np.dstack([rgb[::-1], mask])).save(folder / "b.png")
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    by_file = prepare(source_of(folder), tmp_path / "f", options(square_only=True, mask=MaskFrom.FILES))
    assert by_file.mask(1) is None
    clear = prepare(source_of(folder), tmp_path / "t", options(square_only=True, mask=MaskFrom.TRANSPARENCY))
    assert clear.mask(0) is None
    for found in (by_file.mask(0), clear.mask(1)):
        # The square is cut from the middle, so the mask's edge is in the middle of it.
        assert (found[:, :31] == 255).all()
        assert (found[:, 33:] == 0).all()


def test_mask_that_cannot_be_used_is_told_and_the_loss_counts_everywhere(folder, tmp_path):
    Image.new("L", (10, 10)).save(folder / "wide.mask.png")
    Image.new("L", (128, 128)).save(folder / "square.mask.png")
    data = prepare(source_of(folder), tmp_path / "set", options(mask=MaskFrom.FILES))
    assert all(data.mask(index) is None for index in range(len(data)))
    report = json.loads((tmp_path / "set" / "report.json").read_text())
    faults = {group["fault"]: group["files"][0]["name"] for group in report["findings"]}
    assert faults == {"mask_unreadable": "wide.png", "mask_empty": "square.png"}


def test_buckets_are_those_of_diffusers_with_sides_that_divide():
    from diffusers.training_utils import generate_aspect_ratio_buckets

    buckets = buckets_for(512, multiple=64)
    assert buckets == tuple((w, h) for h, w in generate_aspect_ratio_buckets(512, divisibility=64))
    assert all(width % 64 == height % 64 == 0 for width, height in buckets)
    assert nearest_bucket(1920, 1080, buckets) == (704, 384)
    assert nearest_bucket(1000, 1010, buckets) == (512, 512)
    assert buckets_for(64, multiple=8, square_only=True) == ((64, 64),)
    for side, multiple in ((500, 64), (64, 128), (64, 4), (8192, 64)):
        with pytest.raises(InvalidRequest):
            buckets_for(side, multiple=multiple)


@pytest.mark.parametrize(
    ("box", "size", "bucket", "wanted"),
    [
        ((0, 0, 200, 100), (200, 100), (64, 64), (50, 0, 100, 100)),  # cut equally on both sides
        ((80, 20, 40, 40), (200, 100), (128, 64), (60, 20, 80, 40)),  # grown to the bucket's shape
        ((0, 0, 40, 100), (200, 100), (64, 64), (0, 0, 100, 100)),  # grown, moved into the picture
        ((160, 60, 40, 40), (200, 100), (64, 128), (160, 20, 40, 80)),  # grown up where there is room
    ],
)
def test_crop_grows_where_the_picture_has_room_and_is_cut_where_it_has_none(box, size, bucket, wanted):
    assert fitted(tuple(map(float, box)), size, bucket) == wanted


def test_face_crop_is_round_the_face_that_an_independent_detector_sees(shared_data, tmp_path):
    dlib = pytest.importorskip("dlib")
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("woman_neutral.jpg", "noface_landscape.jpg"):
        (folder / name).write_bytes((shared_data / "portraits" / name).read_bytes())
    chosen = options(scan={"subject": Subject.FACE, "trigger_word": "sks"}, side_px=256, multiple=64)
    data = prepare(source_of(folder), tmp_path / "set", chosen)
    assert [one.name for one in data.samples] == ["woman_neutral.jpg"]
    assert data.manifest["left_out"][0]["fault"] == "face_not_found"
    faces = dlib.get_frontal_face_detector()(data.picture(0), 1)
    assert len(faces) == 1
    height, width = data.picture(0).shape[:2]
    assert 0.3 * width < faces[0].center().x < 0.7 * width
    assert 0.25 * height < faces[0].center().y < 0.65 * height
    assert 0.25 < faces[0].width() / width < 0.7


def test_garment_crop_leaves_the_ground_and_keeps_the_garment(shared_data, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "overalls.jpg").write_bytes((shared_data / "garments" / "overalls.jpg").read_bytes())
    chosen = options(scan={"subject": Subject.GARMENT, "trigger_word": "sks"}, side_px=256, multiple=64)
    data = prepare(source_of(folder), tmp_path / "set", chosen)
    # The photo's ground is lighter than 225 everywhere; what is darker is the garment, counted here by hand.
    dark = np.asarray(Image.open(folder / "overalls.jpg").convert("L")) < 190
    left, top, width, height = data.samples[0].crop
    assert dark[top : top + height, left : left + width].sum() > 0.99 * dark.sum()
    assert width * height < 0.7 * dark.size
    assert data.samples[0].bucket[1] > data.samples[0].bucket[0]


def test_report_is_one_page_without_any_other_file_that_names_what_is_left_out(folder, tmp_path):
    (folder / "<b>bad&.png").write_bytes(b"nothing")
    (folder / "square.txt").write_text("<script>alert(1)</script>, drawn")
    data = prepare(source_of(folder), tmp_path / "set", options())
    page = (tmp_path / "set" / "report.html").read_text()
    assert "&lt;b&gt;bad&amp;.png" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", page)
    assert len(addresses) >= 4
    assert all(one.startswith("data:image/jpeg;base64,") for one in addresses)
    assert "url(" not in page
    assert page == report_page(parts_of_dataset(data))


def test_report_of_a_dataset_that_was_not_prepared_here_is_made_from_what_is_stored(tmp_path):
    data = dataset(tmp_path / "set", buckets={(64, 64): 3, (80, 48): 2}, clusters=[0, 0, 1, 2, 3])
    parts = parts_of_dataset(data)
    assert (parts["num_pictures"], parts["num_clusters"]) == (5, 4)
    assert parts["buckets"] == [[64, 64, 3], [80, 48, 2]]
    assert [one["num_pictures"] for one in parts["clusters"]] == [2]
    assert "80x48" in report_page(parts)


def test_scan_command_names_every_bad_file_and_ends_with_status_3(folder, tmp_path):
    clean = CliRunner().invoke(app, ["dataset", "scan", str(folder), "--min-side", "64"])
    assert clean.exit_code == 0, clean.output
    (folder / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut")
    (folder / "tiny.png").write_bytes((folder / "wide.png").read_bytes())
    Image.new("RGB", (9, 9), "red").save(folder / "tiny.png")
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["dataset", "scan", str(folder), "--min-side", "64", "--out", str(out)])
    assert done.exit_code == 3
    assert re.search(r"left_out\tunreadable\tbad\.jpg: ", done.output)
    assert re.search(r"left_out\ttoo_small\ttiny\.png: ", done.output)
    report = json.loads((out / "scan.json").read_text())
    assert {one["name"] for one in report["findings"] if one["outcome"] == "left_out"} == {"bad.jpg", "tiny.png"}
    assert "bad.jpg" in (out / "report.html").read_text()
    as_json = CliRunner().invoke(app, ["dataset", "scan", str(folder), "--min-side", "64", "--json"])
    assert json.loads(as_json.stdout) == report


def test_prepare_and_report_commands(folder, tmp_path):
    out = tmp_path / "set"
    command = ["dataset", "prepare", str(folder), "--out", str(out), "--side", "64", "--multiple", "8"]
    command += ["--min-side", "64", "--trigger-word", "sks", "--captions", "files", "--captions", "names", "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["num_pictures"] == 4
    assert open_prepared(out).trigger_word == "sks"
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, ["dataset", "report", str(out), "--out", str(page)]).exit_code == 0
    assert page.read_text() == (out / "report.html").read_text()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 3
    assert "dataset_exists" in again.stderr


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        (["--captions", "captioner"], 5, "captioner_not_configured"),
        (["--background", "white"], 2, "malformed_color"),
        (["--template", "nothing", "--captions", "facts"], 2, "malformed_template_of_facts"),
    ],
)
def test_commands_refuse_by_name(folder, more, status, code):
    done = CliRunner().invoke(app, ["dataset", "scan", str(folder), "--min-side", "64", *more])
    assert (done.exit_code, code in done.stderr) == (status, True)


def test_options_of_a_document_are_checked_one_by_one():
    chosen = options_of(
        {"side_px": 64, "multiple": 8, "subject": "face", "captions": ["names"], "background": "#0080ff"}
    )
    assert (chosen.side_px, chosen.multiple, chosen.scan.subject) == (64, 8, Subject.FACE)
    assert chosen.scan.rules.background == (0, 128, 255)
    assert options_of({}) == PrepareOptions()
    for document, code in (
        ({"sidepx": 64}, "unknown_option"),
        ({"side_px": "64"}, "invalid_option"),
        ({"side_px": True}, "invalid_option"),
        ({"subject": "dog"}, "invalid_option"),
        ({"captions": ["dreams"]}, "invalid_option"),
        ({"background": "red"}, "malformed_color"),
        ({"min_side_px": 0}, "out_of_range"),
    ):
        with pytest.raises(InvalidRequest) as told:
            options_of(document)
        assert told.value.code == code, document


def test_container_prepares_and_tells_why_it_could_not(folder, tmp_path):
    (tmp_path / "options.json").write_text(
        json.dumps({"side_px": 64, "multiple": 8, "min_side_px": 64, "square_only": True})
    )
    command = [sys.executable, "-m", "training.launch", "prepare", "--source", str(folder)]
    command += ["--out", str(tmp_path / "set"), "--options", str(tmp_path / "options.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(open_prepared(tmp_path / "set")) == 4
    assert open_prepared(tmp_path / "set").digest in done.stdout
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert again.returncode == 3
    assert again.stderr.startswith("dataset_exists: ")


def test_reader_and_sampler_load_neither_torch_nor_cv2():
    code = "import sys, training.data.prepared, training.data.sampling; print({'torch', 'cv2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
