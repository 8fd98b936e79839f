"""Reads a file's marks and credentials back, whoever made it, and says what is intact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from models.provenance.boxes import C2PA_UUID, find_xmp, top_boxes
from models.provenance.credentials import OFFLINE
from models.provenance.marks import AI_SOURCE_TYPES, AIGC_KEY
from models.provenance.pictures import find_picture_xmp
from models.provenance.xmp import XmpFacts, read_xmp
from services.domain.errors import ContentRejected
from services.domain.media_format import START_BYTES, format_of

VISIBLE_LABEL_NOTE: Final = "A visible label is a part of the picture: look at it. This command reads metadata only."
_TYPES: Final = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WebP": "image/webp",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "AVIF": "image/avif",
    "HEIC": "image/heic",
    "MP4 or MOV": "video/mp4",
    "QuickTime": "video/quicktime",
    "M4A": "audio/mp4",
    "WebM or Matroska": "video/webm",
}
_MANIFEST: Final = "manifest"
_NOT_READABLE: Final = "not_readable"  # ours: C2PA's codes are about what could be read
_UNTRUSTED: Final = "signingCredential.untrusted"
# C2PA 2.4, "Validation status codes": the part that a failure is about.
_PARTS: Final = (
    ("assertion.bmffHash", "picture or sound"),
    ("assertion.dataHash", "picture or metadata"),
    ("assertion.boxesHash", "picture or metadata"),
    ("assertion.hashedURI", "statement"),
    ("assertion.", "statement"),
    ("ingredient.", "statement on a source"),
    ("claimSignature.", "signature"),
    ("claim.", "claim"),
    ("signingCredential.", "certificate"),
    ("timeStamp.", "time stamp"),
)


class CredentialState(StrEnum):
    TRUSTED = "trusted"  # intact, and signed by somebody on the trust list that was given
    UNTRUSTED = "untrusted"  # intact, but nobody known vouches for the signer
    TAMPERED = "tampered"  # the file is not the one that was signed
    INVALID = "invalid"  # the signature or its certificate is no good
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why credentials do not hold; ``code`` is C2PA's, or ``not_readable``."""

    code: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialReport:
    """What the C2PA manifest says, and whether it may be believed.

    Attributes:
        generator: Name and version of the program that signed.
        issuer: Organization in the signer's certificate; anybody can write any name while it is untrusted.
        created_at: By the signer's own clock, as the manifest has it.
        timestamped_at: By a time authority; None where none was asked.
    """

    state: CredentialState
    problems: tuple[Problem, ...] = ()
    source_types: tuple[str, ...] = ()
    generator: str | None = None
    issuer: str | None = None
    created_at: str | None = None
    timestamped_at: str | None = None

    @property
    def has_no_manifest(self) -> bool:
        """Whether not even a broken manifest could be read."""
        return any(problem.part == _MANIFEST for problem in self.problems) and self.generator is None

    @property
    def is_intact(self) -> bool:
        return self.state in (CredentialState.TRUSTED, CredentialState.UNTRUSTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReport:
    """What the unsigned metadata says; without credentials, anybody can have written or changed it.

    Attributes:
        aigc: The label of GB 45438-2025; None when there is none, or none that can be read.
    """

    source_type: str | None = None
    aigc: Mapping[str, Any] | None = None
    creator_tool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceReport:
    """Everything that can be told of one file."""

    media_type: str
    credentials: CredentialReport
    label: LabelReport = field(default_factory=LabelReport)

    @property
    def is_marked(self) -> bool:
        """Whether anything in the file says that it is AI-made."""
        said = {self.label.source_type, *self.credentials.source_types}
        return bool(said & AI_SOURCE_TYPES) or str((self.label.aigc or {}).get("Label")) in ("1", "2", "3")

    @property
    def is_verified(self) -> bool:
        """Whether it says so, and the whole file is as its signer left it."""
        return self.is_marked and self.credentials.is_intact


def inspect_file(path: Path, *, trust_anchors: str = "") -> ProvenanceReport:
    """What the file at ``path`` says of its origin; it is read in blocks, whatever its size.

    Args:
        trust_anchors: PEM certificates of authorities that are to be believed.

    Raises:
        ContentRejected: ``empty_file``, ``unsupported_media`` (no picture or film), ``unreadable_media``.
    """
    media_type = _media_type(path)
    credentials = _credentials(path, media_type, trust_anchors)
    try:
        label = _label(path, media_type)
    except ContentRejected:
        # Of a damaged file whose manifest can be read, the manifest says what is wrong.
        if credentials.state is CredentialState.MISSING or credentials.has_no_manifest:
            raise
        label = LabelReport()
    return ProvenanceReport(media_type=media_type, credentials=credentials, label=label)


def _media_type(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(START_BYTES)
    if not start:
        raise ContentRejected(f'"{path.name}" is empty (0 bytes).', code="empty_file")
    found = format_of(start)
    if found is None or found.name not in _TYPES:
        what = f"it is {found.name}" if found else "it is no file of a known kind"
        raise ContentRejected(
            f'"{path.name}" cannot be looked at: {what}. Give a picture or a video.', code="unsupported_media"
        )
    return _TYPES[found.name]


def _credentials(path: Path, media_type: str, trust_anchors: str) -> CredentialReport:
    import c2pa

    settings: dict[str, Any] = dict(OFFLINE)
    if trust_anchors:
        settings["trust"] = {"user_anchors": trust_anchors}
    try:
        with c2pa.Context.from_dict(settings) as context, path.open("rb") as file:
            reader = c2pa.Reader.try_create(media_type, file, context=context)
            if reader is None:
                return CredentialReport(state=CredentialState.MISSING)
            with reader:
                return _report(json.loads(reader.json()))
    except (c2pa.C2paError.ManifestNotFound, c2pa.C2paError.NotSupported):
        return CredentialReport(state=CredentialState.MISSING)
    except c2pa.C2paError:
        # A manifest is there, or its remains. No signer leaves a film whose structure breaks behind its manifest.
        if _breaks_behind_manifest(path):
            problem = Problem(code=_NOT_READABLE, part="structure of the file")
            return CredentialReport(state=CredentialState.TAMPERED, problems=(problem,))
        problem = Problem(code=_NOT_READABLE, part=_MANIFEST)
        return CredentialReport(state=CredentialState.INVALID, problems=(problem,))


def _breaks_behind_manifest(path: Path) -> bool:
    """Whether the file is an mp4 with a manifest and, somewhere behind it, bytes that are no whole box."""
    has_manifest = False
    try:
        with path.open("rb") as file:
            for box in top_boxes(file):
                has_manifest = has_manifest or box.uuid == C2PA_UUID
    except ContentRejected:
        return has_manifest
    return False


def _report(store: Mapping[str, Any]) -> CredentialReport:
    manifest = store["manifests"].get(store.get("active_manifest"), {})
    failures = store.get("validation_results", {}).get("activeManifest", {}).get("failure", [])
    problems = tuple(
        Problem(code=failure["code"], part=_part(failure["code"]))
        for failure in failures
        if failure["code"] != _UNTRUSTED
    )
    actions = [
        action
        for assertion in manifest.get("assertions", ())
        if assertion["label"].startswith("c2pa.actions")
        for action in assertion.get("data", {}).get("actions", ())
    ]
    signature = manifest.get("signature_info") or {}
    programs = manifest.get("claim_generator_info") or [{}]
    return CredentialReport(
        state=_state(store.get("validation_state"), problems),
        problems=problems,
        source_types=tuple(action["digitalSourceType"] for action in actions if "digitalSourceType" in action),
        generator=" ".join(filter(None, (programs[0].get("name"), programs[0].get("version")))) or None,
        issuer=signature.get("issuer"),
        created_at=next((action["when"] for action in actions if action.get("when")), None),
        timestamped_at=signature.get("time"),
    )


def _state(validation_state: str | None, problems: tuple[Problem, ...]) -> CredentialState:
    match validation_state:
        case "Trusted":
            return CredentialState.TRUSTED
        case "Valid":
            return CredentialState.UNTRUSTED
    is_changed = any(problem.code.startswith(("assertion.", "claimSignature.mismatch")) for problem in problems)
    return CredentialState.TAMPERED if is_changed else CredentialState.INVALID


def _part(code: str) -> str:
    return next((part for start, part in _PARTS if code.startswith(start)), _MANIFEST)


def _label(path: Path, media_type: str) -> LabelReport:
    tags: Mapping[str, str] = {}
    packet: bytes | None
    if media_type.startswith("image/"):
        packet = find_picture_xmp(path)
    else:
        from models.video.container import opened

        with opened(path, path.name) as container:
            tags = dict(container.metadata)
        with path.open("rb") as file:
            packet = find_xmp(file) if media_type != "video/webm" else None
    xmp = (read_xmp(packet) if packet else None) or XmpFacts()
    return LabelReport(
        source_type=xmp.source_type,
        aigc=_aigc(xmp.aigc) or _aigc(next((tags[key] for key in tags if key.upper() == AIGC_KEY), None)),
        creator_tool=xmp.creator_tool,
    )


def _aigc(text: str | None) -> Mapping[str, Any] | None:
    """The label's fields; some writers wrap them into an object called ``AIGC``."""
    try:
        values = json.loads(text or "null")
    except ValueError:
        return None
    if isinstance(values, dict) and isinstance(values.get(AIGC_KEY), dict):
        values = values[AIGC_KEY]
    return values if isinstance(values, dict) and "Label" in values else None
