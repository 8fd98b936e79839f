"""What deleted rows leave behind on the medium."""

from __future__ import annotations

from typing import Protocol


class Erasure(Protocol):
    def finish(self) -> None:
        """Make unreadable what rows said that were deleted before this call.

        Raises:
            Unavailable: ``store_unavailable``; to be called again.
        """
        ...
