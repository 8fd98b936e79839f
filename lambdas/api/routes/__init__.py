"""Routes by resource. Each takes a validated body, calls one use case, and answers a schema."""

from typing import Final

from aws_lambda_powertools.event_handler.api_gateway import Router

from lambdas.api.routes import catalogue, jobs, meta, scripts, uploads, usage, videos

ROUTERS: Final[tuple[Router, ...]] = (
    scripts.router,
    uploads.router,
    catalogue.router,
    videos.router,
    jobs.router,
    usage.router,
    meta.router,
)
