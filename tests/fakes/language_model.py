"""A language model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.domain.errors import SpokesmodelError


class FakeLanguageModel:
    """Gives its answers in turn; an error among them is raised.

    Attributes:
        calls: The arguments of every call.
    """

    def __init__(self, *answers: Mapping[str, Any] | SpokesmodelError) -> None:
        self._answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    def generate(self, *, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        self.calls.append({"instructions": instructions, "content": content, "schema": schema})
        answer = self._answers.pop(0)
        if isinstance(answer, SpokesmodelError):
            raise answer
        return answer
