"""Options whose value is a text, a file, or standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from services.domain.errors import InvalidRequest
from services.domain.json_object import unique_keys

TEXT_HELP: Final = "a text, the path of a UTF-8 text file, or - for standard input"


_TEXT_SUFFIXES: Final = (".txt", ".md")
_PATH_STARTS: Final = ("/", "./", "../", "~/")


def read_text(value: str, *, param: str) -> str:
    """The text that ``value`` is, or names.

    Raises:
        InvalidRequest: ``not_utf8``, or ``file_not_found`` when ``value`` can only be meant as a path.
    """
    try:
        if value == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        if is_file(value):
            return Path(value).read_bytes().decode("utf-8-sig")
        value.encode()  # bytes of the command line that are not UTF-8 are lone surrogates here
    except UnicodeError as error:
        raise InvalidRequest("The text is not UTF-8.", code="not_utf8", param=param) from error
    except OSError as error:
        raise InvalidRequest(
            f"{value} cannot be read: {error.strerror}.", code="file_not_found", param=param
        ) from error
    if _looks_like_a_path(value):
        raise InvalidRequest(
            f"There is no file {value}. If it is the text itself, give it on standard input with --{param} -.",
            code="file_not_found",
            param=param,
        )
    return value


def read_brief(value: str) -> dict[str, Any]:
    """The brief in a JSON file, or on standard input.

    Raises:
        InvalidRequest: ``file_not_found``, ``not_utf8``, ``malformed_json``.
    """
    if value != "-" and not is_file(value):
        raise InvalidRequest(f"There is no file {value}.", code="file_not_found", param="brief")
    try:
        brief = json.loads(
            read_text(value, param="brief"), parse_constant=_refuse_constant, object_pairs_hook=unique_keys
        )
        json.dumps(brief, ensure_ascii=False).encode()
    except RecursionError as error:
        raise InvalidRequest("The brief is nested too deeply.", code="malformed_json", param="brief") from error
    except UnicodeEncodeError as error:
        raise InvalidRequest("The brief has half a character.", code="not_utf8", param="brief") from error
    except ValueError as error:
        raise InvalidRequest(f"The brief is not JSON: {error}.", code="malformed_json", param="brief") from error
    if not isinstance(brief, dict):
        raise InvalidRequest("The brief is not a JSON object.", code="malformed_json", param="brief")
    return brief


def existing_file(path: Path, *, param: str) -> Path:
    """``path``, if a file is there.

    Raises:
        InvalidRequest: ``file_not_found``.
    """
    if path.is_dir():
        raise InvalidRequest(f"{path} is a folder; name a file in it.", code="file_not_found", param=param)
    if not is_file(path):
        raise InvalidRequest(f"There is no file {path}.", code="file_not_found", param=param)
    return path


def is_file(value: str | Path) -> bool:
    """Whether ``value``, which may be any text, is the path of a file."""
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a text too long for a path, or with a zero byte
        return False


def _looks_like_a_path(value: str) -> bool:
    """One word that starts or ends like a path, or that goes on from a folder which is there."""
    if not value or any(character.isspace() for character in value):
        return False
    if value.startswith(_PATH_STARTS) or value.lower().endswith(_TEXT_SUFFIXES):
        return True
    folder, slash, _ = value.partition("/")
    try:
        return bool(slash) and Path(folder).is_dir()
    except (OSError, ValueError):
        return False


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
