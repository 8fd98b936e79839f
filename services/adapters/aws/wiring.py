"""Which adapter realises which port on AWS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from services.adapters.local.clock import SystemClock
from services.settings import Settings


def complete(settings: Settings, replacements: Mapping[str, Any]) -> Settings:
    """``settings`` as they are: the template sets every one."""
    return settings


def adapters(settings: Settings, parts: Mapping[str, Any]) -> Mapping[str, Callable[[], Any]]:
    """Makers by field of ``Services``, in the order of their needs; ``parts`` holds what is made already."""
    return {"clock": SystemClock}
