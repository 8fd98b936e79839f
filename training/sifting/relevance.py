"""Step two, relevance: how much a picture is worth, by its group or by where its losses stood."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_UNSEEN: Final = 0.5


def group_numbers(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """Equal names get equal numbers, counted from 0 in the order of their first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def even_weights(groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights by which every group is drawn as often as any other, shape (num_samples,)."""
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[inverse], np.float64)


def unevenness(groups: NDArray[np.int64]) -> float:
    """Share of all draws that go to other groups once groups are drawn evenly: 0 for groups of one size, below 1."""
    _, counts = np.unique(groups, return_counts=True)
    return float(np.abs(counts / counts.sum() - 1 / len(counts)).sum() / 2)


class StaleRelevance:
    """Each sample's place among other losses when it was last trained on; 0.5 before. Costs no forward pass."""

    def __init__(self, num_samples: int) -> None:
        self.places = np.full(num_samples, _UNSEEN)

    def see(self, indices: Sequence[int], places: NDArray[np.float64]) -> None:
        self.places[np.asarray(indices, np.int64)] = places

    def state_dict(self) -> dict[str, Any]:
        return {"places": self.places.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.places = np.asarray(state["places"], np.float64)
