"""XMP packets (ISO 16684-1): ours, and what is read out of anybody's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_IPTC_EXTENSION: Final = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_TC260: Final = "http://www.tc260.org.cn/ns/AIGC/1.0/"
_XMP: Final = "http://ns.adobe.com/xap/1.0/"
_MAX_PACKET_BYTES: Final = 4 << 20

_PACKET: Final = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="{rdf}">
  <rdf:Description rdf:about="" xmlns:Iptc4xmpExt="{iptc}" xmlns:TC260="{tc260}" xmlns:xmp="{xmp}">
   <Iptc4xmpExt:DigitalSourceType>{source_type}</Iptc4xmpExt:DigitalSourceType>
   <TC260:AIGC>{aigc}</TC260:AIGC>
   <xmp:CreatorTool>{creator_tool}</xmp:CreatorTool>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class XmpFacts:
    """What a packet says that matters here; None where it says nothing."""

    source_type: str | None = None
    aigc: str | None = None
    creator_tool: str | None = None


def xmp_packet(*, source_type: str, aigc: str, creator_tool: str) -> bytes:
    """A packet with these three properties."""
    text = _PACKET.format(
        rdf=_RDF,
        iptc=_IPTC_EXTENSION,
        tc260=_TC260,
        xmp=_XMP,
        source_type=escape(source_type),
        aigc=escape(aigc),
        creator_tool=escape(creator_tool),
    )
    return text.encode()


def read_xmp(packet: bytes) -> XmpFacts | None:
    """The properties of ``packet``, written as elements or as attributes; None when it cannot be read as XMP.

    Packets come from strangers: a document type, which XMP has none of, is refused before parsing.
    """
    start, end = packet.find(b"<x:xmpmeta"), packet.rfind(b"</x:xmpmeta>")
    if 0 <= start < end:
        packet = packet[start : end + len(b"</x:xmpmeta>")]
    if len(packet) > _MAX_PACKET_BYTES or b"<!" in packet:
        return None
    try:
        root = ElementTree.fromstring(packet)
    except (ElementTree.ParseError, ValueError):
        return None
    found: dict[str, str] = {}
    for element in root.iter():
        properties = [(element.tag, "".join(element.itertext()).strip())]
        # A URI valued property may also be written as a reference.
        properties += [(element.tag, value) for name, value in element.items() if name == f"{{{_RDF}}}resource"]
        properties += list(element.items())
        for name, value in properties:
            if value:
                found.setdefault(name, value)
    return XmpFacts(
        source_type=found.get(f"{{{_IPTC_EXTENSION}}}DigitalSourceType"),
        aigc=found.get(f"{{{_TC260}}}AIGC"),
        creator_tool=found.get(f"{{{_XMP}}}CreatorTool"),
    )
