"""Runs a packaged ``.tflite`` model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import weights


class TfliteModel:
    """One model file, loaded once; a call is one single-threaded inference. Not safe to share between threads.

    Args:
        name: A row of the weights manifest.
    """

    def __init__(self, name: str) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter: Any = Interpreter(model_path=str(weights.path(name)), num_threads=1)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]
        self._outputs = self._interpreter.get_output_details()

    @property
    def input_size(self) -> tuple[int, int]:
        """Width and height of the picture that goes in."""
        _, height, width, _ = self._input["shape"]
        return int(width), int(height)

    def __call__(self, picture: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The output tensors for one picture of shape (height, width, 3), in the model's own value range."""
        self._interpreter.set_tensor(self._input["index"], np.ascontiguousarray(picture[None], np.float32))
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(output["index"]) for output in self._outputs]
