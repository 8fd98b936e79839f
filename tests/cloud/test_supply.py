"""What is shipped is locked and listed: the locked requirements, and the software bill of materials."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib

import jsonschema
import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from referencing import Registry, Resource

from models.bill_of_materials import add_weights
from models.weights import manifest
from tests.architecture.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPLY = ROOT / ".tools" / "supply"
ASKED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["speech"]]


def pins(name: str) -> dict[str, str]:
    """Versions by package of a locked file; pins for other platforms or Pythons are left out."""
    found = {}
    for line in (ROOT / "locks" / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"^([A-Za-z0-9._-]+)==(\S+?)(?:\s*;\s*(.*?))?\s*\\$", line):
            package, version, marker = match.groups()
            if marker is None or Requirement(f"x; {marker}").marker.evaluate():
                found[canonicalize_name(package)] = version
    return found


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines}


def needed_by(packages: set[str], extras: dict[str, set[str]]) -> set[tuple[str, str]]:
    """``(package, requirement)`` of everything that the packages need here, as installed."""
    found = set()
    for package in packages:
        for text in importlib.metadata.requires(package) or ():
            requirement = Requirement(text)
            chosen = extras.get(package, set()) | {""}
            environments = [{**default_environment(), "extra": extra} for extra in chosen]
            if requirement.marker is None or any(requirement.marker.evaluate(one) for one in environments):
                found.add((package, str(requirement)))
    return found


@pytest.mark.parametrize("name", ["product.txt", "functions.txt"])
def test_every_locked_package_has_checksums(name):
    text = (ROOT / "locks" / name).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 10
    for block in blocks:
        assert re.match(r"[A-Za-z0-9._-]+==\S+", block), block.splitlines()[0]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block.splitlines()[0]


def test_lock_satisfies_what_pyproject_asks_for():
    locked = pins("product.txt")
    for text in ASKED:
        requirement = Requirement(text)
        version = locked.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not locked; `make lock`"
        assert requirement.specifier.contains(Version(version), prereleases=True), f"{text} against {version}"


def test_lock_holds_all_that_its_packages_need():
    locked = pins("product.txt")
    extras = {canonicalize_name(Requirement(text).name): Requirement(text).extras for text in ASKED}
    needed = needed_by(set(locked), extras)
    assert len(needed) > 50
    for package, text in needed:
        requirement = Requirement(text)
        version = locked.get(canonicalize_name(requirement.name))
        assert version, f"{package} needs {text}, which is not locked; `make lock`"
        assert requirement.specifier.contains(Version(version), prereleases=True), f"{package} needs {text}"


@pytest.mark.parametrize("name", ["product.txt", "functions.txt"])
def test_locks_and_constraints_name_the_same_versions(name):
    bound = constraints()
    differing = {package: version for package, version in pins(name).items() if bound.get(package, version) != version}
    assert differing == {}


def test_functions_are_locked_as_they_are_staged():
    lines = (ROOT / "lambdas" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    staged = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    assert pins("functions.txt") == {canonicalize_name(name): version for name, version in staged.items()}


@pytest.fixture(scope="module")
def bill(tmp_path_factory):
    """The bill of this environment, made as `make sbom` makes that of a clean one."""
    generator = SUPPLY / "bin" / "cyclonedx-py"
    if not generator.exists():
        pytest.skip("the generator is not installed; `make tools` does it")
    path = tmp_path_factory.mktemp("supply") / "sbom.json"
    command = [generator, "environment", "--pyproject", ROOT / "pyproject.toml", "--sv", "1.6", "-o", path]
    subprocess.run([*command, sys.executable], check=True, capture_output=True)
    return add_weights(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_bill_of_materials_keeps_to_its_schema(bill):
    [folder] = SUPPLY.glob("lib/python*/site-packages/cyclonedx/schema/_res")
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    registry = Registry().with_resources(
        [
            (name, Resource.from_contents(schema))
            for path, schema in schemas.items()
            for name in (path, f"http://cyclonedx.org/schema/{path}", schema["$id"])
        ]
    )
    schema = schemas["bom-1.6.SNAPSHOT.schema.json"]
    jsonschema.Draft7Validator(schema, registry=registry).validate(bill)
    broken = {**bill, "components": [{"type": "spaceship", "name": "x"}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema, registry=registry).validate(broken)


@pytest.mark.slow
def test_bill_of_materials_lists_packages_with_versions_and_model_files_with_checksums(bill):
    assert bill["metadata"]["component"]["name"] == PROJECT["name"]
    listed = {canonicalize_name(one["name"]): one for one in bill["components"] if one["type"] == "library"}
    for package, version in pins("product.txt").items():
        assert listed[package]["version"] == version
        assert listed[package]["purl"].startswith("pkg:pypi/")
    weights = {one["bom-ref"]: one for one in bill["components"] if one["bom-ref"].startswith("weights/")}
    assert len(weights) == len(manifest()) > 5
    for file in manifest().values():
        assert weights[f"weights/{file.name}"]["hashes"] == [{"alg": "SHA-256", "content": file.sha256}]
