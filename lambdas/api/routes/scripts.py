"""Scripts."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.answers import answered_once, json_answer, outcomes
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.scripts import ScriptBody, ScriptRequestBody
from lambdas.api.scopes import needs
from services.domain.errors import ContentRejected, NotFound
from services.domain.scope import Scope
from services.ports.catalogue import Voice
from services.usecases.check_text import check_brief
from services.usecases.write_script import write_script

router: Final = new_router()


@router.post(
    "/v1/scripts",
    summary="Write a script",
    description="Arranges the facts of a brief into a text to be spoken in the seconds asked for. Answers at once.",
    operation_id="createScript",
    openapi_extensions=needs(Scope.CREATE),
    tags=["scripts"],
    responses=outcomes({200: ("The script.", ScriptBody)}, (400, 409, 413, 415, 422)),
)
def create_script(
    body: Annotated[ScriptRequestBody, Body()],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response[str]:
    services = runtime.services()

    def create(_: str) -> Response[str]:
        brief = body.brief.to_domain()
        check_brief(brief, services.settings)
        voice = body.voice
        script = write_script(
            brief,
            voice=None if voice is None else _voice(voice.voice_id),
            language_model=services.language_model,
            speed=1.0 if voice is None else voice.speed,
            pause_s=0.0 if voice is None else voice.pause_s,
        )
        return json_answer(ScriptBody.of(script))

    return answered_once(router, idempotency_key, kind="script", create=create)


def _voice(voice_id: str) -> Voice:
    try:
        return runtime.services().voices.get(voice_id)
    except NotFound as error:
        raise ContentRejected(error.detail, code=error.code, param="voice.voice_id") from error
