"""The docs page: one HTML file made from the OpenAPI document, with nothing to load from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

from lambdas.api.answers import PROBLEMS
from lambdas.api.openapi import document

_TEMPLATE: Final = Path(__file__).with_name("docs.html")
_MAX_DEPTH: Final = 3
_BASE: Final = "http://127.0.0.1:8000"


@cache
def page() -> str:
    """The page as HTML."""
    values = document()
    operations = [
        (path, method, operation) for path, methods in values["paths"].items() for method, operation in methods.items()
    ]
    events = [(name, item["post"]) for name, item in values["webhooks"].items()]
    nav, body = [], []
    for tag in values["tags"]:
        inside = [entry for entry in operations if tag["name"] in entry[2]["tags"]]
        if not inside:
            continue
        title = str(tag["name"]).capitalize()
        nav.append(f"<h2>{escape(title)}</h2>")
        nav += [f'<a href="#{op["operationId"]}">{escape(op["summary"])}</a>' for _, _, op in inside]
        articles = "".join(_operation(values, path, method, operation) for path, method, operation in inside)
        body.append(_section(title, tag["description"], articles))
    nav.append("<h2>Callbacks</h2>")
    nav += [f'<a href="#{operation["operationId"]}">{escape(name)}</a>' for name, operation in events]
    body.append(_section("Callbacks", "What your server gets.", "".join(_event(values, *event) for event in events)))
    nav.append('<h2>Errors</h2><a href="#problems">Problem documents</a>')
    body.append(_section("Errors", "RFC 9457, `application/problem+json`.", _problems(values)))
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(values["info"]["title"]),
        version=escape(values["info"]["version"]),
        description=_markdown(values["info"]["description"]),
        nav="\n".join(nav),
        body="\n".join(body),
    )


def _section(title: str, about: str, articles: str) -> str:
    return f'<section><h2>{escape(title)}</h2><p class="about">{_inline(about)}</p>{articles}</section>'


def _operation(values: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> str:
    left, right = [], []
    parameters = operation.get("parameters", [])
    if parameters:
        left.append("<h4>Parameters</h4>" + _table(_parameter_row(parameter) for parameter in parameters))
    schema = _json_schema_of(operation.get("requestBody"))
    if schema is not None:
        left.append("<h4>Body</h4>" + _table(_rows(values, schema)))
    left.append("<h4>Answers</h4>" + _answers(operation["responses"]))
    right.append("<h4>Request</h4>" + _code(_curl(values, path, method, operation, schema)))
    for status, response in operation["responses"].items():
        answer = _json_schema_of(response)
        if status.startswith("2") and answer is not None:
            example = json.dumps(_example(values, answer), indent=2, ensure_ascii=False)
            right.append(f"<h4>Answer {status}</h4>" + _code(example))
            right.append(f"<details><summary>Fields</summary>{_table(_rows(values, answer))}</details>")
            break
    about = f"<p>{_inline(operation['description'])}</p>" if "description" in operation else ""
    return (
        f'<article id="{operation["operationId"]}"><h3><span class="method {method}">{method.upper()}</span>'
        f'<span class="where">{escape(path)}</span><span class="what">{escape(operation["summary"])}</span></h3>'
        f'{about}<div class="columns"><div>{"".join(left)}</div><div>{"".join(right)}</div></div></article>'
    )


def _event(values: Mapping[str, Any], name: str, operation: Mapping[str, Any]) -> str:
    schema = _json_schema_of(operation["requestBody"]) or {}
    example = _example(values, schema)
    example["type"] = name
    state = name.partition(".")[2]
    example["data"] = {**example["data"], "state": state}
    if state != "succeeded":
        failure = {"code": "face_not_found", "detail": "No face was found.", "param": "presenter", "retryable": False}
        example["data"].update(result=None, failure=failure if state == "failed" else None)
    shown = json.dumps(example, indent=2, ensure_ascii=False)
    return (
        f'<article id="{operation["operationId"]}"><h3><span class="method event">EVENT</span>'
        f'<span class="where">{escape(name)}</span></h3><p>{_inline(operation["description"])}</p>'
        f"<details><summary>Example</summary>{_code(shown)}</details></article>"
    )


def _problems(values: Mapping[str, Any]) -> str:
    schema = values["components"]["schemas"]["Problem"]
    statuses = "".join(
        f'<tr><td class="name"><code>{status}</code></td><td>{_inline(meaning)}</td></tr>'
        for status, meaning in PROBLEMS.items()
    )
    left = f"<h4>Statuses</h4><table>{statuses}</table><h4>Fields</h4>{_table(_rows(values, schema))}"
    right = "<h4>Example</h4>" + _code(json.dumps(_example(values, schema), indent=2, ensure_ascii=False))
    return f'<article id="problems"><div class="columns"><div>{left}</div><div>{right}</div></div></article>'


def _answers(responses: Mapping[str, Any]) -> str:
    return _table(
        f'<tr><td class="name"><code>{status}</code></td><td>{_inline(response["description"])}</td></tr>'
        for status, response in responses.items()
    )


def _parameter_row(parameter: Mapping[str, Any]) -> str:
    must = '<span class="must">required</span>' if parameter.get("required") else ""
    return (
        f'<tr><td class="name"><code>{escape(parameter["name"])}</code>{must}'
        f'<span class="kind">{parameter["in"]} · {escape(_kind(parameter["schema"]))}</span></td>'
        f"<td>{_inline(parameter.get('description', ''))}</td></tr>"
    )


def _rows(values: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    schema = _resolved(values, schema)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        whole = _resolved(values, field)
        must = '<span class="must">required</span>' if name in required and depth < 1 else ""
        about = field.get("description") or whole.get("description", "")
        if "default" in whole and whole["default"] not in (None, {}, []):
            about = f"{about} Default `{json.dumps(whole['default'])}`."
        yield (
            f'<tr><td class="name indent-{depth}"><code>{escape(name)}</code>{must}'
            f'<span class="kind">{escape(_kind(whole))}</span></td><td>{_inline(about)}</td></tr>'
        )
        if depth < _MAX_DEPTH:
            inner = whole.get("items", whole) if whole.get("type") == "array" else whole
            yield from _rows(values, inner, depth + 1)


def _resolved(values: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without references, and without the alternative "null"."""
    if "$ref" in schema:
        target = values["components"]["schemas"][str(schema["$ref"]).rpartition("/")[2]]
        return _resolved(values, {**target, **{key: value for key, value in schema.items() if key != "$ref"}})
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**_resolved(values, options[0]), **rest}
    return dict(schema)


def _kind(schema: Mapping[str, Any]) -> str:
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if options:
        return " or ".join(_kind(option) for option in options)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    kind = str(schema.get("format") or schema.get("type") or "object")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "minimum" in schema and "maximum" in schema:
        low, high = schema["minimum"], schema["maximum"]
        return f"{kind}, {low:g} to {high:g}" if high < 1e6 else f"{kind}, from {low:g}"
    return kind


def _example(values: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    schema = _resolved(values, schema)
    if "example" in schema:
        return schema["example"]
    if schema.get("examples"):
        return schema["examples"][0]
    if "properties" in schema:
        return {name: _example(values, field) for name, field in schema["properties"].items()}
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if options:
        return _example(values, options[0])
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("format") or schema.get("type"):
        case "array":
            return [_example(values, schema.get("items", {}))]
        case "date-time":
            return "2026-11-30T09:15:00.123Z"
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case "string":
            return "…"
        case _:
            return {}


def _curl(
    values: Mapping[str, Any],
    path: str,
    method: str,
    operation: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
) -> str:
    shown = path
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            example = (parameter["schema"].get("examples") or ["…"])[0]
            shown = shown.replace("{" + parameter["name"] + "}", str(example))
    verb = "" if method == "get" else f"-X {method.upper()} "
    lines = [f"curl {verb}{_BASE}{shown}"]
    if operation.get("security") != []:
        lines.append('-H "Authorization: Bearer $SPOKESMODEL_KEY"')
    if schema is not None:
        body = json.dumps(_example(values, schema), indent=2, ensure_ascii=False).replace("'", "'\\''")
        lines += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
    return " \\\n  ".join(lines)


def _json_schema_of(holder: Mapping[str, Any] | None) -> dict[str, Any] | None:
    content = (holder or {}).get("content", {}).get("application/json")
    return None if content is None else dict(content["schema"])


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _inline(text: str) -> str:
    """Code spans and bold of Markdown; the rest as it is."""
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)


def _markdown(text: str) -> str:
    """Paragraphs and lists of Markdown."""
    blocks = []
    for block in text.strip().split("\n\n"):
        if block.startswith("- "):
            items = block.replace("\n  ", " ").removeprefix("- ").split("\n- ")
            blocks.append("<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>")
        else:
            blocks.append(f"<p>{_inline(' '.join(block.splitlines()))}</p>")
    return "".join(blocks)
