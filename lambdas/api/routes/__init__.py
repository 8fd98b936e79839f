"""Routes by resource. Each takes a validated body, calls one use case, and answers a schema."""

from typing import Final

from aws_lambda_powertools.event_handler.api_gateway import Router

from lambdas.api.routes import (
    account,
    batches,
    catalogue,
    consents,
    estimates,
    images,
    jobs,
    keys,
    meta,
    models,
    previews,
    products,
    scripts,
    uploads,
    videos,
)

ROUTERS: Final[tuple[Router, ...]] = (
    scripts.router,
    uploads.router,
    catalogue.router,
    models.router,
    products.router,
    videos.router,
    previews.router,
    images.router,
    batches.router,
    jobs.router,
    consents.router,
    account.router,
    keys.router,
    estimates.router,
    meta.router,
)
