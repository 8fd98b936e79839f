"""Where somebody speaks: a small network tells voices from noise, the level draws the exact edges.

The network (silero-vad, MIT) keeps dog barks, music and traffic from moving a mouth. Where it cannot run
(``onnxruntime`` is not installed), the level alone decides.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from models import weights
from models.speech.acoustics import DIGITAL_SILENCE_DB, Signal, levels_db, resampled

_RATE_HZ: Final = 16_000
_WINDOW: Final = 512
_CONTEXT: Final = 64
_ENTER: Final = 0.5
_LEAVE: Final = 0.3
_LONGEST_BLOCK_S: Final = 60

_LEVEL_HZ: Final = 200
_FLOOR_BELOW_SPEECH_DB: Final = 34.0  # quieter than this below loud speech is a pause even in a studio
_SHORTEST_PAUSE_S: Final = 0.12
_SHORTEST_SPEECH_S: Final = 0.06
_EDGE_S: Final = 0.12  # how far the level may move an edge that the network found


def speech_spans(samples: Signal, sample_rate_hz: int) -> list[tuple[float, float]]:
    """Stretches of speech as (start, end) in seconds, in order; empty when nobody speaks."""
    levels = levels_db(samples, sample_rate_hz, rate_hz=_LEVEL_HZ, smooth_s=0.03)
    if not (levels > DIGITAL_SILENCE_DB).any():
        return []
    voiced = np.ones(len(levels), bool)
    if network_is_usable():
        voiced = _widened(_hysteresis(_on_levels(voice_probabilities(samples, sample_rate_hz), len(levels))))
    if not voiced.any():
        return []
    loud = float(np.percentile(levels[voiced], 95))
    quiet = float(np.percentile(levels, 5))
    # Background noise may be louder than a studio's floor: stay clear of it, but never near the speech itself.
    floor = min(max(loud - _FLOOR_BELOW_SPEECH_DB, quiet + 6.0), loud - 12.0)
    spans = _runs(voiced & (levels > max(floor, DIGITAL_SILENCE_DB)))
    spans = _joined(spans, _SHORTEST_PAUSE_S)
    return [(a, b) for a, b in spans if b - a >= _SHORTEST_SPEECH_S]


def network_is_usable() -> bool:
    """Whether the voice network is fetched and can run."""
    return importlib.util.find_spec("onnxruntime") is not None and weights.is_present("silero-vad")


def voice_probabilities(samples: Signal, sample_rate_hz: int) -> NDArray[np.float32]:
    """That somebody speaks, for each 32 ms."""
    session = _session()
    state = np.zeros((2, 1, 128), np.float32)
    context = np.zeros(_CONTEXT, np.float32)
    rate = np.array(_RATE_HZ, np.int64)
    found: list[float] = []
    step = _LONGEST_BLOCK_S * sample_rate_hz
    for first in range(0, len(samples), step):
        piece = resampled(samples[first : first + step], sample_rate_hz, _RATE_HZ)
        piece = np.pad(piece, (0, -len(piece) % _WINDOW))
        for at in range(0, len(piece), _WINDOW):
            window = piece[at : at + _WINDOW]
            heard, state = session.run(
                None, {"input": np.concatenate([context, window])[None], "state": state, "sr": rate}
            )
            context = window[-_CONTEXT:]
            found.append(float(heard[0, 0]))
    return np.array(found, np.float32)


@cache
def _session() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(weights.path("silero-vad")), options, providers=["CPUExecutionProvider"]
    )  # fmt: skip


def _on_levels(probabilities: NDArray[np.float32], num_steps: int) -> NDArray[np.float32]:
    # 60 s blocks are whole numbers of windows (1875), so that the windows' clock does not drift.
    at = ((np.arange(num_steps) + 0.5) / _LEVEL_HZ * _RATE_HZ / _WINDOW).astype(np.int64)
    return probabilities[np.minimum(at, len(probabilities) - 1)]


def _hysteresis(probabilities: NDArray[np.float32]) -> NDArray[np.bool_]:
    """True from where the probability exceeds the upper threshold until it falls below the lower one, both ways."""
    above = probabilities > _LEAVE
    edges = np.flatnonzero(np.diff(np.concatenate([[0], above.astype(np.int8), [0]])))
    for first, last in edges.reshape(-1, 2):
        if probabilities[first:last].max() <= _ENTER:
            above[first:last] = False
    return above


def _widened(voiced: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(binary_dilation(voiced, iterations=int(_EDGE_S * _LEVEL_HZ)), np.bool_)


def _runs(flags: NDArray[np.bool_]) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(float(a) / _LEVEL_HZ, float(b) / _LEVEL_HZ) for a, b in edges.reshape(-1, 2)]


def _joined(spans: list[tuple[float, float]], gap_s: float) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in spans:
        if joined and start - joined[-1][1] < gap_s:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
