"""``spokesmodel train base``: from nothing to the weights of ``drawn-64``, and the figures that they reach.

The folder of a run holds ``drawn64/`` (the checkpoint in diffusers' layout, half precision, with its card and figures),
``checker.safetensors``, ``samples.png`` and ``work/`` (what a stopped run goes on from). Left-out
combinations are seen by the checker alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from models.diffusion.drawn64.autoencoder import DrawnAutoencoder
from models.diffusion.drawn64.pipeline import Drawn64Pipeline, new_scheduler
from models.diffusion.drawn64.text import load_text
from services.domain.errors import InvalidRequest
from training.base.attributes import ALL, LEFT_OUT, NAMES, SEEN, Attributes, caption
from training.base.card import write_card
from training.base.checker import Checker, load_checker, save_checker, train_checker
from training.base.drawings import draw_set
from training.base.stages import Progress
from training.base.train_autoencoder import peak_signal_to_noise_db, reconstructed, train_autoencoder
from training.base.train_denoiser import CaptionStates, latents_of, train_denoiser

_CHECKER_SEED: Final = 1_000_003  # added to the run's: the judge's drawings are not the generator's
_RECIPE_MINUTES: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePlan:
    """How much is drawn and trained; the standard is the recipe of the committed weights.

    Attributes:
        num_checked: Pictures of left-out, and of seen combinations that the checker judges at the end.
    """

    seed: int = 1
    num_pictures: int = 8000
    autoencoder_steps: int = 1200
    denoiser_steps: int = 2000
    checker_pictures: int = 3000
    checker_steps: int = 400
    num_checked: int = 104

    def shortened(self, *, minutes: float | None = None, steps: int | None = None) -> BasePlan:
        """A plan of the same proportions.

        Args:
            minutes: CPU-minutes where the recipe takes 20.
            steps: Of the denoiser.
        """
        share = 1.0
        if steps is not None:
            share = steps / self.denoiser_steps
        elif minutes is not None:
            share = minutes / _RECIPE_MINUTES
        drawn = min(1.0, share)  # a longer run has no need of more drawings
        return BasePlan(
            seed=self.seed,
            num_pictures=max(64, round(self.num_pictures * drawn)),
            autoencoder_steps=max(1, round(self.autoencoder_steps * share)),
            denoiser_steps=max(1, round(self.denoiser_steps * share)),
            checker_pictures=max(256, round(self.checker_pictures * drawn)),
            checker_steps=max(1, round(self.checker_steps * drawn)),
            num_checked=self.num_checked,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFigures:
    """What a run reached. Shares are 0 to 1; a picture is right when all its attributes are."""

    cpu_s: dict[str, float]
    autoencoder_psnr_db: float
    autoencoder_right: float
    num_checked: int
    left_out_right: float
    left_out_attributes: dict[str, float]
    seen_right: float


def train_base(out: Path, plan: BasePlan, on_progress: Callable[[Progress], None]) -> BaseFigures:
    """Train the checker, the autoencoder and the denoiser; write the checkpoint; say what it reached.

    Called again with the same folder and plan it goes on where it stopped, and ends with the same weights.

    Raises:
        InvalidRequest: ``other_training_run``: the folder holds a run of another plan.
        Unavailable: ``weights_missing``: the text encoder has not been fetched.
    """
    work = out / "work"
    _claim(work, plan)
    with _one_thread():
        return _trained(out, work, plan, on_progress)


def _trained(out: Path, work: Path, plan: BasePlan, on_progress: Callable[[Progress], None]) -> BaseFigures:
    tokenizer, text_encoder = load_text()
    cpu_s: dict[str, float] = {}

    def told(progress: Progress) -> None:
        cpu_s[progress.stage] = progress.cpu_s
        on_progress(progress)

    with _timed("drawings", cpu_s):
        drawn = draw_set(plan.num_pictures, SEEN, plan.seed)
        judged = draw_set(plan.checker_pictures, ALL, plan.seed + _CHECKER_SEED)
    save_checker(train_checker(judged, plan.checker_steps, plan.seed, work, told), out / "checker.safetensors")
    checker = load_checker(out / "checker.safetensors")
    vae = train_autoencoder(drawn.pictures, plan.autoencoder_steps, plan.seed, work, told)
    vae = _kept(vae, out / "drawn64" / "vae")
    with _timed("latents", cpu_s):
        latents = latents_of(vae, drawn.pictures)
        states = CaptionStates(drawn.captions, tokenizer, text_encoder)
    unet = train_denoiser(latents, states, plan.denoiser_steps, plan.seed, work, told)
    unet = _kept(unet, out / "drawn64" / "unet")
    scheduler = new_scheduler()
    scheduler.save_pretrained(out / "drawn64" / "scheduler")
    pipe = Drawn64Pipeline(vae=vae, text_encoder=text_encoder, tokenizer=tokenizer, unet=unet, scheduler=scheduler)
    pipe.set_progress_bar_config(disable=True)
    figures = _measured(pipe, vae, checker, plan, cpu_s, out)
    (out / "drawn64" / "figures.json").write_text(json.dumps(asdict(figures), indent=2) + "\n", encoding="utf-8")
    _write_index(out / "drawn64")
    write_card(out / "drawn64" / "MODEL_CARD.md", plan, figures)
    return figures


def generated(
    pipe: Drawn64Pipeline, wanted: Sequence[Attributes], seed: int, *, words: Sequence[str] | None = None
) -> NDArray[np.uint8]:
    """A picture, uint8 (64, 64, 3), of each of the wanted, each from noise of its own.

    Args:
        words: Captions to use; None uses the plainest.
    """
    captions = [caption(one) for one in wanted] if words is None else list(words)
    pictures = []
    for begin in range(0, len(captions), 16):
        some = captions[begin : begin + 16]
        generators = [torch.Generator().manual_seed(seed + begin + i) for i in range(len(some))]
        pictures.append(pipe(some, generator=generators, output_type="np").images)
    return np.asarray(np.rint(np.concatenate(pictures) * 255), np.uint8)


def _claim(work: Path, plan: BasePlan) -> None:
    work.mkdir(parents=True, exist_ok=True)
    file = work / "plan.json"
    told = json.dumps(asdict(plan), indent=2, sort_keys=True)
    if file.is_file() and file.read_text(encoding="utf-8") != told:
        raise InvalidRequest(
            "The folder holds a training run with other settings; go on with those, or choose another folder.",
            code="other_training_run",
            param="out",
        )
    file.write_text(told, encoding="utf-8")


def _kept(network: Any, folder: Path) -> Any:
    """Written in half precision and read again: what is measured is what is kept."""
    nn.Module.half(network)  # diffusers' own warns of networks that keep parts in float32; these have none
    network.save_pretrained(folder, safe_serialization=True)
    return (
        type(network)
        .from_pretrained(
            folder, use_safetensors=True, local_files_only=True, torch_dtype=torch.float32, low_cpu_mem_usage=False
        )
        .eval()
    )


def _write_index(folder: Path) -> None:
    index = {
        "_class_name": "Drawn64Pipeline",
        "_purpose": "verification",
        "vae": ["models.diffusion.drawn64.autoencoder", "DrawnAutoencoder"],
        "unet": ["diffusers", "UNet2DConditionModel"],
        "scheduler": ["diffusers", "DDIMScheduler"],
        "text_encoder": ["transformers", "BertModel"],
        "tokenizer": ["transformers", "BertTokenizer"],
    }
    (folder / "model_index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _measured(
    pipe: Drawn64Pipeline, vae: DrawnAutoencoder, checker: Checker, plan: BasePlan, cpu_s: dict[str, float], out: Path
) -> BaseFigures:
    fresh = draw_set(plan.num_checked, LEFT_OUT, plan.seed + 17)
    again = reconstructed(vae, fresh.pictures)
    left_out = [LEFT_OUT[i % len(LEFT_OUT)] for i in range(plan.num_checked)]
    seen = [SEEN[i * 7 % len(SEEN)] for i in range(plan.num_checked)]
    pictures = generated(pipe, left_out, plan.seed)
    right = checker.right(pictures, left_out)
    seen_right = checker.right(generated(pipe, seen, plan.seed + 5000), seen)
    _write_sheet(out / "samples.png", pictures[: len(LEFT_OUT)])
    return BaseFigures(
        cpu_s={stage: round(seconds, 1) for stage, seconds in cpu_s.items()},
        autoencoder_psnr_db=round(peak_signal_to_noise_db(fresh.pictures, again), 2),
        autoencoder_right=float(checker.right(again, fresh.attributes).all(1).mean()),
        num_checked=plan.num_checked,
        left_out_right=float(right.all(1).mean()),
        left_out_attributes={name: float(share) for name, share in zip(NAMES, right.mean(0), strict=True)},
        seen_right=float(seen_right.all(1).mean()),
    )


def _write_sheet(file: Path, pictures: NDArray[np.uint8]) -> None:
    """Contact sheet of 13 pictures a row, each twice as large."""
    from PIL import Image

    rows = -(-len(pictures) // 13)
    cells = np.concatenate([pictures, np.zeros((rows * 13 - len(pictures), *pictures.shape[1:]), np.uint8)])
    sheet = np.vstack([np.hstack(list(row)) for row in cells.reshape(rows, 13, *pictures.shape[1:])])
    Image.fromarray(sheet).resize((sheet.shape[1] * 2, sheet.shape[0] * 2), Image.Resampling.NEAREST).save(file)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums come out in one order, to the bit; and one thread on a busy machine beats two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _timed(part: str, cpu_s: dict[str, float]) -> Iterator[None]:
    begun = time.process_time()
    yield
    cpu_s[part] = time.process_time() - begun
