"""Which scope of an API key a route needs; the OpenAPI document shows it as ``x-scope``."""

from __future__ import annotations

from typing import Any, Final

from aws_lambda_powertools.event_handler.api_gateway import Route

from services.domain.scope import Scope

_EXTENSION: Final = "x-scope"


def needs(scope: Scope) -> dict[str, Any]:
    """``openapi_extensions`` of a route that needs ``scope``."""
    return {_EXTENSION: str(scope)}


def scope_of(route: Route) -> Scope:
    """What a route declares; one that declares nothing needs the most."""
    return Scope((route.openapi_extensions or {}).get(_EXTENSION, Scope.MANAGE))
