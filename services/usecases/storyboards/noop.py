"""The order of a job that does nothing."""

from __future__ import annotations

import json

from services.usecases.storyboards.preparation import Preparation


def noop_order(parts: Preparation) -> bytes:
    """The request as it is."""
    return json.dumps(dict(parts.job.request)).encode()
