"""What a scan finds in pictures, before anything is trained: each case with its stated rule."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from services.domain.errors import ContentRejected
from tests.training.data.drawn import picture
from training.data.examine import Examiner, ScanOptions
from training.data.findings import Fault, Outcome, Rules
from training.data.scan import in_order, scan
from training.data.sources.files import FileSource, Folder

SIDE = 96
RULES = Rules(min_side_px=64)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "pictures"


def put(folder, name, data, caption: bytes | None = b"a thing"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    if caption is not None:
        (folder / name).with_suffix(".txt").write_bytes(caption)


def encoded(image, kind, **more):
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def drawn(seed=1, width=SIDE, height=SIDE):
    return Image.fromarray(picture(seed, width, height))


def scanned(folder, *, rules=RULES, **options):
    source = FileSource(Folder(folder), max_file_bytes=rules.max_file_bytes)
    return scan(source, ScanOptions(rules=rules, num_workers=2, **options))


def only(done):
    """The only finding, as name, fault and outcome."""
    assert len(done.findings) == 1, done.findings
    return done.findings[0].name, done.findings[0].fault, done.findings[0].outcome


def pixels(folder, name, rules=RULES):
    """The picture as training gets it."""
    from training.data.pictures import open_picture

    opened = open_picture((folder / name).read_bytes(), name, rules, [])
    assert opened is not None
    return opened.rgb


def test_clean_pictures_have_no_findings_and_keep_their_captions(folder):
    put(folder, "a.png", encoded(drawn(1), "PNG"), b"  first\nline ")
    put(folder, "b.jpg", encoded(drawn(2), "JPEG", quality=95), "second, été".encode())
    done = scanned(folder)
    assert done.findings == []
    assert [one.caption for one in done.pictures] == ["first line", "second, été"]
    assert done.num_left_out == 0


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_cut_off_file_is_left_out_by_name(folder, kind, share):
    data = encoded(drawn(), kind)
    put(folder, f"half.{kind.lower()}", data[: int(len(data) * share)])
    assert only(scanned(folder)) == (f"half.{kind.lower()}", Fault.UNREADABLE, Outcome.LEFT_OUT)


def test_damaged_png_is_left_out(folder):
    data = bytearray(encoded(drawn(), "PNG"))
    data[len(data) // 2] ^= 0xFF
    put(folder, "bits.png", bytes(data))
    assert only(scanned(folder)) == ("bits.png", Fault.UNREADABLE, Outcome.LEFT_OUT)


def test_png_named_jpg_is_read_by_its_content(folder):
    put(folder, "photo.jpg", encoded(drawn(), "PNG"))
    done = scanned(folder)
    assert only(done) == ("photo.jpg", Fault.MISNAMED, Outcome.MENDED)
    assert np.array_equal(pixels(folder, "photo.jpg"), picture(1, SIDE, SIDE))


def test_small_picture_is_left_out_with_both_sizes(folder):
    put(folder, "icon.png", encoded(drawn(1, 200, 40), "PNG"))
    done = scanned(folder)
    assert only(done) == ("icon.png", Fault.TOO_SMALL, Outcome.LEFT_OUT)
    assert "200x40" in done.findings[0].detail
    assert "64" in done.findings[0].detail


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("page.jpg", b"<html>not found</html>"),
        ("film.mp4", b"\0\0\0\x18ftypmp42" + bytes(64)),
        ("notes.docx", b"PK\3\4"),
    ],
)
def test_what_is_no_picture_is_told(folder, name, data):
    put(folder, name, data, None)
    assert only(scanned(folder)) == (name, Fault.NOT_A_PICTURE, Outcome.LEFT_OUT)


def test_empty_file_is_told(folder):
    put(folder, "nothing.png", b"")
    assert only(scanned(folder)) == ("nothing.png", Fault.EMPTY_FILE, Outcome.LEFT_OUT)


def test_animated_picture_is_left_out_or_its_first_frame_taken_when_asked(folder):
    frames = [drawn(seed) for seed in (1, 2, 3)]
    put(folder, "moving.webp", encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
    assert only(scanned(folder)) == ("moving.webp", Fault.ANIMATED, Outcome.LEFT_OUT)
    kept = Rules(min_side_px=64, keep_animated=True)
    assert only(scanned(folder, rules=kept)) == ("moving.webp", Fault.ANIMATED, Outcome.MENDED)
    assert np.array_equal(pixels(folder, "moving.webp", kept), picture(1, SIDE, SIDE))


@pytest.mark.parametrize("orientation", range(2, 9))
def test_picture_turned_by_exif_is_trained_on_upright(folder, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = drawn(1, 96, 72)
    put(folder, "turned.png", encoded(image, "PNG", exif=exif))
    done = scanned(folder)
    assert only(done) == ("turned.png", Fault.EXIF_ROTATED, Outcome.MENDED)
    upright = ImageOps.exif_transpose(Image.open(folder / "turned.png"))
    assert np.array_equal(pixels(folder, "turned.png"), np.asarray(upright.convert("RGB")))
    assert done.pictures[0].original_size == upright.size


@pytest.mark.parametrize("background", [(255, 255, 255), (0, 128, 255)])
def test_colours_hidden_under_transparency_do_not_show_on_the_stated_background(folder, background):
    rgba = np.dstack([picture(1, SIDE, SIDE), np.full((SIDE, SIDE), 255, np.uint8)])
    rgba[:, :48, 3] = 0
    rgba[:, 48:50, 3] = 128
    put(folder, "cut.png", encoded(Image.fromarray(rgba), "PNG"))
    rules = Rules(min_side_px=64, background=background)
    done = scanned(folder, rules=rules)
    assert only(done) == ("cut.png", Fault.HIDDEN_COLOURS, Outcome.MENDED)
    rgb = pixels(folder, "cut.png", rules).astype(int)
    assert (rgb[:, :48] == background).all()
    assert np.array_equal(rgb[:, 50:], rgba[:, 50:, :3])
    half = (rgba[:, 48:50, :3].astype(int) * 128 + np.array(background) * 127) / 255
    assert np.abs(rgb[:, 48:50] - half).max() <= 2


def test_plain_transparency_is_told_as_such(folder):
    rgba = np.dstack([picture(1, SIDE, SIDE), np.full((SIDE, SIDE), 255, np.uint8)])
    rgba[:30] = 0
    put(folder, "clear.png", encoded(Image.fromarray(rgba), "PNG"))
    assert only(scanned(folder)) == ("clear.png", Fault.TRANSPARENT, Outcome.MENDED)


@pytest.mark.parametrize(
    ("name", "mode", "kind"), [("p.png", "P", "PNG"), ("g.png", "L", "PNG"), ("c.jpg", "CMYK", "JPEG")]
)
def test_other_modes_become_rgb(folder, name, mode, kind):
    put(folder, name, encoded(drawn().convert(mode), kind))
    assert only(scanned(folder)) == (name, Fault.OTHER_MODE, Outcome.MENDED)
    wanted = np.asarray(drawn().convert(mode).convert("RGB"), np.int16)
    assert np.abs(pixels(folder, name) - wanted).mean() < 3


def test_sixteen_bits_are_scaled_and_not_clipped_to_white(folder):
    grey = np.asarray(drawn().convert("L"))
    put(folder, "deep.png", encoded(Image.fromarray(grey.astype(np.uint16) * 257), "PNG"))
    assert only(scanned(folder)) == ("deep.png", Fault.OTHER_MODE, Outcome.MENDED)
    assert np.abs(pixels(folder, "deep.png")[..., 0].astype(int) - grey).max() <= 1


def test_picture_of_one_colour_is_left_out(folder):
    put(folder, "white.png", encoded(Image.new("RGB", (SIDE, SIDE), "white"), "PNG"))
    assert only(scanned(folder)) == ("white.png", Fault.BLANK, Outcome.LEFT_OUT)


def test_picture_with_too_many_pixels_is_left_out_before_it_is_decoded(folder):
    put(folder, "huge.png", encoded(Image.new("1", (5000, 5000)), "PNG"))
    done = scanned(folder, rules=Rules(min_side_px=64, max_pixels=10_000_000))
    assert (done.findings[-1].fault, done.findings[-1].outcome) == (Fault.TOO_MANY_PIXELS, Outcome.LEFT_OUT)


def test_file_that_is_too_large_is_not_read(folder):
    put(folder, "large.png", encoded(drawn(), "PNG"))
    done = scanned(folder, rules=Rules(min_side_px=64, max_file_bytes=100))
    assert only(done) == ("large.png", Fault.FILE_TOO_LARGE, Outcome.LEFT_OUT)


def test_byte_0x92_in_a_caption_is_windows_1252_by_the_stated_rule(folder):
    put(folder, "a.png", encoded(drawn(), "PNG"), b"a woman\x92s jacket")
    done = scanned(folder)
    assert only(done) == ("a.png", Fault.CAPTION_NOT_UTF8, Outcome.MENDED)
    assert "0x92" in done.findings[0].detail
    assert done.pictures[0].caption == "a woman’s jacket"


def test_byte_0x92_in_a_caption_leaves_the_picture_out_when_only_utf8_is_wanted(folder):
    put(folder, "a.png", encoded(drawn(), "PNG"), b"a woman\x92s jacket")
    done = scanned(folder, rules=Rules(min_side_px=64, cp1252=False))
    assert only(done) == ("a.png", Fault.CAPTION_NOT_UTF8, Outcome.LEFT_OUT)
    assert done.pictures == []


def test_byte_that_windows_1252_does_not_know_leaves_the_picture_out(folder):
    put(folder, "a.png", encoded(drawn(), "PNG"), b"a\x81b")
    assert only(scanned(folder)) == ("a.png", Fault.CAPTION_NOT_UTF8, Outcome.LEFT_OUT)


@pytest.mark.parametrize(
    ("caption", "fault"), [(b" \n\t", Fault.CAPTION_EMPTY), (b"", Fault.CAPTION_EMPTY), (None, Fault.CAPTION_MISSING)]
)
def test_picture_without_a_caption_is_left_out_unless_there_is_a_trigger_word(folder, caption, fault):
    put(folder, "a.png", encoded(drawn(), "PNG"), caption)
    assert only(scanned(folder)) == ("a.png", fault, Outcome.LEFT_OUT)
    kept = scanned(folder, trigger_word="sks")
    assert only(kept) == ("a.png", fault, Outcome.MENDED)
    assert kept.pictures[0].caption == "sks"


def test_caption_longer_than_an_encoder_reads_is_noted(folder):
    put(folder, "a.png", encoded(drawn(), "PNG"), b"word " * 90)
    assert only(scanned(folder)) == ("a.png", Fault.CAPTION_LONG, Outcome.NOTED)


def test_copies_of_one_file_are_kept_once(folder):
    data = encoded(drawn(), "PNG")
    for name in ("a.png", "b.png", "c.png"):
        put(folder, name, data)
    done = scanned(folder)
    assert [one.name for one in done.pictures] == ["a.png"]
    assert {(one.name, one.fault, one.outcome) for one in done.findings} == {
        ("b.png", Fault.EXACT_DUPLICATE, Outcome.LEFT_OUT),
        ("c.png", Fault.EXACT_DUPLICATE, Outcome.LEFT_OUT),
    }


def test_same_pixels_in_another_format_are_a_copy_and_another_caption_is_kept(folder):
    put(folder, "a.png", encoded(drawn(), "PNG"), b"first")
    put(folder, "b.bmp", encoded(drawn(), "BMP"), b"first")
    put(folder, "c.png", encoded(drawn(), "PNG"), b"second")
    done = scanned(folder)
    assert [(one.name, one.cluster) for one in done.pictures] == [("a.png", 0), ("c.png", 0)]


def test_near_duplicates_share_a_cluster_or_are_dropped_when_asked(folder):
    put(folder, "a.png", encoded(drawn(1), "PNG"), b"one")
    put(folder, "b.jpg", encoded(drawn(1).resize((80, 80)), "JPEG", quality=60), b"one again")
    put(folder, "c.png", encoded(drawn(2), "PNG"), b"another")
    done = scanned(folder)
    assert [one.cluster for one in done.pictures] == [0, 0, 1]
    assert only(done) == ("b.jpg", Fault.NEAR_DUPLICATE, Outcome.NOTED)
    dropped = scanned(folder, rules=Rules(min_side_px=64, drop_near_duplicates=True))
    assert [one.name for one in dropped.pictures] == ["a.png", "c.png"]
    assert only(dropped) == ("b.jpg", Fault.NEAR_DUPLICATE, Outcome.LEFT_OUT)


def test_every_bad_file_of_a_folder_is_named_in_one_scan(folder):
    put(folder, "good.png", encoded(drawn(), "PNG"))
    bad = {
        "cut.jpg": encoded(drawn(2), "JPEG")[:700],
        "page.png": b"<html>",
        "empty.webp": b"",
        "small.png": encoded(drawn(3, 20, 20), "PNG"),
    }
    for name, data in bad.items():
        put(folder, name, data)
    done = scanned(folder)
    assert {one.name for one in done.findings if one.outcome is Outcome.LEFT_OUT} == set(bad)
    assert done.num_left_out == 4
    assert [one.name for one in done.pictures] == ["good.png"]
    document = done.document()
    assert {one["name"] for one in document["findings"]} == set(bad)
    assert document["num_files"] == 5


def test_folder_without_pictures_is_refused(folder):
    folder.mkdir()
    with pytest.raises(ContentRejected) as told:
        scanned(folder)
    assert told.value.code == "dataset_empty"


def test_scan_reads_no_further_ahead_than_its_workers_need():
    read = []

    def numbers():
        for number in range(100):
            read.append(number)
            yield number

    results = in_order(numbers(), lambda number: number * number, 2)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    assert len(read) <= 3 + 6


def test_scan_of_real_pictures_finds_what_is_odd_about_them(shared_data):
    source = FileSource(Folder(shared_data / "finetune"), max_file_bytes=1 << 28)
    done = scan(source, ScanOptions(rules=Rules(min_side_px=256)))
    # 30 drawn icons with alpha and 6 photos of one shoe, with captions in files and in a table that agree.
    assert done.num_files == len(done.pictures) == len({one.cluster for one in done.pictures})
    assert done.num_files == len(list((shared_data / "finetune").glob("*.[wj][ep][bg]*")))
    assert {one.fault for one in done.findings} == {Fault.HIDDEN_COLOURS}
    assert all(one.name.startswith("emoji_") for one in done.findings)


def test_portraits_that_say_png_and_are_jpeg_are_found(shared_data):
    options = ScanOptions(rules=Rules(min_side_px=256), trigger_word="sks")
    data = (shared_data / "portraits" / "asian_woman_ai.png").read_bytes()
    from training.data.sources.raw import RawSample

    examined = Examiner(options, None).examine(RawSample(name="asian_woman_ai.png", data=data))
    assert Fault.MISNAMED in {one.fault for one in examined.findings}
