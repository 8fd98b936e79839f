"""Secret values as files that only their user can read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from services.domain.errors import NotFound, Unavailable

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}")


class FileSecrets:
    """``services.ports.secrets.Secrets``: the secret ``name`` is the text of the file ``name`` in a folder.

    One line's end at the file's end is not part of the value, as editors and ``echo`` add it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> str:
        path = self._folder / name
        if not _NAME.fullmatch(name):
            raise NotFound(f"{name!r} cannot be a secret's name.", code="secret_not_found")
        try:
            is_open = path.stat().st_mode & 0o077
            value = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise NotFound(
                f"There is no secret {name!r}; it would be the file {path}.", code="secret_not_found"
            ) from error
        except UnicodeError as error:
            raise NotFound(f"The secret {name!r} holds no text.", code="secret_not_found") from error
        except OSError as error:
            raise Unavailable(f"The secret {name!r} cannot be read.", code="secrets_unavailable") from error
        if is_open:
            raise Unavailable(
                f"The secret {name!r} can be read by others; `chmod 600 {path}`.",
                code="secrets_unavailable",
                retryable=False,
            )
        return value.removesuffix("\n")
