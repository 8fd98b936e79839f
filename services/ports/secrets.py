"""Secret values by name."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    def get(self, name: str) -> str:
        """Raises:
        NotFound: ``secret_not_found``.
        Unavailable: ``secrets_unavailable``.
        """
        ...
