"""Pictures of fixed prompts and seeds in one grid: a row a prompt, a column a seed."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from training.bases import TrainableBase
from training.checkpoints import write_atomically
from training.lora.config import LoraTraining

_GAP_PX = 2


def sample_grid(
    base: TrainableBase, settings: LoraTraining.Samples, *, check_canceled: Callable[[], None]
) -> NDArray[np.uint8]:
    """uint8 (h, w, 3); what came out undefined is grey.

    Args:
        check_canceled: Called before every step of the sampler; whatever it raises ends it.
    """
    rows = []
    for prompt in settings.prompts:
        rows.append([_picture(base, settings, prompt, seed, check_canceled) for seed in settings.seeds])
    height, width = rows[0][0].shape[:2]
    grid = np.full(
        (len(rows) * (height + _GAP_PX) - _GAP_PX, len(rows[0]) * (width + _GAP_PX) - _GAP_PX, 3), 255, np.uint8
    )
    for y, row in enumerate(rows):
        for x, picture in enumerate(row):
            top, left = y * (height + _GAP_PX), x * (width + _GAP_PX)
            grid[top : top + height, left : left + width] = picture
    return grid


def write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    """The picture as a PNG file, whole or not at all."""
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "PNG")
    write_atomically(path, data.getvalue())


def _picture(
    base: TrainableBase, settings: LoraTraining.Samples, prompt: str, seed: int, check_canceled: Callable[[], None]
) -> NDArray[np.uint8]:
    pipe, side = base.pipeline(), settings.side_px or base.side_px

    def on_step(_pipe: Any, _step: int, _timestep: Any, values: dict[str, Any]) -> dict[str, Any]:
        check_canceled()
        return values

    check_canceled()
    arguments = {
        "num_inference_steps": settings.num_inference_steps,
        "guidance_scale": settings.guidance_scale,
        "height": side,
        "width": side,
        "callback_on_step_end": on_step,
    }
    known = inspect.signature(pipe.__call__).parameters
    with torch.no_grad():
        values = pipe(
            prompt=prompt,
            generator=torch.Generator().manual_seed(seed),
            output_type="np",
            **{name: value for name, value in arguments.items() if name in known},
        ).images[0]
    values = np.asarray(values, np.float32)
    if not np.isfinite(values).all():
        return np.full(values.shape, 128, np.uint8)
    return np.asarray(np.rint(np.clip(values, 0, 1) * 255), np.uint8)
