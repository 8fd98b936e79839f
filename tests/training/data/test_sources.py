"""Every kind of source gives the same pictures; what is packed in bad faith is refused."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile

import pytest
from PIL import Image

from services.domain.errors import ContentRejected, InvalidRequest, Unavailable
from tests.training.data.drawn import picture
from training.data.findings import Fault
from training.data.sources.opening import open_source


def png(seed):
    out = io.BytesIO()
    Image.fromarray(picture(seed)).save(out, "PNG")
    return out.getvalue()


PICTURES = {f"{name}.png": png(seed) for seed, name in enumerate(("apple", "bread", "cheese"))}
CAPTIONS = {"apple": b"a red apple", "bread": b"some bread", "cheese": b"old cheese"}


def read(where, **options):
    with open_source(str(where), **options) as source:
        return list(source.samples())


def told(samples):
    return [(one.name.rpartition("/")[2], one.data, one.caption) for one in samples]


WANTED = [(name, data, CAPTIONS[name[:-4]]) for name, data in PICTURES.items()]


def as_folder(path, ending=".txt"):
    path.mkdir()
    for name, data in PICTURES.items():
        (path / name).write_bytes(data)
        (path / (name[:-4] + ending)).write_bytes(CAPTIONS[name[:-4]])
    return path


def as_tar(path, mode="w"):
    with tarfile.open(path, mode) as tar:
        for name, data in PICTURES.items():
            for member, content in ((name, data), (name[:-4] + ".txt", CAPTIONS[name[:-4]])):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def as_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in PICTURES.items():
            archive.writestr(f"set/{name}", data)
            archive.writestr(f"set/{name[:-4]}.txt", CAPTIONS[name[:-4]])
    return path


@pytest.mark.parametrize("ending", [".txt", ".caption"])
def test_folder_with_captions_beside_pictures(tmp_path, ending):
    assert told(read(as_folder(tmp_path / "set", ending))) == WANTED


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_webdataset_tar(tmp_path, mode):
    assert told(read(as_tar(tmp_path / "set.tar", mode))) == WANTED


def test_several_shards_by_range_or_in_a_folder(tmp_path):
    for number in range(2):
        as_tar(tmp_path / f"shard-{number:04d}.tar")
    assert told(read(tmp_path / "shard-{0000..0001}.tar")) == WANTED * 2
    assert told(read(tmp_path)) == WANTED * 2
    with pytest.raises(InvalidRequest, match="shard-0002"):
        read(tmp_path / "shard-{0000..0002}.tar")


def test_zip(tmp_path):
    assert told(read(as_zip(tmp_path / "set.zip"))) == WANTED


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_table_beside_its_files(tmp_path, delimiter):
    as_folder(tmp_path / "set", ".ignored")
    rows = [delimiter.join(("file", "caption", "colour"))]
    rows += [delimiter.join((name, CAPTIONS[name[:-4]].decode(), "red")) for name in PICTURES]
    (tmp_path / "set" / "list.csv").write_text("\n".join(rows))
    samples = read(tmp_path / "set" / "list.csv")
    assert told(samples) == WANTED
    assert samples[0].fields == {"colour": "red"}


def test_jsonl_table_with_a_root(tmp_path):
    as_folder(tmp_path / "set", ".ignored")
    lines = [json.dumps({"image": n, "text": CAPTIONS[n[:-4]].decode(), "price": 9.5}) for n in PICTURES]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    samples = read(tmp_path / "rows.jsonl", root=tmp_path / "set")
    assert told(samples) == WANTED
    assert samples[1].fields == {"price": "9.5"}


def test_captions_csv_among_the_pictures_and_a_caption_for_a_picture_that_is_not_there(tmp_path):
    folder = as_folder(tmp_path / "set", ".ignored")
    for path in folder.glob("*.ignored"):
        path.unlink()
    rows = "file,caption\n" + "".join(f"{name},{CAPTIONS[name[:-4]].decode()}\n" for name in PICTURES)
    (folder / "captions.csv").write_text(rows + "gone.png,a lost one\n")
    samples = read(folder)
    assert told(samples[:3]) == WANTED
    assert [(one.name, one.fault) for one in samples[3:]] == [("gone.png", Fault.FILE_MISSING)]


def test_windows_byte_in_a_table_reaches_the_caption_unchanged(tmp_path):
    folder = as_folder(tmp_path / "set", ".ignored")
    (folder / "list.csv").write_bytes(b"file,caption\napple.png,a woman\x92s apple\n")
    assert read(folder / "list.csv")[0].caption == b"a woman\x92s apple"


def test_caption_without_a_picture_and_file_without_a_name_are_told(tmp_path):
    folder = as_folder(tmp_path / "set")
    (folder / "lost.txt").write_text("nothing to see")
    (folder / "link.png").symlink_to(folder / "nowhere.png")
    (folder / ".DS_Store").write_bytes(b"\0")
    faults = {one.name: one.fault for one in read(folder) if one.fault}
    assert faults == {"lost.txt": Fault.CAPTION_WITHOUT_PICTURE, "link.png": Fault.FILE_MISSING}


def test_masks_lie_beside_their_pictures(tmp_path):
    folder = as_folder(tmp_path / "set")
    (folder / "apple.mask.png").write_bytes(b"mask")
    assert [one.mask for one in read(folder)] == [b"mask", None, None]


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../b.png"])
def test_table_does_not_reach_out_of_its_folder(tmp_path, name):
    folder = as_folder(tmp_path / "set")
    (tmp_path / "secret.png").write_bytes(png(9))
    (folder / "list.csv").write_text(f"file,caption\n{name},x\n")
    (sample,) = read(folder / "list.csv")
    assert sample.data is None
    assert sample.fault is Fault.OUTSIDE_FOLDER


@pytest.mark.parametrize("name", ["../evil.png", "/abs.png", "a\\..\\..\\b.png", "C:/x.png"])
def test_archive_with_a_way_out_is_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, png(1))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))
    for path in (tmp_path / "a.zip", tmp_path / "a.tar"):
        with pytest.raises(ContentRejected) as refused:
            read(path)
        assert refused.value.code == "archive_unsafe"


def test_links_in_archives_are_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo("a.png")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("a.png")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    for path in (tmp_path / "a.zip", tmp_path / "a.tar"):
        with pytest.raises(ContentRejected) as refused:
            read(path)
        assert refused.value.code == "archive_unsafe"


def test_zip_bomb_is_refused_before_anything_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.png", bytes(40_000_000))
    with pytest.raises(ContentRejected) as refused:
        read(tmp_path / "bomb.zip")
    assert refused.value.code == "archive_bomb"


def test_zip_whose_files_share_their_bytes_is_refused(tmp_path):
    """David Fifield's bombs: entries of the table of contents that overlap."""
    as_zip(tmp_path / "a.zip")
    data = (tmp_path / "a.zip").read_bytes()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    directory = data[start:end]
    copies = directory
    for number in range(40):
        copies += directory.replace(b"set/", f"s{number:02d}/".encode())
    count, size = 6 * 41, len(copies)
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, size, start, 0)
    (tmp_path / "b.zip").write_bytes(data[:start] + copies + tail)
    with pytest.raises(ContentRejected) as refused:
        read(tmp_path / "b.zip")
    assert refused.value.code == "archive_bomb"


def test_damaged_member_of_a_zip_is_told_and_the_others_are_read(tmp_path):
    as_zip(tmp_path / "a.zip")
    data = bytearray((tmp_path / "a.zip").read_bytes())
    place = data.index(PICTURES["bread.png"]) + 100
    data[place] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(data)
    samples = read(tmp_path / "a.zip")
    assert [(one.name, one.fault) for one in samples] == [
        ("set/apple.png", None),
        ("set/bread.png", Fault.UNREADABLE),
        ("set/cheese.png", None),
    ]


def test_tar_that_is_cut_off_gives_what_came_before_and_tells_the_rest(tmp_path):
    as_tar(tmp_path / "a.tar")
    data = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "a.tar").write_bytes(data[: data.index(PICTURES["cheese.png"]) + 50])
    samples = read(tmp_path / "a.tar")
    assert told(samples)[:2] == WANTED[:2]
    assert samples[-1].fault is Fault.UNREADABLE


@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_archive_that_is_none_is_refused_by_name(tmp_path, name):
    (tmp_path / name).write_bytes(b"not an archive at all" * 100)
    with pytest.raises(InvalidRequest) as refused:
        read(tmp_path / name)
    assert refused.value.code == "malformed_archive"


@pytest.mark.parametrize(
    ("content", "why"),
    [("caption\nx\n", "column"), ("file,caption\na.png\n", "Line 2"), ('file,caption\n"a.png,x\n', "Line")],
)
def test_malformed_table_is_refused_with_its_line(tmp_path, content, why):
    (tmp_path / "list.csv").write_text(content)
    with pytest.raises(InvalidRequest, match=why) as refused:
        read(tmp_path / "list.csv")
    assert refused.value.code == "malformed_table"


def test_malformed_jsonl_is_refused_with_its_line(tmp_path):
    (tmp_path / "list.jsonl").write_text('{"file": "a.png"}\n{"file": \n')
    with pytest.raises(InvalidRequest, match="Line 2"):
        read(tmp_path / "list.jsonl")


def test_what_is_not_there_or_no_source_is_refused(tmp_path):
    with pytest.raises(InvalidRequest) as missing:
        read(tmp_path / "nothing")
    assert missing.value.code == "file_not_found"
    (tmp_path / "notes.md").write_text("# hello")
    with pytest.raises(InvalidRequest) as other:
        read(tmp_path / "notes.md")
    assert other.value.code == "malformed_source"


class Answer(Exception):
    """An error as botocore's ClientError carries it."""

    def __init__(self, status):
        super().__init__(status)
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


class Bucket:
    """S3 in memory: pages of two, connections that break after some bytes."""

    def __init__(self, objects, *, breaks_after=None):
        self.objects, self.breaks_after = objects, breaks_after
        self.requests = []

    def list_objects_v2(self, *, Bucket, Prefix, ContinuationToken="0"):  # noqa: N803
        names = sorted(name for name in self.objects if name.startswith(Prefix))
        start = int(ContinuationToken)
        page = {"Contents": [{"Key": n, "Size": len(self.objects[n])} for n in names[start : start + 2]]}
        return page | ({"NextContinuationToken": str(start + 2)} if start + 2 < len(names) else {})

    def get_object(self, *, Bucket, Key, Range="bytes=0-", IfMatch="v1"):  # noqa: N803
        if Key not in self.objects:
            raise Answer(404)
        if IfMatch != "v1":
            raise Answer(412)
        start = int(Range.removeprefix("bytes=").rstrip("-"))
        self.requests.append((Key, start))
        data = self.objects[Key][start:]
        return {"ETag": "v1", "ContentLength": len(data), "Body": Body(data, self.breaks_after)}


class Body(io.BytesIO):
    def __init__(self, data, breaks_after):
        super().__init__(data)
        self.left = breaks_after

    def read(self, size=-1):
        if self.left is None:
            return super().read(size)
        if self.left <= 0:
            raise ConnectionResetError("reset by peer")
        data = super().read(min(size, self.left))
        self.left -= len(data)
        return data


def test_s3_prefix_is_listed_in_pages_and_read(tmp_path):
    folder = as_folder(tmp_path / "set")
    bucket = Bucket({f"sets/food/{path.name}": path.read_bytes() for path in folder.iterdir()})
    assert told(read("s3://data/sets/food", s3=lambda: bucket)) == WANTED


def test_s3_tar_is_streamed_and_goes_on_where_a_connection_broke(tmp_path):
    data = as_tar(tmp_path / "a.tar").read_bytes()
    bucket = Bucket({"sets/a.tar": data}, breaks_after=9000)
    assert told(read("s3://data/sets/a.tar", s3=lambda: bucket)) == WANTED
    starts = [start for _, start in bucket.requests]
    assert len(starts) > 1
    assert starts == sorted(starts)


def test_s3_zip_and_shards_below_a_prefix(tmp_path):
    objects = {"z/a.zip": as_zip(tmp_path / "a.zip").read_bytes(), "t/0.tar": as_tar(tmp_path / "0.tar").read_bytes()}
    bucket = Bucket(objects)
    assert told(read("s3://data/z/a.zip", s3=lambda: bucket)) == WANTED
    assert told(read("s3://data/t/", s3=lambda: bucket)) == WANTED


def test_s3_object_that_is_not_there_and_one_that_never_ends_are_told(tmp_path):
    with pytest.raises(InvalidRequest) as missing:
        read("s3://data/none.tar", s3=lambda: Bucket({}))
    assert missing.value.code == "source_not_found"
    with pytest.raises(InvalidRequest):
        read("s3://data/none/", s3=lambda: Bucket({}))
    broken = Bucket({"a.tar": as_tar(tmp_path / "a.tar").read_bytes()}, breaks_after=0)
    with pytest.raises(Unavailable) as unreadable:
        read("s3://data/a.tar", s3=lambda: broken)
    assert unreadable.value.code == "object_unavailable"
    assert len(broken.requests) == 4


def test_s3_is_asked_for_only_when_it_is_named(tmp_path):
    read(as_folder(tmp_path / "set"), s3=lambda: pytest.fail("no client is needed"))
    with pytest.raises(InvalidRequest):
        read("s3://data/a.tar")
