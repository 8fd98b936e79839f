"""What an API key may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """Each route needs one of these."""

    READ = "read"  # look at what there is
    CREATE = "create"  # make, cancel and delete work: uploads, avatars, videos, batches, consents
    MANAGE = "manage"  # keys, audit log, deletion of a person's traces


ALL_SCOPES: Final = frozenset(Scope)
