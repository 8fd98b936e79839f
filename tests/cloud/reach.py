"""What the code behind a handler asks of AWS, read from the source: the other side of each function's policy.

A handler's module is walked, and what it names in ``lambdas`` and ``services``, function by function. Ports go by the
names of the fields of ``Services`` everywhere, so ``jobs.save`` is a use of the port ``jobs``; the wiring says which
class that is on AWS, and the class which of boto3's operations the method comes to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from services.bootstrap import Services
from tests.emulator import ROOT

Use: TypeAlias = tuple[str, str]  # an action, and the table it is on or ""

_PORTS: Final = {field.name for field in fields(Services)} - {"settings", "clock"}
_PROTOCOLS: Final = {
    str(field.type).partition(" ")[0]: field.name for field in fields(Services) if field.name in _PORTS
}
_AWS: Final = ROOT / "services" / "adapters" / "aws"
_TABLE_OPERATIONS: Final = ("get_item", "put_item", "update_item", "delete_item", "query", "batch_get_item")
_ACTIONS: Final = {
    **{name: (f"dynamodb:{''.join(map(str.capitalize, name.split('_')))}",) for name in _TABLE_OPERATIONS},
    "batch_write_item": ("dynamodb:BatchWriteItem",),
    "transact_write_items": ("dynamodb:PutItem",),  # asked of each write in it, and all of ours put
    "get_object": ("s3:GetObject", "s3:ListBucket"),  # who may not list hears "denied" of what is absent
    "head_object": ("s3:GetObject", "s3:ListBucket"),
    "put_object": ("s3:PutObject",),
    "copy_object": ("s3:GetObject", "s3:PutObject"),
    "upload_fileobj": ("s3:PutObject", "s3:AbortMultipartUpload"),
    "delete_objects": ("s3:DeleteObject",),
    "list_objects_v2": ("s3:ListBucket",),
    "send_message": ("sqs:SendMessage",),
    "change_message_visibility": ("sqs:ChangeMessageVisibility",),
    "invoke_endpoint_async": ("sagemaker:InvokeEndpointAsync",),
    "describe_endpoint": ("sagemaker:DescribeEndpoint",),
    "converse": ("bedrock:InvokeModel",),
    "synthesize_speech": ("polly:SynthesizeSpeech",),
    "get_secret_value": ("secretsmanager:GetSecretValue",),
    "sign": ("kms:Sign",),
}


@dataclass(frozen=True)
class _Member:
    """What an attribute of an adapter holds: a table by name, a class of ours, or another port."""

    table: str = ""
    cls: str = ""
    port: str = ""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for path in sorted(_AWS.glob("*.py"))
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef)
    }


@cache
def adapters() -> dict[str, tuple[str, ...]]:
    """The classes of ``services/adapters/aws`` behind each port, by the wiring."""
    tree = _tree(_AWS / "wiring.py")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    [made] = [node for node in ast.walk(functions["adapters"]) if isinstance(node, ast.Dict)]
    found = {}
    for key, value in zip(made.keys, made.values, strict=True):
        assert isinstance(key, ast.Constant)
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        for name in names & set(functions):
            names |= {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        found[str(key.value)] = tuple(sorted(names & set(_classes()) - {"Clients"}))
    return found


def _members(cls: ast.ClassDef) -> dict[str, _Member]:
    members = {}
    for node in ast.walk(cls):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        name, value = node.targets[0].attr, node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            texts = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
            table = next((text for text in texts if isinstance(text, str)), "")
            if value.func.id == "Table":
                members[name] = _Member(table=table)
            elif value.func.id in _classes():
                members[name] = _Member(cls=value.func.id, table=table)
        elif name.lstrip("_") in _PORTS:
            members[name] = _Member(port=name.lstrip("_"))
    return members


@cache
def uses_of_method(cls_name: str, method: str, own_table: str = "") -> frozenset[Use]:
    """What calling a method of an adapter may ask of AWS. ``own_table``: of a class that is given its table's name."""
    cls = _classes()[cls_name]
    methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    members = _members(cls)
    uses: set[Use] = set()
    todo, done = [method], set()
    while todo:
        name = todo.pop()
        if name in done or name not in methods:
            continue
        done.add(name)
        for node in ast.walk(methods[name]):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _ACTIONS:
                uses |= {(action, "") for action in _ACTIONS[node.value]}
            if not isinstance(node, ast.Attribute):
                continue
            if node.attr in _ACTIONS and not _is_self(node.value):
                uses |= {(action, "") for action in _ACTIONS[node.attr]}
            if _is_self(node.value):
                todo.append(node.attr)
            elif isinstance(node.value, ast.Attribute) and _is_self(node.value.value):
                uses |= _of_member(members.get(node.value.attr, _Member()), node.attr, own_table)
        uses |= set(_index_uses(methods[name], members, own_table))
    return frozenset(uses)


def _of_member(member: _Member, method: str, own_table: str) -> set[Use]:
    if member.port:
        return set(uses_of_port(member.port, method))
    if member.cls:
        return set(uses_of_method(member.cls, method, member.table))
    if member.table or own_table:
        table = member.table or own_table
        return {(action, table) for action, _ in uses_of_method("Table", method)} if _is_table_method(method) else set()
    return set()


def _is_table_method(method: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == method for node in _classes()["Table"].body)


def _index_uses(method: ast.FunctionDef, members: dict[str, _Member], own_table: str) -> Iterator[Use]:
    """Queries of an index: a right of its own in IAM."""
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _index_of(node):
            target = node.func.value
            if isinstance(target, ast.Attribute) and _is_self(target.value):
                member = members.get(target.attr, _Member())
                yield "dynamodb:Query", f"{member.table or own_table}/index"


def _index_of(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "index"]
    return any(not (isinstance(value, ast.Constant) and value.value is None) for value in given)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def uses_of_port(port: str, method: str) -> frozenset[Use]:
    """What calling a port's method may ask of AWS, by whichever adapter."""
    return frozenset(use for cls in adapters().get(port, ()) for use in uses_of_method(cls, method))


def ports_of_handler(module: str) -> set[tuple[str, str]]:
    """Ports and their methods that a handler's code names; of a package, all its modules are walked."""
    path = ROOT.joinpath(*module.split("."))
    starts = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    walk = _Walk()
    for start in starts:
        for node in _tree(start).body:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                walk.visit(start, node)
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self._seen: set[tuple[Path, str]] = set()

    def visit(self, path: Path, node: ast.AST) -> None:
        names = _names_in(path)
        aliases = {  # a parameter that goes by another name says by its type what it is
            part.arg: _PROTOCOLS[part.annotation.id]
            for part in ast.walk(node)
            if isinstance(part, ast.arg) and isinstance(part.annotation, ast.Name) and part.annotation.id in _PROTOCOLS
        }
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                holder = part.value
                port = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
                port = aliases.get(port, port).lstrip("_")
                if port in _PORTS:
                    self.found.add((port, part.attr))
                if isinstance(holder, ast.Name) and holder.id in names:
                    self._follow(*names[holder.id], part.attr)
            elif isinstance(part, ast.Name) and part.id in names:
                self._follow(*names[part.id], "")

    def _follow(self, path: Path, name: str, attribute: str) -> None:
        name = name or attribute
        if not name or (path, name) in self._seen:
            return
        self._seen.add((path, name))
        for node in _tree(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if getattr(node, "name", None) == name or any(getattr(target, "id", None) == name for target in targets):
                self.visit(path, node)


@cache
def _names_in(path: Path) -> dict[str, tuple[Path, str]]:
    """Names of a module that stand for functions of ours: where each is; "" for a module itself."""
    names: dict[str, tuple[Path, str]] = {}
    for node in ast.walk(_tree(path)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.partition(".")[0] in ("lambdas", "services")
        ):
            if ".adapters" in node.module:
                continue
            for alias in node.names:
                as_module = _file(f"{node.module}.{alias.name}")
                in_module = _file(node.module)
                if as_module is not None:
                    names[alias.asname or alias.name] = as_module, ""
                elif in_module is not None:
                    names[alias.asname or alias.name] = in_module, alias.name
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = path, node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    names[target.id] = path, target.id
    return names


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    if path.with_suffix(".py").exists():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").exists() else None


def needed(module: str) -> set[Use]:
    """Every action that a handler's code may ask for, with the table it is on."""
    uses = {use for port, method in ports_of_handler(module) for use in uses_of_port(port, method)}
    return {(action, table) for action, table in uses if table or not action.startswith("dynamodb:")}
