"""Trains a LoRA, from a prepared dataset to ``result/lora.safetensors``. Read it from top to bottom.

It is longer than other files so that the whole of a run stands in one place.

What is random in a step depends on the run's seed and the step's number alone, and everything else that a step depends
on is in each checkpoint: a run that was killed anywhere goes on to the weights that it would have come to.

B pictures, C channels, H and W of the latents.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from diffusers.training_utils import EMAModel
from torch import Tensor

from services.domain.errors import Canceled, EngineFailed
from training.bases import TrainableBase
from training.checkpoints import (
    Checkpoint,
    Checkpoints,
    kept_in_words,
    no_room_told,
    random_state,
    restore_random_state,
)
from training.data.prepared import PreparedDataset
from training.data.sampling import BucketSampler
from training.lora.config import LoraTraining
from training.lora.encoded import EncodedPictures, TensorStore, seed_of
from training.lora.events import Board, Event, EventLog
from training.lora.held_out import split, validation_loss
from training.lora.injection import inject, load_weights, remove
from training.lora.losses import loss_per_picture, noise_for, timestep_weights
from training.lora.optimizers import new_optimizer, new_schedule
from training.lora.result import write_result
from training.lora.samples import sample_grid, write_png
from training.lora.spec import write_or_compare
from training.lora.stopping import Signals, Stopped


class BatchOrder(Protocol):
    """Which pictures make the batch of that number, counted over the run; batches are asked for in order, once."""

    def batch(self, step: int) -> list[int]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any], /) -> None: ...


Watch = Callable[[str], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedLora:
    """What came of a run.

    Attributes:
        file: The LoRA; None when the run was canceled before its first step.
        step: Steps that the LoRA in ``file`` was trained.
        validation_loss: Its loss on the pictures held out; ``base_validation_loss`` is the base's.
    """

    run_dir: Path
    state: Literal["finished", "canceled"]
    file: Path | None
    step: int
    validation_loss: float | None
    base_validation_loss: float | None


def train_lora(
    config: LoraTraining,
    *,
    dataset: PreparedDataset,
    base: TrainableBase,
    run_dir: Path,
    on_event: Callable[[Event], None] = lambda _event: None,
    check_canceled: Callable[[], None] = lambda: None,
    prior: PreparedDataset | None = None,
    order: Callable[[PreparedDataset], BatchOrder] | None = None,
    store: TensorStore | None = None,
    watch: Watch = lambda _part: nullcontext(),
) -> TrainedLora:
    """Train in ``run_dir``, or go on with what was begun there. Afterwards the base is as it was, to the bit.

    Args:
        on_event: Called with everything that is written to ``events.jsonl``.
        check_canceled: Called before each step; when it raises ``Canceled``, or ``run_dir/cancel`` exists, the best
            checkpoint is the result.
        prior: Class pictures that the base is to go on drawing as it does (DreamBooth's prior preservation).
        order: Makes the order of batches over the pictures that are trained on; it may have ``record(indices,
            timesteps, losses)``, which is called after each batch. By default each picture comes once an epoch.
        store: Keeps encoded pictures and captions for later runs.
        watch: A context for each part of a step by its name (``data``, ``forward``, ``backward``, ``optimizer``,
            ``validation``, ``samples``, ``checkpoint``), for who measures.

    Raises:
        EngineFailed: ``loss_not_finite`` (step, batch and files named), ``disk_full``, ``training_interrupted`` by
            SIGTERM or SIGINT; in each case the last good checkpoint is kept, and the same call goes on from it.
        Conflict: ``run_differs``: ``run_dir`` holds a run of other settings, another base or other data.
        ContentRejected: ``dataset_empty``.
        InvalidRequest: ``lora_target_unknown``, ``bad_training_settings``.
        Unavailable: ``optimizer_not_installed``.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    before = random_state()
    with EventLog(run_dir, on_event) as events, Signals() as signals:
        try:
            run = _Run(config, dataset, base, run_dir, events, signals, check_canceled, prior, order, store, watch)
            return run.whole()
        except Exception as error:
            state = "interrupted" if getattr(error, "code", "") == "training_interrupted" else "failed"
            with suppress(OSError):  # a full disk, of which the error tells
                events.emit(events.last_step, state=state, code=getattr(error, "code", type(error).__name__))
            raise
        finally:
            remove(base)
            restore_random_state(before)


class _Run:
    """One run: what it holds, and then what it does, in order."""

    def __init__(
        self,
        config: LoraTraining,
        dataset: PreparedDataset,
        base: TrainableBase,
        run_dir: Path,
        events: EventLog,
        signals: Signals,
        check_canceled: Callable[[], None],
        prior: PreparedDataset | None,
        order: Callable[[PreparedDataset], BatchOrder] | None,
        store: TensorStore | None,
        watch: Watch,
    ) -> None:
        self.config, self.base, self.run_dir, self.events, self.watch = config, base, run_dir, events, watch
        self.signals, self._canceled = signals, check_canceled
        training, held_out = split(dataset, config)
        encoded = partial(
            EncodedPictures, base=base, seed=config.seed, store=store, outside_mask=config.loss.outside_mask
        )
        self.pictures, self.held_out = encoded(training), encoded(held_out)
        self.prior = None if prior is None else encoded(prior)
        self.prior_order = None if prior is None else BucketSampler(prior, config.batch_size, seed=config.seed + 1)
        write_or_compare(run_dir, config, base=base, dataset=dataset, prior=prior)

        torch.manual_seed(seed_of(config.seed, "weights"))
        np.random.seed(config.seed % 2**32)
        random.seed(config.seed)
        self.injected = inject(base, config)
        self.parameters = list(self.injected.parameters.values())
        self.optimizer = new_optimizer(self.injected, config.optimizer)
        self.schedule = new_schedule(self.optimizer, config)
        self.ema = EMAModel(self.parameters, decay=config.ema_decay, foreach=True) if config.ema_decay else None
        self.order: BatchOrder = (
            BucketSampler(training, config.batch_size, seed=config.seed) if order is None else order(training)
        )
        self.step = 0
        self.base_validation_loss: float | None = None
        self.due = True  # whether this step's validation, samples and checkpoint are still to be done
        self.checkpoints = Checkpoints(run_dir / "checkpoints", keep_last=config.checkpoints.keep_last)
        for name in self.checkpoints.skipped:
            events.emit(0, warning={"code": "checkpoint_damaged", "checkpoint": name})
        if self.checkpoints.latest is not None:
            self._restore(self.checkpoints.latest)
        self.board = Board(run_dir, first_step=self.step)

    # What happens, in order.

    def whole(self) -> TrainedLora:
        """Encode, train, write the result."""
        if self.board.missing:
            self.events.emit(self.step, warning={"code": "tensorboard_not_installed"})
        if self.config.gradient_checkpointing:
            self.base.denoiser.enable_gradient_checkpointing()
        try:
            self.events.emit(self.step, state="encoding")
            for pictures in (self.pictures, self.held_out, *([] if self.prior is None else [self.prior])):
                pictures.warm(self._look_up)
            self.events.emit(self.step, state="resumed" if self.step else "running")
            with no_room_told(lambda: self.checkpoints.latest):
                self._train()
            return self._finish("finished")
        except Canceled:
            return self._finish("canceled")
        except Stopped as stopped:
            self._save(complete=False)
            raise EngineFailed(
                f"The run was told to stop ({stopped}); step {self.step} is saved: started again, it goes on there.",
                code="training_interrupted",
                retryable=True,
            ) from None
        finally:
            self.board.close()
            if self.config.gradient_checkpointing:
                self.base.denoiser.disable_gradient_checkpointing()

    def _train(self) -> None:
        self.base.denoiser.train()
        while True:
            if self.due:
                self._milestone()
            if self.step >= self.config.num_steps:
                return
            self._look_up()
            self._one_step()
            self.step, self.due = self.step + 1, True

    def _one_step(self) -> None:
        """One move of the weights, by the gradients of ``accumulation_steps`` batches."""
        config, parts = self.config, self.config.accumulation_steps
        began = self._position() if parts > 1 else None
        losses: list[float] = []
        for part in range(parts):
            if part and began is not None and self.signals.arrived:
                self._go_back(began)  # half a step is not kept
                raise Stopped(self.signals.arrived)
            losses += self._one_batch(self.step * parts + part)
        with self.watch("optimizer"):
            norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, config.optimizer.max_grad_norm))
            if not math.isfinite(norm):
                numbers = range(self.step * parts, (self.step + 1) * parts)
                raise self._not_finite("gradient", [index for number in numbers for index in self.order.batch(number)])
            self.optimizer.step()
            learning_rate = self.schedule.get_last_lr()[0]
            self.schedule.step()
            self.optimizer.zero_grad(set_to_none=True)
            if self.ema is not None:
                self.ema.step(self.parameters)
        loss = sum(losses) / len(losses)
        self.events.emit(self.step + 1, loss=loss, learning_rate=learning_rate, grad_norm=norm)
        self.board.numbers(self.step + 1, loss=loss, learning_rate=learning_rate)

    def _one_batch(self, number: int) -> list[float]:
        """Gradients of a batch, and of one of class pictures where there are some; each picture's loss."""
        with self.watch("data"):
            indices = self.order.batch(number)
        weight = 1 / self.config.accumulation_steps
        timesteps_B, loss_B = self._gradients(self.pictures, indices, ("train", number), weight)
        values: list[float] = loss_B.tolist()
        if not all(map(math.isfinite, values)):
            raise self._not_finite(
                "loss", [index for index, value in zip(indices, values, strict=True) if not math.isfinite(value)]
            )
        if self.prior is not None and self.prior_order is not None:
            self._gradients(
                self.prior, self.prior_order.batch(number), ("prior", number), weight * self.config.loss.prior_weight
            )
        record = getattr(self.order, "record", None)
        if record is not None:
            record(indices, timesteps_B.tolist(), values)
        return values

    def _gradients(
        self, pictures: EncodedPictures, indices: Sequence[int], draw: tuple[str, int], weight: float
    ) -> tuple[Tensor, Tensor]:
        """Backward of these pictures' loss at timesteps and noise drawn by name and number; timesteps and losses."""
        loss, base = self.config.loss, self.base
        with self.watch("data"):
            generator = torch.Generator().manual_seed(seed_of(self.config.seed, *draw))
            dropped = None
            if loss.caption_dropout:
                dropped = (torch.rand(len(indices), generator=generator) < loss.caption_dropout).tolist()
            latents_BCHW, text = pictures.latents(indices), pictures.text(indices, dropped)
            timesteps_B = base.sample_timesteps(len(indices), generator=generator)
            noise_BCHW = noise_for(
                latents_BCHW.shape, offset=loss.noise_offset, generator=generator, device=base.device
            )
            noisy_BCHW, target_BCHW = base.noise_and_target(latents_BCHW, noise_BCHW, timesteps_B)
            sizes_B6 = pictures.sizes(indices)
            mask_B1HW = pictures.masks(indices, tuple(latents_BCHW.shape[-2:]))
        with self.watch("forward"):
            with self._autocast():
                predicted_BCHW = base.predict(noisy_BCHW, timesteps_B, text, sizes_B6)
            weights_B = timestep_weights(base, timesteps_B, loss.min_snr_gamma)
            loss_B = loss_per_picture(predicted_BCHW, target_BCHW, weights_B=weights_B, mask_B1HW=mask_B1HW)
        with self.watch("backward"):
            (loss_B.mean() * weight).backward()
        return timesteps_B, loss_B.detach()

    # What is due now and then.

    def _milestone(self) -> None:
        """Validation, samples and checkpoint of this step, those that are due."""
        config, step, last = self.config, self.step, self.step == self.config.num_steps
        loss = None
        if len(self.held_out) and (step == 0 or last or _every(config.validation.every_steps, step)):
            with self.watch("validation"), self._as_used():
                loss = validation_loss(self.base, self.held_out, config, autocast=self._autocast, look_up=self._look_up)
            if step == 0:
                self.base_validation_loss = loss  # a new LoRA adds nothing: this is the base's own
            self.events.emit(step, validation_loss=loss)
            self.board.numbers(step, validation_loss=loss)
        if config.samples.prompts and (last or _every(config.samples.every_steps, step)):
            with self.watch("samples"):
                self._sample()
        best = self.checkpoints.best
        better = loss is not None and (best is None or best.validation_loss is None or loss < best.validation_loss)
        if step and (last or better or _every(config.checkpoints.every_steps, step)):
            self._save(complete=True, validation_loss=loss)
        self.due = False

    def _sample(self) -> None:
        with self._as_used():
            grid = sample_grid(self.base, self.config.samples, check_canceled=self._look_up)
        name = f"samples/step-{self.step:04d}.png"
        with no_room_told(lambda: self.checkpoints.latest):
            write_png(self.run_dir / name, grid)
        self.events.emit(self.step, samples=name)
        self.board.picture(self.step, "samples", grid)

    @contextmanager
    def _as_used(self) -> Iterator[None]:
        """The denoiser as it will be used: its weights' running mean, nothing dropped out."""
        if self.ema is not None:
            self.ema.store(self.parameters)
            self.ema.copy_to(self.parameters)
        self.base.denoiser.eval()
        try:
            yield
        finally:
            self.base.denoiser.train()
            if self.ema is not None:
                self.ema.restore(self.parameters)

    # Saved and found again.

    def _position(self) -> dict[str, Any]:
        return {"order": self.order.state_dict(), "random": random_state()}

    def _go_back(self, position: Mapping[str, Any]) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.order.load_state_dict(position["order"])
        restore_random_state(position["random"])

    def _save(self, *, complete: bool, validation_loss: float | None = None) -> None:
        names = list(self.injected.parameters)
        used = self.parameters if self.ema is None else self.ema.shadow_params
        state = {
            "parameters": dict(zip(names, self.parameters, strict=True)),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "ema": None if self.ema is None else self.ema.state_dict(),
            "base_validation_loss": self.base_validation_loss,
            **self._position(),
        }
        with self.watch("checkpoint"):
            saved = self.checkpoints.save(
                self.step,
                dict(zip(names, used, strict=True)),
                state,
                validation_loss=validation_loss,
                complete=complete,
            )
        self.events.emit(self.step, checkpoint=saved.folder.name)

    def _restore(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state()
        load_weights(self.injected, state["parameters"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.ema is not None:
            self.ema.load_state_dict(state["ema"])
            self.ema.to(self.base.device)
        self.base_validation_loss = state["base_validation_loss"]
        self.order.load_state_dict(state["order"])
        restore_random_state(state["random"])
        self.step, self.due = checkpoint.step, not checkpoint.complete

    def _finish(self, state: Literal["finished", "canceled"]) -> TrainedLora:
        """Write the result: the best checkpoint, or the last where the settings say so or none was validated."""
        if self.checkpoints.latest is None and self.step:
            self._save(complete=False)
        best, latest = self.checkpoints.best, self.checkpoints.latest
        chosen = latest if best is None or (state == "finished" and self.config.result == "last") else best
        file = None
        if chosen is not None:
            load_weights(self.injected, chosen.weights())
            with no_room_told(lambda: latest):
                file = write_result(
                    self.run_dir,
                    config=self.config,
                    base=self.base,
                    dataset=self.pictures.dataset,
                    injected=self.injected,
                    chosen=chosen,
                    state=state,
                    base_validation_loss=self.base_validation_loss,
                )
        self.events.emit(self.step, state=state)
        return TrainedLora(
            run_dir=self.run_dir,
            state=state,
            file=file,
            step=0 if chosen is None else chosen.step,
            validation_loss=None if chosen is None else chosen.validation_loss,
            base_validation_loss=self.base_validation_loss,
        )

    # What may end it.

    def _look_up(self) -> None:
        """Between steps and batches: is the run to stop?"""
        if self.signals.arrived:
            raise Stopped(self.signals.arrived)
        if (self.run_dir / "cancel").exists():
            raise Canceled("The run was canceled.")
        self._canceled()

    def _not_finite(self, what: str, indices: Sequence[int]) -> EngineFailed:
        samples = [self.pictures.dataset.samples[index] for index in indices]
        kept = kept_in_words(self.checkpoints.latest)
        named = ", ".join(dict.fromkeys(sample.name for sample in samples))
        return EngineFailed(
            f"The {what} became undefined in step {self.step + 1}, at {named}; {kept}. Look at these pictures, or "
            "go on with a smaller learning rate or in float32.",
            code="loss_not_finite",
            retryable=False,
        )

    def _autocast(self) -> AbstractContextManager[Any]:
        half = self.config.precision == "bfloat16"
        return torch.autocast(self.base.device.type, torch.bfloat16) if half else nullcontext()


def _every(number: int, step: int) -> bool:
    return number > 0 and step % number == 0
