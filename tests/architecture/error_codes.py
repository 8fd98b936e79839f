"""The error codes that the source can raise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.repository import python_files

_CODE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")


@cache
def raised_codes() -> dict[str, set[str]]:
    """Each code with the files that give it: ``code=`` arguments, ``default_code`` and ``"code":`` in a literal."""
    found: dict[str, set[str]] = {}
    for path in python_files():
        for code in _codes_of(path):
            found.setdefault(code, set()).add(str(path))
    return found


@cache
def string_literals() -> frozenset[str]:
    """Every string constant of the product."""
    return frozenset(
        node.value
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _codes_of(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "code":
            yield from _strings(node.value, names)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id in ("default_code", "code") for t in targets) and node.value:
                yield from _strings(node.value, {})
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from _strings(value, names)


def _strings(node: ast.expr, names: dict[str, ast.expr]) -> Iterator[str]:
    """The string constants that an expression can become, through conditions and names of the module."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.match(node.value):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body, names)
        yield from _strings(node.orelse, names)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _strings(value, names)
    elif isinstance(node, ast.Name) and node.id in names:
        yield from _strings(names[node.id], {})
