"""A language model that answers in a given form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class LanguageModel(Protocol):
    def generate(self, *, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """JSON values that satisfy ``schema`` (JSON Schema, an object at the top).

        Args:
            instructions: The system prompt.
            content: The user's turn; untrusted.

        Raises:
            Unavailable: ``language_model_unavailable``.
            ContentRejected: ``language_model_refused``.
        """
        ...
