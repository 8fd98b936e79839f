"""A process that trains, and dies of ``kill -9`` where it is told to; ``python -m tests.training.killed FOLDER PLANS``.

Everything is imported and made once; each life is a fork. A plan is a list of lives, each the place of its death: an
operation on the file system by number (``7``: before it; ``7+``: after it) or by name and the end of a path
(``rename:step-00000002``), a step's event (``step3``), a signal that comes in the middle of a step (``term5``: in the
fifth batch), or ``end``. The files that count of each folder are
printed with their digests, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import torch

from services.domain.errors import SpokesmodelError
from tests.training import tiny
from training.lora.config import LoraTraining
from training.lora.events import read_events
from training.train_lora import train_lora

CONFIG = tiny.run(
    num_steps=5,
    accumulation_steps=2,
    ema_decay=0.9,
    network=LoraTraining.Network(kind="lora", rank=2, dropout=0.2, targets=("to_q", "to_v")),
    optimizer=LoraTraining.Optimizer(learning_rate=1e-2, schedule="cosine", num_warmup_steps=2),
    loss=LoraTraining.Loss(min_snr_gamma=5.0, noise_offset=0.05, caption_dropout=0.3),
    samples=LoraTraining.Samples(prompts=("a drawing",), seeds=(0,), every_steps=0, num_inference_steps=1, side_px=32),
    checkpoints=LoraTraining.Checkpoints(every_steps=2, keep_last=1),
)


class DrawnOrder:
    """Draws batches from the global generators, and remembers losses: what a sifting order may do."""

    def __init__(self, pictures, on_batch):
        self.pictures, self.losses, self.on_batch = len(pictures), [], on_batch

    def batch(self, _step):
        shift = int(sum(self.losses) * 1000) + int(np.random.randint(100)) + random.randrange(100)
        return [(shift + index) % self.pictures for index in range(2)]

    def record(self, indices, timesteps, losses):
        self.losses = [*self.losses, *losses][-5:]
        self.on_batch()

    def state_dict(self):
        return {"losses": self.losses}

    def load_state_dict(self, state):
        self.losses = list(state["losses"])


def live(death, base, data, run_dir):
    """Train in this process until the end, or until death."""
    torch.set_num_threads(1)
    count = {"files": 0, "batches": 0}

    def counted(operation):
        def do(*args, **options):
            count["files"] += 1
            places = {str(count["files"])}
            places |= {f"{operation.__name__}:{Path(one).name}" for one in args if isinstance(one, str | Path)}
            if death in places:
                os.kill(os.getpid(), signal.SIGKILL)
            result = operation(*args, **options)
            if death.removesuffix("+") in places:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return do

    # Those by which anything becomes visible or durable.
    for name in ("fsync", "rename", "replace", "mkdir", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))

    def on_event(event):
        if "loss" in event and death == f"step{event['step']}":
            os.kill(os.getpid(), signal.SIGKILL)

    def on_batch():
        count["batches"] += 1
        if death == f"term{count['batches']}":
            os.kill(os.getpid(), signal.SIGTERM)

    code = "done"
    try:
        train_lora(
            CONFIG,
            dataset=data,
            base=base,
            run_dir=run_dir,
            on_event=on_event,
            order=lambda pictures: DrawnOrder(pictures, on_batch),
        )
    except SpokesmodelError as error:
        code = error.code
    (run_dir / "lives.txt").open("a").write(f"{code} {count['files']}\n")
    os._exit(0)


def end_state(run_dir):
    """Digest of each file that a finished run leaves, but for those that tell of time."""
    found = {}
    for path in sorted(run_dir.rglob("*")):
        name = str(path.relative_to(run_dir))
        if path.is_file() and not name.startswith(("tensorboard", "events.jsonl", "lives.txt")):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    steps = [(one["step"], one["loss"]) for one in read_events(run_dir) if "loss" in one]
    lives = (run_dir / "lives.txt").read_text().split("\n")[:-1] if (run_dir / "lives.txt").is_file() else []
    return {"files": found, "losses": steps, "lives": lives}


def main(folder, plans):
    data, base = tiny.dataset(folder / "data"), tiny.drawn64()
    answers = []
    for number, plan in enumerate(plans):
        run_dir = folder / f"plan{number}"
        deaths = []
        for death in plan:
            child = os.fork()
            if child == 0:
                try:
                    live(death, base, data, run_dir)
                finally:
                    os._exit(1)
            _, status = os.waitpid(child, 0)
            deaths.append(os.waitstatus_to_exitcode(status))
        answers.append({"deaths": deaths, **end_state(run_dir)})
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
