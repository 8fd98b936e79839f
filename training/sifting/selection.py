"""Step three, selection: from relevance to what is kept or drawn. Pure functions of their arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kept(places: NDArray[np.float64], beta: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """SageMaker's relative probabilistic rule: each is kept with probability place^beta.

    Of places spread evenly over [0, 1] the share 1 / (1 + beta) is kept.
    Source: AWS, "Smart sifting" of SageMaker, RelativeProbabilisticSiftConfig.
    """
    return np.asarray(generator.random(len(places)) < places**beta)


def chances(places: NDArray[np.float64], *, exponent: float, exploration: float, ceiling: float) -> NDArray[np.float64]:
    """Chance of each to be drawn next, summing to 1.

    Goes with place^exponent, but for the share ``exploration`` that is spread evenly: none is ever forgotten. None is
    drawn more than ``ceiling`` times as often as evenly: pictures of a wrong caption keep a high loss, and would
    otherwise be drawn the more the better the rest is learnt.
    """
    number = len(places)
    raised = places**exponent
    spread = raised / raised.sum() if raised.sum() > 0 else np.full(number, 1 / number)
    drawn = (1 - exploration) * spread + exploration / number
    highest = float(drawn.max() * number)
    if highest > ceiling:
        towards = (ceiling - 1) / (highest - 1)
        drawn = towards * drawn + (1 - towards) / number
    return np.asarray(drawn / drawn.sum(), np.float64)
