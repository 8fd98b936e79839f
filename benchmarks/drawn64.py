"""drawn-64: how many pictures have every attribute that their prompt names, told by a checker of its own drawings."""

from __future__ import annotations

import json
import time

import numpy as np
import torch

from benchmarks.measure import Row
from models.diffusion.drawn64.pipeline import WEIGHTS, load_drawn64
from training.base.attributes import LEFT_OUT, NAMES, SEEN, Attributes, caption
from training.base.base import generated
from training.base.checker import load_checker

AIM = 0.95
AIM_TRAINING_CPU_S = 1200
NUM_EACH = 4  # pictures a combination that was left out, flat and worn each


def rows() -> list[Row]:
    torch.set_num_threads(1)
    pipe, checker = load_drawn64(), load_checker()
    left_out = list(LEFT_OUT) * NUM_EACH
    seen = [SEEN[i * 7 % len(SEEN)] for i in range(len(left_out))]
    random = np.random.default_rng(64)
    before = time.process_time()
    plain = checker.right(generated(pipe, left_out, 1_000), left_out)
    cpu_s = time.process_time() - before
    words = checker.right(generated(pipe, left_out, 2_000, words=[caption(one, random) for one in left_out]), left_out)
    known = checker.right(generated(pipe, seen, 3_000), seen)
    figures = json.loads((WEIGHTS / "figures.json").read_text(encoding="utf-8"))
    training = sum(figures["cpu_s"].values())
    return [
        _row("combinations left out of training, plain captions", plain, left_out, aim=True),
        _row("combinations left out of training, natural words with synonyms", words, left_out, aim=True),
        _row("combinations seen in training, plain captions", known, seen, aim=False),
        Row(
            what="CPU a picture, 20 steps with guidance, batches of 16",
            value=f"{cpu_s / len(left_out):.3f} s",
            note="one thread, the checker included",
        ),
        Row(
            what="CPU of `spokesmodel train base` that made the committed weights",
            value=f"{training:.0f} s",
            target=f"<= {AIM_TRAINING_CPU_S} s",
            reached=training <= AIM_TRAINING_CPU_S,
            note=", ".join(f"{part} {seconds:.0f}" for part, seconds in figures["cpu_s"].items())
            + "; one thread, as it told itself",
        ),
    ]


def _row(what: str, right: np.ndarray, wanted: list[Attributes], *, aim: bool) -> Row:
    share = float(right.all(1).mean())
    worst = min(
        (float(right.all(1)[[one == of for one in wanted]].mean()), caption(of)) for of in dict.fromkeys(wanted)
    )
    return Row(
        what=f"{what}: pictures with every attribute right",
        value=f"{share:.1%}",
        target=f">= {AIM:.0%}" if aim else "",
        reached=share >= AIM if aim else None,
        note=f"{len(wanted)} pictures; "
        + ", ".join(f"{name} {part:.1%}" for name, part in zip(NAMES, right.mean(0), strict=True))
        + f"; worst: {worst[1]!r} {worst[0]:.0%}",
    )
