"""Step one, loss: the last losses, and where among them a loss stands.

A diffusion loss tells mostly of its timestep, so that losses are compared within bins of timesteps only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from services.domain.errors import InvalidRequest

_FEWEST: Final = 4  # losses in a bin, below which a place among them says nothing
_UNKNOWN: Final = 0.5


class LossHistory:
    """The last losses with their timesteps' bins.

    Args:
        length: Losses that are kept, all bins together.
        num_bins: Equal bins of timesteps; 1 where the loss has none.
        num_timesteps: Timesteps lie in [0, num_timesteps).
    """

    def __init__(self, length: int, *, num_bins: int = 1, num_timesteps: float = 1000) -> None:
        if length < 1 or num_bins < 1 or num_timesteps <= 0:
            raise InvalidRequest(
                "A loss history needs a length, bins and timesteps of at least one.", code="out_of_range"
            )
        self._num_bins, self._num_timesteps = num_bins, num_timesteps
        self._losses: deque[tuple[int, float]] = deque(maxlen=length)

    def __len__(self) -> int:
        return len(self._losses)

    def add(self, losses: Sequence[float], timesteps: Sequence[float] | None = None) -> None:
        """Remember losses; the oldest go. What is not finite is not remembered."""
        for bin_, loss in zip(self._bins(len(losses), timesteps), losses, strict=True):
            if np.isfinite(loss):
                self._losses.append((int(bin_), float(loss)))

    def percentiles(self, losses: Sequence[float], timesteps: Sequence[float] | None = None) -> NDArray[np.float64]:
        """Share of the remembered losses of the same bin that are smaller, equal ones by half; 0.5 where few are known.

        Returns:
            Values in [0, 1], one a loss.
        """
        bins = np.array([bin_ for bin_, _ in self._losses], np.int64)
        known = np.array([loss for _, loss in self._losses], np.float64)
        places = np.full(len(losses), _UNKNOWN)
        for index, (bin_, loss) in enumerate(zip(self._bins(len(losses), timesteps), losses, strict=True)):
            beside = known[bins == bin_]
            if len(beside) >= _FEWEST and np.isfinite(loss):
                places[index] = float(((beside < loss) + 0.5 * (beside == loss)).mean())
        return places

    def state_dict(self) -> dict[str, Any]:
        return {"losses": [list(entry) for entry in self._losses]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._losses.clear()
        self._losses.extend((int(bin_), float(loss)) for bin_, loss in state["losses"])

    def _bins(self, number: int, timesteps: Sequence[float] | None) -> NDArray[np.int64]:
        if timesteps is None:
            return np.zeros(number, np.int64)
        shares = np.asarray(timesteps, np.float64) / self._num_timesteps
        return np.clip((shares * self._num_bins).astype(np.int64), 0, self._num_bins - 1)
