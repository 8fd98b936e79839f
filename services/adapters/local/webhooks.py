"""Webhooks over HTTP, to addresses outside our own network only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from services.adapters.http.guard import Unreachable, new_client, open_answer
from services.domain.errors import Unavailable
from services.domain.outside_url import CALLBACK


class HttpWebhookSender:
    """``services.ports.webhooks.WebhookSender``; how it connects is ``services.adapters.http.guard``'s.

    Args:
        allow_private: Call this machine and private networks too; for development only.
    """

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    def post(self, url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
        """As in the port; ``timeout_s`` bounds the whole exchange, name lookup included."""
        try:
            return asyncio.run(asyncio.wait_for(self._post(url, body, headers), timeout_s))
        except TimeoutError as error:
            raise Unavailable(f"No answer within {timeout_s:g} s.", code="callback_unreachable") from error
        except Unreachable as error:
            raise Unavailable(f"The callback: {error.detail}", code="callback_unreachable") from error

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        async with (
            new_client() as client,
            open_answer(
                client,
                "POST",
                url,
                purpose=CALLBACK,
                allow_private=self._allow_private,
                headers=headers,
                body=body,
            ) as response,
        ):
            return response.status_code  # the body of the answer is never read: it may be endless
