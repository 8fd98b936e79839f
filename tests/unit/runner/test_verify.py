"""``spokesmodel verify``: statuses, words, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from models.provenance.credentials import sign_file
from models.provenance.marks import Marks, SourceType
from models.provenance.pictures import save_picture
from spokesmodel.cli.app import app
from tests.fakes.signer import Authority, FakeSigner

MARKS = Marks(source_type=SourceType.COMPOSITE, producer="Spokesmodel", content_id="job_1.poster")
AUTHORITY = Authority()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "poster.jpg"
    save_picture(Image.new("RGB", (32, 32), "teal"), path, MARKS)
    sign_file(path, MARKS, FakeSigner(AUTHORITY))
    return path


def run(*arguments: object):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def test_untouched_file_is_status_0(picture):
    done = run(picture)
    assert done.exit_code == 0
    assert "verified: marked as AI-made, and unchanged" in done.stdout
    assert "nobody on a trust list vouches for the signer" in done.stdout
    assert "compositeWithTrainedAlgorithmicMedia" in done.stdout
    assert "number job_1.poster" in done.stdout
    assert "look at it" in done.stdout  # the visible label is not seen by a program


def test_trusted_signer_is_told(picture, tmp_path):
    anchors = tmp_path / "anchors.pem"
    anchors.write_bytes(AUTHORITY.pem)
    assert "on your trust list" in run(picture, "--trust", anchors).stdout


def test_changed_file_is_status_1_with_the_part(picture):
    data = bytearray(picture.read_bytes())
    data[-20] ^= 1
    picture.write_bytes(data)
    done = run(picture)
    assert done.exit_code == 1
    assert "NOT verified" in done.stdout
    assert "TAMPERED" in done.stdout
    assert "broken: picture or metadata (assertion.dataHash.mismatch)" in done.stdout


def test_plain_picture_is_status_1(tmp_path):
    path = tmp_path / "plain.png"
    Image.new("RGB", (8, 8)).save(path)
    done = run(path)
    assert done.exit_code == 1
    assert "no Content Credentials" in done.stdout


def test_labels_alone_are_status_1(tmp_path):
    path = tmp_path / "labelled.jpg"
    save_picture(Image.new("RGB", (8, 8)), path, MARKS)
    done = run(path)
    assert done.exit_code == 1
    assert "only labels that anybody can write" in done.stdout


def test_json_is_for_programs(picture):
    done = run(picture, "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (report["verified"], report["marked_as_ai"], report["media_type"]) == (True, True, "image/jpeg")
    assert report["content_credentials"]["state"] == "untrusted"
    assert report["content_credentials"]["generator"].startswith("Spokesmodel")
    assert report["metadata_label"]["aigc"]["Label"] == "1"
    assert report["metadata_label"]["source_type"] == SourceType.COMPOSITE


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (None, 2, "file_not_found"),
        (b"", 3, "empty_file"),
        (b"a text", 3, "unsupported_media"),
        (b"\xff\xd8\xff\xe0" + bytes(50), 3, "unreadable_media"),
    ],
)
def test_what_cannot_be_looked_at_is_told_by_code(tmp_path, content, status, code):
    path = tmp_path / "file.jpg"
    if content is not None:
        path.write_bytes(content)
    done = run(path)
    assert done.exit_code == status
    assert f"code: {code}" in done.stderr


@pytest.mark.parametrize("content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n", b"\xff" * 99])
def test_trust_list_without_certificates_is_refused(picture, tmp_path, content):
    anchors = tmp_path / "anchors.pem"
    anchors.write_bytes(content)
    done = run(picture, "--trust", anchors)
    assert done.exit_code == 2
    assert "malformed_certificate" in done.stderr


def test_folder_is_told_as_one(tmp_path):
    done = run(tmp_path)
    assert done.exit_code == 2
    assert "is a folder" in done.stderr
