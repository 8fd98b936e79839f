"""A language model of Amazon Bedrock, by Converse, with structured output: the model must call one tool.

The tool's input schema is the form that is asked for; what comes is checked against it here, too, because a model may
miss it. Bedrock keeps no conversation: asking again is a new call that names the fault. A client waits meanwhile, so a
call is given twelve seconds and not repeated (``Clients``), and a missed form is asked for again only if that was soon.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from services.adapters.aws.clients import Clients, error_code, translated
from services.domain.errors import ContentRejected, InvalidRequest, Unavailable

_TOOL: Final = "answer"
_TRIES: Final = 2
_AGAIN_WITHIN_S: Final = 8.0
_MAX_TOKENS: Final = 4096
_MAX_CONTENT: Final = 60_000  # characters; a brief has at most 20,000
_TEMPERATURE: Final = 0.5
_CODE: Final = "language_model_unavailable"
_REFUSED: Final = ("content_filtered", "guardrail_intervened", "refusal")
_CUT: Final = ("max_tokens", "model_context_window_exceeded")
_NOT_READY: Final = frozenset({"ModelNotReadyException", "ModelTimeoutException", "ModelErrorException"})


class BedrockLanguageModel:
    """``services.ports.language_model.LanguageModel`` by one of Bedrock's models that knows tools."""

    def __init__(self, clients: Clients, model_id: str) -> None:
        """``model_id``: of a model, an inference profile or a prompt-router, as Converse takes it."""
        self._clients = clients
        self._model_id = model_id

    def generate(self, *, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """See ``LanguageModel``.

        Raises:
            InvalidRequest: ``out_of_range``: the content is too long to be asked.
            Unavailable: ``language_model_unavailable``, also when two answers missed the form; as ``translated``.
            ContentRejected: ``language_model_refused``.
        """
        if len(content) > _MAX_CONTENT:
            raise InvalidRequest(
                f"A language model is given at most {_MAX_CONTENT} characters, not {len(content)}.",
                code="out_of_range",
                param="brief",
            )
        fault, again_until = "", time.monotonic() + _AGAIN_WITHIN_S
        for number in range(_TRIES):
            if number and time.monotonic() > again_until:
                break
            told = f"{instructions}\n\nYour last answer was not of the asked form: {fault}" if fault else instructions
            values, fault = self._ask(told, content, schema)
            if values is not None:
                return values
        raise Unavailable(f"The language model gave no answer of the asked form: {fault}", code=_CODE)

    def _ask(self, instructions: str, content: str, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
        """The answer's values; or None, and what was wrong with it in words that quote nothing of it."""
        answer = self._converse(instructions, content, schema)
        reason = str(answer.get("stopReason", ""))
        if reason in _REFUSED:
            raise ContentRejected(
                "The language model refuses to write about this brief; change the brief, or send the finished text.",
                code="language_model_refused",
                param="brief",
            )
        if reason in _CUT:
            return None, "it was cut off; be shorter."
        blocks = answer.get("output", {}).get("message", {}).get("content", [])
        calls = [block["toolUse"] for block in blocks if isinstance(block, dict) and "toolUse" in block]
        calls = [call for call in calls if isinstance(call, dict) and call.get("name") == _TOOL]
        if not calls:
            return None, f"call the tool {_TOOL} once and write nothing else."
        return _checked(calls[0].get("input"), schema)

    def _converse(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        from botocore.exceptions import ClientError

        with translated("the language model", code=_CODE):
            try:
                answer: Mapping[str, Any] = self._clients.get("bedrock-runtime").converse(
                    modelId=self._model_id,
                    system=[{"text": instructions}],
                    messages=[{"role": "user", "content": [{"text": content}]}],
                    inferenceConfig={"maxTokens": _MAX_TOKENS, "temperature": _TEMPERATURE},
                    toolConfig={
                        "tools": [
                            {
                                "toolSpec": {
                                    "name": _TOOL,
                                    "description": "Takes the finished answer.",
                                    "inputSchema": {"json": dict(schema)},
                                }
                            }
                        ],
                        "toolChoice": {"tool": {"name": _TOOL}},
                    },
                )
            except ClientError as error:
                if error_code(error) in _NOT_READY:
                    raise Unavailable("The language model is not ready.", code=_CODE) from error
                raise
        return answer


def _checked(values: object, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    if isinstance(values, str):  # some models give the object as a text
        try:
            values = json.loads(values)
        except ValueError:
            return None, "the tool's input is no JSON object."
    if not isinstance(values, dict):
        return None, "the tool's input is no JSON object."
    fault = _fault(values, schema)
    return (None, fault) if fault else (values, "")


def _fault(values: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What is wrong, by path and rule; empty when nothing is."""
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(schema).iter_errors(values):
        where = ".".join(str(part) for part in error.absolute_path) or "the object"
        return f"{where} breaks the rule `{error.validator}`."
    return ""
