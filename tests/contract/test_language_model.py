"""What every language model promises: the asked form or an error in our words, whatever it was told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber

from services.adapters.aws.bedrock import BedrockLanguageModel
from services.domain.errors import ContentRejected, Unavailable
from services.ports.language_model import LanguageModel
from tests.fakes.language_model import FakeLanguageModel
from tests.unit.aws.test_attempt_session import OneClient
from tests.unit.aws.test_bedrock import GOOD, MODEL, SCHEMA, a_client, answered, call

WRONG = [{"script": 5, "unused_facts": []}, {"script": "Hello."}, {**GOOD, "extra": 1}]


class Fake:
    """The fake, told what to say."""

    def says(self, values: dict[str, Any]) -> LanguageModel:
        return FakeLanguageModel(values)

    def refuses(self) -> LanguageModel:
        return FakeLanguageModel(ContentRejected("No.", code="language_model_refused"))

    def is_down(self) -> LanguageModel:
        return FakeLanguageModel(Unavailable("Down.", code="language_model_unavailable"))


class Bedrock:
    """Bedrock's adapter on a client whose answers are checked by botocore's model of the service."""

    def __init__(self) -> None:
        self._client = a_client()
        self.stub = Stubber(self._client)

    def says(self, values: dict[str, Any]) -> LanguageModel:
        for _ in range(2):  # it asks once more when the form is missed
            self.stub.add_response("converse", answered(call(values)))
        return self._model()

    def refuses(self) -> LanguageModel:
        self.stub.add_response("converse", answered({"text": "I cannot."}, reason="content_filtered"))
        return self._model()

    def is_down(self) -> LanguageModel:
        self.stub.add_client_error("converse", "ServiceUnavailableException", "down", http_status_code=503)
        return self._model()

    def _model(self) -> LanguageModel:
        return BedrockLanguageModel(OneClient(self._client), MODEL)


@pytest.fixture(params=["fake", "bedrock"])
def told(request: pytest.FixtureRequest) -> Iterator[Fake | Bedrock]:
    if request.param == "fake":
        yield Fake()
        return
    bedrock = Bedrock()
    with bedrock.stub:
        yield bedrock


def generate(model: LanguageModel) -> Any:
    return model.generate(instructions="Write.", content="the brief", schema=SCHEMA)


def test_answer_has_the_asked_form(told: Fake | Bedrock) -> None:
    assert generate(told.says(GOOD)) == GOOD


@pytest.mark.parametrize("wrong", WRONG, ids=["a wrong type", "something missing", "more than asked"])
def test_answer_of_another_form_is_never_given(told: Fake | Bedrock, wrong: dict[str, Any]) -> None:
    with pytest.raises(Unavailable) as caught:
        generate(told.says(wrong))
    assert caught.value.code == "language_model_unavailable"


def test_refusal_is_the_contents_fault(told: Fake | Bedrock) -> None:
    with pytest.raises(ContentRejected) as caught:
        generate(told.refuses())
    assert (caught.value.code, caught.value.retryable) == ("language_model_refused", False)


def test_model_that_is_down_may_be_asked_later(told: Fake | Bedrock) -> None:
    with pytest.raises(Unavailable) as caught:
        generate(told.is_down())
    assert (caught.value.code, caught.value.retryable) == ("language_model_unavailable", True)
