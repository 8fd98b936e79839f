"""The functions' folder: small, without anything of the engine's, and enough for every handler."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cloud.runtime_emulator import RUNTIME
from tests.cloud.stack import staged_folder
from tests.emulator import ROOT
from tests.handlers.test_template import FUNCTIONS

LIMIT_BYTES = 35 * 1024 * 1024
FORBIDDEN = re.compile(
    r"^(torch|cv2|numpy|scipy|av|PIL|babel|py3langid|num2words|onnxruntime|ai_edge_litert|boto3|botocore|models|training|"
    r"spokesmodel|tests|opencv|pillow|cryptography|sqlalchemy)\b(?!-[\d.]+\.dist-info$)",
    re.IGNORECASE,
)
SHIPPED_PYTHON = "3.13"
# What no function calls: the engine's process and the operator's commands do.
NOT_OF_FUNCTIONS = {"cryptography", "opentelemetry", "numpy"}


@pytest.mark.parametrize("python_version", [f"{sys.version_info.major}.{sys.version_info.minor}", SHIPPED_PYTHON])
def test_folder_is_small_and_holds_nothing_of_the_engine(python_version):
    folder = staged_folder(python_version)
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size_bytes < LIMIT_BYTES
    names = {path.name for path in folder.iterdir()}
    assert {"lambdas", "services", "pydantic", "aws_lambda_powertools"} <= names
    assert [name for name in names if FORBIDDEN.match(name)] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_handler_is_found_in_the_folder_alone(function, staged: Path, tmp_path: Path):
    """An interpreter as Lambda's: the folder, boto3 and the runtime client; no path of this project."""
    if not RUNTIME.exists():
        pytest.skip("Lambda's environment is not installed; `make tools` does it")
    module, _, name = FUNCTIONS[function]["Handler"].rpartition(".")
    script = (
        f"import sys; sys.path.insert(0, {str(staged)!r}); import {module} as module; import services.bootstrap;"
        f"import services.adapters.aws.wiring; assert callable(module.{name});"
        "print(module.__file__)"
    )
    done = subprocess.run(
        [RUNTIME, "-I", "-B", "-c", script], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(staged))


def test_whatever_functions_may_import_later_is_in_the_folder(staged: Path):
    """Imports inside functions, too: they would fail in the cloud and at night."""
    if not RUNTIME.exists():
        pytest.skip("Lambda's environment is not installed; `make tools` does it")
    wanted = set()
    for path in [*staged.joinpath("lambdas").rglob("*.py"), *staged.joinpath("services").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                wanted.add(node.module.partition(".")[0])
    names = sorted(wanted - set(sys.stdlib_module_names) - NOT_OF_FUNCTIONS)
    script = (
        f"import sys; sys.path.insert(0, {str(staged)!r}); from importlib.util import find_spec;"
        f"print([name for name in {names!r} if find_spec(name) is None])"
    )
    done = subprocess.run([RUNTIME, "-I", "-B", "-c", script], env={}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "pydantic" in names


def test_requirements_are_exact_and_those_of_the_tests():
    def pins(path: Path) -> dict[str, str]:
        lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
        split = (line.split(";")[0].split(" ")[0].partition("==") for line in lines if "==" in line)
        return {re.sub(r"[-_.]+", "-", name).lower(): version for name, _, version in split}

    ours, tested = pins(ROOT / "lambdas" / "requirements.txt"), pins(ROOT / "constraints.txt")
    assert len(ours) > 10
    assert {name: version for name, version in ours.items() if tested.get(name) != version} == {}
