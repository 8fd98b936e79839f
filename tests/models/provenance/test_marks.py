"""The metadata label: what it says, where it stands, and that files stay what they were."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import av
import pytest
from PIL import Image

from models.provenance.boxes import find_xmp, top_boxes
from models.provenance.marks import GENERATOR_VERSION, Marks, SourceType
from models.provenance.pictures import find_picture_xmp
from models.provenance.xmp import read_xmp
from services.domain.errors import ContentRejected
from tests.models.provenance.conftest import MARKS

# GB 45438-2025, annex E: names and order.
AIGC_FIELDS = [
    "Label",
    "ContentProducer",
    "ProduceID",
    "ReservedCode1",
    "ContentPropagator",
    "PropagateID",
    "ReservedCode2",
]
PICTURES = ["picture.jpg", "picture.png", "picture.webp", "turning.webp", "turning.png"]


def test_version_is_the_projects():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == GENERATOR_VERSION


def test_aigc_label_has_the_standards_fields():
    label = json.loads(MARKS.aigc())
    assert list(label) == AIGC_FIELDS
    assert label["Label"] == "1"
    assert label["ContentProducer"] == "Muster & Söhne <GmbH>"
    assert label["ProduceID"] == "job_1.video"
    assert all(isinstance(value, str) for value in label.values())


@pytest.mark.parametrize(
    ("source_type", "term"),
    [
        (SourceType.COMPOSITE, "compositeWithTrainedAlgorithmicMedia"),
        (SourceType.GENERATED, "trainedAlgorithmicMedia"),
    ],
)
def test_xmp_holds_iptcs_address_and_the_label(source_type, term):
    """Read by the standard library's parser, by the names in IPTC's and TC260's specifications."""
    marks = Marks(source_type=source_type, producer="Ü", content_id="1")
    text = marks.xmp().decode()
    assert text.startswith('<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>')
    root = ElementTree.fromstring(text[text.index("<x:xmpmeta") : text.index("<?xpacket end")])
    found = root.find(".//{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType")
    assert found.text == f"http://cv.iptc.org/newscodes/digitalsourcetype/{term}"
    aigc = root.find(".//{http://www.tc260.org.cn/ns/AIGC/1.0/}AIGC")
    assert list(json.loads(aigc.text)) == AIGC_FIELDS


@pytest.mark.parametrize("name", PICTURES)
def test_picture_carries_its_marks_and_its_pixels(marked, name):
    path = marked(name)
    assert read_xmp(find_picture_xmp(path)).aigc == MARKS.aigc()
    with Image.open(path) as image:
        image.load()
        assert image.size == (60, 40)
        assert image.mode == ("RGB" if name.endswith("jpg") else "RGBA")
        assert getattr(image, "n_frames", 1) == (4 if "turning" in name else 1)


@pytest.mark.parametrize("num_frames", [1, 12])
def test_video_carries_its_marks_where_the_guide_says(marked, num_frames):
    path = marked(num_frames=num_frames)
    with av.open(str(path)) as container:
        assert container.metadata["AIGC"] == MARKS.aigc()
        assert sum(1 for _ in container.decode(video=0)) == num_frames
    with path.open("rb") as file:
        assert read_xmp(find_xmp(file)).source_type == SourceType.COMPOSITE
    assert b"AIGC" in path.read_bytes()[: 64 * 1024]


def test_marked_video_can_be_streamed(marked):
    """The index stands before the media: a player needs no second request to begin."""
    with marked().open("rb") as file:
        kinds = [box.kind for box in top_boxes(file)]
    assert kinds.index("moov") < kinds.index("mdat")


def test_signed_video_can_be_streamed_and_plays(signed):
    path = signed()
    with path.open("rb") as file:
        kinds = [box.kind for box in top_boxes(file)]
    assert kinds.index("moov") < kinds.index("mdat")
    with av.open(str(path)) as container:
        greys = [frame.to_ndarray(format="gray")[20, 30] for frame in container.decode(video=0)]
        assert len(greys) == 12
        assert greys == sorted(greys)
    with av.open(str(path)) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) >= 48_000 * 12 // 25


ATTRIBUTES = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:i="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" i:DigitalSourceType="http://x/y"
 xmlns:TC260="http://www.tc260.org.cn/ns/AIGC/1.0/" TC260:AIGC='{"Label":"1"}'/></rdf:RDF></x:xmpmeta>"""
BOMB = """<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>""" + ATTRIBUTES


def test_other_programs_spelling_is_read():
    assert read_xmp(ATTRIBUTES.encode()).source_type == "http://x/y"
    assert read_xmp(ATTRIBUTES.encode()).aigc == '{"Label":"1"}'


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"<x:xmpmeta",
        b"\xff\xfe" * 9,
        ATTRIBUTES.replace("<rdf:RDF", "<!DOCTYPE x [<!ENTITY a 'b'>]><rdf:RDF").encode(),
        b"<a>" + b" " * (5 << 20) + b"</a>",
    ],
)
def test_packet_that_is_no_xmp_says_nothing(packet):
    assert read_xmp(packet) is None


def test_entities_of_a_document_type_are_not_expanded():
    facts = read_xmp(BOMB.encode())
    assert facts is None or facts.source_type == "http://x/y"


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x04ftyp",  # shorter than its own header
        b"\0\0\xff\xffftypisom",  # longer than the file
        b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff",  # larger than any file
        b"\0\0\0\x08free\0\0",  # rest of three bytes
    ],
)
def test_broken_boxes_are_told(tmp_path, data):
    path = tmp_path / "broken.mp4"
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises(ContentRejected) as caught:
        list(top_boxes(file))
    assert caught.value.code == "unreadable_media"
