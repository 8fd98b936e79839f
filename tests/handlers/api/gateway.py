"""Calls the API's handler the way API Gateway does."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from lambdas.api import lambda_handler


@dataclass(frozen=True)
class LambdaContext:
    function_name: str = "ApiFunction"
    aws_request_id: str = "request-1"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-west-1:123456789012:function:ApiFunction"

    def get_remaining_time_in_millis(self) -> int:
        return 28_000


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def problem(self) -> tuple[int, str, str | None]:
        """Status, code and param, when the answer is a well-formed problem document."""
        assert self.headers["content-type"] == "application/problem+json"
        document = self.body
        assert document["status"] == self.status
        assert document["type"] == f"urn:spokesmodel:problem:{document['code']}"
        assert document["title"]
        assert document["detail"]
        assert document["request_id"] == self.headers["x-request-id"]
        assert isinstance(document["retryable"], bool)
        return self.status, document["code"], document["param"]


class Gateway:
    """An API Gateway in front of the handler; ``key`` goes with every request unless ``auth`` says otherwise."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key

    def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        raw: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: str = "request-1",
    ) -> Answer:
        path, _, query = target.partition("?")
        sent = {"host": "api.example", "accept": "*/*"}
        if self.key is not None:
            sent["authorization"] = f"Bearer {self.key}"
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "requestContext": {
                "accountId": "123456789012",
                "apiId": "abc",
                "domainName": "api.example",
                "http": {
                    "method": method,
                    "path": path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": "192.0.2.1",
                    "userAgent": "test",
                },
                "requestId": request_id,
                "stage": "$default",
                "time": "12/Mar/2026:19:03:58 +0000",
                "timeEpoch": 1583348638390,
            },
            "isBase64Encoded": False,
        }
        if query:
            event["queryStringParameters"] = dict(parse_qsl(query, keep_blank_values=True))
        if body is not None:
            raw = json.dumps(body)
            sent["content-type"] = "application/json"
        if isinstance(raw, bytes):
            event["body"], event["isBase64Encoded"] = base64.b64encode(raw).decode(), True
        elif raw is not None:
            event["body"] = raw
        event["headers"] = {**sent, **{name.lower(): value for name, value in (headers or {}).items()}}
        answer = lambda_handler(event, LambdaContext())
        text = answer.get("body") or ""
        if answer.get("isBase64Encoded"):
            text = base64.b64decode(text).decode()
        lowered = {name.lower(): value for name, value in answer["headers"].items()}
        return Answer(status=answer["statusCode"], headers=lowered, text=text)

    def get(self, target: str, **options: Any) -> Answer:
        return self.call("GET", target, **options)

    def post(self, target: str, body: Any = None, **options: Any) -> Answer:
        return self.call("POST", target, body, **options)

    def delete(self, target: str, **options: Any) -> Answer:
        return self.call("DELETE", target, **options)
