"""Reads ``template.yaml``: which function serves which route, queue and schedule, and with what environment.

The one-machine runner takes all of that from here and from nowhere else. Only what those questions need is
understood of CloudFormation: intrinsic functions over parameters, conditions, and ``Globals``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from services.domain.errors import InvalidRequest

_RATE: Final = re.compile(r"^rate\((\d+) (second|minute|hour|day)s?\)$")
_UNIT_S: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_SUBSTITUTED: Final = re.compile(r"\$\{([^!}][^}]*)\}")
_VARIABLE: Final = re.compile(r"\{(\w+)(\+?)\}")
DEFAULT_ROUTE: Final = "$default"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """A function; ``handler`` is ``package.module.function``."""

    name: str
    handler: str
    timeout_s: int
    memory_mb: int
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSpec:
    """A route of the HTTP API. ``method`` may be ``ANY``; ``path`` may end in ``{name+}``, or be ``$default``."""

    method: str
    path: str
    function: str

    @property
    def key(self) -> str:
        """As API Gateway names it."""
        return self.path if self.path == DEFAULT_ROUTE else f"{self.method} {self.path}"

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the paths that the route takes."""
        if self.path == DEFAULT_ROUTE:
            return re.compile(r".*", re.DOTALL)
        parts, end = [], 0
        for variable in _VARIABLE.finditer(self.path):
            parts.append(re.escape(self.path[end : variable.start()]))
            parts.append(f"(?P<{variable[1]}>{'.+' if variable[2] else '[^/]+'})")
            end = variable.end()
        return re.compile("".join(parts) + re.escape(self.path[end:]), re.DOTALL)

    @property
    def rank(self) -> tuple[bool, bool, int, bool]:
        """Sorts the more specific route first, as API Gateway chooses."""
        variables = _VARIABLE.findall(self.path)
        greedy = any(plus for _, plus in variables)
        return self.path == DEFAULT_ROUTE, greedy, len(variables), self.method == "ANY"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBinding:
    """A function fed from a queue.

    Attributes:
        step: The job step whose rows stand for the queue on one machine (``Metadata: Spokesmodel: Step``).
        feed: Another source on one machine (``Metadata: Spokesmodel: Feed``), such as ``engine``.
        partial_failures: Whether the function reports which records of a batch failed.
    """

    function: str
    queue: str
    step: str | None
    feed: str | None
    batch_size: int
    partial_failures: bool
    max_concurrency: int | None
    visibility_timeout_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleBinding:
    """A function called every ``every_s`` seconds."""

    function: str
    name: str
    every_s: int


@dataclass(frozen=True, kw_only=True)
class Template:
    """The parts of ``template.yaml`` that exist under the chosen parameters."""

    functions: Mapping[str, FunctionSpec]
    routes: tuple[RouteSpec, ...]
    queue_bindings: tuple[QueueBinding, ...]
    schedules: tuple[ScheduleBinding, ...]

    @cached_property
    def _ranked(self) -> list[tuple[RouteSpec, re.Pattern[str]]]:
        return [(route, route.pattern) for route in sorted(self.routes, key=lambda route: route.rank)]

    def match(self, method: str, path: str) -> tuple[RouteSpec, dict[str, str]] | None:
        """The route that takes a request, with the path's variables; None when the API has none."""
        for route, pattern in self._ranked:
            if route.method in (method, "ANY") and (found := pattern.fullmatch(path)):
                return route, found.groupdict()
        return None


def load(path: Path, parameters: Mapping[str, str] | None = None) -> Template:
    """The template at ``path``; ``parameters`` take the place of their defaults.

    Raises:
        InvalidRequest: ``malformed_template``, naming what is not understood.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        return _Reader(document, parameters or {}).template()
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"{path} is not usable: {error!r}.", code="malformed_template") from error


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms: ``!Sub x`` becomes ``{"Fn::Sub": x}``."""


def _construct(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
        if suffix == "GetAtt":
            value = value.split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        raise yaml.constructor.ConstructorError(
            None, None, f"!{suffix} of a mapping is not understood", node.start_mark
        )
    return {name: value}


_Loader.add_multi_constructor("!", _construct)


class _Reader:
    """Answers questions to a template's document."""

    def __init__(self, document: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        declared = document.get("Parameters") or {}
        unknown = set(parameters) - set(declared)
        if unknown:
            raise ValueError(f"no parameters of the template: {sorted(unknown)}")
        defaults = {name: str(spec["Default"]) for name, spec in declared.items() if "Default" in spec}
        self._parameters = {**defaults, **parameters}
        self._conditions: Mapping[str, Any] = document.get("Conditions") or {}
        self._globals: Mapping[str, Any] = (document.get("Globals") or {}).get("Function") or {}
        self._resources = {
            name: resource
            for name, resource in document["Resources"].items()
            if "Condition" not in resource or self._holds({"Condition": resource["Condition"]})
        }

    def template(self) -> Template:
        """Everything at once."""
        functions = {
            name: self._function(name, resource.get("Properties") or {})
            for name, resource in self._resources.items()
            if resource["Type"] == "AWS::Serverless::Function"
        }
        queues, schedules = [], []
        for function, name, kind, properties in self._events(functions):
            match kind:
                case "SQS":
                    queues.append(self._queue(function, properties))
                case "Schedule" | "ScheduleV2":
                    expression = self._text(properties.get("Schedule") or properties["ScheduleExpression"])
                    schedules.append(ScheduleBinding(function=function, name=name, every_s=_seconds(expression)))
        return Template(
            functions=functions,
            routes=tuple(self._routes()),
            queue_bindings=tuple(queues),
            schedules=tuple(schedules),
        )

    def _routes(self) -> Iterator[RouteSpec]:
        for resource in self._resources.values():
            if resource["Type"] != "AWS::ApiGatewayV2::Route":
                continue
            properties = resource["Properties"]
            key = self._text(properties["RouteKey"])
            method, _, path = key.partition(" ") if key != DEFAULT_ROUTE else ("ANY", "", key)
            integration = self._resources[self._text(properties["Target"]).removeprefix("integrations/")]
            function = self._text(integration["Properties"]["IntegrationUri"]).removesuffix(".Arn")
            yield RouteSpec(method=method, path=path, function=function)

    def _events(self, functions: Mapping[str, FunctionSpec]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
        for function in functions:
            events = self._resources[function]["Properties"].get("Events") or {}
            for name, event in events.items():
                yield function, name, event["Type"], event.get("Properties") or {}

    def _function(self, name: str, properties: Mapping[str, Any]) -> FunctionSpec:
        merged = {**self._globals, **properties}
        environment = {
            **((self._globals.get("Environment") or {}).get("Variables") or {}),
            **((properties.get("Environment") or {}).get("Variables") or {}),
        }
        return FunctionSpec(
            name=name,
            handler=str(merged["Handler"]),
            timeout_s=int(self._text(merged.get("Timeout", 3))),
            memory_mb=int(self._text(merged.get("MemorySize", 128))),
            environment={variable: self._text(value) for variable, value in environment.items()},
        )

    def _queue(self, function: str, properties: Mapping[str, Any]) -> QueueBinding:
        queue = self._text(properties["Queue"]).partition(".")[0]
        resource = self._resources[queue]
        ours = (resource.get("Metadata") or {}).get("Spokesmodel") or {}
        concurrency = (properties.get("ScalingConfig") or {}).get("MaximumConcurrency")
        visibility = (resource.get("Properties") or {}).get("VisibilityTimeout", 30)
        return QueueBinding(
            function=function,
            queue=queue,
            step=ours.get("Step"),
            feed=ours.get("Feed"),
            batch_size=int(self._text(properties.get("BatchSize", 10))),
            partial_failures="ReportBatchItemFailures" in (properties.get("FunctionResponseTypes") or ()),
            max_concurrency=None if concurrency is None else int(self._text(concurrency)),
            visibility_timeout_s=int(self._text(visibility)),
        )

    def _text(self, value: Any) -> str:
        """A value as text: parameters by their value, resources by their logical name, attributes as ``Name.Attr``."""
        if not isinstance(value, dict):
            return "" if value is None else str(value)
        ((function, argument),) = value.items()
        match function:
            case "Ref":
                return self._parameters.get(argument, str(argument))
            case "Fn::GetAtt":
                return ".".join(map(str, argument))
            case "Fn::Sub":
                text, own = argument if isinstance(argument, list) else (argument, {})
                return _SUBSTITUTED.sub(
                    lambda name: self._text(own[name[1]]) if name[1] in own else self._text({"Ref": name[1]}), text
                )
            case "Fn::If":
                condition, yes, no = argument
                return self._text(yes if self._holds({"Condition": condition}) else no)
            case "Fn::Join":
                separator, parts = argument
                return str(separator).join(self._text(part) for part in parts)
            case _:
                raise ValueError(f"{function} is not understood")

    def _holds(self, condition: Any) -> bool:
        ((function, argument),) = condition.items()
        match function:
            case "Condition":
                return self._holds(self._conditions[argument])
            case "Fn::Equals":
                left, right = argument
                return self._text(left) == self._text(right)
            case "Fn::Not":
                return not self._holds(argument[0])
            case "Fn::And":
                return all(map(self._holds, argument))
            case "Fn::Or":
                return any(map(self._holds, argument))
            case _:
                raise ValueError(f"{function} is not understood in a condition")


def _seconds(expression: str) -> int:
    found = _RATE.match(expression)
    if found is None:
        raise ValueError(f"schedule {expression!r} is not rate(N unit)")
    return int(found[1]) * _UNIT_S[found[2]]
