"""Folders for results: whether one can be had is known before the work; it is made when there is a result."""

from __future__ import annotations

import os
from pathlib import Path

from services.domain.errors import InvalidRequest


def require_folder(folder: Path) -> None:
    """Nothing, when ``folder`` is there or can be made, as far as can be known without making it.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    nearest = folder.absolute()
    while not os.path.lexists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise _unusable(folder, f"{nearest} is no folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise _unusable(folder, f"nothing can be written in {nearest}")


def made_folder(folder: Path) -> Path:
    """``folder``, made.

    Raises:
        InvalidRequest: ``out_not_writable``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error.strerror or "unknown reason") from error
    return folder


def _unusable(folder: Path, why: str) -> InvalidRequest:
    return InvalidRequest(f"{folder} cannot be made: {why}.", code="out_not_writable", param="out")
