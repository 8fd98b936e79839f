"""Threads that stand for what ``template.yaml`` binds to functions: queues and schedules."""

from __future__ import annotations

import importlib
import secrets
import time
from collections.abc import Callable
from typing import Final

from services.adapters.local.engine import SqliteEngine
from services.bootstrap import Services
from services.domain.errors import InvalidRequest
from services.domain.job import JobStep
from spokesmodel.bell import Bells
from spokesmodel.event_sources import (
    BatchSource,
    EngineFeed,
    FunctionContext,
    Handler,
    Schedule,
    Share,
    Source,
    StepSource,
)
from spokesmodel.template import FunctionSpec, QueueBinding, Template

_THREADS: Final = 2  # of a step, at most: the cloud's concurrency is not for one machine
_WAITING_THREADS: Final = 4  # of the steps that mostly wait for other hosts
_WAITING: Final = (JobStep.PREPARE, JobStep.NOTIFY)


def bind(
    template: Template, services: Services, *, engine: SqliteEngine, bells: Bells
) -> tuple[list[Source], EngineFeed]:
    """A thread, or a few, for each binding, not started; and the one of them that hears the engine.

    Raises:
        InvalidRequest: ``malformed_template``.
    """
    sources: list[Source] = []
    feeds: list[EngineFeed] = []
    for binding in template.queue_bindings:
        function = template.functions[binding.function]
        if binding.feed == "engine":
            feeds.append(_engine_feed(binding, function, services, engine, bells))
        elif binding.step is not None:
            step = JobStep(binding.step)
            for one in (step, JobStep.DISPATCH_NOW) if step is JobStep.DISPATCH else (step,):
                sources += _step_sources(one, binding, function, services, bells)
        elif binding.feed == "batch":
            sources += _batch_sources(binding, function, services, bells)
        else:
            raise InvalidRequest(
                f"{binding.queue} names neither a step nor a feed that this runner knows.", code="malformed_template"
            )
    for schedule in template.schedules:
        function = template.functions[schedule.function]
        sources.append(
            Schedule(schedule.name, _handler(function), context=_contexts(function), every_s=schedule.every_s)
        )
    if len(feeds) != 1:
        raise InvalidRequest("One queue of the template has the feed `engine`.", code="malformed_template")
    return [*sources, *feeds], feeds[0]


def _engine_feed(
    binding: QueueBinding, function: FunctionSpec, services: Services, engine: SqliteEngine, bells: Bells
) -> EngineFeed:
    return EngineFeed(
        _handler(function),
        context=_contexts(function),
        engine=engine,
        batch_size=binding.batch_size,
        lease_s=services.settings.lease_s,
        bell=bells.answers,
    )


def _batch_sources(
    binding: QueueBinding, function: FunctionSpec, services: Services, bells: Bells
) -> list[BatchSource]:
    return [
        BatchSource(
            _handler(function),
            context=_contexts(function),
            services=services,
            batch_size=binding.batch_size,
            lease_s=max(services.settings.lease_s, function.timeout_s),
            bell=bells.batches,
        )
        for _ in range(_THREADS)  # while one checks a large file, another serves
    ]


def _step_sources(
    step: JobStep, binding: QueueBinding, function: FunctionSpec, services: Services, bells: Bells
) -> list[StepSource]:
    at_most = _WAITING_THREADS if step in _WAITING else _THREADS
    num_threads = min(binding.max_concurrency or at_most, at_most)
    share = Share(num_threads)
    return [
        StepSource(
            step,
            _handler(function),
            context=_contexts(function),
            services=services,
            batch_size=binding.batch_size,
            lease_s=max(services.settings.lease_s, function.timeout_s),
            bell=bells.steps[step],
            share=share,
        )
        for _ in range(num_threads)
    ]


def _handler(function: FunctionSpec) -> Handler:
    module, _, name = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), name)
    return handler


def _contexts(function: FunctionSpec) -> Callable[[], FunctionContext]:
    def make() -> FunctionContext:
        return FunctionContext(
            function_name=function.name,
            aws_request_id=secrets.token_hex(16),
            timeout_s=function.timeout_s,
            memory_limit_in_mb=function.memory_mb,
            started_at=time.monotonic(),
        )

    return make
