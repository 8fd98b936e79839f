"""Built-in models."""

from __future__ import annotations

from typing import Final

from aws_lambda_powertools.event_handler import Response

from lambdas import runtime
from lambdas.api.answers import json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.schemas.models import ModelInfoBody, ModelsBody
from lambdas.api.scopes import needs
from services.domain.model_choice import CatalogueModel
from services.domain.object_key import ObjectKey
from services.domain.scope import Scope

router: Final = new_router()


@router.get(
    "/v1/models",
    summary="List models",
    description="The built-in models that previews and images can name, or choose by a specification.",
    operation_id="listModels",
    openapi_extensions=needs(Scope.READ),
    tags=["models"],
    responses=outcomes({200: ("The models.", ModelsBody)}),
)
def list_models() -> Response[str]:
    return json_answer(ModelsBody(items=[_body(model) for model in runtime.services().models.list()]))


def _body(model: CatalogueModel) -> ModelInfoBody:
    services = runtime.services()
    key = ObjectKey.parse(model.object_key)
    url = services.objects.sign_download(
        key, file_name=f"{model.id}-{key.name}", expires_in_s=services.settings.link_lifetime_s
    )
    return ModelInfoBody.of(model, preview_url=url)
