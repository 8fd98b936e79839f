"""The deployed stack, driven as a client drives it."""

from __future__ import annotations

from tests.cloud.stack import Stack


def test_api_answers_through_the_gateway(stack: Stack):
    health = stack.call("GET", "/v1/health")
    assert (health.status, health.body["status"]) == (200, "ok")
    document = stack.call("GET", "/v1/openapi.json")
    assert "openapi" in document.body, document.body
    refused = stack.call("GET", "/v1/jobs")
    assert (refused.status, refused.body["code"]) == (401, "missing_api_key")
    nowhere = stack.call("GET", "/v1/nothing")
    assert (nowhere.status, nowhere.body["code"]) == (404, "route_not_found")
