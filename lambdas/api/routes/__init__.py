"""Routes by resource. Each takes a validated body, calls one use case, and answers a schema."""

from typing import Final

from aws_lambda_powertools.event_handler.api_gateway import Router

from lambdas.api.routes import (
    account,
    batches,
    catalogue,
    consents,
    estimates,
    jobs,
    keys,
    meta,
    scripts,
    uploads,
    videos,
)

ROUTERS: Final[tuple[Router, ...]] = (
    scripts.router,
    uploads.router,
    catalogue.router,
    videos.router,
    batches.router,
    jobs.router,
    consents.router,
    account.router,
    keys.router,
    estimates.router,
    meta.router,
)
