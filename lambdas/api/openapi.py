"""The OpenAPI 3.1 document: what Powertools derives from routes and schemas, and what it cannot know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from lambdas.api.routes.meta import PUBLIC_PATHS, package_version
from lambdas.api.schemas.webhooks import BatchEventBody, JobEventBody

_DESCRIPTION: Final = """\
A marketing brief becomes a video in which a digital human speaks; a product photo becomes a picture of it worn.

Work is a **job**: create it, then poll it, wait for it (`Prefer: wait=20`), or be called back. Large files are never
part of a request: `POST /v1/uploads` answers a signed URL to send them to, and results carry signed URLs to read.

- **Many at once.** `POST /v1/batches` takes a CSV or JSONL file: all of it is checked before anything runs, a report
  names what is wrong by row and column, and failed rows alone can be tried again.
- **Keys.** `Authorization: Bearer sk_...` or `X-Api-Key: sk_...`. The key decides the tenant; another
  tenant's id is 404. A key has scopes (`read`, `create`, `manage`); `x-scope` of an operation says which it needs.
- **Consent.** Whoever is shown and is not one of the built-in presenters has allowed it (`POST /v1/consents`), or the
  request declares that nobody real is shown (`"synthetic": true`).
- **Errors** are RFC 9457 problem documents with a stable `code`, the `param` at fault, and whether it is `retryable`.
- **Repeats.** Send an `Idempotency-Key`; a repeat gets the first answer with `Idempotent-Replayed: true`. The first
  answer to a job is its acceptance; with `Prefer: wait` a repeat waits for the job again. When what the first request
  made was deleted since, the answer is 410.
- **Waiting.** An answer without `Preference-Applied` did not wait: too many others do. Ask again after `Retry-After`.
- **Times** are RFC 3339 in UTC, languages BCP 47, ids strings with a kind (`job_...`).
"""
_TAGS: Final = {
    "videos": "A presenter says something.",
    "previews": "A wig or a garment on a model, by the product's own pixels.",
    "images": "Pictures made ready for a shop.",
    "batches": "Many creations from one file.",
    "jobs": "One piece of asked-for work, from acceptance to its one final state.",
    "scripts": "Texts from briefs.",
    "uploads": "Files by signed URL.",
    "products": "Wigs and garments of the catalogue.",
    "models": "Who wears them where there is no photo of anybody.",
    "avatars": "Presenters.",
    "voices": "Voices and languages.",
    "consents": "What persons allowed: use of their face or voice, until when, with what evidence.",
    "account": "Whose key it is, what was used, keys and audit log.",
    "meta": "About the API itself.",
}
_SECURITY: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"apiKey": []}]
_ANSWER_HEADERS: Final[dict[str, tuple[str, str]]] = {
    "X-Request-Id": ("Name it when you ask for help.", "string"),
    "Location": ("Where the new thing is.", "string"),
    "Retry-After": ("Seconds to wait before the next try.", "integer"),
    "RateLimit": ("The limit that was met: what remains (`r`) and seconds until there is more (`t`).", "string"),
    "RateLimit-Policy": ("Of requests: how many (`q`) within how many seconds (`w`).", "string"),
    "Preference-Applied": ("The wait that was granted.", "string"),
    "Idempotent-Replayed": ("`true` when this is the first answer, repeated.", "string"),
}
_HEADER_NAMES: Final = {"idempotency-key": "Idempotency-Key", "prefer": "Prefer"}  # Powertools lowers them
_WITH_LOCATION: Final = {
    ("createVideo", "200"),
    ("createVideo", "202"),
    ("createWigPreview", "200"),
    ("createWigPreview", "202"),
    ("createGarmentPreview", "200"),
    ("createGarmentPreview", "202"),
    ("createImage", "200"),
    ("createImage", "202"),
    ("createWig", "200"),
    ("createWig", "202"),
    ("createGarment", "200"),
    ("createGarment", "202"),
    ("createAvatar", "201"),
    ("createBatch", "202"),
    ("createConsent", "201"),
}
_EVENTS: Final = {
    "job.succeeded": "The job is done; its result is in the event.",
    "job.failed": "The job ended without a result; `failure` says why.",
    "job.canceled": "The job was canceled.",
    "batch.succeeded": "Every row of the batch has ended; `counts` says how.",
    "batch.failed": "The batch's file cannot be used; `failure` says why.",
    "batch.canceled": "The batch was canceled, and all its rows have ended.",
}
_BODIES: Final = {
    "job": ("jobs", "#/components/schemas/JobEventBody"),
    "batch": ("batches", "#/components/schemas/BatchEventBody"),
}


@cache
def document() -> dict[str, Any]:
    """The whole document as JSON values; callers must not change it."""
    from lambdas.api.app import app

    schema = app.get_openapi_schema(title="Spokesmodel API", version=package_version(), description=_DESCRIPTION)
    values: dict[str, Any] = json.loads(schema.model_dump_json(by_alias=True, exclude_none=True))
    values["openapi"] = "3.1.0"
    values["servers"] = [{"url": "/", "description": "The server that answers this document."}]
    values["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    values["security"] = _SECURITY
    components = values["components"]
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, `sk_...`."},
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same key."},
    }
    components["headers"] = {
        name: {"description": text, "schema": {"type": kind}} for name, (text, kind) in _ANSWER_HEADERS.items()
    }
    for model in _models(BaseModel):
        if model.__name__ in components["schemas"] and "example" in components["schemas"][model.__name__]:
            extra: Any = model.model_config["json_schema_extra"]
            components["schemas"][model.__name__]["example"] = extra["example"]  # in the order it was written
    for name in ("HTTPValidationError", "ValidationError", "ResponseValidationError"):
        components["schemas"].pop(name, None)
    for path, operations in values["paths"].items():
        for operation in operations.values():
            _complete(path, operation)
    values["paths"] = dict(sorted(values["paths"].items(), key=lambda item: _order(*item)))
    values["webhooks"] = _webhooks(components["schemas"])
    return _with_plain_names(values)


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Models of the API below ``base``."""
    for model in base.__subclasses__():
        if model.__module__.startswith("lambdas.api."):
            yield model
        yield from _models(model)


def _complete(path: str, operation: dict[str, Any]) -> None:
    if path in PUBLIC_PATHS:
        operation["security"] = []
    operation.pop("deprecated", None)
    for parameter in operation.get("parameters", ()):
        parameter["name"] = _HEADER_NAMES.get(parameter["name"], parameter["name"])
        parameter["schema"] = _without_null(parameter["schema"])
    responses = operation["responses"]
    if "HTTPValidationError" in json.dumps(responses.get("422", {})):
        del responses["422"]
    for status, response in responses.items():
        names = ["X-Request-Id"]
        if (operation["operationId"], status) in _WITH_LOCATION:
            names.append("Location")
        if status in ("202", "409", "429", "503") or (operation["operationId"], status) == ("getJob", "200"):
            names.append("Retry-After")
        if status == "429":
            names += ["RateLimit", "RateLimit-Policy"]
        if status.startswith("2"):
            given = {parameter["name"] for parameter in operation.get("parameters", ())}
            names += ["Idempotent-Replayed"] if "Idempotency-Key" in given else []
            names += ["Preference-Applied"] if "Prefer" in given and operation["operationId"] != "createScript" else []
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        if not response.get("content"):
            response.pop("content", None)
    operation["responses"] = dict(sorted(responses.items()))


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not sent is no null: the schema of what is sent."""
    kept = {name: value for name, value in schema.items() if name not in ("anyOf", "title", "description", "default")}
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    default = {} if schema.get("default") is None else {"default": schema["default"]}
    return {**(options[0] if len(options) == 1 else {}), **kept, **default}


def _order(path: str, operations: dict[str, Any]) -> tuple[int, str]:
    tag = next(iter(operations.values()))["tags"][0]
    return list(_TAGS).index(tag), path


def _with_plain_names(values: dict[str, Any]) -> dict[str, Any]:
    """``JobBody`` as ``Job``: what clients are generated from needs no suffix."""
    text = json.dumps(values)
    for name in values["components"]["schemas"]:
        text = text.replace(f'"#/components/schemas/{name}"', f'"#/components/schemas/{name.removesuffix("Body")}"')
        text = text.replace(f'"{name}": {{', f'"{name.removesuffix("Body")}": {{')
        text = text.replace(f'"title": "{name}"', f'"title": "{name.removesuffix("Body")}"')
    plain: dict[str, Any] = json.loads(text)
    return plain


def _webhooks(schemas: dict[str, Any]) -> dict[str, Any]:
    _, definitions = models_json_schema(
        [(JobEventBody, "serialization"), (BatchEventBody, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    for name, schema in definitions["$defs"].items():
        schemas.setdefault(name, schema)
    return {
        event: {
            "post": {
                "operationId": f"on{event.title().replace('.', '')}",
                "summary": event,
                "description": f"{text} Signed after Standard Webhooks: verify `webhook-id`, `webhook-timestamp` and "
                "`webhook-signature` with the tenant's secret. Sent at least once; the same event has the same id.",
                "security": [],
                "tags": [_BODIES[event.partition(".")[0]][0]],
                "parameters": [
                    {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
                    for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": _BODIES[event.partition(".")[0]][1]}}},
                },
                "responses": {"2XX": {"description": "Taken. Anything else is tried again later."}},
            }
        }
        for event, text in _EVENTS.items()
    }
