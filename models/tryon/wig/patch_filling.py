"""Fills a hole in a structured picture with pieces of what lies around it, so that it is as sharp as the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Matte = NDArray[np.float32]
Mask = NDArray[np.bool_]
Places = NDArray[np.int32]

_SIDE_PX: Final = 112  # long side at which pieces are chosen
_LEVELS: Final = 3
_RADIUS: Final = 2  # of a piece, at that size
_ROUNDS: Final = (4, 3, 3)  # from the coarsest level on
_REACH: Final = 0.3  # of the long side: how far away a piece may come from
_TONE: Final = 0.035  # of the long side: structure wider than this is the smooth filling's
_FADE: Final = 0.025  # of the long side over which pieces take over from the smooth filling
_TRUST: Final = 1.35  # a pixel's, for each one nearer to what is known
_PLAIN: Final = 5.0  # of 255: fine structure below which a smooth filling is as good


def patch_filled(rgb: Matte, smooth: Matte, known: Mask, wanted: Mask) -> Matte:
    """``smooth`` with pieces of the known picture where ``wanted``.

    Pieces are found by PatchMatch (Barnes et al. 2009) inside the alternation of Wexler, Shechtman and Irani (2007), on
    a small picture; what is laid is the picture's own pixels at its own size.

    Args:
        rgb: The picture, (h, w, 3), 0 to 255.
        smooth: The same with a smooth filling where it is not known.
        known: Where the picture may be copied from.
        wanted: Where it is to be filled.
    """
    import cv2

    height, width = known.shape
    wanted = wanted & ~known
    if not wanted.any() or known.sum() < 0.05 * known.size or not _is_structured(rgb, known, wanted):
        return smooth
    generator = np.random.default_rng(0)
    step = max(1.0, max(height, width) / _SIDE_PX)
    places: Places | None = None
    guess: Matte | None = None
    for level in range(_LEVELS):
        factor = step * 2 ** (_LEVELS - 1 - level)
        size = (max(8, round(width / factor)), max(8, round(height / factor)))
        here = cv2.resize(smooth, size, interpolation=cv2.INTER_AREA)
        free = cv2.resize(known.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.98
        hole = cv2.resize(wanted.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.02
        if guess is not None:
            larger = cv2.resize(guess, size, interpolation=cv2.INTER_LINEAR)
            here = np.where((hole & ~free)[..., None], larger, here)
        search = _Search.of(np.asarray(here, np.float32), free, hole & ~free)
        if search is None:
            return smooth
        places = search.run(places, generator, _ROUNDS[level])
        guess = search.picture
    assert places is not None
    laid = _laid(rgb, places, height, width)
    # Pieces bring their structure; what colour is where, the smooth filling knows from all sides.
    sigma = _TONE * max(height, width)
    inside = wanted.astype(np.float32)
    tone = cv2.GaussianBlur((smooth - laid) * inside[..., None], (0, 0), sigma)
    tone = tone / np.maximum(cv2.GaussianBlur(inside, (0, 0), sigma), 1e-3)[..., None]
    laid = np.asarray(laid + tone, np.float32)
    depth = cv2.distanceTransform((~known).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5)
    mix = np.clip(depth / (_FADE * max(height, width)), 0, 1) * cv2.GaussianBlur(inside, (0, 0), 0.3 * sigma)
    mix = np.asarray(np.where(known, 0, mix), np.float32)
    return np.asarray(smooth + mix[..., None] * (laid - smooth), np.float32)


def _is_structured(rgb: Matte, known: Mask, wanted: Mask) -> bool:
    """Whether what is known near the hole has more than a slope of colour."""
    import cv2

    side = max(known.shape)
    near = cv2.dilate(wanted.astype(np.uint8), np.ones((round(0.1 * side) | 1,) * 2, np.uint8)) > 0
    small = cv2.GaussianBlur(rgb, (0, 0), 0.006 * side)
    weight = known.astype(np.float32)
    wide = max(1.0, 0.03 * side)
    mean = cv2.GaussianBlur(small * weight[..., None], (0, 0), wide)
    mean = mean / np.maximum(cv2.GaussianBlur(weight, (0, 0), wide), 1e-3)[..., None]
    rest = np.abs(small - mean).mean(2)[near & known]
    return bool(rest.size > 50 and float(np.percentile(rest, 80)) > _PLAIN)


def _laid(rgb: Matte, places: Places, height: int, width: int) -> Matte:
    """The picture's own pixels from where ``places`` (h, w, 2: row, column, small) says, its pieces faded into
    each other.
    """
    import cv2

    rows, columns = places.shape[:2]
    grid = _grid(rows, columns)
    shift = ((places - grid) * (height / rows, width / columns)).astype(np.float32)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    down = np.clip((y + 0.5) * rows / height - 0.5, 0, rows - 1)
    right = np.clip((x + 0.5) * columns / width - 0.5, 0, columns - 1)
    top, left = np.floor(down).astype(int), np.floor(right).astype(int)
    out = np.zeros_like(rgb)
    for i in (0, 1):
        for j in (0, 1):
            at = np.minimum(top + i, rows - 1), np.minimum(left + j, columns - 1)
            weight = np.abs(1 - i - (down - top)) * np.abs(1 - j - (right - left))
            moved = shift[at]
            out += weight[..., None] * cv2.remap(
                rgb, x + moved[..., 1], y + moved[..., 0], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
            )
    return out


def _grid(height: int, width: int) -> Places:
    """Row and column of each pixel, (h, w, 2)."""
    rows, columns = np.mgrid[:height, :width]
    return np.dstack([rows, columns]).astype(np.int32)


@dataclass(slots=True)
class _Search:
    """For each place whose piece holds unknown pixels, the known piece most like it."""

    picture: Matte
    hole: Mask
    sources: Mask  # middles of wholly known pieces
    targets: Mask

    @classmethod
    def of(cls, picture: Matte, known: Mask, hole: Mask) -> _Search | None:
        import cv2

        piece = np.ones((2 * _RADIUS + 1,) * 2, np.uint8)
        sources = cv2.erode(known.astype(np.uint8), piece, borderValue=0) > 0
        targets = cv2.dilate(hole.astype(np.uint8), piece) > 0
        if not sources.any() or not hole.any():
            return None
        return cls(picture=picture, hole=hole, sources=sources, targets=targets)

    def run(self, start: Places | None, generator: np.random.Generator, rounds: int) -> Places:
        """Where each piece comes from, (h, w, 2): row and column; itself where nothing is wanted."""
        height, width = self.hole.shape
        grid = _grid(height, width)
        at = np.argwhere(self.targets).astype(np.int32)
        known = np.argwhere(self.sources)
        best = self._nearest(at, known, generator) if start is None else self._grown(start, at, known, generator)
        places = grid.copy()
        for _ in range(rounds):
            pieces = self._pieces()
            mine = pieces[at[:, 0], at[:, 1]]
            cost = self._cost(pieces, mine, at, best)
            reach = max(1, round(_REACH * max(height, width)))
            for turn in range(6):
                places[at[:, 0], at[:, 1]] = best
                if turn < 4:
                    dy, dx = ((0, 1), (1, 0), (0, -1), (-1, 0))[turn]
                    beside = np.clip(at - (dy, dx), 0, (height - 1, width - 1))
                    trial = places[beside[:, 0], beside[:, 1]] + (dy, dx)
                else:
                    trial = best + generator.integers(-reach, reach + 1, best.shape)
                    reach = max(1, reach // 5)
                trial = np.clip(trial, 0, (height - 1, width - 1)).astype(np.int32)
                value = self._cost(pieces, mine, at, trial)
                better = value < cost
                best, cost = np.where(better[:, None], trial, best), np.where(better, value, cost)
            places[at[:, 0], at[:, 1]] = best
            self._vote(places, at, cost)
        return np.asarray(places, np.int32)

    def _nearest(self, at: Places, known: NDArray[np.int64], generator: np.random.Generator) -> Places:
        from scipy.spatial import cKDTree

        chosen = known[generator.permutation(len(known))[:4000]]
        _, index = cKDTree(chosen).query(at)
        return np.asarray(chosen[index], np.int32)

    def _grown(self, start: Places, at: Places, known: NDArray[np.int64], generator: np.random.Generator) -> Places:
        """The coarser level's choice at this size."""
        height, width = self.hole.shape
        factor = np.array([height / start.shape[0], width / start.shape[1]])
        below = np.clip((at / factor).astype(int), 0, (start.shape[0] - 1, start.shape[1] - 1))
        moved = np.round((start[below[:, 0], below[:, 1]] - below) * factor).astype(np.int32)
        grown = np.clip(at + moved, 0, (height - 1, width - 1)).astype(np.int32)
        bad = ~self.sources[grown[:, 0], grown[:, 1]]
        grown[bad] = self._nearest(at[bad], known, generator) if bad.any() else grown[bad]
        return np.asarray(grown, np.int32)

    def _pieces(self) -> Matte:
        side = 2 * _RADIUS + 1
        padded = np.pad(self.picture, ((_RADIUS, _RADIUS), (_RADIUS, _RADIUS), (0, 0)), mode="edge")
        view = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(0, 1))
        return np.ascontiguousarray(view.reshape(*self.hole.shape, -1), np.float32)

    def _cost(self, pieces: Matte, mine: Matte, at: Places, where: Places) -> Matte:
        value = ((pieces[where[:, 0], where[:, 1]] - mine) ** 2).mean(1)
        far = np.abs(where - at).max(1) > _REACH * 2 * max(self.hole.shape)
        return np.where(self.sources[where[:, 0], where[:, 1]] & ~far, value, np.float32(1e9)).astype(np.float32)

    def _vote(self, places: Places, at: Places, cost: Matte) -> None:
        """Each unknown pixel becomes the mean of what the pieces over it have there, the better ones counting more."""
        import cv2

        height, width = self.hole.shape
        weight = np.zeros((height, width), np.float32)
        depth = cv2.distanceTransform(self.hole.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_3)[at[:, 0], at[:, 1]]
        likeness = np.exp(-cost / (2 * max(float(np.percentile(cost, 75)), 1.0)))
        weight[at[:, 0], at[:, 1]] = likeness * _TRUST ** -np.minimum(depth, 40)
        inside = np.argwhere(self.hole)
        total = np.zeros((len(inside), 3), np.float32)
        mass = np.full((len(inside), 1), 1e-6, np.float32)
        for dy in range(-_RADIUS, _RADIUS + 1):
            for dx in range(-_RADIUS, _RADIUS + 1):
                middle = inside - (dy, dx)
                there = ((middle >= 0) & (middle < (height, width))).all(1)
                middle = np.clip(middle, 0, (height - 1, width - 1))
                source = places[middle[:, 0], middle[:, 1]] + (dy, dx)
                source = np.clip(source, 0, (height - 1, width - 1))
                share = (weight[middle[:, 0], middle[:, 1]] * there)[:, None]
                total += share * self.picture[source[:, 0], source[:, 1]]
                mass += share
        picture = self.picture.copy()
        picture[inside[:, 0], inside[:, 1]] = total / mass
        self.picture = picture
