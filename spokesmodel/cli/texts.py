"""Options whose value is a text, a file, or standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from services.domain.errors import InvalidRequest

TEXT_HELP = "a text, the path of a UTF-8 text file, or - for standard input"


def read_text(value: str, *, param: str) -> str:
    """The text that ``value`` is, or names.

    Raises:
        InvalidRequest: ``not_utf8``.
    """
    try:
        if value == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        return Path(value).read_bytes().decode("utf-8-sig") if _is_file(value) else value
    except UnicodeDecodeError as error:
        raise InvalidRequest("The text is not UTF-8.", code="not_utf8", param=param) from error


def read_brief(value: str) -> dict[str, Any]:
    """The brief in a JSON file, or on standard input.

    Raises:
        InvalidRequest: ``file_not_found``, ``malformed_json``.
    """
    if value != "-" and not _is_file(value):
        raise InvalidRequest(f"There is no file {value}.", code="file_not_found", param="brief")
    try:
        brief = json.loads(read_text(value, param="brief"))
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"The brief is not JSON: {error}.", code="malformed_json", param="brief") from error
    if not isinstance(brief, dict):
        raise InvalidRequest("The brief is not a JSON object.", code="malformed_json", param="brief")
    return brief


def existing_file(path: Path, *, param: str) -> Path:
    """``path``, if a file is there.

    Raises:
        InvalidRequest: ``file_not_found``.
    """
    if not _is_file(str(path)):
        raise InvalidRequest(f"There is no file {path}.", code="file_not_found", param=param)
    return path


def _is_file(value: str) -> bool:
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a text too long for a path, or with a zero byte
        return False
