"""What is about the API itself: health, the OpenAPI document, the docs page. No key needed."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from aws_lambda_powertools.event_handler import Response

from lambdas.api.answers import JSON, json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.schemas.account import HealthBody

API_VERSION: Final = "v1"
PUBLIC_PATHS: Final = frozenset({"/v1/health", "/v1/openapi.json", "/docs"})

router: Final = new_router()


@cache
def package_version() -> str:
    """Version of the installed package; ``unknown`` where only its sources were copied, as into a Lambda's folder."""
    try:
        return version("spokesmodel")
    except PackageNotFoundError:
        return "unknown"


@router.get(
    "/v1/health",
    summary="Whether the server answers",
    operation_id="getHealth",
    tags=["meta"],
    responses=outcomes({200: ("It does.", HealthBody)}, secured=False),
)
def read_health() -> Response[str]:
    return json_answer(HealthBody(status="ok", version=package_version(), api_version=API_VERSION))


@router.get("/v1/openapi.json", include_in_schema=False)
def read_openapi() -> Response[str]:
    from lambdas.api.openapi import document

    return Response(
        status_code=200,
        content_type=JSON,
        body=json.dumps(document(), ensure_ascii=False),
        headers={"Cache-Control": "max-age=300"},
    )


@router.get("/docs", include_in_schema=False)
def read_docs() -> Response[str]:
    from lambdas.api.docs_page import page

    return Response(
        status_code=200,
        content_type="text/html; charset=utf-8",
        body=page(),
        headers={
            "Cache-Control": "max-age=300",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
        },
    )
