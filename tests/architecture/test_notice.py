"""NOTICE names what the project installs and fetches, with the licence that each package states."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from models.weights import manifest
from tests.architecture.repository import ROOT

_NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_COPYLEFT = re.compile(r"GPL|MPL|EUPL|CDDL|copyleft", re.IGNORECASE)


def names(requirements):
    return [re.split(r"[\[<>=~! ;]", requirement, maxsplit=1)[0] for requirement in requirements]


def row_of(package):
    match = re.search(rf"^  {re.escape(package)}\s+(\S.*)$", _NOTICE, re.MULTILINE)
    return match.group(1) if match else None


def stated_licence(package):
    meta = importlib.metadata.metadata(package)
    classifiers = [c.rsplit("::", 1)[-1] for c in meta.get_all("Classifier") or () if c.startswith("License")]
    return " ".join([meta.get("License-Expression") or "", (meta.get("License") or "")[:60], *classifiers])


def closure(requirements):
    """The packages that ``requirements`` bring along, as installed here."""
    found, waiting = set(), list(requirements)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        try:
            dist = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            waiting += names(r for r in dist.requires or () if "extra ==" not in r)
    return found


@pytest.mark.parametrize("package", names([*_PROJECT["dependencies"], *_PROJECT["optional-dependencies"]["speech"]]))
def test_every_package_asked_for_is_named(package):
    assert row_of(package), f"{package} is not in NOTICE"


def test_every_copyleft_package_that_comes_along_is_named():
    packages = closure(names([*_PROJECT["dependencies"], *_PROJECT["optional-dependencies"]["speech"]]))
    assert len(packages) > 50
    unnamed = [name for name in sorted(packages) if _COPYLEFT.search(stated_licence(name)) and not row_of(name)]
    assert unnamed == []


def test_gpl_packages_are_in_the_extra_only():
    core = closure(names(_PROJECT["dependencies"]))
    gpl = [name for name in sorted(core) if re.search(r"(?<!L)GPL|General Public", stated_licence(name))]
    assert [name for name in gpl if "Lesser" not in stated_licence(name) and "LGPL" not in stated_licence(name)] == []


@pytest.mark.parametrize("package", ["piper-tts", "pykakasi", "soxr", "numpy", "av", "pydantic", "onnxruntime"])
def test_licences_are_what_the_packages_state(package):
    stated = stated_licence(package)
    licence = row_of(package).split("  ")[0].split(";")[0]
    assert licence.split(" ")[0] in stated or licence in stated


def test_every_source_of_model_files_is_named_with_its_licence():
    for file in manifest().values():
        package, _, version = file.source.removeprefix("pypi:").partition("==")
        row = row_of(f"{package} {version}")
        assert row, f"{file.source} is not in NOTICE"
        assert row.startswith(file.licence), f"{file.name}: {file.licence} in the manifest, {row!r} in NOTICE"


def test_pyavs_x264_is_named():
    files = [str(file) for file in importlib.metadata.files("av") or ()]
    bundled = {name for name in ("libx264", "libx265") if any(name in file for file in files)}
    assert all(name in _NOTICE for name in bundled)
