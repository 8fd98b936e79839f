"""A language model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

from services.domain.errors import SpokesmodelError, Unavailable


class FakeLanguageModel:
    """Gives its answers in turn; an error among them is raised, and so is an answer of another form than is asked.

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
        if not Draft202012Validator(schema).is_valid(answer):
            raise Unavailable("No answer of the asked form.", code="language_model_unavailable")
        return answer
