"""The template as linters see it, and the guide's two commands, ``sam build`` and ``sam deploy``, on the emulator."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.cloud.stack import PYTHON_VERSION, staged_folder
from tests.emulator import PYTHON, ROOT, Emulator

SAM = ROOT / ".tools" / "sam" / "bin" / "sam"
CFN_LINT = SAM.with_name("cfn-lint")
TEMPLATE = ROOT / "template.yaml"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SAM.exists() and PYTHON.exists()), reason="SAM or the emulator is missing; `make tools`"),
]


def test_cfn_lint_finds_nothing():
    done = subprocess.run([CFN_LINT, TEMPLATE], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sam_calls_the_template_valid():
    done = subprocess.run(
        [SAM, "validate", "--lint", "--region", "eu-central-1", "--template-file", TEMPLATE],
        cwd=ROOT,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is a valid SAM Template" in done.stdout


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    running = Emulator(tmp_path / "emulator.log")
    yield running
    running.close()


def test_sam_builds_and_deploys_the_template(emulator: Emulator, tmp_path: Path):
    staged_folder()  # so that the build's `make` finds it done, and no other process at it
    environment = {**os.environ, **emulator.environment, "SAM_CLI_TELEMETRY": "0", "LAMBDA_PYTHON": PYTHON_VERSION}

    def sam(*arguments: str) -> None:
        done = subprocess.run(
            [SAM, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    built = tmp_path / "built"
    sam("build", "--build-dir", str(built))
    emulator.client("s3").create_bucket(Bucket="artifacts")
    sam(
        *("deploy", "--template-file", str(built / "template.yaml"), "--stack-name", "spokes"),
        *("--s3-bucket", "artifacts", "--no-resolve-s3", "--no-confirm-changeset", "--region", "us-east-1"),
        *("--parameter-overrides", "Inference=queue"),
    )
    [stack] = emulator.client("cloudformation").describe_stacks(StackName="spokes")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    [url] = [output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "ApiUrl"]
    health = httpx.get(f"{emulator.endpoint_url}/v1/health", headers={"Host": urlsplit(url).netloc}, timeout=60)
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert health.json()["version"] != "unknown", "the folder tells which version it holds"
