"""Bedrock's Converse: exact requests, odd answers, and errors in our words."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from services.adapters.aws.bedrock import BedrockLanguageModel
from services.adapters.aws.clients import Clients
from services.domain.brief import Brief, WriterKind
from services.domain.errors import ContentRejected, InvalidRequest, SpokesmodelError, Unavailable
from services.usecases.write_script import write_script
from tests.unit.aws.test_attempt_session import OneClient

MODEL = "eu.anthropic.a-model-v1:0"
SCHEMA = {
    "type": "object",
    "properties": {"script": {"type": "string"}, "unused_facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["script", "unused_facts"],
    "additionalProperties": False,
}
GOOD = {"script": "Hello.", "unused_facts": []}


def a_client() -> Any:
    return boto3.client("bedrock-runtime", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")


def asked(instructions: str) -> dict[str, Any]:
    return {
        "modelId": MODEL,
        "system": [{"text": instructions}],
        "messages": [{"role": "user", "content": [{"text": "the brief"}]}],
        "inferenceConfig": {"maxTokens": 4096, "temperature": 0.5},
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "answer",
                        "description": "Takes the finished answer.",
                        "inputSchema": {"json": SCHEMA},
                    }
                }
            ],
            "toolChoice": {"tool": {"name": "answer"}},
        },
    }


def answered(*blocks: dict[str, Any], reason: str = "tool_use") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": reason,
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def call(values: Any, name: str = "answer") -> dict[str, Any]:
    return {"toolUse": {"toolUseId": "t1", "name": name, "input": values}}


def generate(client: Any, content: str = "the brief") -> Any:
    model = BedrockLanguageModel(OneClient(client), MODEL)
    return model.generate(instructions="Write.", content=content, schema=SCHEMA)


def test_model_must_call_the_tool_whose_form_is_the_asked_one() -> None:
    client = a_client()
    with Stubber(client) as stub:
        stub.add_response("converse", answered({"text": "Here it is."}, call(GOOD)), asked("Write."))
        assert generate(client) == GOOD
        stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (answered({"text": json.dumps(GOOD)}, reason="end_turn"), "call the tool answer"),
        (answered(call(GOOD, name="another")), "call the tool answer"),
        (answered(call({"script": "Hello."})), "the object breaks the rule `required`"),
        (answered(call({"script": 5, "unused_facts": []})), "script breaks the rule `type`"),
        (answered(call({**GOOD, "extra": 1})), "the object breaks the rule `additionalProperties`"),
        (answered(call({"script": "x", "unused_facts": [1]})), "unused_facts.0 breaks the rule `type`"),
        (answered(call([])), "no JSON object"),
        (answered(call("not json")), "no JSON object"),
        (answered(call(GOOD), reason="max_tokens"), "cut off"),
        (answered(), "call the tool answer"),
    ],
    ids=[
        *("plain text", "other tool", "missing", "wrong type", "more than asked", "wrong item", "a list", "no JSON"),
        *("cut off", "empty"),
    ],
)
def test_odd_answer_is_asked_for_once_more_with_the_fault(odd: dict[str, Any], told: str) -> None:
    client = a_client()
    with Stubber(client) as stub:
        stub.add_response("converse", odd)
        stub.add_response("converse", answered(call(GOOD)))
        heard: list[str] = []
        client.meta.events.register(
            "provide-client-params.bedrock-runtime.Converse",
            lambda params, **_: heard.append(params["system"][0]["text"]),
        )
        assert generate(client) == GOOD
    assert heard[0] == "Write."
    assert heard[1].startswith("Write.")
    assert told in heard[1]


def test_two_odd_answers_are_unavailable_and_quote_nothing() -> None:
    client = a_client()
    with Stubber(client) as stub:
        for _ in range(2):
            stub.add_response("converse", answered(call({"script": 5, "secret": "what a customer wrote"})))
        with pytest.raises(Unavailable) as caught:
            generate(client)
        stub.assert_no_pending_responses()
    assert caught.value.code == "language_model_unavailable"
    assert "customer" not in caught.value.detail


def test_object_given_as_text_is_taken() -> None:
    client = a_client()
    with Stubber(client) as stub:
        stub.add_response("converse", answered(call(json.dumps(GOOD))))
        assert generate(client) == GOOD


@pytest.mark.parametrize("reason", ["content_filtered", "guardrail_intervened"])
def test_refusal_is_told_and_not_asked_again(reason: str) -> None:
    client = a_client()
    with Stubber(client) as stub:
        stub.add_response("converse", answered({"text": "I cannot."}, reason=reason))
        with pytest.raises(ContentRejected) as caught:
            generate(client)
        stub.assert_no_pending_responses()
    assert caught.value.code == "language_model_refused"


@pytest.mark.parametrize(
    ("code", "status", "known_as", "retryable"),
    [
        ("ThrottlingException", 429, "aws_throttled", True),
        ("ServiceUnavailableException", 503, "language_model_unavailable", True),
        ("InternalServerException", 500, "language_model_unavailable", True),
        ("ModelTimeoutException", 408, "language_model_unavailable", True),
        ("ModelNotReadyException", 429, "language_model_unavailable", True),
        ("ModelErrorException", 424, "language_model_unavailable", True),
        ("AccessDeniedException", 403, "aws_denied", False),
        ("ResourceNotFoundException", 404, "language_model_unavailable", False),
        ("ValidationException", 400, "language_model_unavailable", False),
    ],
)
def test_errors_are_told_in_our_words(code: str, status: int, known_as: str, retryable: bool) -> None:
    client = a_client()
    with Stubber(client) as stub:
        stub.add_client_error("converse", code, "the customer's brief", http_status_code=status)
        with pytest.raises(SpokesmodelError) as caught:
            generate(client)
    assert isinstance(caught.value, Unavailable)
    assert (caught.value.code, caught.value.retryable) == (known_as, retryable)
    assert "customer" not in caught.value.detail


class Silent:
    """A client whose model never answers."""

    class meta:  # noqa: N801  botocore's name
        class service_model:  # noqa: N801
            service_name = "bedrock-runtime"

    def converse(self, **_: Any) -> Any:
        raise ReadTimeoutError(endpoint_url="https://bedrock.example")


def test_silence_is_unavailable_and_the_template_serves() -> None:
    with pytest.raises(Unavailable) as caught:
        generate(Silent())
    assert (caught.value.code, caught.value.retryable) == ("language_model_unavailable", True)
    brief = Brief(product="Luma", language="en", duration_s=10, benefits=("fragrance-free",))
    model = BedrockLanguageModel(OneClient(Silent()), MODEL)
    assert write_script(brief, language_model=model).writer is WriterKind.TEMPLATE


def test_content_beyond_the_limit_is_refused_before_it_is_sent() -> None:
    client = a_client()
    with Stubber(client), pytest.raises(InvalidRequest) as caught:
        generate(client, "x" * 60_001)
    assert caught.value.code == "out_of_range"


def test_written_script_says_that_a_language_model_wrote_it() -> None:
    text = "Meet Luma. It is fragrance-free. " * 3 + "Enjoy."
    client = a_client()
    with Stubber(client) as stub:
        stub.add_response("converse", answered(call({"script": text, "unused_facts": []})))
        brief = Brief(product="Luma", language="en", duration_s=8, benefits=("fragrance-free",))
        script = write_script(brief, language_model=BedrockLanguageModel(OneClient(client), MODEL))
    assert script.writer is WriterKind.LANGUAGE_MODEL


def test_model_is_asked_once_and_not_for_long_since_a_client_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    config = Clients().get("bedrock-runtime").meta.config
    assert config.retries["total_max_attempts"] == 1
    assert 2 * config.read_timeout < 28  # an API function's timeout, with two scripts asked for
