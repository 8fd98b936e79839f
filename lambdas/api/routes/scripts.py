"""Scripts."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from services.usecases.write_script import write_script

from lambdas import runtime
from lambdas.api.answers import answered_once, json_answer, outcomes
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.scripts import BriefBody, ScriptBody
from services.usecases.check_text import check_brief

router: Final = new_router()


@router.post(
    "/v1/scripts",
    summary="Write a script",
    description="Arranges the facts of a brief into a text to be spoken in the seconds asked for. Answers at once.",
    operation_id="createScript",
    tags=["scripts"],
    responses=outcomes({200: ("The script.", ScriptBody)}, (400, 409, 413, 415, 422)),
)
def create_script(
    body: Annotated[BriefBody, Body()],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response[str]:
    services = runtime.services()

    def create(_: str) -> Response[str]:
        brief = body.to_domain()
        check_brief(brief, services.settings)
        return json_answer(ScriptBody.of(write_script(brief, language_model=services.language_model)))

    return answered_once(router, idempotency_key, kind="script", create=create)
