"""The Dockerfiles, as far as they can be told without a Docker engine: what they copy, install and start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, python_files
from tests.architecture.test_imports import imported

ENGINE, TRAINING = ROOT / "models" / "serving" / "Dockerfile", ROOT / "training" / "launch" / "Dockerfile"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_OURS = {"models", "services", "training"}
# The distribution of each package that is imported under another name.
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "ai_edge_litert": "ai-edge-litert",
    "bidi": "python-bidi",
    "botocore": "boto3",
    "c2pa": "c2pa-python",
    "cv2": "opencv-python-headless",
    "espeakng_loader": "espeakng-loader",
    "piper": "piper-tts",
    "ulid": "python-ulid",
}
_OPTIONAL = {"opentelemetry"}  # imported only where the extra `tracing` is installed
_ONLY_BESIDE_NVIDIA = {"pynvml"}  # where there is none, devices' figures are left out
_NOT_THE_ENGINES = {"httpx", "jsonschema", "standardwebhooks"}  # functions fetch, call back and have scripts written


@dataclass(frozen=True)
class Instruction:
    name: str
    value: str


def instructions(path: Path) -> list[Instruction]:
    """What the file says, one instruction each, continued lines joined."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [Instruction(name.upper(), value) for name, value in found]


def stages(path: Path) -> dict[str, list[Instruction]]:
    """Instructions by stage, the base's before those of a stage that builds on it."""
    found: dict[str, list[Instruction]] = {}
    name = ""
    for one in instructions(path):
        if one.name == "FROM":
            base, _, name = one.value.partition(" AS ")
            name = name or "last"
            found[name] = [*found.get(base, []), one]
        elif name:
            found[name].append(one)
    return found


def last(stage: list[Instruction], name: str) -> str:
    return [one.value for one in stage if one.name == name][-1]


def required(path: Path) -> set[str]:
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return {line for line in lines if line}


def asked_for(*extras: str) -> set[str]:
    wanted = [*_PROJECT["dependencies"], *(one for extra in extras for one in _PROJECT["optional-dependencies"][extra])]
    return {re.split(r"[\[<>=~! ;]", one, maxsplit=1)[0] for one in wanted}


@pytest.mark.parametrize("path", [ENGINE, TRAINING], ids=["engine", "training"])
def test_every_copied_source_is_there_and_leaves_the_folder(path: Path) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_out = {line[1:] for line in ignored if line.startswith("!")}
    copied = [one.value for one in instructions(path) if one.name == "COPY" and not one.value.startswith("--from")]
    assert copied
    for value in copied:
        for source in value.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert source.split("/")[0] in let_out, source


@pytest.mark.parametrize(
    ("path", "stage"), [(ENGINE, "cpu"), (ENGINE, "gpu"), (TRAINING, "last")], ids=["cpu", "gpu", "training"]
)
def test_image_runs_without_root_and_starts_without_a_shell(path: Path, stage: str) -> None:
    found = stages(path)[stage]
    assert last(found, "USER").isdecimal()
    assert last(found, "USER") != "0"
    assert isinstance(json.loads(last(found, "ENTRYPOINT")), list)
    assert last(found, "STOPSIGNAL") == "SIGTERM"
    assert any(one.name == "HEALTHCHECK" for one in found)
    labels = " ".join(one.value for one in found if one.name == "LABEL")
    for label in ("title", "description", "version", "revision", "licenses"):
        assert f"org.opencontainers.image.{label}=" in labels


@pytest.mark.parametrize("stage", ["cpu", "gpu"])
def test_engine_starts_as_sagemaker_starts_it_and_checks_its_own_ping(stage: str) -> None:
    found = stages(ENGINE)[stage]
    assert json.loads(last(found, "ENTRYPOINT"))[-3:] == ["python", "-m", "models.serving"]
    assert json.loads(last(found, "CMD")) == ["serve"]
    assert last(found, "EXPOSE") == "8080"
    assert ":8080/ping" in last(found, "HEALTHCHECK")


@pytest.mark.parametrize("stage", ["cpu", "gpu"])
def test_image_holds_the_weights_and_looks_for_them_there(stage: str) -> None:
    all_stages = stages(ENGINE)
    assert any("python -m models.weights embedded" in one.value for one in all_stages["build"])
    assert any(one.name == "COPY" and one.value.endswith(" /opt/weights /opt/weights") for one in all_stages[stage])
    assert any(one.name == "ENV" and "SPOKESMODEL_WEIGHTS_DIR=/opt/weights" in one.value for one in all_stages[stage])


def test_engines_packages_are_what_its_code_imports() -> None:
    folder = ENGINE.parent
    listed = required(folder / "requirements.txt") | required(folder / "requirements-speech.txt")
    used = {name for path in python_files("models", "services") for name in imported(path)}
    used -= _OURS | _OPTIONAL | _NOT_THE_ENGINES | set(sys.stdlib_module_names)
    distributions = {_DISTRIBUTIONS.get(name, name) for name in used} - required(folder / "requirements-gpu.txt")
    assert distributions - listed == set()
    fonts = {"manimgx-fonts", "manimgx-fonts-cjk"}  # files, imported by no name
    assert listed - distributions == fonts


def test_packages_of_the_gpu_image_are_imported_in_the_diffusion_folder_alone() -> None:
    extra = required(ENGINE.parent / "requirements-gpu.txt")
    importing = {path.parent for path in python_files("models", "services") if set(imported(path)) & extra}
    diffusion = ROOT / "models" / "diffusion"
    assert diffusion in importing
    assert [folder for folder in importing if folder != diffusion and diffusion not in folder.parents] == []


def test_packages_are_the_projects_own_and_pinned() -> None:
    pins = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    folder = ENGINE.parent
    embedded = required(folder / "requirements.txt") | required(folder / "requirements-speech.txt")
    assert required(folder / "requirements.txt") <= asked_for()
    assert required(folder / "requirements-speech.txt") == asked_for("speech") - asked_for()
    assert {name for name in embedded if name.replace("-", "_") not in pins and name not in pins} == set()
    assert required(folder / "requirements-gpu.txt") == asked_for("diffusion") - asked_for()
    training = required(TRAINING.parent / "requirements.txt")
    assert training - asked_for() == asked_for("diffusion", "training") - asked_for() - {"spokesmodel", "torch"}


def test_trainings_packages_are_what_its_code_imports() -> None:
    used = {name for path in python_files("training") for name in imported(path)} - _OURS - set(sys.stdlib_module_names)
    distributions = {_DISTRIBUTIONS.get(name, name) for name in used} - {"torch"} - _ONLY_BESIDE_NVIDIA
    assert distributions - required(TRAINING.parent / "requirements.txt") == set()


def test_training_container_says_that_it_trains_nothing() -> None:
    done = subprocess.run(
        [sys.executable, *json.loads(last(stages(TRAINING)["last"], "ENTRYPOINT"))[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 69
    assert done.stderr.startswith("training_not_included")
