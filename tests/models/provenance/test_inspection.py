"""What can be told of a file: ours, changed, stripped, foreign, or none at all."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import av
import c2pa
import numpy as np
import pytest
from PIL import Image

from models.provenance.boxes import C2PA_UUID, XMP_UUID, top_boxes
from models.provenance.credentials import sign_file
from models.provenance.inspection import CredentialState, inspect_file
from models.provenance.marks import Marks, SourceType
from services.domain.errors import ContentRejected, EngineFailed, Unavailable
from tests.fakes.signer import Authority, FakeSigner
from tests.models.provenance.conftest import MARKS

ROOT = Path(__file__).resolve().parents[3]
KINDS = ["film.mp4", "picture.jpg", "picture.png", "picture.webp", "turning.webp", "turning.png"]


@pytest.mark.parametrize("name", KINDS)
def test_untouched_file_verifies(signed, name):
    report = inspect_file(signed(name))
    assert report.is_verified
    assert report.credentials.state is CredentialState.UNTRUSTED
    assert report.credentials.source_types == (SourceType.COMPOSITE,)
    assert report.credentials.generator.startswith("Spokesmodel ")
    assert report.credentials.issuer == "Test Signer"
    assert report.credentials.timestamped_at is None
    assert report.label.source_type == SourceType.COMPOSITE
    assert report.label.aigc["ContentProducer"] == "Muster & Söhne <GmbH>"


@pytest.mark.parametrize("name", KINDS)
def test_libraries_own_report_agrees(signed, name):
    """The reference implementation's validation, without our reading of it."""
    path = signed(name)
    with c2pa.Reader(str(path)) as reader:
        store = json.loads(reader.json())
    results = store["validation_results"]["activeManifest"]
    assert {failure["code"] for failure in results["failure"]} == {"signingCredential.untrusted"}
    assert {"claimSignature.validated", "claimSignature.insideValidity"} <= {one["code"] for one in results["success"]}
    manifest = store["manifests"][store["active_manifest"]]
    assert [ingredient["relationship"] for ingredient in manifest["ingredients"]] == ["componentOf"]
    assert "thumbnail" not in json.dumps(store)
    actions = next(a for a in manifest["assertions"] if a["label"].startswith("c2pa.actions"))["data"]["actions"]
    assert [action["action"] for action in actions] == ["c2pa.created", "c2pa.placed"]
    assert actions[0]["digitalSourceType"] == SourceType.COMPOSITE


def test_signer_on_the_trust_list_is_trusted(signed, authority):
    path = signed()
    assert inspect_file(path, trust_anchors=authority.pem.decode()).credentials.state is CredentialState.TRUSTED
    other = inspect_file(path, trust_anchors=Authority("Other").pem.decode())
    assert other.credentials.state is CredentialState.UNTRUSTED


def media_byte(path: Path) -> int:
    """The place of a byte of the picture or sound itself."""
    if path.suffix == ".webp":
        return path.read_bytes().index(b"VP8") + 300
    if path.suffix != ".mp4":
        return path.stat().st_size - 20  # the last bytes are pixels
    with path.open("rb") as file:
        box = next(box for box in top_boxes(file) if box.kind == "mdat")
    return box.offset + box.size_bytes // 2


@pytest.mark.parametrize("name", KINDS)
def test_one_changed_byte_is_told_with_its_part(signed, name):
    path = signed(name)
    data = bytearray(path.read_bytes())
    data[media_byte(path)] ^= 1
    path.write_bytes(data)
    report = inspect_file(path)
    assert not report.is_verified
    assert report.credentials.state is CredentialState.TAMPERED
    assert {problem.part for problem in report.credentials.problems} & {"picture or sound", "picture or metadata"}


@pytest.mark.parametrize("name", ["film.mp4", "picture.jpg", "picture.png"])
def test_changed_label_is_told(signed, name):
    """The AIGC label is unsigned by itself; inside the signed file, it is covered."""
    path = signed(name)
    data = path.read_bytes()
    assert data.count(b"job_1.video") >= 1
    path.write_bytes(data.replace(b"job_1.video", b"job_2.video"))
    report = inspect_file(path)
    assert report.credentials.state is CredentialState.TAMPERED
    assert not report.is_verified


def test_changed_statement_is_told(signed):
    """The digital source type in the manifest, turned into a camera's."""
    path = signed("picture.jpg")
    data = path.read_bytes()
    start = data.index(b"c2pa.created")
    at = data.index(b"compositeWithTrained", start)
    path.write_bytes(data[:at] + b"digitalCapturedThing" + data[at + 20 :])
    report = inspect_file(path)
    assert report.credentials.state is CredentialState.TAMPERED
    assert "statement" in {problem.part for problem in report.credentials.problems}


def test_credentials_moved_to_another_file_do_not_hold(signed, marked):
    """A manifest cut out of one film and put into another."""
    donor = signed("film.mp4").read_bytes()
    other = marked("other.mp4", num_frames=9)
    with (other.parent / "film.mp4").open("rb") as file:
        box = next(box for box in top_boxes(file) if box.uuid == C2PA_UUID)
    forged = other.parent / "forged.mp4"
    forged.write_bytes(other.read_bytes() + donor[box.offset : box.offset + box.size_bytes])
    assert inspect_file(forged).credentials.state is CredentialState.TAMPERED


def test_film_encoded_again_has_no_credentials(signed, tmp_path):
    source, target = signed(), tmp_path / "again.mp4"
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        stream = new.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for frame in old.decode(video=0):
            new.mux(stream.encode(frame))
        new.mux(stream.encode(None))
    report = inspect_file(target)
    assert report.credentials.state is CredentialState.MISSING
    assert (report.label.aigc, report.label.source_type, report.is_marked) == (None, None, False)


def test_picture_saved_again_has_no_credentials(signed, tmp_path):
    with Image.open(signed("picture.jpg")) as image:
        image.save(tmp_path / "again.jpg")
    assert inspect_file(tmp_path / "again.jpg").credentials.state is CredentialState.MISSING


def test_film_stripped_of_credentials_keeps_labels_that_anybody_could_write(marked):
    report = inspect_file(marked())
    assert report.credentials.state is CredentialState.MISSING
    assert report.is_marked
    assert not report.is_verified
    assert report.label.aigc["ProduceID"] == "job_1.video"


@pytest.mark.parametrize("data", [b"x" * 100, struct.pack(">I4s", 500, b"free")])
def test_film_with_bytes_appended_is_tampered(signed, data):
    path = signed()
    path.write_bytes(path.read_bytes() + data)
    report = inspect_file(path)
    assert (report.credentials.state, report.is_verified) == (CredentialState.TAMPERED, False)
    assert [(problem.part, problem.code) for problem in report.credentials.problems] == [
        ("structure of the file", "not_readable")
    ]


def test_film_with_a_whole_box_appended_is_tampered(signed):
    path = signed()
    path.write_bytes(path.read_bytes() + struct.pack(">I4s", 16, b"junk") + b"x" * 8)
    report = inspect_file(path)
    assert report.credentials.state is CredentialState.TAMPERED
    assert {problem.part for problem in report.credentials.problems} == {"picture or sound"}


def test_film_whose_xmp_was_cut_off_is_tampered(signed):
    path = signed()
    with path.open("rb") as file:
        box = next(box for box in top_boxes(file) if box.uuid == XMP_UUID)
    path.write_bytes(path.read_bytes()[: box.offset])
    assert inspect_file(path).credentials.state is CredentialState.TAMPERED


def test_camera_picture_with_valid_credentials_is_not_marked_as_ai(tmp_path, signer):
    """Foreign credentials hold, and still nothing says AI."""
    path, signed = tmp_path / "camera.jpg", tmp_path / "signed.jpg"
    Image.new("RGB", (32, 32), "red").save(path)
    action = {
        "action": "c2pa.created",
        "digitalSourceType": "http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture",
    }
    manifest = {
        "claim_generator_info": [{"name": "Camera", "version": "1"}],
        "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [action]}}],
    }
    native = c2pa.Signer.from_callback(signer.sign, c2pa.C2paSigningAlg.ES256, signer.certificate_chain_pem().decode())
    c2pa.Builder(manifest).sign_file(str(path), str(signed), native)
    report = inspect_file(signed)
    assert report.credentials.is_intact
    assert report.credentials.generator == "Camera 1"
    assert not report.is_marked
    assert not report.is_verified


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"just a text", "unsupported_media"),
        (b"%PDF-1.7 ...", "unsupported_media"),
        (b"PK\x03\x04" + bytes(99), "unsupported_media"),
        (b"\xff\xd8\xff\xe0" + bytes(40), "unreadable_media"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "unreadable_media"),
        (b"\0\0\0\x18ftypisom\0\0\2\0isomiso2\0\0\xff\xffmoov", "unreadable_media"),
    ],
)
def test_what_is_no_picture_or_film_is_refused_by_name(tmp_path, data, code):
    path = tmp_path / "file.mp4"
    path.write_bytes(data)
    with pytest.raises(ContentRejected) as caught:
        inspect_file(path)
    assert caught.value.code == code


def test_picture_that_would_unfold_to_gigabytes_is_not_opened(tmp_path):
    """A PNG's header alone: 60,000 by 60,000 pixels."""
    path = tmp_path / "bomb.png"
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + bytes(64)
    )
    with pytest.raises(ContentRejected) as caught:
        inspect_file(path)
    assert caught.value.code in ("picture_too_large", "unreadable_media")


@pytest.mark.parametrize("name", ["film.mp4", "picture.png", "picture.jpg"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_cut_off_file_never_verifies(signed, name, share):
    path = signed(name)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    try:
        is_verified = inspect_file(path).is_verified
    except ContentRejected:
        is_verified = False
    assert not is_verified


def test_webm_is_looked_at_and_carries_none(tmp_path):
    path = tmp_path / "film.webm"
    with av.open(str(path), "w", format="webm") as container:
        stream = container.add_stream("libvpx-vp9", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for grey in (20, 120):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), grey, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert inspect_file(path).credentials.state is CredentialState.MISSING


LARGE_MB = 1000


def test_large_file_is_signed_and_read_in_blocks(marked, tmp_path):
    """Media in a file with holes: the library hashes two blocks of 256 MB at a time, whatever the file's size."""
    path = marked()
    code = f"""
from pathlib import Path
from models.provenance.credentials import sign_file
from models.provenance.inspection import inspect_file
from tests.fakes.signer import FakeSigner
from tests.models.provenance.conftest import MARKS
path = Path({str(path)!r})
size = path.stat().st_size
with path.open("ab") as file:
    file.write(({LARGE_MB} << 20).to_bytes(4, "big") + b"mdat")
    file.truncate(size + ({LARGE_MB} << 20))
sign_file(path, MARKS, FakeSigner())
assert inspect_file(path).is_verified
# Not getrusage: its peak is that of the process that started this one, where that was larger.
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 800


class TestSigning:
    """What can go wrong while a file is signed."""

    def test_file_stays_as_it_was_when_the_key_is_away(self, marked):
        path, signer = marked(), FakeSigner()
        before = path.read_bytes()
        signer.refuses = True
        with pytest.raises(Unavailable) as caught:
            sign_file(path, MARKS, signer)
        assert caught.value.code == "signing_unavailable"
        assert caught.value.retryable
        assert path.read_bytes() == before
        assert [one.name for one in path.parent.iterdir()] == [path.name]

    @pytest.mark.parametrize("shift", [timedelta(days=1), timedelta(days=-366)])
    def test_certificate_that_is_not_valid_now_signs_nothing(self, marked, shift):
        path, signer = marked(), FakeSigner(since=datetime.now(UTC) + shift)
        with pytest.raises(Unavailable) as caught:
            sign_file(path, MARKS, signer)
        assert caught.value.code == "signing_unavailable"
        assert "clock" in caught.value.detail
        assert signer.num_signatures == 0

    def test_signature_of_another_key_does_not_leave_the_house(self, marked):
        path, signer, other = marked(), FakeSigner(), FakeSigner()
        signer.sign = other.sign
        before = path.read_bytes()
        with pytest.raises(EngineFailed) as caught:
            sign_file(path, MARKS, signer)
        assert caught.value.code == "signing_failed"
        assert caught.value.retryable
        assert path.read_bytes() == before

    @pytest.mark.parametrize("signature", [b"", b"short", bytes(72)])
    def test_signature_of_another_form_is_refused(self, marked, signature):
        signer = FakeSigner()
        signer.sign = lambda data: signature
        with pytest.raises(EngineFailed):
            sign_file(marked(), MARKS, signer)

    def test_chain_that_is_no_certificate_is_refused(self, marked):
        signer = FakeSigner()
        signer.certificate_chain_pem = lambda: b"no certificate"
        with pytest.raises(Unavailable) as caught:
            sign_file(marked(), MARKS, signer)
        assert caught.value.code == "signing_unavailable"

    def test_time_authority_that_does_not_answer_leaves_the_file_unsigned(self, marked):
        path = marked("picture.png")
        before = path.read_bytes()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with pytest.raises(Unavailable) as caught:
            sign_file(path, MARKS, FakeSigner(), timestamp_url=f"http://127.0.0.1:{port}/")
        assert caught.value.code == "signing_unavailable"
        assert caught.value.retryable
        assert path.read_bytes() == before

    def test_damaged_file_is_not_signed(self, tmp_path):
        path = tmp_path / "film.mp4"
        path.write_bytes(b"\0\0\0\x18ftypisom\0\0\2\0isom")
        with pytest.raises(EngineFailed) as caught:
            sign_file(path, MARKS, FakeSigner())
        assert caught.value.code == "signing_failed"

    def test_time_of_creation_is_the_clocks(self, marked):
        path, signer = marked("picture.png"), FakeSigner()
        moment = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=3)
        sign_file(path, MARKS, signer, now=moment)
        assert inspect_file(path).credentials.created_at == moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def test_picture_out_of_nothing_says_so(self, marked):
        marks = Marks(source_type=SourceType.GENERATED, producer="Spokesmodel", content_id="job_1.image")
        path = marked("picture.png", marks=marks)
        sign_file(path, marks, FakeSigner())
        report = inspect_file(path)
        assert report.is_verified
        assert report.credentials.source_types == (SourceType.GENERATED,)

    def test_awkward_names_are_signed(self, marked):
        for name in ('产品 "视频".mp4', "con:colon;&.jpg", "%03d naïve 🎬.png"):
            path = marked(name)
            sign_file(path, MARKS, FakeSigner())
            assert inspect_file(path).is_verified
