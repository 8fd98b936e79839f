"""Checkpoints: whole or not there, what is kept, and what a damaged one does."""

from __future__ import annotations

import errno
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from training.checkpoints import Checkpoints, random_state, restore_random_state


def save(checkpoints, step, *, loss=None, size=8, **more):
    weights = {"layer.lora_A": torch.full((size,), float(step))}
    return checkpoints.save(step, weights, {"step_again": step, **more}, validation_loss=loss)


def steps(folder):
    return sorted(int(one.name.split("-")[1]) for one in folder.glob("step-*"))


def test_a_tree_of_states_comes_back_as_it_was(tmp_path):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {
        "optimizer": optimizer.state_dict(),
        "numbers": [1, 2.5, True, None, "word", float("inf")],
        "nested": {"deep": (torch.arange(3, dtype=torch.uint8), [torch.ones(2, dtype=torch.bfloat16)])},
        "by_number": {3: "three", 4: {"tensor": torch.zeros(0)}},
    }
    Checkpoints(tmp_path, keep_last=2).save(1, {"w": torch.ones(2)}, state)
    found = Checkpoints(tmp_path, keep_last=2).latest.state()
    assert found["numbers"] == state["numbers"]
    assert found["by_number"][3] == "three"
    assert found["by_number"][4]["tensor"].numel() == 0
    assert isinstance(found["nested"]["deep"], tuple)
    assert torch.equal(found["nested"]["deep"][0], state["nested"]["deep"][0])
    assert found["nested"]["deep"][1][0].dtype == torch.bfloat16
    other = torch.optim.AdamW(torch.nn.Linear(3, 2).parameters(), lr=9.0)
    other.load_state_dict(found["optimizer"])
    for index, expected in optimizer.state_dict()["state"].items():
        for name, value in expected.items():
            assert torch.equal(other.state_dict()["state"][index][name], value)
    assert other.param_groups[0]["lr"] == 1e-3


def test_what_cannot_be_kept_is_refused_by_its_place(tmp_path):
    with pytest.raises(TypeError, match="deep/0"):
        Checkpoints(tmp_path, keep_last=1).save(1, {}, {"deep": [object()]})


def test_the_last_ones_and_the_best_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    for step, loss in [(1, 0.9), (2, 0.3), (3, 0.5), (4, 0.4), (5, None), (6, 0.6)]:
        save(checkpoints, step, loss=loss)
    assert steps(tmp_path) == [2, 5, 6]
    again = Checkpoints(tmp_path, keep_last=2)
    assert (again.latest.step, again.best.step, again.best.validation_loss) == (6, 2, 0.3)
    assert (tmp_path / "LATEST").read_text() == "step-00000006\n"
    assert (tmp_path / "BEST").read_text() == "step-00000002\n"


def test_what_a_killed_process_left_unfinished_is_cleared_away(tmp_path):
    save(Checkpoints(tmp_path, keep_last=2), 1)
    (tmp_path / ".unfinished-step-00000002").mkdir()
    (tmp_path / ".unfinished-step-00000002" / "weights.safetensors").write_bytes(b"half")
    again = Checkpoints(tmp_path, keep_last=2)
    assert again.latest.step == 1
    assert not list(tmp_path.glob(".unfinished*"))


@pytest.mark.parametrize("harm", ["cut", "flipped", "missing", "no record"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path, harm):
    checkpoints = Checkpoints(tmp_path, keep_last=3)
    save(checkpoints, 1)
    file = save(checkpoints, 2).folder / "weights.safetensors"
    data = file.read_bytes()
    match harm:
        case "cut":
            file.write_bytes(data[:-3])
        case "flipped":
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "missing":
            file.unlink()
        case "no record":
            (file.parent / "checkpoint.json").unlink()
    again = Checkpoints(tmp_path, keep_last=3)
    assert again.latest.step == 1
    assert again.skipped == ["step-00000002"]
    save(again, 2)  # and the step can be saved anew
    assert Checkpoints(tmp_path, keep_last=3).latest.step == 2


def test_the_same_step_saved_again_replaces_the_first(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.save(1, {"w": torch.zeros(1)}, {}, complete=False)
    checkpoints.save(1, {"w": torch.ones(1)}, {}, validation_loss=0.5)
    again = Checkpoints(tmp_path, keep_last=1)
    assert (again.latest.complete, again.latest.validation_loss, float(again.latest.weights()["w"])) == (True, 0.5, 1.0)
    assert len(list(tmp_path.glob("step-*"))) == 1


_FULL = """
import resource, signal, sys
from pathlib import Path
import torch
from services.domain.errors import EngineFailed
from training.checkpoints import Checkpoints
checkpoints = Checkpoints(Path(sys.argv[1]), keep_last=3)
for step in (1, 2):
    checkpoints.save(step, {"w": torch.full((100,), float(step))}, {})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    checkpoints.save(3, {"w": torch.zeros(100_000)}, {})
except EngineFailed as error:
    print(error.code, error.retryable, error.detail)
"""


def test_without_room_the_last_good_one_is_kept_and_the_error_says_so(tmp_path):
    """The kernel's own refusal: a limit on the size of files, since a full disk needs rights that tests lack."""
    done = subprocess.run([sys.executable, "-c", _FULL, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("disk_full True")
    assert "step 2 is kept" in done.stdout
    again = Checkpoints(tmp_path, keep_last=3)
    assert float(again.latest.weights()["w"][0]) == 2.0
    assert not list(tmp_path.glob(".unfinished*"))


def test_a_disk_that_is_full_for_now_gives_up_older_checkpoints_first(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep_last=3)
    for step, loss in [(1, 0.1), (2, 0.5), (3, 0.4)]:
        save(checkpoints, step, loss=loss)
    write = checkpoints._write

    def write_when_there_is_room(*args):
        if (tmp_path / "step-00000002").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*args)

    monkeypatch.setattr(checkpoints, "_write", write_when_there_is_room)
    save(checkpoints, 4)
    assert steps(tmp_path) == [1, 3, 4]  # the best, the one that was the last, the new one


def test_other_faults_of_the_disk_are_not_called_a_full_one(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep_last=3)

    def broken(*_args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoints, "_write", broken)
    with pytest.raises(OSError, match="Input/output"):
        save(checkpoints, 1)


def test_every_global_generator_goes_on_where_it_was():
    def draw():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random(), np.random.standard_normal()

    np.random.standard_normal()  # one of a pair: the other waits in the generator
    state = random_state()
    first = draw()
    restore_random_state(state)
    assert draw() == first
