"""Where a picture's caption comes from: a file beside it, its name, a product's facts, or a captioner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.markup import readable
from services.domain.errors import InvalidRequest, Unavailable
from training.data.findings import Fault, Finding, Outcome, Rules

LONG_WORDS: Final = 55
"""Text encoders of the CLIP kind read 77 tokens, about so many English words; what comes after is cut off."""

DEFAULT_TEMPLATE: Final = "a photo of {name}[, {colour}][, {material}][, {category}]"
_FIELD: Final = re.compile(r"\{([^{}\[\]]+)\}")
_OPTIONAL: Final = re.compile(r"\[([^\[\]]*)\]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class CaptionFrom(StrEnum):
    """A place captions come from, tried in the order in which they are named."""

    FILES = "files"
    NAMES = "names"
    FACTS = "facts"
    CAPTIONER = "captioner"


class Captioner(Protocol):
    """Says what a picture shows. None is packaged; whoever starts the preparation gives one."""

    def caption(self, picture_rgb: NDArray[np.uint8]) -> str:
        """A caption of ``picture_rgb``, uint8 (h, w, 3) sRGB."""
        ...


def require_captioner(wanted: tuple[CaptionFrom, ...], captioner: Captioner | None) -> None:
    """Nothing, unless captions are to come from a captioner that is not there.

    Raises:
        Unavailable: ``captioner_not_configured``.
    """
    if CaptionFrom.CAPTIONER in wanted and captioner is None:
        raise Unavailable(
            "No captioner is configured, and none comes with this package. Write captions into text files beside the "
            "pictures, or take them from names or facts.",
            code="captioner_not_configured",
            param="captions",
            retryable=False,
        )


def decoded_caption(data: bytes, name: str, rules: Rules, found: list[Finding]) -> str | None:
    """The text in ``data`` on one line; None when it cannot be told, which ``found`` then says."""
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        at = f"byte 0x{data[error.start]:02x} at {error.start}"
        try:
            if not rules.cp1252:
                raise
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            detail = f"Its caption is not UTF-8 ({at})" + (" nor Windows-1252." if rules.cp1252 else ".")
            found.append(Finding(name=name, fault=Fault.CAPTION_NOT_UTF8, outcome=Outcome.LEFT_OUT, detail=detail))
            return None
        detail = f"Its caption is not UTF-8 ({at}): read as Windows-1252."
        found.append(Finding(name=name, fault=Fault.CAPTION_NOT_UTF8, outcome=Outcome.MENDED, detail=detail))
    return one_line(text)


def one_line(text: str) -> str:
    """``text`` without control characters, line ends and runs of blanks."""
    return " ".join(_CONTROL.sub(" ", text).split())


def caption_of_name(name: str) -> str:
    """The words of a file's name: ``red-apple_02.jpg`` is "red apple"."""
    stem = PurePosixPath(name).stem
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", stem)
    words = re.sub(r"[_\-.+]+", " ", words)
    return one_line(re.sub(r"(?:\s|^)\(?\d+\)?$", "", words))


def caption_of_facts(fields: Mapping[str, str], template: str) -> str:
    """``template`` with a product's fields; a part in brackets is left out when a field in it is missing or empty.

    Raises:
        KeyError: A field outside of brackets is missing; its argument is the name.
    """

    def value(match: re.Match[str]) -> str:
        text = one_line(readable(fields.get(match[1], "")).text)
        if not text:
            raise KeyError(match[1])
        return text

    def optional(match: re.Match[str]) -> str:
        try:
            return _FIELD.sub(value, match[1])
        except KeyError:
            return ""

    # Brackets first, and of the template alone: what a field holds is never read as a template.
    parts = re.split(r"(\[[^\[\]]*\])", template)
    return one_line("".join(_OPTIONAL.sub(optional, p) if p.startswith("[") else _FIELD.sub(value, p) for p in parts))


def check_template(template: str) -> None:
    """Refuse a template that cannot be filled in.

    Raises:
        InvalidRequest: ``malformed_template_of_facts``.
    """
    bare = _FIELD.sub("", _OPTIONAL.sub(lambda match: match[1], template))
    if any(sign in bare for sign in "{}[]") or not _FIELD.search(template):
        raise InvalidRequest(
            f"The template {template!r} is not one: write fields as {{name}}, optional parts as [, {{colour}}].",
            code="malformed_template_of_facts",
            param="template",
        )


def with_trigger(caption: str, trigger_word: str | None) -> str:
    """The caption with the trigger word in front, unless it has the word already."""
    if not trigger_word:
        return caption
    if re.search(rf"(?<!\w){re.escape(trigger_word)}(?!\w)", caption):
        return caption
    return f"{trigger_word}, {caption}" if caption else trigger_word
