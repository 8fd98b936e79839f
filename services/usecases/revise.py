"""Change a row that others change too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from services.domain.errors import Conflict

R = TypeVar("R")
_STALE: Final = ("stale_job", "stale_batch")


def revise(item_id: str, change: Callable[[R], R | None], *, get: Callable[[str], R], save: Callable[[R], R]) -> R:
    """The job or batch as ``change`` made it of its present state, saved; on a race ``change`` is asked again.

    Args:
        change: Pure; None leaves the row as it is.
        get: The store's.
        save: The store's; refuses what is not of the newest version.

    Raises:
        NotFound: ``job_not_found``, ``batch_not_found``.
        SpokesmodelError: whatever ``change`` raises.
    """
    while True:
        present = get(item_id)
        changed = change(present)
        if changed is None:
            return present
        try:
            return save(changed)
        except Conflict as conflict:
            if conflict.code not in _STALE:
                raise
