"""Who may import whom."""

from __future__ import annotations

import ast
import sys

from importlinter.cli import lint_imports

from tests.architecture.repository import ROOT, python_files

# What the services may use besides the standard library; SDKs of vendors belong into adapters.
SERVICE_LIBRARIES = {"pydantic", "ulid", "typing_extensions", "standardwebhooks", "services"}
# Folders of networks and of what trains them: nothing light imports them, and they may import torch at once.
NETWORKS = ("models/diffusion/drawn64", "training")
HEAVY = {"torch", "diffusers", "transformers", "accelerate", "peft", "boto3", "botocore"}


def imported(path, *, only_on_import=False):
    """Top-level packages that a module imports; with ``only_on_import``, those that importing it loads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if only_on_import else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def is_network(path):
    name = path.relative_to(ROOT).as_posix()
    return name.startswith(tuple(f"{folder}/" for folder in NETWORKS)) and not name.startswith("training/launch/")


def test_import_contracts_hold(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)  # it would silence the loggers of other tests
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None) == 0


def test_domain_ports_and_use_cases_use_no_sdk_and_no_network():
    allowed = SERVICE_LIBRARIES | set(sys.stdlib_module_names)
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files("services")
        if "adapters" not in path.parts
        for name in imported(path)
        if name not in allowed and not (name == "numpy" and path.name == "speech.py")  # types of the port only
    }
    assert found == set()


def test_copywriting_depends_on_nothing_but_the_domain():
    allowed = {"services"} | (
        set(sys.stdlib_module_names) - {"os", "socket", "subprocess", "pathlib", "time", "datetime"}
    )
    files = [path for path in python_files("services") if "copywriting" in path.parts]
    assert len(files) > 15
    assert {name for path in files for name in imported(path)} <= allowed


def test_heavy_packages_are_imported_where_they_are_used():
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files()
        if not is_network(path)
        for name in imported(path, only_on_import=True)
        if name in HEAVY
    }
    assert found == set()


def test_networks_are_imported_where_they_are_used():
    """A module that imports one when it is imported would bring torch along."""
    networks = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in python_files()
        if is_network(path) and set(imported(path, only_on_import=True)) & HEAVY
    }
    found = {
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in python_files()
        if not is_network(path)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module in networks
    }
    assert networks
    assert found == set()


def test_gpl_engines_stay_behind_one_module_each():
    owners = {"espeakng_loader": set(), "piper": set(), "pykakasi": set()}
    for path in python_files():
        for name in set(imported(path)) & owners.keys():
            owners[name].add(str(path.relative_to(ROOT)))
    assert all(len(files) <= 1 and all(f.startswith("models/speech/") for f in files) for files in owners.values()), (
        owners
    )


def test_tests_use_no_network_helpers_of_the_product():
    """Product code never imports tests or benchmarks."""
    found = [path for path in python_files() if {"tests", "benchmarks"} & set(imported(path))]
    assert found == []
