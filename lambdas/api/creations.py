"""The kinds of things that batches create, each in one entry: its body, its checks, its estimate, its submission.

Bodies and use cases are those of the API's routes, so that a row of a batch and a request keep the same rules.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from lambdas.api.schemas.base import RequestBody
from lambdas.api.schemas.videos import VideoBody
from services.bootstrap import Services
from services.domain.allowance import Allowance
from services.domain.batch import BatchEstimate, RowFault
from services.domain.cell import CellType
from services.domain.engine import EngineKind
from services.domain.errors import SpokesmodelError
from services.domain.job import Job
from services.usecases.check_submission import check_submission
from services.usecases.creation import Creation, Values
from services.usecases.estimate_request import estimate_request
from services.usecases.submit_noop import check_noop, submit_noop
from services.usecases.submit_video import submit_video

T = TypeVar("T")
Body = TypeVar("Body", bound=RequestBody)
Maker = Callable[[Services], Creation]

_UNION_MEMBERS: Final = ("literal[", "constrained-", "function-")
_PLAIN: Final[Mapping[Any, CellType]] = {
    str: CellType.TEXT,
    int: CellType.INTEGER,
    float: CellType.NUMBER,
    bool: CellType.YES_NO,
    list: CellType.LIST,
    dict: CellType.MAPPING,
}
_CODES: Final = {"missing": "missing", "extra_forbidden": "unknown_column"}
# Where the checker's own words name Python.
_DETAILS: Final = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "Input should be an object with fields"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "Input should be true or false"),
}
_MAX_FAULTS: Final = 20


class NoopBody(RequestBody):
    """A job that does nothing; no public route takes it."""

    duration_s: float = Field(default=0.0, ge=0)
    fault: Literal["none", "reject", "raise", "exit", "crash", "allocate", "hang"] = "none"
    faulty_attempts: int = Field(default=1_000, ge=0)


def _video(services: Services) -> Creation:
    # Rows name the same few things again and again; each is looked up once.
    uploads = remembering(services.uploads, "get")
    avatars = remembering(services.avatars, "get")
    objects = remembering(services.objects, "start_of")
    voices = remembering(services.voices, "get", "list")
    consents = remembering(services.consents, "get")

    def check(body: VideoBody, tenant_id: str) -> None:
        check_submission(
            body.to_domain(),
            tenant_id=tenant_id,
            uploads=uploads,
            avatars=avatars,
            voices=voices,
            objects=objects,
            consents=consents,
            clock=services.clock,
            settings=services.settings,
            callback_url=body.callback_url,
            callback_id=body.callback_id,
            has_language_model=services.language_model is not None,
        )

    def estimate(values: Values, tenant_id: str) -> BatchEstimate:
        made = estimate_request(
            VideoBody.model_validate(values).to_domain(),
            tenant_id=tenant_id,
            voices=voices,
            uploads=uploads,
            prices=services.prices,
            settings=services.settings,
            has_language_model=services.language_model is not None,
            write_script_first=False,
        )
        return BatchEstimate(quantities=made.quantities, cost=made.cost)

    def submit(values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None) -> Job:
        return submit_video_body(
            VideoBody.model_validate(values),
            job_id=job_id,
            tenant_id=tenant_id,
            actor=batch_id,
            batch_id=batch_id,
            allowance=allowance,
            services=services,
        )

    return Creation(
        kind=EngineKind.VIDEO,
        columns=columns_of(VideoBody),
        choices=choices_of(VideoBody),
        output_names=("video", "poster", "subtitles_srt", "subtitles_vtt", "script"),
        faults=_faults(VideoBody, check),
        estimate=estimate,
        submit=submit,
    )


def submit_video_body(
    body: VideoBody,
    *,
    job_id: str,
    tenant_id: str,
    actor: str,
    services: Services,
    batch_id: str | None = None,
    traceparent: str | None = None,
    allowance: Allowance | None = None,
) -> Job:
    """The job of a body, whether it came as a request or as a row; ``submit_video`` with the adapters of ``services``.

    Raises:
        SpokesmodelError: As ``submit_video`` does.
    """
    return submit_video(
        body.to_domain(),
        job_id=job_id,
        tenant_id=tenant_id,
        jobs=services.jobs,
        uploads=services.uploads,
        avatars=services.avatars,
        voices=services.voices,
        objects=services.objects,
        consents=services.consents,
        audit=services.audit,
        clock=services.clock,
        settings=services.settings,
        actor=actor,
        callback_url=body.callback_url,
        callback_id=body.callback_id,
        has_language_model=services.language_model is not None,
        batch_id=batch_id,
        traceparent=traceparent,
        allowance=allowance,
    )


def _noop(services: Services) -> Creation:
    def check(body: NoopBody, tenant_id: str) -> None:
        check_noop(body.model_dump(), services.settings)

    def submit(values: Values, *, job_id: str, tenant_id: str, batch_id: str, allowance: Allowance | None) -> Job:
        return submit_noop(
            NoopBody.model_validate(values).model_dump(),
            job_id=job_id,
            tenant_id=tenant_id,
            jobs=services.jobs,
            clock=services.clock,
            settings=services.settings,
            batch_id=batch_id,
            allowance=allowance,
        )

    return Creation(
        kind=EngineKind.NOOP,
        columns=columns_of(NoopBody),
        choices={},
        output_names=("result",),
        faults=_faults(NoopBody, check),
        estimate=lambda values, tenant_id: None,
        submit=submit,
    )


CREATIONS: Final[Mapping[EngineKind, Maker]] = {EngineKind.VIDEO: _video, EngineKind.NOOP: _noop}


def columns_of(model: type[BaseModel], at: str = "") -> dict[str, frozenset[CellType]]:
    """What each field of a body takes, by its dotted name."""
    found: dict[str, frozenset[CellType]] = {}
    for name, field in model.model_fields.items():
        members = list(_members(field.annotation))
        nested = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
        if nested:
            found |= columns_of(nested[0], f"{at}{name}.")
        else:
            found[f"{at}{name}"] = frozenset(_cell_type(member) for member in members)
    return found


def choices_of(model: type[BaseModel], at: str = "") -> dict[str, tuple[frozenset[str], ...]]:
    """The objects in a body of whose fields one set is needed, as its schema's ``oneOf`` tells."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    extra = model.model_config.get("json_schema_extra")
    if isinstance(extra, Mapping) and "oneOf" in extra:
        one_of = cast("list[dict[str, list[str]]]", extra["oneOf"])
        found[at] = tuple(frozenset(choice["required"]) for choice in one_of)
    for name, field in model.model_fields.items():
        for member in _members(field.annotation):
            if isinstance(member, type) and issubclass(member, BaseModel):
                found |= choices_of(member, f"{at}.{name}".strip("."))
    return found


def _members(annotation: Any) -> list[Any]:
    """The types that an annotation allows, None left out; literals by their values."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [member for one in get_args(annotation) for member in _members(one)]
    if origin is Literal:
        return list(get_args(annotation))
    return [] if annotation is type(None) else [annotation]


def _cell_type(member: Any) -> CellType:
    if not isinstance(member, type) and get_origin(member) is None:  # a literal's value
        return CellType.NAME if isinstance(member, str) else _PLAIN[type(member)]
    return _PLAIN[get_origin(member) or member]


def _faults(model: type[Body], check: Callable[[Body, str], None]) -> Callable[[Values, str], tuple[RowFault, ...]]:
    """Checks a body as a request is checked: its form first, then what it refers to."""

    def faults(values: Values, tenant_id: str) -> tuple[RowFault, ...]:
        try:
            check(model.model_validate(values), tenant_id)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)[:_MAX_FAULTS]
            return tuple(
                RowFault(
                    column=".".join(str(part) for part in one["loc"] if not str(part).startswith(_UNION_MEMBERS)),
                    code=_CODES.get(one["type"], "invalid_request"),
                    detail=_DETAILS.get(one["type"]) or one["msg"].removeprefix("Value error, "),
                )
                for one in found
            )
        except SpokesmodelError as error:
            if error.retryable:
                raise
            return (RowFault(column=error.param, code=error.code, detail=error.detail),)
        return ()

    return faults


class _Remembering:
    """Answers of some methods of ``inner``, kept; what they raise because of the arguments, too."""

    def __init__(self, inner: object, methods: tuple[str, ...]) -> None:
        self._inner = inner
        self._methods = methods
        self._kept: dict[tuple[Any, ...], tuple[Any, SpokesmodelError | None]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return self._keep(name, method) if name in self._methods else method

    def _keep(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            key = (name, *args, *sorted(options.items()))
            if key not in self._kept:
                try:
                    self._kept[key] = (method(*args, **options), None)
                except SpokesmodelError as error:
                    if error.retryable:
                        raise
                    self._kept[key] = (None, error)
            answer, error_before = self._kept[key]
            if error_before is not None:
                raise error_before
            return answer

        return call


def remembering(port: T, *methods: str) -> T:
    """``port`` asked once for the same thing: for as long as its user lives, so for one file's rows."""
    return cast(T, _Remembering(port, methods))
