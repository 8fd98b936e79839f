"""A reader of notices whose store can be away."""

from __future__ import annotations

from services.domain.engine import EngineAnswer, EngineEvent
from services.domain.errors import Unavailable
from services.domain.notice import parse_notice


class FakeNotices:
    """Attributes:
    is_reachable: Whether the place where answers lie can be read; progress comes with its message.
    """

    def __init__(self) -> None:
        self.is_reachable = True

    def read(self, body: str) -> EngineAnswer | EngineEvent:
        notice = parse_notice(body)
        if isinstance(notice, EngineAnswer) and not self.is_reachable:
            raise Unavailable("The answer cannot be read.", code="store_unavailable")
        return notice
