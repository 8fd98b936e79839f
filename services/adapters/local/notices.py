"""Notices as our own container and runner send them."""

from __future__ import annotations

from services.domain.engine import EngineAnswer, EngineEvent
from services.domain.notice import parse_notice


class PlainNotices:
    """``services.ports.notices.NoticeReader`` for messages that hold everything."""

    def read(self, body: str) -> EngineAnswer | EngineEvent:
        """The answer or event in ``body``.

        Raises:
            InvalidRequest: ``malformed_payload``.
        """
        return parse_notice(body)
