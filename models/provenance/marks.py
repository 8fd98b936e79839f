"""The metadata label: what is said about a file, and the texts that say it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from models.provenance.xmp import xmp_packet

GENERATOR: Final = "Spokesmodel"
GENERATOR_VERSION: Final = "0.1.0"  # pyproject.toml's: in the container no installed package could be asked
AIGC_KEY: Final = "AIGC"
_SOURCE_TYPES: Final = "http://cv.iptc.org/newscodes/digitalsourcetype/"
# GB 45438-2025, annex E: 1 is content that the service knows to be generated, 2 and 3 are for platforms that guess.
_IS_GENERATED: Final = "1"


class SourceType(StrEnum):
    """How a file came about, in IPTC's words; the value is the whole address that the vocabulary asks for.

    ``COMPOSITE``: existing media changed by a model trained on media: a presenter's picture that is made to speak, a
    product laid on a person. ``GENERATED``: no pixel was there before. The distinction is IPTC's, and the first is no
    weaker a statement that the file is AI-made.
    """

    COMPOSITE = f"{_SOURCE_TYPES}compositeWithTrainedAlgorithmicMedia"
    GENERATED = f"{_SOURCE_TYPES}trainedAlgorithmicMedia"


AI_SOURCE_TYPES: Final = frozenset(
    f"{_SOURCE_TYPES}{name}"
    for name in ("trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a file says about itself; no person and no text of the customer is named.

    Attributes:
        source_type: See ``SourceType``.
        producer: Name or registered code of the service that made the file, for the AIGC label.
        content_id: The service's own number of this file: job and role.
    """

    source_type: SourceType
    producer: str
    content_id: str

    def aigc(self) -> str:
        """The implicit label of GB 45438-2025 (annex E): JSON with its seven fields in their order.

        The propagation fields are for the platform that spreads the file, the reserved ones for protection of the
        label's own, which here is the C2PA signature.
        """
        fields = {
            "Label": _IS_GENERATED,
            "ContentProducer": self.producer,
            "ProduceID": self.content_id,
            "ReservedCode1": "",
            "ContentPropagator": "",
            "PropagateID": "",
            "ReservedCode2": "",
        }
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    def xmp(self) -> bytes:
        """The XMP packet: digital source type, AIGC label and the tool's name."""
        return xmp_packet(source_type=self.source_type, aigc=self.aigc(), creator_tool=generator())

    def container_tags(self) -> Mapping[str, str]:
        """Tags of an mp4's ``moov.udta.meta``, where TC260's practice guide puts the label of a video."""
        return {AIGC_KEY: self.aigc(), "comment": "AI-generated"}


def generator() -> str:
    """Name and version of this product."""
    return f"{GENERATOR} {GENERATOR_VERSION}"
