"""Reads the options of a preparation from a JSON document; what it does not know is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from services.domain.errors import InvalidRequest
from training.data.captions import DEFAULT_TEMPLATE, CaptionFrom
from training.data.crops import MaskFrom, Subject
from training.data.examine import ScanOptions
from training.data.findings import Rules
from training.data.prepare import PrepareOptions

_TYPES: Final[Mapping[str, type]] = {
    "side_px": int,
    "multiple": int,
    "square_only": bool,
    "mask": str,
    "licence": str,
    "consent": str,
    "strict": bool,
    "captions": list,
    "template": str,
    "trigger_word": str,
    "subject": str,
    "num_workers": int,
    "min_side_px": int,
    "background": str,
    "keep_animated": bool,
    "cp1252": bool,
    "drop_near_duplicates": bool,
    "max_pixels": int,
    "max_file_bytes": int,
}


def options_of(document: Mapping[str, Any]) -> PrepareOptions:
    """The options that ``document`` names, the others as they are by default.

    The names are those of ``PrepareOptions``, ``ScanOptions`` and ``Rules``, all on one level.

    Raises:
        InvalidRequest: ``unknown_option``, ``invalid_option``, ``malformed_color``, ``out_of_range``.
    """
    unknown = sorted(set(document) - set(_TYPES))
    if unknown:
        raise InvalidRequest(
            f"There is no option {', '.join(unknown)}; options are {', '.join(_TYPES)}.",
            code="unknown_option",
            param=unknown[0],
        )
    for name, value in document.items():
        if type(value) is not _TYPES[name]:
            raise _invalid(name, value, f"is a {_TYPES[name].__name__}")
    values = dict(document)
    try:
        values["captions"] = tuple(CaptionFrom(one) for one in document.get("captions", [CaptionFrom.FILES]))
        values["subject"] = Subject(document.get("subject", Subject.NONE))
        values["mask"] = MaskFrom(document.get("mask", MaskFrom.NONE))
    except ValueError as error:
        raise InvalidRequest(f"{error}.", code="invalid_option") from error
    values.setdefault("template", DEFAULT_TEMPLATE)
    if "background" in values:
        values["background"] = _color(values["background"])
    rules = Rules(**_part(Rules, values))
    return PrepareOptions(scan=ScanOptions(rules=rules, **_part(ScanOptions, values)), **_part(PrepareOptions, values))


def _part(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: values[field.name] for field in fields(kind) if field.name in values}


def _color(text: str) -> tuple[int, int, int]:
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", text):
        raise InvalidRequest(f"{text!r} is no colour of the form #rrggbb.", code="malformed_color", param="background")
    red, green, blue = bytes.fromhex(text[1:])
    return red, green, blue


def _invalid(name: str, value: object, why: str) -> InvalidRequest:
    return InvalidRequest(f"{name} {why}, not {value!r}.", code="invalid_option", param=name)
