"""A run that is killed, anywhere and again, ends with the bytes of one that was not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Each operation on the file system was tried once, before and after it; these stand for them.
PLANS = {
    "uninterrupted": ["end"],
    "before anything is written": ["1", "end"],
    "within a step, twice": ["step1", "step4", "end"],
    "while the first checkpoint is written": ["mkdir:.unfinished-step-00000002+", "12", "end"],
    "before and after its rename": ["rename:step-00000002", "rename:step-00000002+", "end"],
    "while the last is made the latest": ["rename:step-00000005+", "replace:LATEST", "replace:BEST", "end"],
    "before an old one is deleted": ["rename:.outdated-step-00000004", "end"],
    "while the result is written": ["replace:lora.safetensors", "replace:manifest.json", "end"],
    "by SIGTERM between two batches of a step": ["term5", "term2", "end"],
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.training.killed",
            tmp_path_factory.mktemp("killed"),
            json.dumps(list(PLANS.values())),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(PLANS, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("plan", list(PLANS)[1:])
def test_killed_and_resumed_it_ends_with_the_same_bytes(ends, plan):
    whole, end = ends["uninterrupted"], ends[plan]
    assert end["deaths"][-1] == 0
    died = [-9 if "term" not in death else 0 for death in PLANS[plan][:-1]]
    assert end["deaths"][:-1] == died
    assert end["files"] == whole["files"]
    assert end["losses"] == whole["losses"]
    assert len(end["losses"]) == 5
