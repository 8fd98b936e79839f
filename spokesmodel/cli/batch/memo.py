"""What is remembered beside a batch's file, in ``FILE.batch.json``: which batch was made of it, and where."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from services.domain.errors import InvalidRequest

_ID: Final = re.compile(r"batch_[0-9A-HJKMNP-TV-Z]{26}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """Attributes:
    sha256: Of the file as it was then.
    server: Address of the server that has the batch; None for the one of ``state_dir``.
    renamed: Columns of the file by what they were sent as, where the command replaced files by uploads.
    """

    batch_id: str
    sha256: str
    out: str
    state_dir: str
    server: str | None
    renamed: dict[str, str]


def memo_path(file: Path) -> Path:
    """Where the memo of ``file`` is."""
    return file.with_name(f"{file.name}.batch.json")


def write_memo(file: Path, memo: Memo) -> None:
    """Keep ``memo`` beside ``file``.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    path = memo_path(file)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(json.dumps(asdict(memo), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}.", code="out_not_writable") from error


def read_memo(file: Path) -> Memo | None:
    """The memo beside ``file``; None when there is none that can be read."""
    try:
        return Memo(**json.loads(memo_path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def known_batch(name: str) -> tuple[str, Memo | None]:
    """The batch that ``name`` means: an id, or the file of which it was made.

    Raises:
        InvalidRequest: ``batch_unknown``.
    """
    if _ID.fullmatch(name):
        return name, None
    memo = read_memo(Path(name))
    if memo is None:
        raise InvalidRequest(
            f"No batch was made of {name} here: there is no {memo_path(Path(name)).name} beside it. "
            "Start one with `spokesmodel batch run`, or give a batch's id.",
            code="batch_unknown",
            param="file",
        )
    return memo.batch_id, memo


def sha256_of(path: Path) -> str:
    """Hash of a file, in hexadecimal.

    Raises:
        InvalidRequest: ``file_not_found``.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}.", code="file_not_found") from error
